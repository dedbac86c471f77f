//! Too much output, hostile output, secrets, a full disk, too few files: bounded, sanitize, hidden, and never a loss.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::time::Duration;

use ralph_testkit::{Channel, Encoding, Flood, Lines, Repo, Script, StdinUse, Step, shell_quoted};
use serde_json::Value;

use crate::aid::{Agent, finish, is_long, kinds, settled, signal, unsettled, wait_for_file};
use crate::harness::{Ended, User, run_words_with};

const MEBIBYTE: u64 = 1 << 20;
/// Of a build without optimisation; a released program needs less.
const MAX_MEMORY_KB: u64 = 72 << 10;

/// Runs a child to its end and gives the most memory that it ever had, in KiB.
fn finish_with_peak(child: Child) -> (Ended, u64) {
    let status = format!("/proc/{}/status", child.id());
    let (sender, receiver) = std::sync::mpsc::channel();
    let watching = std::thread::spawn(move || {
        let mut peak = 0;
        // The figure only grows, so that the last look before the end is the one that counts.
        while receiver.recv_timeout(Duration::from_millis(10)).is_err() {
            let text = fs::read_to_string(&status).unwrap_or_default();
            let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
            let now = line.and_then(|line| line.trim().trim_end_matches(" kB").parse().ok());
            peak = peak.max(now.unwrap_or(0));
        }
        peak
    });
    let ended = finish(child);
    let _ = sender.send(());
    (ended, watching.join().unwrap())
}

#[test]
fn a_flood_is_bounded_in_memory_and_on_disk() {
    let bytes = if is_long() { 500 * MEBIBYTE } else { 50 * MEBIBYTE };
    let flood = |bytes, channel, lines, encoding| Step::Flood(Flood { bytes, channel, lines, encoding });
    let (user, repo) = (User::new(), Repo::init());
    user.configure(&format!("log_limit = {MEBIBYTE}\n"));
    let agent = Agent::new(
        &user,
        Script::new().run([
            Step::cost(1000),
            flood(bytes, Channel::Stdout, Lines::One, Encoding::Ascii),
            flood(bytes / 10, Channel::Stderr, Lines::One, Encoding::InvalidUtf8),
            flood(bytes / 10, Channel::Stdout, Lines::Many, Encoding::Ascii),
            Step::say("\nthe very end"),
        ]),
    );
    let steps = [flood(bytes / 5, Channel::Stdout, Lines::One, Encoding::InvalidUtf8), Step::Exit(1)];
    let check = Agent::new(&user, Script::new().stdin(StdinUse::Leave).run(steps));
    let child = user.spawn(repo.path(), run_words_with(&agent.line, 2, &["--criteria", &check.line]));
    let (ended, peak) = finish_with_peak(child);
    let result = ended.with_code(10);
    eprintln!(
        "{} MiB from an agent twice, {} MiB from a check three times: peak {} KiB",
        bytes / MEBIBYTE,
        bytes / 5 / MEBIBYTE,
        peak
    );
    assert!(peak > 1000, "nobody looked");
    assert!(peak < MAX_MEMORY_KB, "{peak} KiB");
    assert!(result.stdout.len() + result.stderr.len() < 200_000, "{}", result.stdout.len() + result.stderr.len());

    let shown = user.show(result.json()["loopId"].as_str().unwrap());
    let run = &shown["iterations"][0]["run"];
    assert_eq!(run["output"]["cut"], true);
    assert!(run["output"]["bytes"].as_u64().unwrap() > bytes + bytes / 10, "{run}");
    assert!(run["finalMessage"].as_str().unwrap().contains("the very end"), "the end is kept");
    let folder = PathBuf::from(result.json()["folder"].as_str().unwrap());
    let logs: Vec<PathBuf> = fs::read_dir(folder.join("logs")).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert_eq!(logs.len(), 5, "{logs:?}");
    for log in logs {
        let text = fs::read_to_string(&log).unwrap();
        assert!(text.len() as u64 <= MEBIBYTE + 500, "{} has {} bytes", log.display(), text.len());
        assert!(text.contains("[ralph: the log was cut here, after"), "{}", log.display());
    }
}

