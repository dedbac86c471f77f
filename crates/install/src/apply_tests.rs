use std::fs;
use std::os::unix::fs::symlink;

use super::*;
use crate::settings::Content;

const CLIENTS: [Client; 4] = [Client::Claude, Client::Opencode, Client::Codex, Client::Gemini];

struct Machine {
    folder: tempfile::TempDir,
    installer: Installer,
}

fn is_installed(content: &Content, path: &Path) -> bool {
    read(path).ok().flatten().is_some_and(|text| content.is_in(&text))
}

impl Machine {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        for name in ["home", "project"] {
            fs::create_dir(root.join(name)).unwrap();
        }
        let places = Places {
            home: root.join("home"),
            project: root.join("project"),
            claude_config: None,
            config_home: None,
            codex_home: None,
            program: "ralph".to_owned(),
        };
        Self { installer: Installer { places, records: root.join("state/installed") }, folder }
    }

    /// Every file with its bytes, every folder, every link with its target.
    fn state(&self) -> Vec<(PathBuf, Vec<u8>)> {
        fn walk(folder: &Path, into: &mut Vec<(PathBuf, Vec<u8>)>) {
            for entry in fs::read_dir(folder).unwrap().flatten() {
                let path = entry.path();
                let kind = entry.file_type().unwrap();
                if kind.is_symlink() {
                    into.push((path.clone(), fs::read_link(&path).unwrap().into_os_string().into_encoded_bytes()));
                } else if kind.is_dir() {
                    into.push((path.clone(), Vec::new()));
                    walk(&path, into);
                } else {
                    into.push((path.clone(), fs::read(&path).unwrap()));
                }
            }
        }
        let mut all = Vec::new();
        for name in ["home", "project"] {
            walk(&self.folder.path().join(name), &mut all);
        }
        all.sort();
        all
    }

    fn write(&self, path: &Path, text: &str) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn settings(&self, client: Client, scope: Scope) -> Vec<Piece> {
        client.pieces(scope, &self.installer.places)
    }

    fn install(&self, client: Client, scope: Scope) -> Result<Vec<Change>, Error> {
        let changes = self.installer.install(client, scope)?;
        self.installer.apply(&changes)?;
        Ok(changes)
    }

    fn uninstall(&self, client: Client, scope: Scope) -> Result<Vec<Change>, Error> {
        let changes = self.installer.uninstall(client, scope)?;
        self.installer.apply(&changes)?;
        Ok(changes)
    }
}

/// What files of settings can hold before: for JSON and for TOML.
const KINDS: [(&str, &str, &str); 6] = [
    ("empty", "", ""),
    ("empty object", "{}\n", "# nothing\n"),
    ("comments", "{\n  // mine\n  \"theme\": \"dark\" /* yes */\n}\n", "# mine\nmodel = \"x\" # yes\n"),
    ("trailing commas", "{\n  \"list\": [1, 2,],\n}\n", "list = [1, 2,]\n"),
    (
        "others present",
        "{\"hooks\": {\"Stop\": [{\"hooks\": [{\"type\": \"command\", \"command\": \"say done\"}]}]},\n \"mcpServers\": {\"x\": {}}, \"mcp\": {\"x\": {}}}",
        "[mcp_servers.x]\ncommand = \"x\"",
    ),
    ("CRLF", "{\r\n  \"theme\": \"dark\"\r\n}\r\n", "model = \"x\"\r\n"),
];

#[test]
fn every_kind_of_settings_is_as_before_afterwards() {
    for client in CLIENTS {
        for scope in [Scope::User, Scope::Project] {
            for (kind, json, toml) in [("absent", None, None)]
                .into_iter()
                .chain(KINDS.map(|(kind, json, toml)| (kind, Some(json), Some(toml))))
            {
                let machine = Machine::new();
                for piece in machine.settings(client, scope) {
                    match (&piece.content, json, toml) {
                        (Content::Json { .. }, Some(text), _) | (Content::Toml { .. }, _, Some(text)) => {
                            machine.write(&piece.path, text)
                        }
                        _ => {}
                    }
                }
                let context = format!("{} {scope:?} {kind}", client.name());
                let before = machine.state();
                let changes = machine.install(client, scope).unwrap_or_else(|error| panic!("{context}: {error}"));
                assert!(changes.iter().all(Change::is_change), "{context}");
                for piece in machine.settings(client, scope) {
                    assert!(is_installed(&piece.content, &piece.path), "{context}: {}", piece.path.display());
                }
                let installed = machine.state();
                let again = machine.install(client, scope).unwrap();
                assert!(
                    !again.iter().any(Change::is_change) && machine.state() == installed,
                    "{context}: twice is once"
                );
                machine.uninstall(client, scope).unwrap();
                assert_eq!(machine.state(), before, "{context}");
                assert!(!machine.uninstall(client, scope).unwrap().iter().any(Change::is_change), "{context}");
            }
        }
    }
}

