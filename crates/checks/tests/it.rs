//! Checks as real processes under the real supervisor.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on has failed")]

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ralph_checks::{Checker, Error, Observed, Progress, Request};
use ralph_model::{CheckOutcome, Ended, Expectation, Millis, ToolEvidence};
use ralph_process::{ReaperProgram, Stop, Supervisor};
use ralph_text::Redactor;
use tokio::sync::watch;

struct Place {
    folder: tempfile::TempDir,
    checker: Checker,
}

impl Place {
    fn new() -> Self {
        let shared = Path::new("/dev/shm");
        let folder = if shared.is_dir() { tempfile::tempdir_in(shared).unwrap() } else { tempfile::tempdir().unwrap() };
        fs::create_dir(folder.path().join("work")).unwrap();
        let reaper =
            ReaperProgram { program: PathBuf::from(env!("CARGO_BIN_EXE_ralph-checks-reaper")), arguments: vec![] };
        let redactor = Redactor::new(Vec::<(String, String)>::new());
        Self { folder, checker: Checker::new(Arc::new(Supervisor::new(reaper, Arc::new(redactor)))) }
    }

    fn work(&self) -> PathBuf {
        self.folder.path().join("work")
    }

    fn write(&self, name: &str, content: &str) {
        fs::write(self.work().join(name), content).unwrap();
    }

