use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

use super::machine::git_version;
use super::*;
use crate::style::Look;

struct Scene {
    folder: tempfile::TempDir,
    dirs: Dirs,
    claude: Readiness,
    codex: Readiness,
}

impl Scene {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("work")).unwrap();
        let dirs = Dirs::in_folder(folder.path());
        Self { folder, dirs, claude: Readiness::Usable, codex: Readiness::Missing }
    }

    async fn examine(&self) -> Vec<Finding> {
        let path = std::env::var_os("PATH").unwrap();
        let subject = Subject {
            dirs: &self.dirs,
            current: &self.folder.path().join("work"),
            path,
            // A reaper that does not exist; the real one is tried by the tests of the whole program.
            reaper: ReaperProgram { program: PathBuf::from("/nonexistent/ralph"), arguments: vec![] },
            level: ralph_process::Level::none("not tried here"),
            environment: vec![],
            readiness: Box::new(|spec| match spec.name.as_str() {
                "claude" => self.claude,
                "codex" => self.codex,
                _ => Readiness::Missing,
            }),
            is_interrupted: Box::new(|_| true),
            terminal: Terminal::None,
        };
        examine(&subject).await
    }

    async fn level(&self, name: &str) -> (Level, String) {
        let findings = self.examine().await;
        let found = findings.iter().find(|finding| finding.name == name).unwrap_or_else(|| panic!("no {name}"));
        (found.level, format!("{} {}", found.detail, found.advice.clone().unwrap_or_default()))
    }
}

#[test]
fn versions_of_git_are_understood() {
    let table = [
        ("git version 2.39.5", Some((2, 39))),
        ("git version 2.50.1 (Apple Git-155)", Some((2, 50))),
        ("git version 3.0", Some((3, 0))),
        ("git version 2.47.0.rc1", Some((2, 47))),
        ("hub version 2", None),
        ("", None),
    ];
    for (said, wanted) in table {
        assert_eq!(git_version(said), wanted, "{said}");
    }
}

#[tokio::test]
async fn looking_changes_nothing() {
    let scene = Scene::new();
    scene.examine().await;
    assert_eq!(fs::read_dir(scene.folder.path()).unwrap().count(), 1, "only the workspace is there");
    assert_eq!(fs::read_dir(scene.folder.path().join("work")).unwrap().count(), 0);
}

#[tokio::test]
async fn whatever_is_not_ok_says_what_to_do() {
    let scene = Scene::new();
    fs::write(scene.folder.path().join("work/ralph.toml"), "agent_command = 'x'").unwrap();
    let findings = scene.examine().await;
    assert!(findings.iter().any(|finding| finding.level == Level::Fail), "the reaper is missing");
    for finding in findings {
        assert_eq!(finding.level == Level::Ok, finding.advice.is_none(), "{finding:?}");
    }
}

#[tokio::test]
async fn an_open_state_folder_is_a_warning_and_a_file_in_its_place_a_failure() {
    let scene = Scene::new();
    fs::create_dir(&scene.dirs.state).unwrap();
    fs::set_permissions(&scene.dirs.state, fs::Permissions::from_mode(0o755)).unwrap();
    let (level, text) = scene.level("state").await;
    assert_eq!(level, Level::Warn);
    assert!(text.contains("chmod 700"), "{text}");
    fs::set_permissions(&scene.dirs.state, fs::Permissions::from_mode(0o700)).unwrap();
    assert_eq!(scene.level("state").await.0, Level::Ok);
    fs::remove_dir(&scene.dirs.state).unwrap();
    fs::write(&scene.dirs.state, "").unwrap();
    assert_eq!(scene.level("state").await.0, Level::Fail);
}

#[tokio::test]
async fn a_broken_database_and_a_broken_configuration_fail() {
    let scene = Scene::new();
    fs::create_dir_all(&scene.dirs.state).unwrap();
    fs::create_dir_all(&scene.dirs.config).unwrap();
    fs::write(scene.dirs.database(), "this is no database, whatever its name says").unwrap();
    fs::write(scene.dirs.config_file(), "max_iteration = 3").unwrap();
    assert_eq!(scene.level("database").await.0, Level::Fail);
    let (level, text) = scene.level("configuration").await;
    assert_eq!(level, Level::Fail);
    assert!(text.contains("max_iterations"), "{text}");
}