#[test]
fn a_newer_version_replaces_an_older_one_and_leaves_as_it_came() {
    for client in CLIENTS {
        let mut machine = Machine::new();
        for piece in machine.settings(client, Scope::User) {
            if let Content::Json { .. } = piece.content {
                machine.write(&piece.path, "{ \"a\": 1 }");
            }
        }
        let before = machine.state();
        machine.install(client, Scope::User).unwrap();
        machine.installer.places.program = "/opt/new/ralph".to_owned();
        let changes = machine.install(client, Scope::User).unwrap();
        assert!(changes.iter().any(Change::is_change), "{}", client.name());
        for piece in machine.settings(client, Scope::User) {
            assert!(is_installed(&piece.content, &piece.path), "{}", piece.path.display());
        }
        machine.uninstall(client, Scope::User).unwrap();
        assert_eq!(machine.state(), before, "{}", client.name());
    }
}

#[test]
fn what_somebody_wrote_meanwhile_stays() {
    let machine = Machine::new();
    let path = machine.installer.places.home.join(".claude/settings.json");
    machine.write(&path, "{\n  \"theme\": \"dark\"\n}\n");
    machine.install(Client::Claude, Scope::User).unwrap();
    let text = fs::read_to_string(&path).unwrap();
    machine.write(&path, &text.replace("\"theme\": \"dark\"", "\"theme\": \"light\", // now\n  \"more\": [1]"));
    machine.uninstall(Client::Claude, Scope::User).unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), "{\n  \"theme\": \"light\", // now\n  \"more\": [1]\n}\n");
    // What is ours and was changed is not removed.
    machine.install(Client::Claude, Scope::User).unwrap();
    let text = fs::read_to_string(&path).unwrap();
    machine.write(&path, &text.replace("3600", "60"));
    let state = machine.state();
    let error = machine.uninstall(Client::Claude, Scope::User).unwrap_err().to_string();
    assert!(error.contains("hooks.Stop was changed after Ralph added it"), "{error}");
    assert_eq!(machine.state(), state);
}

#[test]
fn a_refusal_changes_nothing_and_says_why() {
    type Prepare = fn(&Machine, &Path);
    let table: [(&str, Prepare, &str); 6] = [
        ("broken JSON", |machine, path| machine.write(path, "{\"a\": }"), "is not valid JSON"),
        (
            "read-only",
            |machine, path| {
                machine.write(path, "{}");
                fs::set_permissions(path, Permissions::from_mode(0o444)).unwrap();
            },
            "is read-only",
        ),
        ("a folder", |_, path| fs::create_dir_all(path).unwrap(), "is no ordinary file"),
        (
            "a dangling link",
            |machine, path| {
                machine.write(&path.with_extension("other"), "");
                symlink("nowhere", path).unwrap();
            },
            "does not exist",
        ),
        (
            "another server",
            |machine, path| machine.write(path, "{\"mcpServers\": {\"ralph\": {}}, \"mcp\": {\"ralph\": {}}}"),
            "ralph is there already",
        ),
        (
            "not text",
            |machine, path| {
                machine.write(path, "");
                fs::write(path, [0xff, 0xfe]).unwrap();
            },
            "is not UTF-8",
        ),
    ];
    for (kind, prepare, wanted) in table {
        for client in [Client::Claude, Client::Opencode, Client::Gemini] {
            let machine = Machine::new();
            let path = machine.settings(client, Scope::User).pop().unwrap().path;
            prepare(&machine, &path);
            let before = machine.state();
            let error = machine.install(client, Scope::User).unwrap_err().to_string();
            assert!(error.contains(wanted) && error.contains("nothing was changed"), "{kind}: {error}");
            assert_eq!(machine.state(), before, "{kind}");
        }
    }
    let machine = Machine::new();
    machine.write(&machine.installer.places.home.join(".claude/commands/ralph.md"), "my own");
    let before = machine.state();
    let error = machine.install(Client::Claude, Scope::User).unwrap_err().to_string();
    assert!(error.contains("another command /ralph is there already"), "{error}");
    assert_eq!(machine.state(), before);
}

#[test]
fn a_link_stays_a_link() {
    let machine = Machine::new();
    let (path, target) = (
        machine.installer.places.home.join(".gemini/settings.json"),
        machine.installer.places.home.join("dotfiles/gemini.json"),
    );
    machine.write(&target, "{ \"a\": 1 }");
    fs::set_permissions(&target, Permissions::from_mode(0o600)).unwrap();
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    symlink("../dotfiles/gemini.json", &path).unwrap();
    let before = machine.state();
    machine.install(Client::Gemini, Scope::User).unwrap();
    assert!(fs::read_to_string(&target).unwrap().contains("ralph"));
    assert_eq!(target.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    machine.uninstall(Client::Gemini, Scope::User).unwrap();
    assert_eq!(machine.state(), before);
}

#[test]
fn without_records_only_what_is_ours_goes() {
    let machine = Machine::new();
    machine.install(Client::Claude, Scope::Project).unwrap();
    fs::remove_dir_all(&machine.installer.records).unwrap();
    machine.uninstall(Client::Claude, Scope::Project).unwrap();
    let left: Vec<PathBuf> =
        machine.state().into_iter().filter(|(path, _)| path.is_file()).map(|(path, _)| path).collect();
    assert_eq!(left, Vec::<PathBuf>::new());
}
