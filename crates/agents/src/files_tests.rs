use std::os::unix::fs::PermissionsExt as _;

use super::*;

#[test]
fn only_plain_files_are_read_and_nobody_waits_for_a_pipe() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    std::fs::write(at("plain"), "0123456789").unwrap();
    std::os::unix::fs::symlink("plain", at("link")).unwrap();
    rustix::fs::mknodat(rustix::fs::CWD, at("pipe"), rustix::fs::FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
    assert_eq!(read_plain(&at("plain"), Links::Refuse, 4).unwrap(), "0123");
    assert_eq!(read_plain(&at("link"), Links::Follow, 100).unwrap(), "0123456789");
    assert!(read_plain(&at("link"), Links::Refuse, 100).is_err());
    assert!(read_plain(&at("pipe"), Links::Follow, 100).is_err());
    assert!(read_plain(folder.path(), Links::Follow, 100).is_err());
    assert_eq!(read_plain(&at("nothing"), Links::Follow, 1).unwrap_err().kind(), io::ErrorKind::NotFound);
}

#[test]
fn what_is_written_is_the_users_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("prompt");
    write_private(&path, "a").unwrap();
    write_private(&path, "bc").unwrap();
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "bc");
    assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    assert!(write_private(&folder.path().join("no/such"), "x").unwrap_err().to_string().contains("no/such"));
}
