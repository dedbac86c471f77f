use std::fs;

use super::*;
use crate::screen::Answer;

struct Scene {
    folder: tempfile::TempDir,
    places: Places,
    store: Store,
}

impl Scene {
    async fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let places = Places { config: folder.path().join("config"), state: folder.path().join("state") };
        let store = Store::open(&places.database()).await.unwrap();
        let scene = Self { folder, places, store };
        scene.write("work/README", "");
        scene.write("config/config.toml", "max_iterations = 5\nmax_cost_usd = 1\nagent_command = './mine'");
        scene
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    async fn prepare<'a>(&'a self, args: RunArgs, asking: Asking<'a>) -> Result<Resolved, Error> {
        let workspace = workspace(Some(Path::new("work")), self.folder.path()).unwrap();
        let context = Context {
            places: &self.places,
            home: self.folder.path(),
            current: self.folder.path(),
            store: &self.store,
            asking,
            now: Timestamp(1),
            installed: &|_| Vec::new(),
        };
        prepare(&args, "Fix it".into(), &workspace, context).await
    }
}

#[tokio::test]
async fn the_users_own_configuration_needs_nobodys_approval() {
    let resolved = Scene::new().await.prepare(RunArgs::default(), Asking::Nobody).await.unwrap();
    assert_eq!((resolved.config.max_iterations, resolved.config.objective.as_str()), (5, "Fix it"));
}

#[tokio::test]
async fn an_unapproved_repository_stops_everything_with_exit_code_2() {
    let scene = Scene::new().await;
    scene.write("work/ralph.toml", "verification_command = './evil'");
    let error = scene.prepare(RunArgs::default(), Asking::Nobody).await.unwrap_err();
    assert!(matches!(error, Error::Trust(trust::Error::Headless { .. })), "{error}");
    assert_eq!(error.exit_code(), 2);

    let mut yes = |_: &str| Ok(Answer::Yes);
    let resolved = scene.prepare(RunArgs::default(), Asking::Person(&mut yes)).await.unwrap();
    assert_eq!(resolved.config.verification_commands, ["./evil"]);
    // Approved now, and unapproved again with one more byte.
    assert!(scene.prepare(RunArgs::default(), Asking::Nobody).await.is_ok());
    scene.write("work/ralph.toml", "verification_command = './evil2'");
    assert!(scene.prepare(RunArgs::default(), Asking::Nobody).await.is_err());
}

#[tokio::test]
async fn a_repository_that_only_narrows_is_heeded_without_a_question() {
    let scene = Scene::new().await;
    scene.write("work/ralph.toml", "prohibited_paths = ['infra/**']");
    let resolved = scene.prepare(RunArgs::default(), Asking::Nobody).await.unwrap();
    assert!(resolved.config.prohibited_paths.contains(&"infra/**".to_owned()));
}

#[tokio::test]
async fn a_repositorys_skill_is_refused_until_it_is_approved() {
    let scene = Scene::new().await;
    scene.write("work/.claude/skills/own/SKILL.md", "---\nverify: ./evil\n---\nDo it.");
    let args = RunArgs { skill: Some("own".into()), ..RunArgs::default() };
    assert_eq!(scene.prepare(args.clone(), Asking::Nobody).await.unwrap_err().exit_code(), 2);
    let mut yes = |_: &str| Ok(Answer::Yes);
    let resolved = scene.prepare(args, Asking::Person(&mut yes)).await.unwrap();
    assert_eq!(resolved.config.verification_commands, ["./evil"]);
    assert_eq!(resolved.config.skill.map(|skill| skill.text).as_deref(), Some("Do it."));
}

#[tokio::test]
async fn a_mistake_in_the_users_file_names_it() {
    let scene = Scene::new().await;
    scene.write("config/config.toml", "max_iteration = 5");
    let error = scene.prepare(RunArgs::default(), Asking::Nobody).await.unwrap_err();
    assert!(error.to_string().contains("config.toml:1: `max_iteration` is not a key"), "{error}");
    assert_eq!(error.exit_code(), 2);
}

#[test]
fn an_objective_is_kept_byte_for_byte_wherever_it_comes_from() {
    let text = " Fix\r\n\tit \u{1f600}\n\n";
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("task");
    fs::write(&file, text).unwrap();
    let read = |args: RunArgs| objective(&args, &mut text.as_bytes()).map_err(|error| error.to_string());
    let given = |text: &str| RunArgs { objective: Some(text.into()), ..RunArgs::default() };
    assert_eq!(read(given(text)).unwrap(), text);
    assert_eq!(read(given("-")).unwrap(), text);
    assert_eq!(read(RunArgs { objective_file: Some(file.clone()), ..RunArgs::default() }).unwrap(), text);
    fs::write(&file, [0xff]).unwrap();
    let error = read(RunArgs { objective_file: Some(file), ..RunArgs::default() }).unwrap_err();
    assert!(error.contains("task"), "{error}");
}

#[test]
fn an_objective_that_does_not_end_is_refused() {
    let args = RunArgs { objective: Some("-".into()), ..RunArgs::default() };
    let error = objective(&args, &mut std::io::repeat(b'x')).unwrap_err();
    assert_eq!(error.exit_code(), 2);
    assert!(error.to_string().contains("standard input is larger than 1 MiB"), "{error}");
    let full = "x".repeat(1 << 20);
    assert_eq!(objective(&args, &mut full.as_bytes()).unwrap(), full, "the limit itself is allowed");
    let endless = RunArgs { objective_file: Some("/dev/zero".into()), ..RunArgs::default() };
    assert!(objective(&endless, &mut std::io::empty()).is_err());
}

#[test]
fn an_objective_can_come_from_a_pipe() {
    let folder = tempfile::tempdir().unwrap();
    let pipe = folder.path().join("pipe");
    rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
    let writer = std::thread::spawn({
        let pipe = pipe.clone();
        move || fs::write(pipe, "Fix it\n")
    });
    let args = RunArgs { objective_file: Some(pipe), ..RunArgs::default() };
    assert_eq!(objective(&args, &mut std::io::empty()).unwrap(), "Fix it\n");
    writer.join().unwrap().unwrap();
}

#[test]
fn a_workspace_has_one_name() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    fs::create_dir(root.join("real")).unwrap();
    std::os::unix::fs::symlink("real", root.join("link")).unwrap();
    for name in ["real", "link", "real/../link/."] {
        assert_eq!(workspace(Some(Path::new(name)), &root).unwrap(), root.join("real"), "{name}");
    }
    assert_eq!(workspace(None, &root.join("link")).unwrap(), root.join("real"));
    fs::write(root.join("file"), "").unwrap();
    assert!(workspace(Some(Path::new("file")), &root).is_err() && workspace(Some(Path::new("none")), &root).is_err());
}
