use std::fs;

use ralph_config::Layer;
use ralph_config::trust::{self, Answer};
use ralph_model::Timestamp;
use ralph_store::Machine;

use super::*;
use crate::{Dirs, HostInput};

struct Scene {
    folder: tempfile::TempDir,
    host: Host,
    store: StoreHandle,
}

impl Scene {
    async fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut host = Host::new(HostInput {
            variables: vec![("HOME".into(), folder.path().into())],
            current: folder.path().to_owned(),
            program: "ralph".into(),
            version: String::new(),
            machine: Machine { host: "here".into(), boot: "now".into() },
            now: || Timestamp(1),
            crash: None,
        })
        .unwrap();
        host.dirs = Dirs::in_folder(folder.path());
        let store = ralph_store::open_sqlite(&host.dirs.database()).await.unwrap();
        let scene = Self { folder, host, store };
        scene.write("work/README", "");
        scene.write("config/config.toml", "max_iterations = 5\nmax_cost_usd = 1\nagent_command = './mine'");
        scene
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    async fn prepare<'a>(&'a self, caller: Layer, asking: Asking<'a>) -> Result<Resolved, Error> {
        let workspace = workspace(Some(Path::new("work")), self.folder.path()).unwrap();
        let request = RunRequest { settings: caller, objective: "Fix it".into(), ..RunRequest::default() };
        self.host.resolve(&request, &workspace, &self.store, asking).await
    }
}

#[tokio::test]
async fn the_users_own_configuration_needs_nobodys_approval() {
    let resolved = Scene::new().await.prepare(Layer::default(), Asking::Nobody).await.unwrap();
    assert_eq!((resolved.config.max_iterations, resolved.config.objective.as_str()), (5, "Fix it"));
}

#[tokio::test]
async fn an_unapproved_repository_stops_everything_with_exit_code_2() {
    let scene = Scene::new().await;
    scene.write("work/ralph.toml", "verification_command = './evil'");
    let error = scene.prepare(Layer::default(), Asking::Nobody).await.unwrap_err();
    assert!(matches!(error, Error::Trust(trust::Error::Headless { .. })), "{error}");
    assert_eq!(error.exit_code(), 2);

    let mut yes = |_: &str| Ok(Answer::Yes);
    let resolved = scene.prepare(Layer::default(), Asking::Person(&mut yes)).await.unwrap();
    assert_eq!(resolved.config.verification_commands, ["./evil"]);
    // Approved now, and unapproved again with one more byte.
    assert!(scene.prepare(Layer::default(), Asking::Nobody).await.is_ok());
    scene.write("work/ralph.toml", "verification_command = './evil2'");
    assert!(scene.prepare(Layer::default(), Asking::Nobody).await.is_err());
}

#[tokio::test]
async fn a_repository_that_only_narrows_is_heeded_without_a_question() {
    let scene = Scene::new().await;
    scene.write("work/ralph.toml", "prohibited_paths = ['infra/**']");
    let resolved = scene.prepare(Layer::default(), Asking::Nobody).await.unwrap();
    assert!(resolved.config.prohibited_paths.contains(&"infra/**".to_owned()));
}

#[tokio::test]
async fn a_repositorys_skill_is_refused_until_it_is_approved() {
    let scene = Scene::new().await;
    scene.write("work/.claude/skills/own/SKILL.md", "---\nverify: ./evil\n---\nDo it.");
    let caller = Layer { skill: Some("own".into()), ..Layer::default() };
    assert_eq!(scene.prepare(caller.clone(), Asking::Nobody).await.unwrap_err().exit_code(), 2);
    let mut yes = |_: &str| Ok(Answer::Yes);
    let resolved = scene.prepare(caller, Asking::Person(&mut yes)).await.unwrap();
    assert_eq!(resolved.config.verification_commands, ["./evil"]);
    assert_eq!(resolved.config.into_inner().skill.map(|skill| skill.text).as_deref(), Some("Do it."));
}

#[tokio::test]
async fn a_mistake_in_the_users_file_names_it() {
    let scene = Scene::new().await;
    scene.write("config/config.toml", "max_iteration = 5");
    let error = scene.prepare(Layer::default(), Asking::Nobody).await.unwrap_err();
    assert!(error.to_string().contains("config.toml:1:1: `max_iteration` is not a key"), "{error}");
    assert_eq!(error.exit_code(), 2);
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

#[test]
fn the_nearest_file_up_to_the_root_of_the_repository_names_the_workspace() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    let (repository, deep) = (root.join("repository"), root.join("repository/a/b"));
    fs::create_dir_all(&deep).unwrap();
    // Not of this repository.
    fs::write(root.join(FILE_NAME), "").unwrap();
    assert_eq!(workspace(None, &deep).unwrap(), deep, "without git, only the folder itself counts");
    fs::create_dir(repository.join(".git")).unwrap();
    assert_eq!(workspace(None, &deep).unwrap(), deep);
    fs::write(repository.join(FILE_NAME), "").unwrap();
    assert_eq!(workspace(None, &deep).unwrap(), repository);
    assert_eq!(workspace(Some(Path::new(".")), &deep).unwrap(), deep, "what is given is what is meant");
    fs::write(repository.join("a").join(FILE_NAME), "").unwrap();
    assert_eq!(workspace(None, &deep).unwrap(), repository.join("a"));
    // A repository inside of another one, such as a submodule or a worktree.
    fs::write(deep.join(".git"), "gitdir: elsewhere").unwrap();
    assert_eq!(workspace(None, &deep).unwrap(), deep);
}
