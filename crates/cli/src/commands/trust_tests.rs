use std::fs;

use clap::Parser;

use super::*;
use crate::args::{Cli, Command};

struct Scene {
    folder: tempfile::TempDir,
}

impl Scene {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir_all(folder.path().join("work/.ralph/skills/own")).unwrap();
        fs::write(folder.path().join("work/ralph.toml"), "agent_command = './evil'").unwrap();
        fs::write(folder.path().join("work/.ralph/skills/own/SKILL.md"), "Do it.").unwrap();
        Self { folder }
    }

    async fn run(&self, line: &str, asking: Asking<'_>) -> (Result<u8>, String, String) {
        let words = ["ralph", "trust"].into_iter().chain(line.split_whitespace());
        let Command::Trust(words) = Cli::try_parse_from(words).unwrap().command else { panic!("not trust") };
        let dirs = Dirs::in_folder(self.folder.path());
        let (mut out, mut err) = (Vec::new(), Vec::new());
        let mut screen = Screen::new(&mut out, &mut err);
        let result = trust(&words, &dirs, self.folder.path(), asking, Timestamp(1), &mut screen).await;
        (result, String::from_utf8(out).unwrap(), String::from_utf8(err).unwrap())
    }
}

#[tokio::test]
async fn without_a_terminal_it_shows_and_approves_nothing() {
    let scene = Scene::new();
    let (code, out, err) = scene.run("work", Asking::Nobody).await;
    assert_eq!((code.unwrap(), out.as_str()), (2, ""));
    assert!(err.contains("./evil") && err.contains("--yes"), "{err}");
    assert!(scene.run("--list", Asking::Nobody).await.1.contains("nothing is approved"));
}

#[tokio::test]
async fn yes_approves_file_and_skills_and_list_and_revoke_know_them() {
    let scene = Scene::new();
    let (code, out, err) = scene.run("work --yes", Asking::Nobody).await;
    assert_eq!((code.unwrap(), out.lines().count()), (0, 2), "{out}{err}");
    assert!(err.contains("./evil"), "what is approved is shown: {err}");
    let (_, listed, _) = scene.run("--list --json", Asking::Nobody).await;
    let listed: serde_json::Value = serde_json::from_str(&listed).unwrap();
    assert_eq!(listed.as_array().unwrap().len(), 2);
    let hash = listed[0]["sha256"].as_str().unwrap().to_owned();
    let (code, out, _) = scene.run(&format!("--revoke {}", &hash[..8]), Asking::Nobody).await;
    assert_eq!(code.unwrap(), 0);
    assert!(out.contains("in 1 place"), "{out}");
    assert!(scene.run(&format!("--revoke {hash}"), Asking::Nobody).await.0.is_err());
}

#[tokio::test]
async fn a_person_is_asked_for_each_and_what_is_approved_is_not_asked_again() {
    let scene = Scene::new();
    let mut answers = vec![Answer::No, Answer::Yes];
    let mut person = |_: &str| Ok(answers.pop().unwrap());
    let (code, out, _) = scene.run("work --json", Asking::Person(&mut person)).await;
    let result: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert_eq!((code.unwrap(), result["approved"].as_array().unwrap().len()), (2, 1));
    let mut asked = 0;
    let mut person = |_: &str| {
        asked += 1;
        Ok(Answer::Yes)
    };
    assert_eq!(scene.run("work", Asking::Person(&mut person)).await.0.unwrap(), 0);
    assert_eq!(asked, 1);
}

#[tokio::test]
async fn a_file_that_cannot_be_approved_is_a_problem() {
    let scene = Scene::new();
    fs::write(scene.folder.path().join("work/ralph.toml"), "caps.iterations = 900").unwrap();
    let (code, _, err) = scene.run("work --yes", Asking::Nobody).await;
    assert_eq!(code.unwrap(), 2);
    assert!(err.contains("not allowed in a repository"), "{err}");
}

#[tokio::test]
async fn an_empty_workspace_has_nothing_to_approve() {
    let scene = Scene::new();
    fs::create_dir(scene.folder.path().join("other")).unwrap();
    let (code, out, _) = scene.run("other", Asking::Nobody).await;
    assert_eq!(code.unwrap(), 0);
    assert!(out.contains("nothing here needs approval"));
    let refused = scene.run("missing", Asking::Nobody).await.0.unwrap_err().to_string();
    assert!(refused.contains("No such file or directory"), "{refused}");
}
