//! How programs end, how they are started, and what they get.

use std::fs::{self, File, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use ralph_model::{Ended, Millis};
use ralph_process::{Error, Finished, ReaperProgram, Stdin, Stop, Supervisor, TREE_VARIABLE};
use tokio::sync::watch;

use crate::support::{Lab, words};

#[tokio::test]
async fn exit_codes_and_signals_are_told_apart() {
    let lab = Lab::new();
    assert_eq!(lab.run("exit 0").await.ended, Ended::Exited { code: 0 });
    assert_eq!(lab.run("exit 3").await.ended, Ended::Exited { code: 3 });
    assert_eq!(lab.run("kill -9 $$").await.ended, Ended::Signalled { signal: 9 });
    assert_eq!(lab.run("kill -TERM $$").await.ended, Ended::Signalled { signal: 15 });
}

#[tokio::test]
async fn a_program_that_cannot_be_started_says_why() {
    let lab = Lab::new();
    fs::write(lab.path("plain"), "no program").unwrap();
    fs::write(lab.path("script"), "#!/no/such/interpreter\n").unwrap();
    fs::set_permissions(lab.path("script"), Permissions::from_mode(0o755)).unwrap();
    let cases = [
        (words(&[]), "no program was given"),
        (words(&["no-such-program"]), "not found in PATH"),
        (words(&["/no/such/program"]), "/no/such/program does not exist"),
        (words(&["./plain"]), "cannot be executed"),
        (words(&["./script"]), "interpreter"),
    ];
    for (program, expected) in cases {
        let mut spec = lab.spec("");
        spec.program = program;
        let finished = lab.run_spec(spec).await.unwrap();
        let Ended::NotStarted { why } = &finished.ended else { panic!("{finished:?}") };
        assert!(why.contains(expected), "{why}");
    }
}

#[tokio::test]
async fn a_directory_that_is_none_is_named() {
    let lab = Lab::new();
    fs::write(lab.path("file"), "").unwrap();
    for name in ["missing", "file"] {
        let mut spec = lab.spec("true");
        spec.directory = lab.path(name);
        let finished = lab.run_spec(spec).await.unwrap();
        let Ended::NotStarted { why } = &finished.ended else { panic!("{finished:?}") };
        assert!(why.contains(name) && why.contains("directory"), "{why}");
    }
}

#[tokio::test]
async fn the_environment_is_what_was_given_and_the_mark() {
    let lab = Lab::new();
    let mut spec = lab.spec("");
    spec.program = words(&["/usr/bin/env"]);
    spec.environment = vec![("ONE".into(), "1".into()), ("TWO".into(), "a b\tc".into())];
    let finished = lab.run_spec(spec).await.unwrap();
    let mut lines: Vec<&str> = finished.stdout.lines().collect();
    lines.sort_unstable();
    let [one, mark, two] = lines[..] else { panic!("{lines:?}") };
    assert_eq!((one, two), ("ONE=1", "TWO=a b\tc"));
    let value = mark.strip_prefix(TREE_VARIABLE).and_then(|rest| rest.strip_prefix('=')).unwrap();
    assert_eq!(value.len(), 36, "{value}");
}

#[tokio::test]
async fn the_program_gets_three_descriptors_and_no_held_one() {
    let lab = Lab::new();
    let mut spec = lab.spec("");
    let held = Arc::new(File::create(lab.path("held")).unwrap().into());
    spec.program = words(&["/bin/ls", "-l", "/proc/self/fd"]);
    spec.stdin = Stdin::Bytes(b"x".to_vec());
    spec.hold = vec![Arc::clone(&held), held];
    let finished = lab.run_spec(spec).await.unwrap();
    let targets: Vec<&str> =
        finished.stdout.lines().filter_map(|line| line.split_once(" -> ")).map(|(_, to)| to).collect();
    // The fourth is the folder that `ls` itself reads.
    let [stdin, stdout, stderr, folder] = targets[..] else { panic!("{}", finished.stdout) };
    assert!([stdin, stdout, stderr].iter().all(|target| target.starts_with("pipe:")), "{targets:?}");
    assert!(folder.starts_with("/proc/"), "{targets:?}");
}

#[tokio::test]
async fn the_program_leads_a_session_without_a_terminal() {
    let finished = Lab::new()
        .run("read pid name state parent group session tty rest < /proc/$$/stat; echo $$ $group $session $tty")
        .await;
    let numbers: Vec<&str> = finished.stdout.split_whitespace().collect();
    let [pid, group, session, terminal] = numbers[..] else { panic!("{finished:?}") };
    assert_eq!((group, session, terminal), (pid, pid, "0"));
}

#[tokio::test]
async fn input_that_nobody_reads_is_no_fault() {
    let lab = Lab::new();
    for line in ["true", "exec 0<&-; sleep 0.1; exit 0", "head -c 1 > /dev/null"] {
        let mut spec = lab.spec(line);
        spec.stdin = Stdin::Bytes(vec![b'x'; 10 << 20]);
        assert_eq!(lab.run_spec(spec).await.unwrap().ended, Ended::Exited { code: 0 }, "{line}");
    }
}

#[tokio::test]
async fn large_input_arrives_whole_even_late_and_while_output_flows() {
    let lab = Lab::new();
    for line in ["sleep 0.2; wc -c", "cat | wc -c", "tee copy | cat > other; cat other | wc -c"] {
        let mut spec = lab.spec(line);
        spec.stdin = Stdin::Bytes(vec![b'x'; 10 << 20]);
        assert_eq!(lab.run_spec(spec).await.unwrap().stdout.trim(), "10485760", "{line}");
    }
    let mut spec = lab.spec("cat");
    spec.stdin = Stdin::Bytes(vec![b'x'; 10 << 20]);
    assert_eq!(lab.run_spec(spec).await.unwrap().output.bytes, 10 << 20);
}

#[tokio::test]
async fn empty_input_is_at_its_end() {
    let lab = Lab::new();
    assert_eq!(lab.run("cat; echo end").await.stdout, "end\n");
    let mut spec = lab.spec("cat; echo end");
    spec.stdin = Stdin::Bytes(Vec::new());
    assert_eq!(lab.run_spec(spec).await.unwrap().stdout, "end\n");
}

#[tokio::test]
async fn a_stop_that_came_before_the_start_starts_nothing() {
    let lab = Lab::new();
    let (_sender, stop) = watch::channel(Some(Stop::Requested));
    let finished = lab.run_until(lab.spec("touch ran"), stop).await.unwrap();
    assert_eq!(finished.ended, Ended::Stopped);
    assert!(!lab.path("ran").exists());
}

#[tokio::test]
async fn a_missing_reaper_is_named() {
    let lab = Lab::new();
    let reaper = ReaperProgram { program: lab.path("no-reaper"), arguments: Vec::new() };
    let supervisor = Supervisor::new(reaper, Arc::default());
    let (_sender, stop) = watch::channel(None);
    let error = supervisor.run(lab.spec("true"), stop, &mut |_, _| {}).await.unwrap_err();
    assert!(error.to_string().contains("no-reaper"), "{error}");
}

/// Runs under a reaper that is none.
async fn run_under(program: &str, arguments: &[&str]) -> Result<Finished, Error> {
    let lab = Lab::new();
    let supervisor =
        Supervisor::new(ReaperProgram { program: program.into(), arguments: words(arguments) }, Arc::default());
    let (_sender, stop) = watch::channel(None);
    let mut spec = lab.spec("true");
    (spec.timeout, spec.grace) = (Some(Millis(100)), Millis(0));
    supervisor.run(spec, stop, &mut |_, _| {}).await
}

#[tokio::test]
async fn a_reaper_that_just_ends_is_an_error() {
    let error = run_under("/bin/true", &[]).await.unwrap_err();
    assert!(matches!(&error, Error::NoReaper { how } if how.contains('0')), "{error:?}");
    assert!(error.is_before_start(), "{error:?}");
}

#[tokio::test]
async fn a_reaper_that_speaks_another_language_is_an_error() {
    let error = run_under("/bin/sh", &["-c", "exec cat >&0"]).await.unwrap_err();
    assert!(matches!(error, Error::NoReaper { .. }) && error.is_before_start(), "{error:?}");
}

#[tokio::test]
async fn a_reaper_that_says_nothing_is_given_up() {
    let error = run_under("/bin/sleep", &["1000"]).await.unwrap_err();
    assert!(matches!(error, Error::NoReaper { .. }) && error.is_before_start(), "{error:?}");
}

#[tokio::test]
async fn a_run_costs_little_more_than_a_bare_start() {
    let lab = Lab::new();
    let (mut bare, mut supervised) = (Vec::new(), Vec::new());
    for _ in 0..40 {
        let since = Instant::now();
        assert!(std::process::Command::new("/bin/true").status().unwrap().success());
        bare.push(since.elapsed());
        let mut spec = lab.spec("");
        spec.program = words(&["/bin/true"]);
        let since = Instant::now();
        assert!(lab.run_spec(spec).await.unwrap().ended.is_success());
        supervised.push(since.elapsed());
    }
    let (bare, quickest) = (bare.iter().min().unwrap(), supervised.iter().min().unwrap());
    println!("bare {bare:?}, supervised {quickest:?}");
    // Two or three milliseconds on a quiet machine. What waits or polls does so every time; a busy machine does not.
    assert!(*quickest < *bare + Duration::from_millis(50), "{supervised:?}");
}
