use super::*;

/// Times of a file system have the resolution of its clock: what happens next has another one.
fn tick(root: &Path) {
    let probe = root.join("probe");
    fs::write(&probe, "").unwrap();
    let before = Stamp::of(&probe).unwrap().changed;
    while Stamp::of(&probe).unwrap().changed == before {
        std::thread::sleep(std::time::Duration::from_millis(1));
        fs::write(&probe, "x").unwrap();
    }
    fs::remove_file(probe).unwrap();
}

#[test]
fn what_was_written_back_or_moved_back_is_seen_and_a_cache_beside_it_is_not() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    fs::create_dir_all(root.join("tests/unit")).unwrap();
    let test = root.join("tests/unit/a.py");
    fs::write(&test, "assert 1\n").unwrap();
    type Act = fn(&Path);
    let cases: [(&str, Act, &[&str]); 5] = [
        ("nothing", |_| {}, &[]),
        (
            "caches",
            |root| {
                fs::create_dir(root.join("tests/unit/__pycache__")).unwrap();
                fs::write(root.join("tests/out.txt"), "x").unwrap();
                fs::remove_file(root.join("tests/out.txt")).unwrap();
            },
            &[],
        ),
        (
            "the old content again",
            |root| {
                let test = root.join("tests/unit/a.py");
                fs::write(&test, "pass\n").unwrap();
                fs::write(&test, "assert 1\n").unwrap();
            },
            &["tests/unit/a.py"],
        ),
        (
            "the folder moved away and back",
            |root| {
                fs::rename(root.join("tests"), root.join("aside")).unwrap();
                fs::rename(root.join("aside"), root.join("tests")).unwrap();
            },
            &["tests/"],
        ),
        ("gone", |root| fs::remove_dir_all(root.join("tests")).unwrap(), &["tests/unit/a.py", "tests/", "tests/unit/"]),
    ];
    for (what, act, expected) in cases {
        let stamps = Stamps::take(root, ["tests/unit/a.py".to_owned()]);
        tick(root);
        act(root);
        assert_eq!(stamps.touched(), expected, "{what}");
    }
}
