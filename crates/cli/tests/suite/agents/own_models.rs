//! OpenCode takes a model by its own settings: one without a price is refused before the start, wherever it was chosen.

use std::fs;
use std::path::PathBuf;

use ralph_testkit::Repo;
use serde_json::{Value, json};

use crate::aid::write_program;
use crate::fake::words;
use crate::harness::{Ended, User};

const PRICED: &str = include_str!("../../../../agents/streams/opencode/priced.jsonl");

/// A user with an OpenCode that lists its models, and otherwise answers as the recorded one.
struct Scene {
    user: User,
    repo: Repo,
    folder: PathBuf,
}

impl Scene {
    fn new(settings: &Value) -> Self {
        let (user, repo) = (User::new(), Repo::init());
        let folder = user.home().join("fake");
        fs::create_dir_all(&folder).unwrap();
        let events: Vec<&str> = PRICED.lines().filter(|line| line.starts_with('{')).collect();
        fs::write(folder.join("events"), events.join("\n")).unwrap();
        let place = folder.display();
        write_program(
            &folder.join("opencode"),
            &format!(
                "#!/bin/sh\ncase \"$1\" in models) echo \"$*\" >> {place}/asked; cat {place}/models; exit;; esac\n\
                 cat > /dev/null\necho x >> {place}/runs\ncat {place}/events\n"
            ),
        );
        let scene = Self { user, repo, folder };
        scene.offers(&[("opencode/free", 0.0), ("scripted/known", 3.0), ("scripted/mystery-1", 0.0)]);
        let program = scene.folder.join("opencode");
        scene
            .user
            .configure(&format!("[agents.fake]\nkind = \"opencode\"\nprogram = {:?}\n", program.to_str().unwrap()));
        let own = scene.user.home().join(".config/opencode");
        fs::create_dir_all(&own).unwrap();
        fs::write(own.join("opencode.json"), settings.to_string()).unwrap();
        scene
    }

    fn offers(&self, models: &[(&str, f64)]) {
        let about = |(name, price): &(&str, f64)| {
            let about = json!({"id": name, "cost": {"input": price, "output": price}});
            format!("{name}\n{}\n", serde_json::to_string_pretty(&about).unwrap())
        };
        fs::write(self.folder.join("models"), models.iter().map(about).collect::<String>()).unwrap();
    }

    fn run(&self, more: &[&str]) -> Ended {
        self.user.ralph(self.repo.path(), words(&["fake"], 1, &[&["--criteria", "false"], more].concat()))
    }

    fn count(&self, what: &str) -> usize {
        fs::read_to_string(self.folder.join(what)).unwrap_or_default().lines().count()
    }

    #[track_caller]
    fn assert_refused(&self, ended: &Ended, parts: &[&str]) {
        assert_eq!((ended.code, self.count("runs")), (2, 0), "{}", ended.stderr);
        for part in parts.iter().chain(&["--unmetered"]) {
            assert!(ended.stderr.contains(part), "no {part} in {}", ended.stderr);
        }
    }
}

fn settings(model: &str) -> Value {
    json!({"model": model, "provider": {"scripted": {}}})
}

#[test]
fn a_model_of_its_settings_without_a_price_is_refused_before_the_start() {
    let scene = Scene::new(&settings("scripted/mystery-1"));
    // The error names one that has a price, and the line for the user's own.
    scene.assert_refused(
        &scene.run(&[]),
        &["`scripted/mystery-1`", "scripted/known", "[prices.\"scripted/mystery-1\"]"],
    );
    let flag = scene.run(&["--model", "scripted/mystery-2"]);
    scene.assert_refused(&flag, &["`scripted/mystery-2`", "scripted/known"]);
    scene.run(&["--unmetered"]).with_code(10);
    assert_eq!((scene.count("runs"), scene.count("asked")), (1, 2));
}

#[test]
fn a_model_that_only_opencode_has_a_price_of_starts() {
    let scene = Scene::new(&settings("scripted/known"));
    scene.run(&[]).with_code(10);
    assert_eq!((scene.count("runs"), scene.count("asked")), (1, 1));
}

#[test]
fn opencode_is_not_asked_about_a_model_of_the_price_list() {
    let scene = Scene::new(&settings("anthropic/claude-sonnet-4-5"));
    scene.run(&[]).with_code(10);
    assert_eq!((scene.count("runs"), scene.count("asked")), (1, 0));
}

#[test]
fn where_no_model_is_named_one_with_a_price_is_enough() {
    let scene = Scene::new(&json!({}));
    scene.offers(&[("opencode/free", 0.0), ("opencode/other-free", 0.0)]);
    scene.assert_refused(&scene.run(&[]), &["`opencode/free`", "default model"]);
    scene.offers(&[("opencode/free", 0.0), ("scripted/known", 3.0)]);
    scene.run(&[]).with_code(10);
    // One that does not answer says nothing against the start.
    fs::remove_file(scene.folder.join("models")).unwrap();
    scene.run(&[]).with_code(10);
    assert_eq!(scene.count("runs"), 2);
}

#[test]
fn a_resumed_loop_is_refused_too() {
    let scene = Scene::new(&settings("scripted/known"));
    scene.run(&[]).with_code(10);
    scene.offers(&[("scripted/known", 0.0)]);
    let ended = scene.user.ralph(scene.repo.path(), ["resume", "--max", "2"]);
    assert!(ended.code == 2 && ended.stderr.contains("`scripted/known`"), "{} {}", ended.code, ended.stderr);
    assert_eq!(scene.count("runs"), 1);
}
