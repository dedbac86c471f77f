use std::os::unix::fs::PermissionsExt as _;

use ralph_model::{AgentSpec, Money};

use super::*;
use crate::disk::Disk;

/// A home with an environment of poetry, unpacked sources of Cargo and Go, and an environment that nobody may write.
struct Scene {
    folder: tempfile::TempDir,
    config: LoopConfig,
    environment: Vec<(OsString, OsString)>,
}

impl Scene {
    fn new() -> Self {
        // Not below a folder that everybody may write, where this repository can be, too.
        let is_apart = |folder: &&str| {
            let folder = Path::new(folder).canonicalize().unwrap_or_default();
            !folder.starts_with("/tmp") && !folder.starts_with("/var/tmp")
        };
        let folder = tempfile::tempdir_in([".", "/dev/shm"].into_iter().find(is_apart).unwrap_or(".")).unwrap();
        let home = folder.path().canonicalize().unwrap();
        let workspace = home.join("work").to_string_lossy().into_owned();
        let agent = AgentSpec::command("helper", "./helper");
        let config = LoopConfig::new("Fix it".into(), 1, Money::ZERO, agent, workspace);
        let environment = vec![("HOME".into(), home.into_os_string())];
        let scene = Self { folder, config, environment };
        scene.write(".cache/pypoetry/virtualenvs/calc-abc-py3.12/lib/python3.12/site-packages/six.py", "six = 6\n");
        scene.write(".cargo/registry/src/index-1/itoa-1.0.0/src/lib.rs", "pub fn a() {}\n");
        scene.write("go/pkg/mod/github.com/!burnt!sushi/toml@v1.0.0/toml.go", "package toml\n");
        scene.write(".local/share/virtualenvs/calc/lib/python3.12/site-packages/six.py", "six = 6\n");
        scene.write(
            "work/Cargo.lock",
            "[[package]]\nname = \"itoa\"\nversion = \"1.0.0\"\nsource = \"registry+https://example.invalid\"\n",
        );
        scene.write(
            "work/go.sum",
            "github.com/BurntSushi/toml v1.0.0 h1:x\ngithub.com/BurntSushi/toml v1.0.0/go.mod h1:y\n",
        );
        scene
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.folder.path().canonicalize().unwrap().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn packages(&self) -> Packages {
        let text = Expanded { text: "poetry run pytest".into(), from: None, folder: String::new() };
        packages(&self.config, &self.environment, &[text])
    }
}

fn names(paths: &[PathBuf]) -> Vec<String> {
    paths.iter().map(|path| path.file_name().unwrap().to_string_lossy().into_owned()).collect()
}

#[test]
fn what_an_agent_may_write_is_watched_and_nothing_else() {
    let mut scene = Scene::new();
    let known: Vec<PathBuf> = scene.packages().into_keys().collect();
    assert_eq!(names(&known), ["six.py", "itoa-1.0.0", "toml@v1.0.0"]);
    let hidden = scene.folder.path().canonicalize().unwrap().join(".local/share/virtualenvs/calc");
    scene.environment.push(("VIRTUAL_ENV".into(), hidden.into_os_string()));
    assert_eq!(scene.packages().len(), 3, "no agent can write there");
    scene.config.sandbox = Sandboxing::Off;
    assert_eq!(scene.packages().len(), 4);
}

#[test]
fn another_content_is_a_change_and_another_time_is_none() {
    let scene = Scene::new();
    let before = scene.packages();
    assert_eq!(changed(&before), Changed::default());
    scene.write(".cargo/registry/src/index-1/itoa-1.0.0/src/lib.rs", "pub fn a() {}\n");
    assert_eq!(changed(&before), Changed::default(), "it was only written again");
    scene.write(".cargo/registry/src/index-1/itoa-1.0.0/src/lib.rs", "pub fn b() {}\n");
    scene.write("go/pkg/mod/github.com/!burnt!sushi/toml@v1.0.0/new.go", "package toml\n");
    let installed = ".cache/pypoetry/virtualenvs/calc-abc-py3.12/lib/python3.12/site-packages";
    scene.write(&format!("{installed}/more.py"), "");
    scene.write(&format!("{installed}/start.pth"), "import os\n");
    assert_eq!(names(&changed(&before).content), ["itoa-1.0.0", "toml@v1.0.0", "start.pth"]);
}

#[test]
fn metadata_alone_is_a_doubt_and_no_change() {
    let scene = Scene::new();
    let mut before = scene.packages();
    before.values_mut().for_each(|package| package.content = None);
    scene.write(".cargo/registry/src/index-1/itoa-1.0.0/src/lib.rs", "pub fn b() {}\n");
    let found = changed(&before);
    assert_eq!((names(&found.content), names(&found.metadata)), (vec![], vec!["itoa-1.0.0".to_owned()]));
}

#[test]
fn another_link_to_a_program_is_no_change_of_it_where_no_agent_can_write() {
    let mut scene = Scene::new();
    let root = scene.folder.path().canonicalize().unwrap();
    scene.write("programs/tool", "#!/bin/sh\n");
    let tool = root.join("programs/tool");
    fs::set_permissions(&tool, fs::Permissions::from_mode(0o755)).unwrap();
    let disk = Disk::new(&root.join("work"), root.join("programs").as_os_str());
    let commands = ["tool --all".to_owned()];
    let question = Question { sources: &disk, commands: &commands, protect: &[], files: &[], listings: &[] };
    let found = |scene: &Scene| programs(&scene.config, &scene.environment, &question);
    let in_home = found(&scene);
    scene.environment = vec![("HOME".into(), root.join("home").into_os_string())];
    let confined = found(&scene);
    scene.config.sandbox = Sandboxing::Off;
    let open = found(&scene);
    fs::hard_link(&tool, root.join("programs/other")).unwrap();
    let reported = [&in_home, &confined, &open].map(|before| pins::changed_programs(before, &disk).len());
    assert_eq!(reported, [1, 0, 1]);
    fs::write(&tool, "#!/bin/sh\nexit\n").unwrap();
    assert_eq!(pins::changed_programs(&confined, &disk).len(), 1, "another content is one everywhere");
}

#[test]
fn a_machine_without_a_sandbox_confines_no_agent() {
    let scene = Scene::new();
    let level = |files| Level { files, ..Level::none("") };
    let confined = as_confined(&scene.config, &level(Files::Landlock { version: 4 }));
    let open = as_confined(&scene.config, &level(Files::Open { why: "an old kernel".into() }));
    assert_eq!((confined.sandbox, open.sandbox), (scene.config.sandbox, Sandboxing::Off));
}