    async fn run(&self, commands: &[&str], change: impl FnOnce(&mut Request<'_>)) -> Vec<CheckOutcome> {
        let (_keep, stop) = watch::channel(None);
        self.run_until(commands, stop, &mut |_| {}, change).await.unwrap()
    }

    async fn try_run(
        &self,
        commands: &[&str],
        change: impl FnOnce(&mut Request<'_>),
    ) -> Result<Vec<CheckOutcome>, Error> {
        let (_keep, stop) = watch::channel(None);
        self.run_until(commands, stop, &mut |_| {}, change).await
    }

    async fn run_until(
        &self,
        commands: &[&str],
        stop: watch::Receiver<Option<Stop>>,
        progress: &mut (dyn FnMut(Progress) + Send),
        change: impl FnOnce(&mut Request<'_>),
    ) -> Result<Vec<CheckOutcome>, Error> {
        let commands: Vec<String> = commands.iter().map(|command| (*command).to_owned()).collect();
        let (work, logs) = (self.work(), self.folder.path().join("logs"));
        let mut request = request(&commands, &work, &logs, self.folder.path());
        change(&mut request);
        self.checker.run(request, stop, progress).await
    }
}

fn request<'a>(commands: &'a [String], work: &'a Path, logs: &'a Path, root: &'a Path) -> Request<'a> {
    let path = std::env::var_os("PATH").unwrap();
    Request {
        commands,
        directory: work,
        environment: vec![(OsString::from("PATH"), path)],
        timeout: Millis::minutes(5),
        idle: None,
        logs,
        log_prefix: "iteration-3".to_owned(),
        log_root: root,
        log_limit: 10 * 1024 * 1024,
        junit: &[],
        extra_reports: vec![],
        retries: 0,
        sandbox: None,
        hold: vec![],
    }
}

#[tokio::test]
async fn every_command_runs_even_when_one_fails() {
    let place = Place::new();
    let mut seen = vec![];
    let (_keep, stop) = watch::channel(None);
    let outcomes = place
        .run_until(
            &["echo one", "echo 'error: two' >&2; exit 3", "pwd"],
            stop,
            &mut |progress| seen.push(progress),
            |_| {},
        )
        .await
        .unwrap();
    let ends: Vec<(bool, Ended)> = outcomes.iter().map(|outcome| (outcome.passed, outcome.ended.clone())).collect();
    let exited = |code| Ended::Exited { code };
    assert_eq!(ends, [(true, exited(0)), (false, exited(3)), (true, exited(0))]);
    assert_eq!(outcomes[1].excerpt, "error: two\n");
    assert_eq!(outcomes[1].signature.as_ref().unwrap().headline, "error: two");
    assert_eq!((outcomes[0].excerpt.as_str(), &outcomes[0].signature), ("", &None));
    assert_eq!(outcomes[1].output.file, "logs/iteration-3-check-2.log");
    let log = fs::read_to_string(place.folder.path().join(&outcomes[2].output.file)).unwrap();
    assert_eq!(log.trim(), place.work().to_str().unwrap());

    let started = |index, command: &str| Progress::Started { index, command: command.to_owned(), retry: 0 };
    let wanted = [
        started(0, "echo one"),
        Progress::Output("one".to_owned()),
        Progress::Finished(outcomes[0].clone()),
        started(1, "echo 'error: two' >&2; exit 3"),
        Progress::Output("error: two".to_owned()),
        Progress::Finished(outcomes[1].clone()),
    ];
    assert_eq!(seen[..6], wanted);
}

#[tokio::test]
async fn counted_failures_fail_a_check_that_ends_well() {
    let place = Place::new();
    let line = "printf '=== 2 failed, 5 passed in 0.12s ===\\n' || true";
    let outcomes = place.run(&[line, "true", "false"], |_| {}).await;
    assert!(!outcomes[0].passed);
    assert_eq!(ToolEvidence::from(&outcomes[0]).summary, format!("{line} (exit code 0, 2 failing)"));
    assert_eq!(ToolEvidence::from(&outcomes[1]).summary, "true (exit code 0)");
    assert_eq!(outcomes[2].excerpt, "(no output, exit code 1)\n");
    assert_eq!(outcomes[2].signature.as_ref().unwrap().headline, "exit code 1, without output");
}

#[tokio::test]
async fn standard_input_is_empty_and_the_environment_is_the_given_one() {
    let place = Place::new();
    let command = "cat; test -t 0 && echo terminal; echo \"home=$HOME given=$GIVEN\"; exit 1";
    let outcomes = place.run(&[command], |request| request.environment.push(("GIVEN".into(), "yes".into()))).await;
    assert_eq!(outcomes[0].excerpt, "home= given=yes\n");
}

#[tokio::test]
async fn a_check_that_takes_too_long_is_stopped_and_says_so() {
    let place = Place::new();
    // A busy machine may take longer for the first line, and for the second check.
    for (limit, words) in [(Millis(300), "300ms"), (Millis(3_000), "3s"), (Millis(30_000), "30s")] {
        let outcomes = place.run(&["echo working; sleep 1000", "echo next"], |request| request.timeout = limit).await;
        assert_eq!(outcomes[0].ended, Ended::TimedOut { after: limit });
        assert!(!outcomes[0].passed);
        let headline = &outcomes[0].signature.as_ref().unwrap().headline;
        assert_eq!(*headline, format!("stopped after its time limit of {words}"));
        if outcomes[0].excerpt == "working\n" && outcomes[1].passed {
            return;
        }
    }
    panic!("it was stopped before it said anything");
}

#[tokio::test]
async fn a_killed_verifier_is_a_failing_check() {
    let place = Place::new();
    let outcomes = place.run(&["echo '3 passed in 0.1s'; kill -9 $$"], |_| {}).await;
    assert_eq!(outcomes[0].ended, Ended::Signalled { signal: 9 });
    assert!(!outcomes[0].passed);
    assert_eq!(ToolEvidence::from(&outcomes[0]).summary, "echo '3 passed in 0.1s'; kill -9 $$ (ended by signal 9)");
    assert_eq!(outcomes[0].signature.as_ref().unwrap().headline, "ended by signal 9");
}

#[tokio::test]
async fn a_stop_fails_everything_that_did_not_run() {
    let place = Place::new();
    let (sender, stop) = watch::channel(None);
    let outcomes = place
        .run_until(
            &["echo started; sleep 1000", "touch ran"],
            stop,
            &mut |progress| {
                if matches!(progress, Progress::Output(_)) {
                    sender.send_replace(Some(Stop::Requested));
                }
            },
            |_| {},
        )
        .await
        .unwrap();
    assert_eq!(
        outcomes.iter().map(|outcome| outcome.ended.clone()).collect::<Vec<_>>(),
        [Ended::Stopped, Ended::Stopped]
    );
    assert!(outcomes.iter().all(|outcome| !outcome.passed));
    assert!(!place.work().join("ran").exists());
}

#[tokio::test]
async fn a_command_that_cannot_be_started_is_an_error() {
    let place = Place::new();
    fs::remove_dir(place.work()).unwrap();
    let error = place.try_run(&["true"], |_| {}).await.unwrap_err();
    assert!(matches!(&error, Error::CouldNotStart { command, .. } if command == "true"), "{error}");
}

fn kilobytes(field: &str) -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with(field)).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

#[test]
fn a_flood_needs_no_memory_and_loses_no_failure() {
    // In a process of its own: the memory of the tests beside it would count.
    let output = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "flood", "--nocapture"])
        .env(FLOOD, "1")
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && text.contains("1 passed"), "{text}");
}

/// Set for the process that the flood is measured in.
const FLOOD: &str = "RALPH_TEST_FLOOD";

