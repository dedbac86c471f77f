use super::*;
use crate::skills::{Lookup, find};

const NOW: Timestamp = Timestamp(1_000);

struct Scene {
    folder: tempfile::TempDir,
    store: StoreHandle,
}

impl Scene {
    async fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("work")).unwrap();
        let store = ralph_store::open_sqlite(&folder.path().join("state/ralph.db")).await.unwrap();
        Self { folder, store }
    }

    fn workspace(&self) -> PathBuf {
        self.folder.path().join("work").canonicalize().unwrap()
    }

    fn question(&self, text: &str) -> Option<Question> {
        std::fs::write(self.workspace().join("ralph.toml"), text).unwrap();
        let file = RepositoryFile::read(&self.workspace()).unwrap().unwrap();
        Question::about_file(&file, &self.workspace())
    }

    async fn ask(&self, question: &Question, answer: Answer) -> (Result<(), String>, Option<String>) {
        let mut asked = None;
        let mut person = |text: &str| {
            asked = Some(text.to_owned());
            Ok(answer)
        };
        let result = question.ensure(&self.store, &mut Asking::Person(&mut person), NOW).await;
        (result.map_err(|error| error.to_string()), asked)
    }
}

const COMMAND: &str = "# hello\nverification_command = 'npm test'\n";

#[tokio::test]
async fn a_yes_is_remembered_for_exactly_this_content_and_place() {
    let scene = Scene::new().await;
    let question = scene.question(COMMAND).unwrap();
    let (result, asked) = scene.ask(&question, Answer::Yes).await;
    assert_eq!(result, Ok(()));
    let asked = asked.unwrap();
    assert!(asked.contains("  | verification_command = 'npm test'"), "{asked}");
    assert!(asked.contains("- line 2: `verification_command` runs commands on your computer"), "{asked}");
    // Not asked a second time, nor headless.
    assert_eq!(scene.ask(&question, Answer::No).await, (Ok(()), None));
    assert!(question.ensure(&scene.store, &mut Asking::Nobody, NOW).await.is_ok());

    // One more blank is another content; another folder is another place.
    let changed = scene.question(&format!("{COMMAND} ")).unwrap();
    assert!(!changed.is_approved(&scene.store).await.unwrap());
    let elsewhere = Question { place: "/elsewhere".into(), ..question.clone() };
    assert!(!elsewhere.is_approved(&scene.store).await.unwrap());
    // What was approved once stays approved when it comes back.
    assert!(scene.question(COMMAND).unwrap().is_approved(&scene.store).await.unwrap());
}

#[tokio::test]
async fn a_no_is_not_remembered_and_starts_nothing() {
    let scene = Scene::new().await;
    let question = scene.question(COMMAND).unwrap();
    let (result, _) = scene.ask(&question, Answer::No).await;
    assert!(result.unwrap_err().contains("nothing was started"));
    assert!(!question.is_approved(&scene.store).await.unwrap());
}

#[tokio::test]
async fn headless_is_refused_with_the_command_that_approves() {
    let scene = Scene::new().await;
    let question = scene.question(COMMAND).unwrap();
    let message = question.ensure(&scene.store, &mut Asking::Nobody, NOW).await.unwrap_err().to_string();
    let command = format!("ralph trust {}", shell_word(&scene.workspace()));
    assert!(message.ends_with(&command), "{message}");
    assert!(message.contains("`verification_command`"), "{message}");
    assert!(scene.store.trusted().await.unwrap().is_empty());
}

#[tokio::test]
async fn what_only_narrows_needs_no_question() {
    let scene = Scene::new().await;
    assert_eq!(scene.question("prohibited_paths = ['infra/**']\nprotected_paths = ['tests/**']"), None);
    assert_eq!(scene.question(""), None);
}

#[tokio::test]
async fn a_hostile_file_cannot_paint_over_the_question() {
    let scene = Scene::new().await;
    let text = "# \u{202e}nothing to see\u{2066}\nagent_command = \"\\u001b[2Jx\"\n".to_owned();
    let shown = scene.question(&text).unwrap().shown();
    assert!(!shown.contains(['\u{202e}', '\u{2066}', '\u{1b}']), "{shown:?}");
    assert!(shown.trim_end().ends_with("`agent_command` runs a command on your computer as the agent"), "{shown}");
}

#[tokio::test]
async fn a_skill_is_approved_by_its_file() {
    let scene = Scene::new().await;
    let folder = scene.workspace().join(".ralph/skills/own");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("SKILL.md"), "---\nverify: ./evil\n---\nDo it.").unwrap();
    let Lookup::NeedsApproval(candidate) = find("own", Path::new("/none"), &scene.workspace()).unwrap() else {
        panic!("a repository's skill was ready")
    };
    let question = Question::about_skill(&candidate, &scene.workspace());
    assert!(question.shown().contains("runs a command on your computer: ./evil"));
    assert_eq!(scene.ask(&question, Answer::Yes).await.0, Ok(()));
    let trusted = scene.store.trusted().await.unwrap();
    assert_eq!(trusted[0].path, folder.join("SKILL.md").display().to_string());
}

#[test]
fn a_path_can_be_pasted_into_a_shell() {
    for (path, word) in [("/a/b-c_1.d", "/a/b-c_1.d"), ("/a b", "'/a b'"), ("/it's", r"'/it'\''s'"), ("/$x", "'/$x'")] {
        assert_eq!(shell_word(Path::new(path)), word);
    }
}
