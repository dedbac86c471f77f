use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::json;

use crate::tests::Lab;

#[tokio::test]
async fn files_are_written_read_edited_moved_and_deleted() {
    let lab = Lab::new();
    let outcome = lab.done("fs_writeFile", json!({"path": "a/b/c.txt", "content": "one\ntwo\ntwo\n"})).await;
    assert_eq!(outcome.summary, "created a/b/c.txt (3 lines)");
    fs::set_permissions(lab.path("a/b/c.txt"), fs::Permissions::from_mode(0o750)).unwrap();
    let absolute = fs::canonicalize(lab.path("a/b/c.txt")).unwrap();
    assert_eq!(lab.done("fs_readFile", json!({"path": absolute})).await.text, "one\ntwo\ntwo\n");
    let edit = |all| json!({"path": "./a/b/c.txt", "old": "two", "new": "2", "all": all});
    let refused = lab.refused("fs_edit", edit(false)).await;
    assert_eq!(refused, "./a/b/c.txt contains that text 2 times: add lines around it, or set all");
    assert_eq!(lab.done("fs_edit", edit(true)).await.summary, "edited a/b/c.txt (2 replacements)");
    assert!(lab.refused("fs_edit", edit(true)).await.contains("does not contain that text"));
    assert_eq!(fs::read_to_string(lab.path("a/b/c.txt")).unwrap(), "one\n2\n2\n");
    assert_eq!(fs::metadata(lab.path("a/b/c.txt")).unwrap().permissions().mode() & 0o777, 0o750);

    lab.done("fs_mkdir", json!({"path": "x/y"})).await;
    assert_eq!(lab.done("fs_move", json!({"from": "a/b", "to": "x/z"})).await.summary, "moved a/b to x/z");
    assert!(lab.refused("fs_move", json!({"from": "x/y", "to": "x/z"})).await.contains("exists"));
    assert_eq!(lab.done("fs_listFiles", json!({"path": "x"})).await.text, "y/\nz/");
    assert_eq!(lab.done("fs_listFiles", json!({"path": "x/z"})).await.text, "c.txt (8 bytes)");
    assert!(lab.refused("fs_delete", json!({"path": "x"})).await.contains("not empty"));
    lab.done("fs_delete", json!({"path": "x/z/c.txt"})).await;
    lab.done("fs_delete", json!({"path": "x/z"})).await;
    assert_eq!(lab.refused("fs_delete", json!({"path": "x/z"})).await, "x/z does not exist");
    for (name, arguments) in
        [("fs_delete", json!({"path": "."})), ("fs_writeFile", json!({"path": "x", "content": ""}))]
    {
        lab.refused(name, arguments).await;
    }
}

#[tokio::test]
async fn reading_is_bounded_and_says_so() {
    let lab = Lab::new();
    let lines: String = (1..=10_000).map(|number| format!("line {number}\n")).collect();
    fs::write(lab.path("long"), &lines).unwrap();
    let first = lab.done("fs_readFile", json!({"path": "long"})).await;
    assert!(first.text.len() <= crate::MAX_TEXT, "{}", first.text.len());
    let next: usize = first.text.trim_end_matches(']').rsplit(' ').next().unwrap().parse().unwrap();
    let rest = lab.done("fs_readFile", json!({"path": "long", "offset": next, "limit": 1})).await;
    assert!(rest.text.starts_with(&format!("line {next}\n[lines {next} to {next} of 10000")), "{}", rest.text);
    assert_eq!(rest.summary, format!("read lines {next} to {next} of 10000 of long"));
    assert!(lab.refused("fs_readFile", json!({"path": "long", "offset": 10_001})).await.contains("after its end"));
    fs::write(lab.path("wide"), "ä".repeat(crate::MAX_TEXT)).unwrap();
    let wide = lab.done("fs_readFile", json!({"path": "wide"})).await.text;
    assert!(wide.ends_with("bytes that are shown]") && !wide.contains("left out"), "{wide}");
    fs::write(lab.path("binary"), b"\x7fELF\0\0").unwrap();
    assert_eq!(lab.refused("fs_readFile", json!({"path": "binary"})).await, "binary is a binary file of 6 bytes");
    fs::File::create(lab.path("huge")).unwrap().set_len(1 << 30).unwrap();
    assert!(lab.refused("fs_readFile", json!({"path": "huge"})).await.starts_with("huge has 1073741824 bytes"));
    assert!(lab.refused("fs_readFile", json!({"path": "."})).await.contains("is a folder"));
    fs::write(lab.path("secret"), "the word is correct-horse-battery").unwrap();
    assert_eq!(lab.done("fs_readFile", json!({"path": "secret"})).await.text, "the word is [redacted:TOKEN]");
    rustix::fs::mknodat(
        rustix::fs::CWD,
        lab.path("fifo"),
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR,
        0,
    )
    .unwrap();
    assert_eq!(lab.refused("fs_readFile", json!({"path": "fifo"})).await, "fifo is not an ordinary file");
    assert!(lab.refused("fs_writeFile", json!({"path": "fifo", "content": ""})).await.contains("not an ordinary file"));
    lab.done("fs_grep", json!({"pattern": "line"})).await;
}

