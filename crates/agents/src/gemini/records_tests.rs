use std::fs::File;
use std::io::Write as _;

use super::*;

const SESSION: &str = "74588b7d-5504-48ab-bd2a-68080d0b42c9";

struct Place {
    folder: tempfile::TempDir,
    records: Records,
}

impl Place {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir_all(folder.path().join("tmp/ws/chats").join(SESSION)).unwrap();
        let mut records = Records::new(folder.path());
        records.session(SESSION);
        Self { folder, records }
    }

    fn chats(&self, name: &str) -> PathBuf {
        self.folder.path().join("tmp/ws/chats").join(name)
    }

    fn append(&self, name: &str, bytes: &[u8]) {
        let mut file = File::options().create(true).append(true).open(self.chats(name)).unwrap();
        file.write_all(bytes).unwrap();
    }

    fn read(&mut self) -> Vec<String> {
        let mut lines = Vec::new();
        self.records.read(|line| lines.push(line.to_owned()));
        lines
    }
}

const MAIN: &str = "session-2026-11-15T15-06-74588b7d.jsonl";

#[test]
fn lines_are_passed_on_when_they_are_whole() {
    let mut place = Place::new();
    assert_eq!(place.read(), Vec::<String>::new(), "not there yet");
    place.append(MAIN, b"one\ntw");
    assert_eq!(place.read(), ["one"]);
    assert_eq!(place.read(), Vec::<String>::new());
    place.append(MAIN, "o \u{e9}".as_bytes());
    place.append(MAIN, &[0xc3]);
    assert_eq!(place.read(), Vec::<String>::new());
    place.append(MAIN, &[0xa9, b'\n', 0xff, b'\n']);
    assert_eq!(place.read(), ["two é\u{e9}", "\u{fffd}"]);
}

#[test]
fn helpers_are_followed_and_other_sessions_are_not() {
    let mut place = Place::new();
    place.append("session-2026-11-15T15-06-00000000.jsonl", b"other\n");
    place.append(MAIN, b"main\n");
    assert_eq!(place.read(), ["main"]);
    place.append(&format!("{SESSION}/helper.jsonl"), b"helper\n");
    place.append(&format!("{SESSION}/notes.txt"), b"no record\n");
    assert_eq!(place.read(), ["helper"]);
}

#[test]
fn without_a_session_nothing_is_read() {
    let place = Place::new();
    place.append(MAIN, b"main\n");
    for session in ["", "short", "../../../../etc", "74588b7\u{e9}-x"] {
        let mut records = Records::new(place.folder.path());
        records.session(session);
        records.read(|line| panic!("{line}"));
    }
}

#[test]
fn links_and_pipes_are_not_opened() {
    let mut place = Place::new();
    fs::write(place.folder.path().join("elsewhere"), "secret\n").unwrap();
    std::os::unix::fs::symlink(place.folder.path().join("elsewhere"), place.chats(MAIN)).unwrap();
    let pipe = place.chats(&format!("{SESSION}/pipe.jsonl"));
    rustix::fs::mknodat(
        rustix::fs::CWD,
        &pipe,
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR,
        0,
    )
    .unwrap();
    fs::create_dir(place.chats(&format!("{SESSION}/folder.jsonl"))).unwrap();
    assert_eq!(place.read(), Vec::<String>::new());
}

#[test]
fn no_more_files_are_followed_than_there_can_be() {
    let mut place = Place::new();
    place.append(MAIN, b"main\n");
    for number in 0..MAX_FILES * 2 {
        place.append(&format!("{SESSION}/{number}.jsonl"), b"x\n");
    }
    assert_eq!(place.read().len(), MAX_FILES);
}
