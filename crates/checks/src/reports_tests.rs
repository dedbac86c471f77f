use std::fs;

use super::*;

const REPORT: &str = r#"<testsuite><testcase name="a"/><testcase name="b"><failure/></testcase></testsuite>"#;

fn tally(passed: u32, failed: u32) -> TestTally {
    TestTally { passed, failed, ..TestTally::default() }
}

#[test]
fn only_reports_that_were_written_since_count() {
    let root = tempfile::tempdir().unwrap();
    let path = |name: &str| root.path().join(name);
    fs::create_dir_all(path("build/reports/deep")).unwrap();
    fs::create_dir_all(path("node_modules")).unwrap();
    fs::write(path("build/reports/old.xml"), REPORT).unwrap();
    fs::write(path("build/reports/again.xml"), REPORT).unwrap();
    // A time in the future does not make an old report a new one.
    let later = SystemTime::now() + Duration::from_secs(3600);
    fs::File::options().append(true).open(path("build/reports/old.xml")).unwrap().set_modified(later).unwrap();
    let globs = ["build/**/*.xml".to_owned(), "junit.xml".to_owned(), "build/reports/*.xml".to_owned()];
    let before = Before::look(root.path(), &globs, vec![]).unwrap();
    assert_eq!(before.count(), None);

    fs::write(path("build/reports/again.xml"), REPORT.replace("\"b\"", "\"c\"")).unwrap();
    fs::write(path("build/reports/deep/new.xml"), REPORT).unwrap();
    fs::write(path("junit.xml"), REPORT).unwrap();
    fs::write(path("build/reports/page.html"), REPORT).unwrap();
    fs::write(path("node_modules/junit.xml"), REPORT).unwrap();
    // Moved here from another time: its content is not this run's.
    fs::write(path("build/reports/stale.xml"), REPORT).unwrap();
    let earlier = SystemTime::now() - Duration::from_secs(3600);
    fs::File::options().append(true).open(path("build/reports/stale.xml")).unwrap().set_modified(earlier).unwrap();
    let counted = before.count().unwrap();
    assert_eq!((counted.passed, counted.failed, counted.failing), (3, 3, vec!["b".to_owned(), "c".to_owned()]));
}

#[test]
fn a_folder_that_the_check_makes_is_found() {
    let root = tempfile::tempdir().unwrap();
    let before = Before::look(root.path(), &["target/surefire-reports/*.xml".to_owned()], vec![]).unwrap();
    fs::create_dir_all(root.path().join("target/surefire-reports")).unwrap();
    fs::write(root.path().join("target/surefire-reports/a.xml"), REPORT).unwrap();
    assert_eq!(before.count().map(|tally| (tally.passed, tally.failed)), Some((1, 1)));
}

#[test]
fn a_broken_glob_is_named() {
    let (glob, _) = Before::look(Path::new("."), &["a{b".to_owned()], vec![]).unwrap_err();
    assert_eq!(glob, "a{b");
}

#[test]
fn walks_start_where_the_wildcards_start() {
    for (glob, base) in [("*.xml", ""), ("a/b/*.xml", "a/b"), ("./a/**", "a"), ("a/x.xml", "a/x.xml"), ("/a/b?/c", "a")]
    {
        assert_eq!(literal(glob), PathBuf::from(base), "{glob}");
    }
}

#[test]
fn neither_source_hides_what_the_other_shows() {
    for (output, reports, wanted) in [
        (None, None, None),
        (Some(tally(1, 0)), None, Some(tally(1, 0))),
        (None, Some(tally(2, 0)), Some(tally(2, 0))),
        (Some(tally(2, 1)), Some(tally(3, 0)), Some(tally(2, 1))),
        (Some(tally(5, 0)), Some(tally(3, 0)), Some(tally(5, 0))),
        (Some(tally(3, 0)), Some(tally(2, 1)), Some(tally(2, 1))),
    ] {
        assert_eq!(choose(output, reports), wanted);
    }
}

#[test]
fn extra_reports_are_deleted_before_and_read_after() {
    let root = tempfile::tempdir().unwrap();
    let (directory, outside) = (root.path().join("work"), root.path().join("report.xml"));
    fs::create_dir(&directory).unwrap();
    fs::write(&outside, REPORT).unwrap();
    let before = Before::look(&directory, &[], vec![outside.clone()]).unwrap();
    assert!(!outside.exists(), "an old report is none of this check");
    assert_eq!(before.count(), None);
    fs::write(&outside, REPORT).unwrap();
    let counted = before.count().unwrap();
    assert_eq!((counted.passed, counted.failed, counted.names), (1, 1, vec!["a".to_owned(), "b".to_owned()]));
    // A link may lead to any report.
    fs::rename(&outside, directory.join("other.xml")).unwrap();
    std::os::unix::fs::symlink(directory.join("other.xml"), &outside).unwrap();
    assert_eq!(before.count(), None);
    Before::look(&directory, &[], vec![outside.clone()]).unwrap();
    assert!(!outside.is_symlink() && directory.join("other.xml").exists());
}

#[test]
fn reports_in_json_count_too() {
    let root = tempfile::tempdir().unwrap();
    let before = Before::look(root.path(), &["*.json".to_owned()], vec![]).unwrap();
    fs::write(root.path().join("package.json"), "{\"name\":\"shop\"}").unwrap();
    let report = "{\"stats\":{},\"passes\":[{\"fullTitle\":\"adds\"}],\"failures\":[{\"fullTitle\":\"rate\"}]}";
    fs::write(root.path().join("report.json"), report).unwrap();
    let counted = before.count().unwrap();
    assert_eq!((counted.passed, counted.failed, counted.failing), (1, 1, vec!["rate".to_owned()]));
}

#[test]
fn names_of_both_sources_are_kept() {
    let named = |passed, name: &str| TestTally { names: vec![name.to_owned()], ..tally(passed, 0) };
    let chosen = choose(Some(named(2, "tests/test_a.py")), Some(named(1, "tests.test_a.test_x"))).unwrap();
    assert_eq!((chosen.passed, chosen.names.len()), (2, 2));
    assert_eq!(choose(Some(named(1, "a")), Some(named(1, "a"))).unwrap().names, ["a"]);
}
