use super::*;

fn logged(limit: u64, pieces: &[&str]) -> (String, Recorded) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log");
    let mut log = Log::create(&path, limit).unwrap();
    for piece in pieces {
        log.append(piece).unwrap();
    }
    let recorded = log.finish(pieces.iter().map(|piece| piece.len() as u64).sum()).unwrap();
    (std::fs::read_to_string(path).unwrap(), recorded)
}

#[test]
fn what_fits_is_kept_unchanged() {
    let (text, recorded) = logged(6, &["abc", "def"]);
    assert_eq!(text, "abcdef");
    assert!(!recorded.cut);
    assert_eq!(recorded.sha256, "bef57ec7f53a6d40beb640a780a639c83bc29ac8a9816f1fc6c5c6dcd93c4721");
}

#[test]
fn what_does_not_fit_is_counted() {
    let (text, recorded) = logged(5, &["abc", "dü!", "xyz"]);
    assert_eq!(text, "abcd\n[ralph: the log was cut here, after 4 bytes]\n[ralph: 6 more bytes were not kept]\n");
    assert_eq!((recorded.cut, recorded.bytes), (true, 10));
}

#[test]
fn a_limit_of_nothing_keeps_nothing() {
    assert!(logged(0, &["x"]).0.starts_with("\n[ralph: the log was cut here, after 0 bytes]"));
    assert_eq!(logged(0, &[""]).0, "");
}
