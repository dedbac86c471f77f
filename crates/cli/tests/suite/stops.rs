//! A stop in long steps: it takes effect at once, the workspace has all its files, nothing stays behind, and the run continues
//! later. Steps with an agent, a check or a wait are in `interrupt` and `agents::waiting`, pushes in `worker`.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use ralph_testkit::{Processes, Repo, shell_quoted};
use rustix::process::Signal;
use serde_json::Value;

use crate::aid::{TIMEOUT, finish, signal, tamper, wait_until, write_program};
use crate::harness::{Ended, User, run_words_with};

/// The aim is 2 s, and a build without optimisation on a busy machine takes longer. What does not listen takes minutes.
const MAX: Duration = Duration::from_secs(12);
/// Files of the trees.
const FILES: usize = 30_000;
const FEWER: usize = 4_000;
/// Makes them in the current folder.
const MAKE: &str = "mkdir -p many && seq 30000 | sed 's|^|many/|' | xargs touch";

/// How a test knows that the step is under way.
enum Until {
    /// Ralph logs a line with this in it.
    Logged(&'static str),
    /// Something is there.
    Exists(PathBuf),
}

struct Scene {
    user: User,
    repo: Repo,
}

impl Scene {
    fn new() -> Self {
        Self { user: User::new(), repo: Repo::init() }
    }

    /// With many files that git knows.
    fn with_files(count: usize) -> Self {
        let scene = Self::new();
        fs::create_dir(scene.repo.path().join("many")).unwrap();
        for number in 1..=count {
            scene.repo.write(format!("many/{number}"), "");
        }
        scene.repo.commit("many files");
        scene
    }

    /// A folder that checks and agents may write, outside the workspace.
    fn folder(&self) -> PathBuf {
        self.repo.outside().to_owned()
    }

    fn outside(&self, name: &str) -> String {
        shell_quoted(&self.folder().join(name).to_string_lossy())
    }

    /// The words of a run whose agent is this line of shell.
    fn words(&self, agent: &str, more: &[&str]) -> Vec<String> {
        let script = self.folder().join("agent.sh");
        fs::write(&script, format!("cat > /dev/null\n{agent}\n")).unwrap();
        run_words_with(&format!("sh {}", script.display()), 3, &[&["--unmetered"], more].concat())
    }

    /// Starts Ralph, waits until the step is under way, sends SIGTERM and gives what came of it.
    #[track_caller]
    fn stopped(&self, name: &str, words: &[String], until: &Until, delay: Duration) -> Ended {
        let mut command = self.user.command(self.repo.path(), words);
        let path = std::env::join_paths(
            [self.folder().join("bin")].into_iter().chain(std::env::split_paths(&std::env::var_os("PATH").unwrap())),
        );
        command.env("PATH", path.unwrap()).env("RALPH_LOG", "debug");
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let lines = lines_of(&mut child);
        match until {
            Until::Logged(text) => {
                let deadline = Instant::now() + TIMEOUT;
                loop {
                    let left = deadline.saturating_duration_since(Instant::now());
                    let line = lines.recv_timeout(left).unwrap_or_else(|_| panic!("{name}: {text} was not logged"));
                    if line.contains(text) {
                        break;
                    }
                }
            }
            Until::Exists(path) => wait_until(name, || path.exists()),
        }
        std::thread::sleep(delay);
        let asked = Instant::now();
        signal(&child, Signal::TERM);
        let mut ended = finish(child);
        let took = asked.elapsed();
        ended.stderr = lines.try_iter().map(|line| line + "\n").collect();
        eprintln!("{name}: ended {took:?} after SIGTERM");
        assert!(took < MAX, "{name}: {took:?}\n{}", ended.stderr);
        if let Err(alive) = Processes::working_in(self.repo.path()).wait_until_gone(Duration::ZERO) {
            panic!("{name}: {alive:?} survived");
        }
        ended
    }

    /// The same for a run that the stop cancels.
    #[track_caller]
    fn cancelled(&self, name: &str, words: &[String], until: &Until, delay: Duration) -> Value {
        let ended = self.stopped(name, words, until, delay);
        assert_eq!(ended.code, 19, "{name}: {}\n{}", ended.stdout, ended.stderr);
        let result = ended.json();
        assert_eq!((&result["status"], &result["reason"]), (&"ABORTED".into(), &"CANCELLED".into()), "{result}");
        result
    }

    #[track_caller]
    fn assert_completes(&self, words: &[impl AsRef<std::ffi::OsStr>]) {
        let result = finish(self.user.spawn(self.repo.path(), words)).ok().json();
        assert_eq!((&result["status"], &result["verified"]), (&"COMPLETED".into(), &true.into()), "{result}");
    }