#[tokio::test]
async fn globs_and_searches_leave_out_what_git_ignores() {
    let lab = Lab::new();
    for folder in ["src/deep", "target", ".git", ".ralph"] {
        fs::create_dir_all(lab.path(folder)).unwrap();
    }
    fs::write(lab.path(".gitignore"), "target/\n*.log\n").unwrap();
    fs::write(lab.path("src/.gitignore"), "!kept.log\n").unwrap();
    for file in
        ["main.rs", "src/lib.rs", "src/deep/mod.rs", "target/x.rs", "a.log", "src/kept.log", ".git/x.rs", ".ralph/x.rs"]
    {
        fs::write(lab.path(file), "first\nlet Needle = 1;\n").unwrap();
    }
    fs::write(lab.path("src/blob.rs"), b"needle\0").unwrap();
    for (pattern, expected) in [
        ("**/*.rs", "main.rs\nsrc/blob.rs\nsrc/deep/mod.rs\nsrc/lib.rs\n"),
        ("*.log", "src/kept.log\n"),
        ("src/*.rs", "src/blob.rs\nsrc/lib.rs\n"),
        ("*.py", "nothing found"),
    ] {
        assert_eq!(lab.done("fs_glob", json!({"pattern": pattern})).await.text, expected, "{pattern}");
    }
    let found = lab.done("fs_grep", json!({"pattern": "(?i)needle =", "glob": "*.rs"})).await;
    assert_eq!(
        found.text,
        "main.rs:2: let Needle = 1;\nsrc/deep/mod.rs:2: let Needle = 1;\nsrc/lib.rs:2: let Needle = 1;\n"
    );
    assert_eq!(found.summary, "found 3 lines of (?i)needle = in 3 files");
    let one = lab.done("fs_grep", json!({"pattern": "^first", "path": "src/deep"})).await;
    assert_eq!(one.text, "src/deep/mod.rs:1: first\n");
    assert_eq!(lab.done("fs_grep", json!({"pattern": "zzz", "path": "main.rs"})).await.text, "nothing found");
    assert!(lab.refused("fs_grep", json!({"pattern": "("})).await.contains("no regular expression"));
    assert!(lab.refused("fs_glob", json!({"pattern": "a{"})).await.contains("is no glob"));
}

