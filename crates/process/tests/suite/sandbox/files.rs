//! Writing where nothing may be written.

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;

use ralph_model::Ended;
use ralph_process::{Files, Network, Unenforceable};

use super::{Cell, has_mounts, hides, landlock, levels};
use crate::support::{is_alive, words};

/// Lines of shell that would each change something outside, and do nothing but fail in a sandbox.
const ATTEMPTS: [(&str, &str); 31] = [
    ("write", "echo x > $OUT/file"),
    ("append", "echo x >> $OUT/file"),
    ("write along a relative path", "echo x > ../outside/file"),
    ("create", "echo x > $OUT/new"),
    ("create a folder", "mkdir $OUT/new"),
    ("create folders that lead nowhere yet", "mkdir -p $OUT/a/b/c"),
    ("create a pipe", "mkfifo $OUT/pipe"),
    ("create a link", "ln -s /etc $OUT/link"),
    ("write through a link", "ln -s $OUT/file link; echo x > link"),
    ("create through a link", "ln -s $OUT/new link; echo x > link"),
    ("create through a linked folder", "ln -s $OUT folder; echo x > folder/new"),
    ("remove", "rm -f $OUT/file"),
    ("remove a folder", "rmdir $OUT/empty"),
    ("truncate", "truncate -s 0 $OUT/file"),
    ("move out", "echo x > mine; mv mine $OUT/mine"),
    ("move a folder out", "mkdir mine; mv -T mine $OUT/empty"),
    ("move in", "mv $OUT/file stolen"),
    ("rename outside", "mv $OUT/file $OUT/other"),
    ("link in and write", "ln $OUT/file inside && echo x > inside"),
    ("link out", "echo x > mine; ln mine $OUT/mine"),
    ("by way of the own root", "echo x > /proc/self/root$OUT/file"),
    ("by way of the own folder", "echo x > /proc/self/cwd/../outside/file"),
    ("by way of the reaper's root", "echo x > /proc/$PPID/root$OUT/file"),
    ("by way of Ralph's root", "echo x > /proc/$RALPH/root$OUT/file"),
    ("by way of Ralph's folder", "echo x > /proc/$RALPH/cwd/ralph-escaped"),
    ("by way of the first process", "echo x > /proc/1/root$OUT/file"),
    ("in the mounts of another", "nsenter -t $PPID -m sh -c \"echo x > $OUT/file\""),
    ("with a new mount", "mkdir m; mount --bind $OUT m && mount -o bind,remount,rw m && echo x > m/file"),
    ("with the old mount", "mount -o bind,remount,rw / && echo x > $OUT/file"),
    ("with own mounts", "unshare -m sh -c \"mount -o bind,remount,rw / && echo x > $OUT/file\""),
    ("as root of an own world", "unshare -rm sh -c \"mount -o bind,remount,rw / && echo x > $OUT/file\""),
];

/// All there is to know about a folder, except when it was read.
fn picture(folder: &Path) -> Vec<String> {
    let mut all = Vec::new();
    let mut open = vec![folder.to_owned()];
    while let Some(path) = open.pop() {
        let about = fs::symlink_metadata(&path).unwrap();
        let content = if about.is_file() { fs::read(&path).unwrap() } else { Vec::new() };
        let times = (about.mtime(), about.mtime_nsec());
        all.push(format!("{path:?} {:o} {} {} {times:?} {content:?}", about.mode(), about.uid(), about.nlink()));
        if about.is_dir() {
            open.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
        }
    }
    all.sort();
    all
}

#[tokio::test]
async fn nothing_outside_can_be_changed() {
    for level in levels() {
        for (name, line) in ATTEMPTS {
            let cell = Cell::new(&level);
            let before = picture(&cell.path("outside"));
            let finished = cell.run(&format!("{{ {line}; }} && echo worked")).await;
            assert_eq!(picture(&cell.path("outside")), before, "{level}: {name}");
            assert!(!finished.stdout.contains("worked"), "{level}: {name}: {finished:?}");
            let escaped = Path::new("ralph-escaped");
            assert!(!escaped.exists() || fs::remove_file(escaped).is_err(), "{level}: {name}");
        }
    }
}

