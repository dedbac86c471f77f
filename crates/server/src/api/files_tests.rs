use super::*;

#[test]
fn logs_lie_inside_of_their_loop() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("logs")).unwrap();
    std::fs::write(folder.path().join("logs/a.log"), "x").unwrap();
    std::os::unix::fs::symlink("/etc/passwd", folder.path().join("logs/link")).unwrap();
    assert!(inside(folder.path(), "logs/a.log").is_some());
    for file in ["/etc/passwd", "../x", "logs/../../x", "logs/link", "logs", "logs/none", ""] {
        assert_eq!(inside(folder.path(), file), None, "{file}");
    }
}