const TOKEN: &str = "tok-5up3r-s3cret-value-0123456789";
const UNSHARED: &str = "pw-that-nobody-was-given-42";
const PATTERN: &str = "sk-ant-api03-AbCdEfGhIjKlMnOpQrStUvWxYz0123456789abcdefghijkl";

/// What must be nowhere: secrets, and the sequences of [`ralph_testkit::HOSTILE_ESCAPES`] that do harm.
const FORBIDDEN: [&str; 7] = [TOKEN, UNSHARED, PATTERN, "\u{1b}]52;c", "\u{1b}]0;", "\u{1b}[2J", "\u{1b}[?1049h"];

fn files_below(folder: &Path, into: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files_below(&path, into);
        } else {
            into.push(path);
        }
    }
}

#[track_caller]
fn assert_clean(what: &str, bytes: &[u8]) {
    for forbidden in FORBIDDEN {
        let found = bytes.windows(forbidden.len()).any(|window| window == forbidden.as_bytes());
        assert!(!found, "{forbidden:?} in {what}");
    }
}

/// Text has to be text: no control characters that a terminal obeys, nothing that is no UTF-8.
#[track_caller]
fn assert_inert(what: &str, bytes: &[u8]) {
    assert_clean(what, bytes);
    let text = std::str::from_utf8(bytes).unwrap_or_else(|error| panic!("{what}: {error}"));
    let alive =
        text.chars().find(|c| (c.is_control() && !matches!(c, '\n' | '\t')) || ('\u{202a}'..='\u{202e}').contains(c));
    assert!(alive.is_none(), "{alive:?} in {what}");
}

#[test]
fn hostile_output_and_secrets_reach_neither_screen_nor_disk() {
    let (user, repo) = (User::new(), Repo::init());
    let half = TOKEN.len() / 2;
    let nasty = vec![
        Step::Escapes(Channel::Stdout),
        Step::Escapes(Channel::Stderr),
        Step::InvalidUtf8(Channel::Stdout),
        Step::InvalidUtf8(Channel::Stderr),
        Step::say(format!("the token is {TOKEN}, the key {PATTERN}, the password {UNSHARED}")),
        // In two writes, so that no piece holds the whole of it.
        Step::Print(TOKEN[..half].into()),
        Step::sleep(Duration::from_millis(50)),
        Step::Print(format!("{}\n", &TOKEN[half..])),
        Step::run("echo \"from the environment: $DEPLOY_TOKEN\"; echo \"$DEPLOY_TOKEN\" >&2"),
        // With a colour inside, which is taken away before people and agents see it.
        Step::say(format!("FAILED {}\x1b[31m{}", &TOKEN[..half], &TOKEN[half..])),
    ];
    let told = format!(
        "{{\"costUSD\": 0.001, \"summary\": \"{TOKEN} \\u001b]52;c;eA==\\u0007 done\", \"escalation\": \"{PATTERN}\"}}"
    );
    let report = Step::ReportText(told);
    let agent =
        Agent::new(&user, Script::new().run(nasty.iter().cloned().chain([report, Step::append("work.txt", "x\n")])));
    let check = Agent::new(&user, Script::new().stdin(StdinUse::Leave).run(nasty.into_iter().chain([Step::Exit(1)])));
    let mut command = user
        .command(repo.path(), run_words_with(&agent.line, 2, &["--criteria", &check.line, "--env", "DEPLOY_TOKEN"]));
    command.env("DEPLOY_TOKEN", TOKEN).env("UNSHARED_PASSWORD", UNSHARED);
    let ended = Ended::from(command.output().unwrap()).with_code(10);
    assert_inert("stdout", ended.stdout.as_bytes());
    assert_inert("stderr", ended.stderr.as_bytes());

    let mut looked = 0;
    for folder in [user.state(), repo.path().join(".ralph")] {
        let mut files = Vec::new();
        files_below(&folder, &mut files);
        for path in files {
            let name = path.strip_prefix(&folder).unwrap().to_string_lossy().into_owned();
            let bytes = fs::read(&path).unwrap();
            let is_binary = name.starts_with("ralph.db") || name.starts_with("workspaces/") || name.contains("/git/");
            if is_binary {
                assert_clean(&name, &bytes)
            } else {
                assert_inert(&name, &bytes)
            }
            looked += 1;
        }
    }
    assert!(looked > 10, "only {looked} files");

    let id = ended.json()["loopId"].as_str().unwrap().to_owned();
    let commands: [&[&str]; 7] = [
        &["logs", &id],
        &["logs", &id, "1", "--check", "1"],
        &["show", &id],
        &["show", &id, "--json"],
        &["show", &id, "--prompt", "2"],
        &["list"],
        &["diff", &id],
    ];
    for words in commands {
        let shown = user.ralph(repo.path(), words).ok();
        assert_inert(&words.join(" "), shown.stdout.as_bytes());
    }
    // Something of it is there, or there was nothing to hide.
    let log = user.ralph(repo.path(), ["logs", &id]).ok().stdout;
    assert!(log.contains("the token is ") && log.contains("reversed"), "{log}");
}

