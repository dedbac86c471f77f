//! Loops that released versions of the program wrote: their journals still hold, they are shown as before, and those that can
//! be resumed reach a verified end. `scripts/journal-fixtures` makes the files.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

use ralph_testkit::scripted_agent;
use serde_json::{Map, Value};

use crate::aid::unsettled;
use crate::harness::User;

/// The folder of all workspaces. Journals name it, and their hash chain keeps a test from changing it.
const ROOT: &str = "/tmp/ralph-journal-fixtures";

/// What one version of the program wrote.
struct Saved {
    folder: PathBuf,
    loops: Map<String, Value>,
}

impl Saved {
    /// One for each version, oldest first.
    fn all() -> Vec<Self> {
        let journals = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/journals");
        let mut folders: Vec<PathBuf> =
            fs::read_dir(&journals).unwrap().map(|entry| entry.unwrap().path()).filter(|path| path.is_dir()).collect();
        folders.sort();
        let load = |folder: PathBuf| {
            let Value::Object(loops) = read_json(&folder.join("index.json")) else { panic!("no loops in {folder:?}") };
            Self { folder, loops }
        };
        let saved: Vec<Self> = folders.into_iter().map(load).collect();
        assert!(!saved.is_empty(), "there is nothing in {}", journals.display());
        saved
    }

    /// A user whose state is the saved one.
    fn user(&self) -> User {
        let user = User::new();
        self.unpack("state", user.state().parent().unwrap(), &[]);
        fs::copy(self.folder.join("ralph.db"), user.state().join("ralph.db")).unwrap();
        user
    }

    fn unpack(&self, part: &str, target: &Path, options: &[&str]) {
        let mut tar = Command::new("tar");
        tar.arg("-xzf").arg(self.folder.join("state.tar.gz")).arg("-C").arg(target).args(options).arg(part);
        assert!(tar.status().unwrap().success(), "could not unpack {part} to {}", target.display());
    }

    fn output(&self, name: &str, command: &str) -> Value {
        read_json(&self.folder.join(format!("{name}.{command}.json")))
    }
}

/// The folder that saved workspaces are in, as long as no other program uses it.
struct Workspaces {
    lock: File,
}

impl Workspaces {
    /// None of them.
    fn none() -> Self {
        let root = Path::new(ROOT);
        fs::create_dir_all(root).unwrap();
        // Tests of another checkout and `scripts/journal-fixtures` use the same folder.
        let lock = File::create(root.join("lock")).unwrap();
        lock.lock().unwrap();
        let workspaces = Self { lock };
        Self::clear();
        workspaces
    }

    fn unpack(saved: &Saved) -> Self {
        let (root, workspaces) = (Path::new(ROOT), Self::none());
        saved.unpack("workspaces", root, &["--strip-components=1"]);
        saved.unpack("agents", root, &[]);
        fs::create_dir(root.join("bin")).unwrap();
        std::os::unix::fs::symlink(scripted_agent(), root.join("bin/scripted-agent")).unwrap();
        workspaces
    }

    fn clear() {
        for entry in fs::read_dir(ROOT).unwrap().map(Result::unwrap).filter(|entry| entry.file_name() != "lock") {
            if entry.file_type().unwrap().is_dir() {
                fs::remove_dir_all(entry.path()).unwrap();
            } else {
                fs::remove_file(entry.path()).unwrap();
            }
        }
    }
}

impl Drop for Workspaces {
    fn drop(&mut self) {
        // After a failure the folder is left for a look; whoever comes next clears it.
        if !std::thread::panicking() {
            Self::clear();
        }
        let _ = self.lock.unlock();
    }
}

fn read_json(path: &Path) -> Value {
    let text = fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_else(|| panic!("{value} is no text"))
}

/// Keys whose values are sentences for people: they may be worded differently now.
const SENTENCES: [&str; 4] = ["details", "detail", "error", "restsOn"];