/// Not a test by itself: what the one above starts, and nothing without its variable.
#[tokio::test]
async fn flood() {
    if std::env::var_os(FLOOD).is_none() {
        return;
    }
    let place = Place::new();
    place.run(&["echo warm"], |_| {}).await;
    let before = kilobytes("VmHWM");
    let line = "all is well and nothing is to be seen here ".repeat(5);
    let command = format!(
        "yes '{line}' | head -c 25000000; echo; printf -- '--- FAIL: TestA (0.00s)\\n    a_test.go:3: got 1\\nFAIL\\tshop\\t0.1s\\n'; \
         yes '{line}' | head -c 25000000; echo; echo the end; exit 1"
    );
    let outcomes = place.run(&[&command], |request| request.log_limit = 100_000).await;
    let outcome = &outcomes[0];
    assert!(outcome.output.cut && outcome.output.bytes > 50_000_000, "{:?}", outcome.output);
    let tests = outcome.tests.as_ref().unwrap();
    assert_eq!((tests.failed, tests.failing.as_slice()), (1, &["shop.TestA".to_owned()][..]));
    assert!(outcome.excerpt.len() <= ralph_checks::EXCERPT_LIMIT);
    assert!(outcome.excerpt.contains("a_test.go:3: got 1") && outcome.excerpt.ends_with("the end\n"));
    // The patterns need some megabytes when they are first used; a flood that is kept would need fifty.
    let grown = kilobytes("VmHWM").saturating_sub(before);
    assert!(grown < 25_000, "{grown} kB more");
}

#[tokio::test]
async fn reports_that_the_check_writes_are_counted() {
    let place = Place::new();
    let report = "<testsuite><testcase name='a'/><testcase name='b'><failure/></testcase></testsuite>";
    place.write("report.xml", report);
    let globs = ["out/*.xml".to_owned(), "report.xml".to_owned()];
    let (work, logs) = (place.work(), place.folder.path().join("logs"));
    let commands = ["true".to_owned(), "mkdir out && cp report.xml out/new.xml".to_owned()];
    let mut request = request(&commands, &work, &logs, place.folder.path());
    request.junit = &globs;
    let (_keep, stop) = watch::channel(None);
    let outcomes = place.checker.run(request, stop, &mut |_| {}).await.unwrap();
    assert_eq!((outcomes[0].passed, &outcomes[0].tests), (true, &None), "the old report is not this check's");
    assert!(!outcomes[1].passed);
    assert_eq!(outcomes[1].tests.as_ref().map(|tests| (tests.passed, tests.failed)), Some((1, 1)));
}

#[tokio::test]
async fn a_report_outside_the_directory_is_counted() {
    let place = Place::new();
    let report = place.folder.path().join("report.xml");
    fs::write(&report, "<testsuite><testcase name='old'/></testsuite>").unwrap();
    let command = format!(
        "test ! -e {path} && echo \"<testsuite><testcase name='$PWD/a'/><testcase name='b'/></testsuite>\" > {path}",
        path = report.display()
    );
    let outcomes = place.run(&[&command, "true"], |request| request.extra_reports = vec![report.clone()]).await;
    let tests = outcomes[0].tests.as_ref().unwrap();
    assert_eq!((outcomes[0].passed, tests.passed), (true, 2));
    assert_eq!(tests.names, ["a", "b"], "the folder is no part of a name");
    assert_eq!(outcomes[1].tests, None, "the report was deleted before the next check");
    assert!(!report.exists());
}

#[tokio::test]
async fn a_check_that_passes_the_second_time_is_flaky() {
    let place = Place::new();
    let command = "if test -e tried; then echo fine; else touch tried; echo 'error: no'; exit 1; fi";
    let mut seen = vec![];
    let (_keep, stop) = watch::channel(None);
    let outcomes = place
        .run_until(&[command, "false"], stop, &mut |progress| seen.push(progress), |request| request.retries = 2)
        .await
        .unwrap();
    let flaky = &outcomes[0];
    assert_eq!((flaky.passed, flaky.flaky, flaky.retries, &flaky.ended), (false, true, 1, &Ended::Exited { code: 1 }));
    assert_eq!(flaky.excerpt, "error: no\n");
    assert_eq!(
        ToolEvidence::from(flaky).summary,
        format!("{command} (flaky: it failed, then passed on the same files)")
    );
    assert_eq!(flaky.output.file, "logs/iteration-3-check-1.log");
    let logs = place.folder.path().join("logs");
    assert_eq!(fs::read_to_string(logs.join("iteration-3-check-1-retry-1.log")).unwrap(), "fine\n");
    assert!(!logs.join("iteration-3-check-1-retry-2.log").exists());
    let failed = &outcomes[1];
    assert_eq!((failed.passed, failed.flaky, failed.retries), (false, false, 2));
    assert!(logs.join("iteration-3-check-2-retry-2.log").is_file());
    let told: Vec<(usize, u32)> = seen
        .iter()
        .filter_map(|progress| match progress {
            Progress::Started { index, retry, .. } => Some((*index, *retry)),
            Progress::Output(_) | Progress::Finished(_) => None,
        })
        .collect();
    assert_eq!(told, [(0, 0), (0, 1), (1, 0), (1, 1), (1, 2)]);
    let finished = seen.iter().filter(|progress| matches!(progress, Progress::Finished(_))).count();
    assert_eq!(finished, 2, "one for every command");
}

