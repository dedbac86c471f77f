use std::fs;

use super::*;

#[test]
fn an_ordinary_file_is_read_whole_and_a_missing_one_is_none() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a");
    assert_eq!(read(&path, Links::Refuse).unwrap(), None);
    fs::write(&path, b"x\xff").unwrap();
    assert_eq!(read(&path, Links::Refuse).unwrap(), Some(b"x\xff".to_vec()));
}

#[test]
fn a_link_is_followed_only_where_that_is_wanted() {
    let folder = tempfile::tempdir().unwrap();
    let (file, link) = (folder.path().join("file"), folder.path().join("link"));
    fs::write(&file, "x").unwrap();
    std::os::unix::fs::symlink(&file, &link).unwrap();
    assert_eq!(read(&link, Links::Follow).unwrap(), Some(b"x".to_vec()));
    assert!(read(&link, Links::Refuse).unwrap_err().to_string().contains("symbolic link"));
}

#[test]
fn what_is_no_file_is_refused_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let fifo = folder.path().join("fifo");
    rustix::fs::mknodat(rustix::fs::CWD, &fifo, rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
    // A FIFO that nobody writes to would block an ordinary open for ever.
    assert!(read(&fifo, Links::Follow).unwrap_err().to_string().contains("not an ordinary file"));
    assert!(read(folder.path(), Links::Follow).unwrap_err().to_string().contains("not an ordinary file"));
}

#[test]
fn the_limit_is_exact() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a");
    let limit = usize::try_from(MAX_BYTES).unwrap();
    fs::write(&path, vec![b'x'; limit]).unwrap();
    assert_eq!(read(&path, Links::Refuse).unwrap().map(|bytes| bytes.len()), Some(limit));
    fs::write(&path, vec![b'x'; limit + 1]).unwrap();
    assert!(read(&path, Links::Refuse).unwrap_err().to_string().contains("256 KiB"));
    // Endless, and of size 0 when asked.
    assert!(read(std::path::Path::new("/dev/zero"), Links::Follow).is_err());
}