/// Adds the place of every value that was there before and is gone or different now. New keys are welcome.
fn differences(place: &str, before: &Value, now: &Value, found: &mut Vec<String>) {
    match (before, now) {
        (Value::Object(before), Value::Object(now)) => {
            for (key, value) in before {
                let place = format!("{place}.{key}");
                match now.get(key) {
                    Some(Value::String(now)) if SENTENCES.contains(&key.as_str()) && !now.is_empty() => {}
                    Some(Value::Array(now)) if SENTENCES.contains(&key.as_str()) => {
                        let before = value.as_array().map_or(0, Vec::len);
                        if now.len() < before {
                            found.push(format!("{place} had {before} sentences and has {}", now.len()));
                        }
                    }
                    Some(now) => differences(&place, value, now, found),
                    None => found.push(format!("{place} is gone; it was {value}")),
                }
            }
        }
        (Value::Array(before), Value::Array(now)) if before.len() == now.len() => {
            for (index, (before, now)) in before.iter().zip(now).enumerate() {
                differences(&format!("{place}[{index}]"), before, now, found);
            }
        }
        _ if before == now => {}
        _ => found.push(format!("{place} was {before} and is {now}")),
    }
}

#[test]
fn journals_of_released_versions_hold_and_are_shown_as_before() {
    // What is shown may not depend on what another test has unpacked.
    let _workspaces = Workspaces::none();
    for saved in Saved::all() {
        let user = saved.user();
        let listed = user.ralph(&user.home(), ["list", "--all", "--limit", "1000", "--json"]).ok().json();
        let listed = listed.as_array().unwrap();
        assert_eq!(listed.len(), saved.loops.len(), "{}", saved.folder.display());
        let mut found = Vec::new();
        for (name, expected) in &saved.loops {
            let id = text(&expected["loopId"]);
            let entry = listed.iter().find(|one| one["loopId"] == id).unwrap_or_else(|| panic!("{name} is not listed"));
            for key in ["status", "reason", "iterations", "costUSD", "verified", "workspace"] {
                differences(&format!("{name}: list .{key}"), &expected[key], &entry[key], &mut found);
            }
            for (command, file) in [("show", "show"), ("verify-run", "verify")] {
                let now = user.ralph(&user.home(), [command, id, "--json"]).ok().json();
                differences(&format!("{name}: {command} "), &saved.output(name, file), &now, &mut found);
            }
            let proof = user.ralph(&user.home(), ["verify-run", id]).ok().stdout;
            assert!(proof.contains("HOLDS"), "{name}: {proof}");
            let shown = user.ralph(&user.home(), ["show", id]).ok().stdout;
            assert!(shown.contains("Make the check pass"), "{name}: {shown}");
            if expected["iterations"] != 0 {
                user.ralph(&user.home(), ["logs", id]).ok();
            }
        }
        assert!(found.is_empty(), "{}:\n{}", saved.folder.display(), found.join("\n"));
    }
}

#[test]
fn loops_of_released_versions_are_resumed_to_a_verified_end() {
    for saved in Saved::all() {
        let user = saved.user();
        let _workspaces = Workspaces::unpack(&saved);
        let resumable: Vec<_> = saved.loops.iter().filter(|(_, expected)| expected["resume"].is_array()).collect();
        assert!(resumable.len() >= 2, "{} has nothing to resume", saved.folder.display());
        for (name, expected) in resumable {
            let id = text(&expected["loopId"]);
            let more = expected["resume"].as_array().unwrap().iter().map(text);
            let words = ["resume", id, "--json"].into_iter().chain(more);
            let result = user.ralph(Path::new(text(&expected["workspace"])), words).ok().json();
            assert_eq!(
                (&result["status"], &result["verified"]),
                (&"COMPLETED".into(), &true.into()),
                "{name}: {result}"
            );
            assert!(result["iterations"].as_u64() >= expected["iterations"].as_u64(), "{name}: {result}");
            let proof = user.ralph(&user.home(), ["verify-run", id]).ok().stdout;
            assert!(proof.contains("HOLDS"), "{name}: {proof}");
            // What came before is still there, and of a killed agent it is said that it was interrupted.
            let (before, now) = (saved.output(name, "show"), user.show(id));
            let iterations = |shown: &Value| shown["iterations"].as_array().unwrap().len();
            assert!(iterations(&now) >= iterations(&before), "{name}: {now}");
            if name == "killed" {
                assert_eq!(now["iterations"][0]["interrupted"], true, "{name}: {now}");
            }
        }
        assert_eq!(unsettled(&user), 0, "money of killed agents is still reserved");
    }
}