#[tokio::test]
async fn a_check_that_was_stopped_is_not_run_again() {
    let place = Place::new();
    let (sender, stop) = watch::channel(None);
    let mut starts = 0;
    let mut progress = |progress| match progress {
        Progress::Started { .. } => starts += 1,
        Progress::Output(_) => {
            sender.send_replace(Some(Stop::Requested));
        }
        Progress::Finished(_) => {}
    };
    let outcomes = place
        .run_until(&["echo started; sleep 1000"], stop, &mut progress, |request| request.retries = 3)
        .await
        .unwrap();
    assert_eq!((starts, outcomes[0].retries, &outcomes[0].ended), (1, 0, &Ended::Stopped));
}

#[tokio::test]
async fn mistakes_of_the_caller_are_errors_that_say_what_to_do() {
    let place = Place::new();
    let globs = ["{a".to_owned()];
    let (work, logs, elsewhere) = (place.work(), place.folder.path().join("logs"), PathBuf::from("/elsewhere"));
    let commands = ["true".to_owned()];
    let (_keep, stop) = watch::channel(None);
    let mut bad_glob = request(&commands, &work, &logs, place.folder.path());
    bad_glob.junit = &globs;
    let error = place.checker.run(bad_glob, stop.clone(), &mut |_| {}).await.unwrap_err();
    assert_eq!(error.to_string(), "`{a` is not a glob for test reports: write it like build/test-results/**/*.xml");
    let outside = request(&commands, &work, &logs, &elsewhere);
    let error = place.checker.run(outside, stop.clone(), &mut |_| {}).await.unwrap_err();
    assert!(matches!(error, Error::LogsOutside { .. }), "{error}");
    let file = place.folder.path().join("file");
    fs::write(&file, "in the way").unwrap();
    let blocked = request(&commands, &work, &file, place.folder.path());
    let error = place.checker.run(blocked, stop, &mut |_| {}).await.unwrap_err();
    assert!(matches!(error, Error::Logs { .. }), "{error}");
}

#[tokio::test]
async fn expected_commands_are_run_and_the_others_compared() {
    let place = Place::new();
    let (work, logs) = (place.work(), place.folder.path().join("logs"));
    let request = request(&[], &work, &logs, place.folder.path());
    let (_keep, stop) = watch::channel(None);
    let expected: Vec<Expectation> = ["commit", "command:true", "command:echo 'error: no lint'; exit 4", "clean-tree"]
        .iter()
        .map(|text| text.parse().unwrap())
        .collect();
    let observed = Observed {
        evidence: &[],
        changed: &[],
        new_commits: 0,
        clean: Some(true),
        root: Path::new("/"),
        objective: "",
    };
    let missing = place.checker.expectations(&expected, &observed, request, stop, &mut |_| {}).await.unwrap();
    let why: Vec<(&Expectation, &str)> =
        missing.iter().map(|missing| (&missing.expectation, missing.why.as_str())).collect();
    assert_eq!(why, [(&expected[0], "no commit created"), (&expected[2], "exit code 4: error: no lint")]);
    assert!(logs.join("iteration-3-expectation-3.log").is_file());
}

#[tokio::test]
async fn real_runners_are_counted() {
    let place = Place::new();
    place.write(
        "test_shop.py",
        "import unittest\nclass Shop(unittest.TestCase):\n    def test_a(self): pass\n    def test_b(self): self.assertEqual(1, 2)\n",
    );
    place.write(
        "shop.test.js",
        "const test = require('node:test'); test('a', () => {}); test('b', () => { throw new Error('no'); });\n",
    );
    for (program, command, name) in [
        ("python3", "python3 -m unittest test_shop", "test_shop.Shop.test_b"),
        ("node", "node --test --test-reporter=spec shop.test.js", "b"),
        ("node", "node --test --test-reporter=tap shop.test.js", "b"),
    ] {
        let found = std::process::Command::new(program).arg("--version").output();
        if !found.is_ok_and(|output| output.status.success()) {
            // Not installed here; the kept outputs stand for it.
            continue;
        }
        let outcomes = place.run(&[command], |_| {}).await;
        let tests = outcomes[0].tests.as_ref().unwrap_or_else(|| panic!("{command}: {}", outcomes[0].excerpt));
        assert_eq!((tests.passed, tests.failed, tests.failing.as_slice()), (1, 1, &[name.to_owned()][..]), "{command}");
        let again = place.run(&[command], |_| {}).await;
        assert_eq!(
            again[0].signature.as_ref().unwrap().hash,
            outcomes[0].signature.as_ref().unwrap().hash,
            "{command}"
        );
    }
}