#[tokio::test]
async fn whoever_could_do_the_work_is_told_and_nobody_is_a_warning() {
    let mut scene = Scene::new();
    let (level, text) = scene.level("agents").await;
    assert_eq!(level, Level::Ok);
    for part in ["usable: claude", "missing: codex, opencode, gemini", "claude is the default"] {
        assert!(text.contains(part), "{part} is not in {text}");
    }
    (scene.claude, scene.codex) = (Readiness::Missing, Readiness::NoLogin);
    let (level, text) = scene.level("agents").await;
    assert_eq!(level, Level::Warn);
    assert!(text.contains("no login: codex") && text.contains("codex login"), "{text}");
    scene.codex = Readiness::Missing;
    let (level, text) = scene.level("agents").await;
    assert_eq!(level, Level::Warn);
    assert!(text.contains("npm install -g") && text.contains("--agent-command"), "{text}");
    let findings = scene.examine().await;
    assert!(!table(&findings, Level::Warn).lines(Look::PLAIN).join("\n").contains("Loops can run"), "{findings:?}");

    // A command needs none of them, whoever names it.
    fs::create_dir_all(&scene.dirs.config).unwrap();
    fs::write(scene.dirs.config_file(), "agent = 'claude'").unwrap();
    assert_eq!(scene.level("agents").await.0, Level::Warn, "a name alone is not there");
    fs::write(scene.dirs.config_file(), "agent_command = './x'").unwrap();
    assert_eq!(scene.level("agents").await.0, Level::Ok);
    fs::write(scene.dirs.config_file(), "").unwrap();
    fs::write(scene.folder.path().join("work/ralph.toml"), "agent_command = './x'").unwrap();
    assert_eq!(scene.level("agents").await.0, Level::Ok);
}

#[tokio::test]
async fn what_ralph_agents_refuses_fails_here_too() {
    let scene = Scene::new();
    fs::create_dir_all(&scene.dirs.config).unwrap();
    let cases = [
        ("[agents.x]\nkind = 'foo'", "[agents.x] has the unknown kind `foo`"),
        ("[agents.x]\nkind = 'acp'", "has no `command`"),
        ("agent_order = ['cluade']", "did you mean `claude`?"),
        ("[prices.m]\ninput = 2", "needs both `input` and `output`"),
    ];
    for (file, wanted) in cases {
        fs::write(scene.dirs.config_file(), file).unwrap();
        let (level, text) = scene.level("configuration").await;
        assert_eq!(level, Level::Fail, "{file}");
        assert!(text.contains(wanted), "{text}");
    }
}

#[tokio::test]
async fn an_unapproved_file_names_the_command_that_approves() {
    let scene = Scene::new();
    let path = scene.folder.path().join("work/ralph.toml");
    for (text, wanted) in [
        ("prohibited_paths = ['x']", (Level::Ok, "only narrows")),
        ("agent_command = 'x'", (Level::Warn, "ralph trust ")),
        ("caps.iterations = 1", (Level::Fail, "not allowed in a repository")),
    ] {
        fs::write(&path, text).unwrap();
        let (level, said) = scene.level("ralph.toml").await;
        assert_eq!(level, wanted.0, "{text}");
        assert!(said.contains(wanted.1), "{said}");
    }
}

#[tokio::test]
async fn json_and_exit_code_agree() {
    let scene = Scene::new();
    let subject = Subject {
        dirs: &scene.dirs,
        current: scene.folder.path(),
        path: OsString::new(),
        reaper: ReaperProgram { program: PathBuf::from("/nonexistent/ralph"), arguments: vec![] },
        level: ralph_process::Level::none("not tried here"),
        environment: vec![],
        readiness: Box::new(|_| Readiness::Usable),
        is_interrupted: Box::new(|_| true),
        terminal: Terminal::None,
    };
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let mut screen = Screen::new(&mut out, &mut err);
    let code = doctor(&DoctorArgs { json: true }, &subject, &mut screen).await.unwrap();
    let value: serde_json::Value = serde_json::from_slice(&out).unwrap();
    assert_eq!((code, &value["ok"]), (1, &json!(false)));
    let git = &value["checks"][0];
    assert_eq!((&git["name"], &git["level"]), (&json!("git"), &json!("fail")));
}