    fn count(&self, folder: &str) -> usize {
        fs::read_dir(self.repo.path().join(folder)).unwrap().count()
    }
}

/// What a child says on standard error, line by line.
fn lines_of(child: &mut Child) -> mpsc::Receiver<String> {
    let (sender, receiver) = mpsc::channel();
    let error = BufReader::new(child.stderr.take().unwrap());
    std::thread::spawn(move || error.lines().map_while(Result::ok).try_for_each(|line| sender.send(line)));
    receiver
}

/// A file whose content takes long to read, and no room.
fn sparse(path: &Path) {
    fs::File::create(path).unwrap().set_len((1 << 30) - 1).unwrap();
}

const SHORT: Duration = Duration::from_millis(300);

#[test]
fn in_the_first_snapshot() {
    let scene = Scene::new();
    let names: Vec<PathBuf> = (0..40).map(|number| scene.repo.path().join(format!("large-{number}"))).collect();
    names.iter().for_each(|path| sparse(path));
    let words = scene.words(": > done", &["--criteria", "test -e done"]);
    scene.cancelled("first snapshot", &words, &Until::Logged("workspace locked"), SHORT);
    names.iter().for_each(|path| fs::remove_file(path).unwrap());
    scene.assert_completes(&words);
}

#[test]
fn while_runners_are_asked() {
    let scene = Scene::new();
    fs::create_dir(scene.folder().join("bin")).unwrap();
    let (runner, begun) = (scene.folder().join("bin/pytest"), scene.folder().join("begun"));
    fs::write(&runner, format!("#!/bin/sh\ntrap '' TERM\n: > {}\nsleep 600\n", scene.outside("begun"))).unwrap();
    fs::set_permissions(&runner, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let words = scene.words(": > done", &["--criteria", "pytest"]);
    scene.cancelled("asking a runner", &words, &Until::Exists(begun), Duration::ZERO);
    fs::write(&runner, "#!/bin/sh\n[ -e done ]\n").unwrap();
    let mut resumed = scene.user.command(scene.repo.path(), ["resume", "--json", "--max", "4"]);
    resumed.env("PATH", format!("{}:/usr/bin:/bin", scene.folder().join("bin").display()));
    assert_eq!(Ended::from(resumed.output().unwrap()).ok().json()["status"], "COMPLETED");
}

#[test]
fn while_installed_packages_are_read() {
    let scene = Scene::new();
    scene.repo.write("package.json", r#"{"scripts": {"test": "test -e done"}}"#);
    scene.repo.write(".gitignore", "node_modules\n");
    for number in 1..=FILES {
        scene.repo.write(format!("node_modules/package-{}/{number}.js", number % 300), "");
    }
    let words = scene.words(": > done", &["--criteria", "npm test"]);
    scene.cancelled("installed packages", &words, &Until::Logged("snapshot taken"), Duration::from_millis(50));
    assert_eq!(scene.count("node_modules"), 300);
    scene.assert_completes(&["resume", "--json"]);
}

#[test]
fn while_files_are_copied_for_isolated_checks() {
    let scene = Scene::with_files(FILES);
    let words = scene.words(": > done", &["--criteria", "test -e done", "--verify", "isolated"]);
    scene.cancelled("isolated checkout", &words, &Until::Logged("effect=\"RunBaseline\""), SHORT);
    assert_eq!(scene.count("many"), FILES);
    scene.assert_completes(&["resume", "--json"]);
}

#[test]
fn while_work_is_recorded_after_the_agent() {
    let scene = Scene::new();
    let agent =
        format!("[ -e made ] || {{ {MAKE}; truncate -s 1073741823 $(seq -f large-%g 40); : > made; }}; : > done");
    let words = scene.words(&agent, &["--criteria", "test -e done"]);
    scene.cancelled("after the agent", &words, &Until::Exists(scene.repo.path().join("done")), SHORT);
    for number in 1..=40 {
        scene.repo.remove(format!("large-{number}"));
    }
    assert_eq!(scene.count("many"), FILES);
    scene.assert_completes(&["resume", "--json"]);
}

#[test]
fn while_a_check_is_repeated() {
    let scene = Scene::new();
    let runs = scene.outside("runs");
    // The second run of the first check after the agent.
    let check = format!(
        "echo x >> {runs}; [ -e done ] || exit 1; [ -e go ] && exit 0; [ -e {0}.failed ] || {{ : > {0}.failed; exit 1; }}; \
         : > {1}; sleep 600",
        runs,
        scene.outside("begun")
    );
    let words = scene.words(": > done", &["--criteria", &check, "--retries", "2", "--no-tripwire"]);
    scene.cancelled("a retry", &words, &Until::Exists(scene.folder().join("begun")), Duration::ZERO);
    scene.repo.write("go", "");
    scene.assert_completes(&["resume", "--json"]);
}

#[test]
fn while_builds_are_copied_for_a_confirming_run() {
    let scene = Scene::new();
    let build = "[ -e \"$GOCACHE/many\" ] || (mkdir -p \"$GOCACHE\" && cd \"$GOCACHE\" && MAKE) ".replace("MAKE", MAKE);
    let check = format!("[ -z \"$GOCACHE\" ] || {{ {build}; }}; test -e done");
    let words = scene.words(": > done", &["--criteria", &check]);
    scene.cancelled("copies of builds", &words, &Until::Logged("effect=\"TripWire\""), SHORT);
    scene.assert_completes(&["resume", "--json"]);
}

#[test]
fn while_the_best_state_is_restored() {
    let scene = Scene::new();
    // The second iteration is worse, and has many more files.
    let agent = format!("[ ! -e many ] || exit 0; if [ -e half ]; then rm half; {MAKE}; else : > half; fi");
    let check =
        "echo TAP version 13; echo 1..2; echo 'not ok 1 - a'; [ -e half ] || printf 'not '; echo 'ok 2 - b'; false";
    let script = scene.words(&agent, &["--criteria", check, "--ratchet"]);
    scene.cancelled("a restore", &script, &Until::Logged("effect=\"RestoreTree\""), Duration::ZERO);
    finish(scene.user.spawn(scene.repo.path(), ["resume", "--json"])).with_code(10);
    assert!(!scene.repo.exists("many") && scene.repo.exists("half"));
}

/// Fewer files: the checks before it restore them too.
#[test]
fn while_pinned_files_are_restored_at_the_end() {
    let scene = Scene::with_files(FEWER);
    let words = scene.words("rm -r many; : > done", &["--criteria", "test -e done", "--protect", "many/**"]);
    let step = Until::Logged("effect started effect=\"RestorePinned\"");
    let ended = scene.stopped("pinned files", &words, &step, Duration::ZERO);
    assert!([0, 19].contains(&ended.code), "{}\n{}", ended.stdout, ended.stderr);
    if ended.code == 19 {
        scene.assert_completes(&["resume", "--json"]);
    }
    assert_eq!(scene.count("many"), FEWER);
}

#[test]
fn while_prohibited_files_are_restored() {
    let scene = Scene::new();
    let agent = format!("mkdir -p migrations && cd migrations && {MAKE}");
    let words = scene.words(&agent, &["--criteria", "test -e done"]);
    let ended =
        scene.stopped("prohibited files", &words, &Until::Logged("effect=\"RestoreProhibited\""), Duration::ZERO);
    assert!([16, 19].contains(&ended.code), "{}\n{}", ended.stdout, ended.stderr);
    scene.user.ralph(scene.repo.path(), ["resume", "--json"]);
    assert!(!scene.repo.exists("migrations/many/1"), "a stop does not save what is prohibited");
}

#[test]
fn while_work_is_committed() {
    let scene = Scene::new();
    let words = scene.words(&format!("{MAKE}; : > done"), &["--criteria", "test -e done", "--commit"]);
    let ended = scene.stopped("--commit", &words, &Until::Logged("effect=\"CommitWork\""), Duration::ZERO);
    assert!([0, 19].contains(&ended.code), "{}\n{}", ended.stdout, ended.stderr);
    assert_eq!(scene.count("many"), FILES);
    if ended.code == 19 {
        scene.assert_completes(&["resume", "--json"]);
    }
    assert_eq!(scene.repo.git(["ls-tree", "--name-only", "HEAD:many"]).lines().count(), FILES);
}

#[test]
fn while_worktrees_are_made() {
    for (name, flags) in [("a worktree", &["--worktree"][..]), ("a race", &["--race", "2", "--sandbox", "off"])] {
        let scene = Scene::with_files(FILES);
        let words = scene.words(": > done", &[flags, &["--criteria", "test -e done"]].concat());
        let made = scene.user.state().join("worktrees");
        scene.cancelled(name, &words, &Until::Exists(made), Duration::from_millis(100));
        assert_eq!(scene.count("many"), FILES);
        let left = scene.repo.git(["worktree", "list"]);
        assert_eq!(left.lines().count(), 1, "{name}: {left}");
        let branches = scene.repo.git(["branch", "--list", "ralph/*"]);
        assert_eq!(branches, "", "{name}");
        scene.assert_completes(&words);
    }
}

#[test]
fn while_a_loop_is_rewound() {
    let scene = Scene::new();
    let words = scene.words(&format!("{MAKE}; : > done"), &["--criteria", "test -e done"]);
    scene.assert_completes(&words);
    let rewind = ["rewind", "--to", "start"].map(str::to_owned);
    scene.stopped("rewind", &rewind, &Until::Logged("snapshot taken"), Duration::from_millis(50));
    // Whatever of it was done, it can be undone, and begun again.
    let undone = scene.user.ralph(scene.repo.path(), ["rewind", "--to", "undo"]).ok();
    assert!(undone.stderr.contains("restored"), "{}", undone.stderr);
    assert_eq!(scene.count("many"), FILES, "{}", undone.stderr);
    scene.user.ralph(scene.repo.path(), rewind).ok();
    assert!(!scene.repo.exists("many"));
}

#[test]
fn while_old_runs_are_removed() {
    let scene = Scene::new();
    scene.assert_completes(&scene.words(": > done", &["--criteria", "test -e done"]));
    tamper(&scene.user, "UPDATE loops SET finished_at = 1000000000000, updated_at = 1000000000000");
    let id = scene.user.newest_loop()["loopId"].as_str().unwrap().to_owned();
    let folder = scene.user.state().join("loops").join(id).join("many");
    fs::create_dir(&folder).unwrap();
    (0..FILES).for_each(|number| fs::write(folder.join(number.to_string()), "").unwrap());
    let prune = ["prune", "--yes"].map(str::to_owned);
    scene.stopped("prune", &prune, &Until::Logged("ralph started"), Duration::from_millis(100));
    // What is left is still listed, and removed by the next.
    scene.user.ralph(scene.repo.path(), &prune).ok();
    assert!(!folder.exists());
    assert_eq!(scene.user.ralph(scene.repo.path(), ["list", "--json"]).ok().json(), Value::Array(Vec::new()));
}

#[test]
fn while_programs_are_asked_for_their_versions() {
    let scene = Scene::new();
    let (bin, pid) = (scene.folder().join("bin"), scene.folder().join("pid"));
    fs::create_dir(&bin).unwrap();
    let asked = format!("#!/bin/sh\necho $$ > {0}.new; mv {0}.new {0}\nexec sleep 600\n", pid.display());
    write_program(&bin.join("claude"), &asked);
    scene.stopped("agents", &["agents".to_owned()], &Until::Exists(pid.clone()), Duration::ZERO);
    let asked = rustix::process::Pid::from_raw(fs::read_to_string(pid).unwrap().trim().parse().unwrap()).unwrap();
    let _ = rustix::process::kill_process(asked, Signal::KILL);
}

/// The result has its notification, or a warning that it has none.
#[test]
fn while_a_notification_is_sent() {
    let scene = Scene::new();
    let begun = scene.folder().join("begun");
    scene.user.configure(&format!("notify.command = \"touch {}; sleep 600\"\n", begun.display()));
    let words = scene.words(": > done", &["--criteria", "test -e done"]);
    // It is ended after ten seconds in any case, with another warning.
    let ended = scene.stopped("a notification", &words, &Until::Exists(begun), Duration::ZERO).ok();
    assert_eq!(ended.json()["status"], "COMPLETED");
    assert!(ended.stderr.contains("stopped before all notifications were sent"), "{}", ended.stderr);
}

#[test]
fn while_a_loop_is_watched() {
    let scene = Scene::new();
    let go = scene.folder().join("go");
    let agent = format!("while [ ! -e {} ]; do sleep 0.1; done; : > done", scene.outside("go"));
    scene.user.ralph(scene.repo.path(), scene.words(&agent, &["--criteria", "test -e done", "--detach"])).ok();
    let mut watching = scene.user.command(scene.repo.path(), ["attach"]);
    let mut watching = watching.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let lines = lines_of(&mut watching);
    while !lines.recv_timeout(TIMEOUT).unwrap().contains("iteration 1") {}
    let asked = Instant::now();
    signal(&watching, Signal::TERM);
    finish(watching);
    assert!(asked.elapsed() < MAX, "{:?}", asked.elapsed());
    assert_eq!(scene.user.newest_loop()["status"], "RUNNING", "only the screen ends");
    fs::write(go, "").unwrap();
    wait_until("the end of the loop", || scene.user.newest_loop()["status"] == "COMPLETED");
}