/// Without a sandbox those lines do change something, or they would prove nothing. Those that need privileges or another
/// process of the same kind are left out.
#[tokio::test]
async fn without_a_sandbox_the_same_lines_get_through() {
    let Some(level) = levels().pop() else { return };
    for (name, line) in &ATTEMPTS[..23] {
        let cell = Cell::new(&level);
        let before = picture(&cell.path("outside"));
        let mut spec = cell.spec(line);
        spec.sandbox = None;
        cell.lab.run_spec(spec).await.unwrap();
        assert_ne!(picture(&cell.path("outside")), before, "{name}");
    }
}

#[tokio::test]
async fn mode_and_times_are_only_safe_behind_mounts() {
    for level in levels() {
        let cell = Cell::new(&level);
        let file = cell.path("outside/file");
        fs::set_permissions(&file, Permissions::from_mode(0o644)).unwrap();
        let before = picture(&file);
        cell.run("chmod 600 $OUT/file; touch -d @1000 $OUT/file").await;
        // What the documentation says of Landlock: a kernel that protects them as well is news that it should tell.
        assert_eq!(picture(&file) == before, has_mounts(&level), "{level}");
    }
}

#[tokio::test]
async fn a_hard_link_that_was_there_before_leads_out() {
    for level in levels() {
        let cell = Cell::new(&level);
        fs::hard_link(cell.path("outside/file"), cell.path("work/before")).unwrap();
        cell.output_of("echo changed > before").await;
        // The kernel protects names, and this is one of the names. It is here so that nobody believes otherwise.
        assert_eq!(fs::read_to_string(cell.path("outside/file")).unwrap(), "changed\n", "{level}");
    }
}

#[tokio::test]
async fn what_is_hidden_cannot_be_changed_and_behind_mounts_not_be_seen() {
    for level in levels() {
        let cell = Cell::new(&level);
        let before = picture(&cell.path("state/secret"));
        let tried =
            "echo x > $STATE/secret; echo x > $STATE/new; rm -rf $STATE/secret; mv $STATE/secret .; umount $STATE;
            ls $STATE; cat $STATE/secret; echo report > $STATE/attempt/report; cat $STATE/attempt/report";
        let finished = cell.run(tried).await;
        assert_eq!(picture(&cell.path("state/secret")), before, "{level}");
        assert!(!cell.path("state/new").exists(), "{level}");
        assert_eq!(fs::read_to_string(cell.path("state/attempt/report")).unwrap(), "report\n", "{level}");
        let seen = if hides(&level) { "attempt\nreport\n" } else { "attempt\nsecret\nhiddenreport\n" };
        assert_eq!(finished.stdout, seen, "{level}: {}", finished.stderr);
    }
}

#[tokio::test]
async fn a_file_can_be_hidden_and_a_file_can_be_writable() {
    for level in levels() {
        let cell = Cell::new(&level);
        let mut spec =
            cell.spec("echo new > $OUT/file; echo x > $OUT/other; echo x > $STATE/secret; cat $STATE/secret");
        let sandbox = spec.sandbox.as_mut().unwrap();
        sandbox.writable = vec![cell.path("outside/file")];
        sandbox.hidden = vec![cell.path("state/secret")];
        let finished = cell.lab.run_spec(spec).await.unwrap();
        assert_eq!(fs::read_to_string(cell.path("outside/file")).unwrap(), "new\n", "{level}: {finished:?}");
        assert_eq!(fs::read_to_string(cell.path("state/secret")).unwrap(), "hidden", "{level}");
        assert!(!cell.path("outside/other").exists(), "{level}");
        assert_eq!(finished.stdout, if hides(&level) { "" } else { "hidden" }, "{level}: {}", finished.stderr);
    }
}

#[tokio::test]
async fn what_cannot_be_protected_is_not_started() {
    for level in levels() {
        let cell = Cell::new(&level);
        let mut spec = cell.spec("echo x > $STATE/secret; echo ran > ran");
        let sandbox = spec.sandbox.as_mut().unwrap();
        sandbox.writable = vec![cell.lab.folder.path().to_owned()];
        let checked = sandbox.check();
        let finished = cell.lab.run_spec(spec).await.unwrap();
        assert_eq!(fs::read_to_string(cell.path("state/secret")).unwrap(), "hidden", "{level}");
        if hides(&level) {
            assert_eq!(checked, Ok(()));
            assert_eq!(finished.ended, Ended::Exited { code: 0 }, "{level}");
        } else {
            assert!(matches!(checked, Err(Unenforceable::Exposed { .. })), "{level}");
            let Ended::NotStarted { why } = &finished.ended else { panic!("{level}: {finished:?}") };
            assert!(why.contains("state") && why.contains("sandbox"), "{why}");
            assert!(!cell.path("work/ran").exists(), "{level}");
        }
    }
}