#[tokio::test]
async fn nothing_outside_and_nothing_prohibited_is_touched() {
    let lab = Lab::new();
    let outside = lab.folder.path().join("outside");
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("file"), "theirs").unwrap();
    for folder in [".git/hooks", ".ralph", "src/auth", "sub/.git"] {
        fs::create_dir_all(lab.path(folder)).unwrap();
        fs::write(lab.path(folder).join("file"), "ours").unwrap();
    }
    symlink(&outside, lab.path("out")).unwrap();
    symlink("../outside/file", lab.path("leaf")).unwrap();
    symlink("../outside/new", lab.path("dangling")).unwrap();
    symlink(".git", lab.path("git")).unwrap();
    symlink("src/auth", lab.path("login")).unwrap();
    symlink("/proc/self/cwd", lab.path("magic")).unwrap();

    for path in ["../outside/file", "/etc/passwd", "out/file", "leaf", "src/../../outside/file", "magic/file"] {
        let read = lab.refused("fs_readFile", json!({"path": path})).await;
        assert!(read.contains("outside") || read.contains("Too many levels"), "{read}");
        lab.refused("fs_edit", json!({"path": path, "old": "theirs", "new": "mine"})).await;
        lab.refused("fs_writeFile", json!({"path": path, "content": "mine"})).await;
        lab.refused("fs_grep", json!({"pattern": "theirs", "path": path})).await;
    }
    for path in ["../outside/new", "out/new", "dangling", "out/deep/new", "../outside"] {
        lab.refused("fs_writeFile", json!({"path": path, "content": "mine"})).await;
        lab.refused("fs_mkdir", json!({"path": path})).await;
        lab.refused("fs_move", json!({"from": "src", "to": path})).await;
    }
    lab.refused("fs_delete", json!({"path": "out/file"})).await;
    lab.refused("fs_move", json!({"from": "out/file", "to": "mine"})).await;
    for path in
        [".git/file", ".git/hooks/pre-commit", "git/file", ".ralph/file", "sub/.git/file", ".GIT/config", ".git"]
    {
        lab.refused("fs_readFile", json!({"path": path})).await;
        lab.refused("fs_writeFile", json!({"path": path, "content": "mine"})).await;
        lab.refused("fs_delete", json!({"path": path})).await;
        lab.refused("fs_move", json!({"from": "src", "to": path})).await;
    }
    for path in ["src/auth/file", "src/auth/new", "login/file", "src/./auth/../auth/file"] {
        let written = lab.refused("fs_writeFile", json!({"path": path, "content": "mine"})).await;
        assert!(written.contains("prohibited path (`src/auth/**`)"), "{written}");
        lab.refused("fs_delete", json!({"path": path})).await;
    }
    // Not with their folder either.
    for from in ["src", "sub"] {
        lab.refused("fs_move", json!({"from": from, "to": "elsewhere"})).await;
    }
    assert_eq!(lab.done("fs_readFile", json!({"path": "login/file"})).await.text, "ours");
    // A link itself can go.
    lab.done("fs_delete", json!({"path": "out"})).await;
    assert_eq!(fs::read_to_string(outside.join("file")).unwrap(), "theirs");
    assert_eq!(fs::read_dir(&outside).unwrap().count(), 1);
}

/// A folder on the way is exchanged for a link and back, all the time.
#[tokio::test]
async fn no_race_leads_outside() {
    static STOP: AtomicBool = AtomicBool::new(false);
    let lab = Lab::new();
    let outside = lab.folder.path().join("outside");
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("file"), "theirs").unwrap();
    fs::create_dir(lab.path("real")).unwrap();
    fs::write(lab.path("real/file"), "ours").unwrap();
    let (way, real, link) = (lab.path("way"), lab.path("real"), lab.path("link"));
    symlink(&outside, &link).unwrap();
    let swapper = std::thread::spawn(move || {
        while !STOP.load(Ordering::Relaxed) {
            for from in [&real, &link] {
                let _ = fs::rename(from, &way);
                let _ = fs::rename(&way, from);
            }
        }
    });
    let mut written = 0;
    for round in 0..100 {
        let read = lab.call("fs_readFile", json!({"path": "way/file"})).await;
        assert!(!read.text.contains("theirs"), "{read:?}");
        let path = format!("way/new-{round}");
        written += u32::from(lab.call("fs_writeFile", json!({"path": path, "content": "mine"})).await.success);
        let found = lab.call("fs_grep", json!({"pattern": "theirs"})).await;
        assert!(!found.text.contains("theirs:") && !found.text.contains(": theirs"), "{found:?}");
    }
    STOP.store(true, Ordering::Relaxed);
    swapper.join().unwrap();
    assert_eq!(fs::read_dir(&outside).unwrap().count(), 1, "{written} files were written inside");
}