/// A disk of its own for the state, where this machine allows that.
struct SmallDisk(PathBuf);

impl SmallDisk {
    fn mount(folder: PathBuf, size: &str) -> Option<Self> {
        fs::create_dir_all(&folder).unwrap();
        let mounted =
            Command::new("mount").args(["-t", "tmpfs", "-o", &format!("size={size}"), "tmpfs"]).arg(&folder).output();
        if mounted.is_ok_and(|output| output.status.success()) {
            return Some(Self(folder));
        }
        eprintln!("skipped: a small disk cannot be mounted here");
        None
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.0).output();
    }
}

/// The loop stopped because of the disk, lost nothing, and goes on when there is room.
#[track_caller]
fn assert_goes_on(user: &User, repo: &Repo, ended: Ended, make_room: impl FnOnce()) -> Value {
    let ended = ended.with_code(1);
    let said = ended.stderr.to_lowercase();
    assert!(["space", "full"].iter().any(|word| said.contains(word)), "{}", ended.stderr);
    assert!(!said.contains("panicked"), "{}", ended.stderr);
    make_room();
    let before = kinds(user);
    let result = finish(user.spawn(repo.path(), ["resume", "--json"])).with_code(10).json();
    assert_eq!(kinds(user)[..before.len()], before, "something that was written down is gone");
    assert_eq!(result["iterations"], 3, "{result}");
    assert_eq!(unsettled(user), 0);
    user.ralph(repo.path(), ["verify-run", result["loopId"].as_str().unwrap()]).ok();
    result
}

#[test]
fn a_disk_that_the_agent_filled_loses_nothing() {
    let (user, repo) = (User::new(), Repo::init());
    let Some(disk) = SmallDisk::mount(user.state(), "8m") else { return };
    let good = [Step::append("work.txt", "x\n"), Step::cost(1000)];
    let filler = shell_quoted(&disk.0.join("filler").to_string_lossy());
    let fill = Step::run(format!("! head -c {} /dev/zero > {filler}", 64 * MEBIBYTE));
    let script = Script::new().run(good.clone()).run(good.clone().into_iter().chain([fill])).otherwise(good);
    let agent = Agent::new(&user, script);
    // From inside the sandbox nobody fills that disk.
    let words = run_words_with(&agent.line, 3, &["--criteria", "false", "--sandbox", "off"]);
    let ended = finish(user.spawn(repo.path(), words));
    assert_eq!(agent.runs(), 2, "{}", ended.stderr);
    assert_goes_on(&user, &repo, ended, || fs::remove_file(disk.0.join("filler")).unwrap());
    assert_eq!(agent.runs(), 3);
}

#[test]
fn a_disk_that_a_log_filled_loses_nothing() {
    let (user, repo) = (User::new(), Repo::init());
    let Some(disk) = SmallDisk::mount(user.state(), "8m") else { return };
    let good = [Step::append("work.txt", "x\n"), Step::cost(1000)];
    let flood = Flood { bytes: 64 * MEBIBYTE, channel: Channel::Stdout, lines: Lines::Many, encoding: Encoding::Ascii };
    let script =
        Script::new().run(good.clone()).run(good.clone().into_iter().chain([Step::Flood(flood)])).otherwise(good);
    let agent = Agent::new(&user, script);
    let ended = finish(user.spawn(repo.path(), run_words_with(&agent.line, 3, &["--criteria", "false"])));
    agent.assert_gone(&repo, Duration::ZERO);
    assert_goes_on(&user, &repo, ended, || {
        let mut files = Vec::new();
        files_below(&disk.0.join("loops"), &mut files);
        let big = files.into_iter().filter(|path| fs::metadata(path).unwrap().len() > MEBIBYTE);
        big.for_each(|path| fs::remove_file(path).unwrap());
    });
    assert_eq!(agent.runs(), 3);
}

