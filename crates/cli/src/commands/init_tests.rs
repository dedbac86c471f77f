use std::fs;

use ralph_checks::Stack;

use super::*;
use ralph_config::trust::Asking;
use ralph_config::{Class, parse};

struct Scene {
    folder: tempfile::TempDir,
    dirs: Dirs,
}

impl Scene {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("work")).unwrap();
        let dirs = Dirs::in_folder(folder.path());
        Self { folder, dirs }
    }

    fn path(&self) -> std::path::PathBuf {
        self.folder.path().join("work/ralph.toml")
    }

    async fn init(&self, change: impl FnOnce(&mut InitArgs)) -> (u8, String, String) {
        let mut words =
            InitArgs { directory: Some("work".into()), force: false, print: false, schema: false, json: false };
        change(&mut words);
        let (mut out, mut err) = (Vec::new(), Vec::new());
        let mut screen = Screen::new(&mut out, &mut err);
        let code = init(&words, None, &self.dirs, self.folder.path(), Timestamp(1), &mut screen).await.unwrap();
        (code, String::from_utf8(out).unwrap(), String::from_utf8(err).unwrap())
    }
}

#[tokio::test]
async fn what_it_writes_is_approved_and_says_what_to_type_next() {
    let scene = Scene::new();
    fs::write(scene.folder.path().join("work/Cargo.toml"), "[package]\nname = 'x'\nversion = '0.1.0'\n").unwrap();
    let (code, out, err) = scene.init(|_| ()).await;
    assert_eq!((code, err.as_str()), (0, ""));
    assert!(out.contains("Found cargo: `cargo test`") && out.contains("Next: ralph run "), "{out}");
    let workspace = scene.folder.path().join("work").canonicalize().unwrap();
    let file = RepositoryFile::read(&workspace).unwrap().unwrap();
    let question = Question::about_file(&file, &workspace).unwrap();
    let store = ralph_store::open_sqlite(&scene.dirs.database()).await.unwrap();
    assert!(question.ensure(&store, &mut Asking::Nobody, Timestamp(2)).await.is_ok());
    assert_eq!(fs::metadata(scene.path()).unwrap().permissions().mode() & 0o111, 0);
}

#[tokio::test]
async fn a_file_that_is_there_is_kept_unless_forced() {
    let scene = Scene::new();
    fs::write(scene.path(), "# mine\n").unwrap();
    let (code, out, err) = scene.init(|_| ()).await;
    assert_eq!((code, out.as_str()), (2, ""));
    assert!(err.contains("--force"), "{err}");
    assert_eq!(fs::read_to_string(scene.path()).unwrap(), "# mine\n");
    assert_eq!(scene.init(|words| words.force = true).await.0, 0);
    assert!(fs::read_to_string(scene.path()).unwrap().contains("max_iterations = 10"));
    // Nothing temporary is left beside the file and the folder of the schema.
    assert_eq!(fs::read_dir(scene.folder.path().join("work")).unwrap().count(), 2);
}

#[tokio::test]
async fn print_writes_nothing_at_all() {
    let scene = Scene::new();
    let (code, out, _) = scene.init(|words| words.print = true).await;
    assert_eq!(code, 0);
    assert!(parse(Path::new("x"), &out).is_ok(), "{out}");
    assert!(!scene.path().exists() && !scene.dirs.state.exists());
}

#[tokio::test]
async fn editors_find_the_schema_that_the_first_line_names() {
    let scene = Scene::new();
    scene.init(|_| ()).await;
    let text = fs::read_to_string(scene.path()).unwrap();
    let named = text.lines().next().unwrap().strip_prefix("#:schema ").unwrap();
    let written = fs::read_to_string(scene.folder.path().join("work").join(named)).unwrap();
    let (code, printed, _) = scene.init(|words| words.schema = true).await;
    assert_eq!((code, printed.trim()), (0, written.trim()));
    assert!(written.contains("max_iterations"), "{written}");
}

#[tokio::test]
async fn a_link_in_the_place_of_the_folder_leads_nowhere() {
    let scene = Scene::new();
    let elsewhere = scene.folder.path().join("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    std::os::unix::fs::symlink(&elsewhere, scene.folder.path().join("work/.ralph")).unwrap();
    let (code, _, err) = scene.init(|_| ()).await;
    assert!(code == 0 && err.contains("ralph.schema.json could not be written"), "{err}");
    assert_eq!(fs::read_dir(&elsewhere).unwrap().count(), 0);
}

#[tokio::test]
async fn json_names_file_and_findings() {
    let scene = Scene::new();
    fs::write(scene.folder.path().join("work/go.mod"), "module x\n").unwrap();
    fs::write(scene.folder.path().join("work/x_test.go"), "package x\n").unwrap();
    let (_, out, _) = scene.init(|words| words.json = true).await;
    let value: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert_eq!(value["stacks"][0], "go");
    assert!(value["next"].as_str().unwrap().contains("--workspace"));
}

#[test]
fn whatever_was_found_the_file_is_valid_and_hostile_names_stay_in_their_place() {
    let suggestion =
        |command: &str, why: &str| Suggestion { command: command.into(), why: why.into(), stack: Stack::Npm };
    let hostile = suggestion("npm run \"a'b\\\" # x\nmax_iterations = 99", "found\nnotify.command = 'evil'");
    let detections = [
        Detection::default(),
        Detection { stacks: vec![Stack::Npm], suggestions: vec![hostile.clone(), suggestion("b", "c")] },
        Detection { stacks: vec![Stack::Npm], suggestions: vec![suggestion("b", "c"), hostile.clone()] },
    ];
    for detection in detections {
        let text = file(&detection);
        let document = parse(Path::new("ralph.toml"), &text).unwrap_or_else(|error| panic!("{error}\n{text}"));
        let wanted = detection.suggestions.first().map(|best| vec![best.command.clone()]);
        assert_eq!(document.layer.verification_command.map(|commands| commands.0), wanted, "{text}");
        assert_eq!(document.layer.max_iterations, Some(10), "{text}");
        assert!(document.present.iter().all(|present| present.key.class() != Class::UserOnly), "{text}");
    }
}