#[tokio::test]
async fn a_sandbox_that_fails_after_all_keeps_the_program_from_running() {
    let Some(level) = levels().pop() else { return };
    let cell = Cell::new(&level);
    let script = |name: &str, body: &str| {
        let path = cell.path(name);
        fs::write(&path, format!("#!/bin/sh\n{body}\n")).unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o755)).unwrap();
        path
    };
    let failing = script("failing", "echo 'no room for mounts' >&2; exit 1");
    let hanging = script("hanging", &format!("echo $$ >> {}; exec sleep 1000", cell.path("pids").display()));
    for (program, expected) in [
        (failing.to_str().unwrap(), "no room for mounts"),
        ("/bin/true", "ended early"),
        ("/nonexistent/bwrap", "/nonexistent/bwrap"),
        (hanging.to_str().unwrap(), "no answer for 10 s"),
    ] {
        let mut spec = cell.spec("echo ran > ran");
        spec.sandbox.as_mut().unwrap().level.files = Files::Bubblewrap { program: program.into(), landlock: None };
        let finished = cell.lab.run_spec(spec).await.unwrap();
        let Ended::NotStarted { why } = &finished.ended else { panic!("{program}: {finished:?}") };
        assert!(why.contains("the sandbox could not be set up") && why.contains(expected), "{program}: {why}");
        assert!(!cell.path("work/ran").exists(), "{program}");
    }
    assert!(!is_alive(cell.lab.numbers("pids", 1).await[0]));
}

#[tokio::test]
async fn a_program_that_cannot_be_started_says_why_in_a_sandbox_too() {
    for level in levels() {
        let cell = Cell::new(&level);
        fs::write(cell.path("work/plain"), "no program").unwrap();
        for (program, expected) in [
            (words(&[]), "no program was given"),
            (words(&["no-such-program"]), "`no-such-program` was not found in PATH"),
            (words(&["/no/such/program"]), "/no/such/program does not exist"),
            (words(&["./plain"]), "./plain cannot be executed"),
        ] {
            let mut spec = cell.spec("");
            spec.program = program;
            let finished = cell.lab.run_spec(spec).await.unwrap();
            let Ended::NotStarted { why } = &finished.ended else { panic!("{level}: {finished:?}") };
            assert!(why.starts_with(expected), "{level}: {why}");
        }
        let mut spec = cell.spec("true");
        spec.directory = cell.path("missing");
        let finished = cell.lab.run_spec(spec).await.unwrap();
        let Ended::NotStarted { why } = &finished.ended else { panic!("{level}: {finished:?}") };
        assert!(why.contains("missing") && why.contains("directory"), "{level}: {why}");
    }
}

#[tokio::test]
async fn devices_that_hold_something_are_out_of_reach() {
    for level in levels() {
        let cell = Cell::new(&level);
        let finished = cell.run("mknod disk b 254 0 && echo made; mknod memory c 1 1 && echo made").await;
        assert_eq!(finished.stdout, "", "{level}: {}", finished.stderr);
        // Written as it is, so that nothing happens should it be possible.
        let finished =
            cell.run("read name < /proc/sys/kernel/hostname; echo $name > /proc/sys/kernel/hostname && echo set").await;
        assert_eq!(finished.stdout, "", "{level}: {}", finished.stderr);
    }
}

#[tokio::test]
async fn without_anything_writable_nothing_can_be_written() {
    for level in levels() {
        let cell = Cell::new(&level);
        // A name of its own, so that another run of this test cannot have made it.
        let escaped = format!("/tmp/ralph-escaped-{}", std::process::id());
        let mut spec = cell.spec(&format!("echo x > file; echo x > {escaped}; echo done"));
        let sandbox = spec.sandbox.as_mut().unwrap();
        (sandbox.writable, sandbox.network) = (vec![cell.path("not-there")], Network::Allowed);
        let finished = cell.lab.run_spec(spec).await.unwrap();
        assert_eq!(finished.stdout, "done\n", "{level}");
        assert!(!cell.path("work/file").exists() && !Path::new(&escaped).exists(), "{level}");
        assert!(landlock(&level).is_some() || has_mounts(&level));
    }
}