/// Full before anything began: refused with words, and nothing half-made is in the way afterwards.
#[test]
fn a_disk_that_is_full_from_the_start_is_said() {
    let (user, repo) = (User::new(), Repo::init());
    let Some(disk) = SmallDisk::mount(user.state(), "1m") else { return };
    let filler = disk.0.join("filler");
    let _ = fs::write(&filler, vec![0; usize::try_from(2 * MEBIBYTE).unwrap()]);
    let agent = Agent::new(&user, Script::new().run([Step::cost(1000)]));
    let words = run_words_with(&agent.line, 1, &["--criteria", "false"]);
    let ended = finish(user.spawn(repo.path(), &words)).with_code(1);
    assert!(!ended.stderr.contains("panicked") && !ended.stderr.trim().is_empty(), "{}", ended.stderr);
    assert_eq!(agent.runs(), 0);
    fs::remove_file(filler).unwrap();
    user.ralph(repo.path(), &words).with_code(10);
}

#[test]
fn a_check_that_is_killed_has_failed() {
    let (user, repo) = (User::new(), Repo::init());
    let agent = Agent::new(&user, Script::new().run([Step::append("work.txt", "x\n"), Step::cost(1000)]));
    for (check, signal) in [("kill -9 $$", 9), ("kill -SEGV $$", 11)] {
        let result =
            user.ralph(repo.path(), run_words_with(&agent.line, 2, &["--criteria", check])).with_code(10).json();
        let outcome = &result["verdict"]["checks"][0];
        assert_eq!((&outcome["passed"], &outcome["ended"]["signal"]), (&false.into(), &signal.into()), "{outcome}");
    }
}

#[test]
fn with_too_few_files_it_works_or_says_why_not() {
    for limit in [64, 32, 24, 16, 12, 8, 7, 6, 5, 4] {
        let (user, repo) = (User::new(), Repo::init());
        let agent = Agent::new(&user, Script::new().run([Step::append("work.txt", "x\n"), Step::cost(1000)]));
        let ralph = user.command(repo.path(), run_words_with(&agent.line, 2, &["--criteria", "false"]));
        let mut command = Command::new("sh");
        command
            .args(["-c", &format!("ulimit -n {limit}; exec \"$0\" \"$@\"")])
            .arg(ralph.get_program())
            .args(ralph.get_args());
        command
            .current_dir(repo.path())
            .env_clear()
            .envs(ralph.get_envs().filter_map(|(name, value)| Some((name, value?))));
        command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
        let ended = finish(command.spawn().unwrap());
        eprintln!("{limit} files: exit code {}", ended.code);
        assert!(!ended.stderr.contains("panicked"), "{limit} files: {}", ended.stderr);
        match ended.code {
            10 => assert_eq!(ended.json()["iterations"], 2),
            1 | 2 => assert!(ended.stderr.contains("error"), "{limit} files: {}", ended.stderr),
            code => panic!("{limit} files: exit code {code}\n{}", ended.stderr),
        }
        if limit == 64 {
            assert_eq!(ended.code, 10, "{}", ended.stderr);
        }
        // With enough of them it goes on, or starts.
        if ended.code == 1 && user.ralph(repo.path(), ["list", "--json"]).ok().json()[0].is_object() {
            let resumed = finish(user.spawn(repo.path(), ["resume", "--json"]));
            // It may have failed in its last iteration, which then is used up.
            assert!([2, 10].contains(&resumed.code), "{limit} files: {}", resumed.stderr);
            let runs = agent.runs();
            assert_eq!(runs, 2, "{limit} files");
            // A run that failed to start has cost nothing, and one that ran what it reported.
            assert_eq!(settled(&user), 1000 * i64::try_from(runs).unwrap(), "{limit} files");
        }
        agent.assert_gone(&repo, Duration::ZERO);
    }
}

/// What people see of a loop can fail without harm to it.
#[test]
fn a_ledger_that_cannot_be_written_stops_nothing() {
    let (user, repo) = (User::new(), Repo::init());
    repo.write(".ralph", "in the way");
    let agent = Agent::new(&user, Script::new().run([Step::append("work.txt", "x\n"), Step::cost(1000)]));
    let ended = user.ralph(repo.path(), run_words_with(&agent.line, 2, &["--criteria", "false"])).with_code(10);
    assert_eq!(ended.json()["iterations"], 2);
    assert!(ended.stderr.contains("ledger") && ended.stderr.contains("metrics"), "{}", ended.stderr);
    assert_eq!(repo.read(".ralph"), "in the way");
}

/// An agent that runs a script once, and another one from then on.
fn scripted(repo: &Repo, first: &str, then: &str) -> String {
    let script = format!("cat > /dev/null\nif [ ! -e ran ]; then : > ran\n{first}\nelse\n{then}\nfi\n");
    repo.write("agent.sh", &script);
    "sh agent.sh".to_owned()
}

#[test]
fn deeply_nested_folders_and_a_terabyte_of_nothing_end_no_loop() {
    let (user, repo) = (User::new(), Repo::init());
    let chunk = vec!["d"; 500].join("/");
    let nest = format!("for i in 1 2 3 4 5 6 7 8 9 10; do mkdir -p {chunk} && cd -P {chunk}; done; : > deep.txt");
    let agent = scripted(&repo, &format!("truncate -s 1T huge\n( {nest} )"), "rm -rf d; : > done");
    let words = run_words_with(&agent, 3, &["--criteria", "test -e done", "--unmetered", "--prohibit", "*.env"]);
    let ended = user.ralph(repo.path(), words);
    let result = ended.ok();
    assert!(result.stderr.contains("huge is larger than 1 GiB"), "{}", result.stderr);
    assert_eq!(result.json()["status"], "COMPLETED", "the large file stays: {}", result.stderr);
    let diff = user.ralph(repo.path(), ["diff", result.json()["loopId"].as_str().unwrap(), "1"]).ok().stdout;
    assert!(diff.contains("deep.txt"));
}

#[test]
fn a_request_to_stop_is_heard_while_the_workspace_is_recorded() {
    let (user, repo) = (User::new(), Repo::init());
    let files = "for i in $(seq 60); do truncate -s 1073741823 slow-$i; done; : > made";
    let agent = scripted(&repo, files, "rm -f slow-*; : > done");
    let words = run_words_with(&agent, 3, &["--criteria", "test -e done", "--unmetered"]);
    let child = user.spawn(repo.path(), words);
    wait_for_file(&repo.path().join("made"));
    std::thread::sleep(Duration::from_secs(1));
    let asked = std::time::Instant::now();
    signal(&child, rustix::process::Signal::TERM);
    let result = finish(child).with_code(19).json();
    assert_eq!((&result["status"], &result["reason"]), (&"ABORTED".into(), &"CANCELLED".into()), "{result}");
    assert!(asked.elapsed() < Duration::from_secs(20), "{:?}", asked.elapsed());
    for number in 1..=60 {
        fs::remove_file(repo.path().join(format!("slow-{number}"))).unwrap();
    }
    assert_eq!(user.ralph(repo.path(), ["resume", "--json"]).ok().json()["status"], "COMPLETED");
}

/// An agent can leave a link in the place of Ralph's folder; whoever asks for a report later must not write through it.
#[test]
fn a_report_is_not_written_through_a_link() {
    let (user, repo) = (User::new(), Repo::init());
    let outside = repo.outside().join("elsewhere");
    fs::create_dir_all(outside.join("metrics")).unwrap();
    std::os::unix::fs::symlink(&outside, repo.path().join(".ralph")).unwrap();
    let ended = user.ralph(repo.path(), ["report"]).with_code(1);
    assert!(ended.stderr.contains(".ralph is a link or not a folder: remove it"), "{}", ended.stderr);
    assert_eq!(fs::read_dir(outside.join("metrics")).unwrap().count(), 0);
}
