//! Where tests go in files of Go, and how they look there.

use super::*;

fn planted(path: &str, text: &str) -> Option<(String, Presence)> {
    let planted = plant(path, text.as_bytes(), "", &mut Names::new(1))?;
    let text = String::from_utf8(planted.content).unwrap();
    for mark in &planted.marks {
        assert_eq!(text.matches(&format!("func Test_{mark}(t *")).count(), 1, "{text}");
    }
    Some((text, planted.presence))
}

const TEST: &str = "package cart\n\nimport \"testing\"\n\nfunc TestA(t *testing.T) {\n}\n";

#[test]
fn the_name_of_the_testing_package_is_kept() {
    let cases = [
        ("import \"testing\"", "t *testing.T"),
        ("import check \"testing\"", "t *check.T"),
        ("import . \"testing\"", "t *T"),
        ("import (\n\t\"os\"\n\tcheck \"testing\" // tests\n)", "t *check.T"),
        ("import (\"testing\")", "t *testing.T"),
    ];
    for (import, kind) in cases {
        let (text, presence) = planted("a_test.go", &TEST.replace("import \"testing\"", import)).unwrap();
        assert!(text.contains(&format!("({kind}) {{\n\tt.Error(")), "{text}");
        assert_eq!(presence, Presence::Sure);
    }
}

#[test]
fn build_tags_and_platforms_are_conditions() {
    assert_eq!(planted("a_test.go", &format!("//go:build slow\n\n{TEST}")).unwrap().1, Presence::Conditional);
    assert_eq!(planted("a_windows_test.go", TEST).unwrap().1, Presence::Conditional);
    assert_eq!(planted("a_linux_amd64_test.go", TEST).unwrap().1, Presence::Conditional);
    assert_eq!(planted("a_window_test.go", TEST).unwrap().1, Presence::Sure);
}

#[test]
fn other_files_are_left_alone() {
    assert!(planted("a.go", TEST).is_none());
    assert!(planted("testdata/a_test.go", TEST).is_none());
    assert!(planted("_old/a_test.go", TEST).is_none());
    assert!(planted("a_test.go", "package cart\n\nvar A = b\n").is_none());
    assert!(planted("a_test.go", &TEST.replace("import \"testing\"", "import _ \"testing\"")).is_none());
}

#[test]
fn a_filter_is_part_of_the_name() {
    let planted = |prefix: &str| {
        let planted = plant("a_test.go", TEST.as_bytes(), prefix, &mut Names::new(1)).unwrap();
        String::from_utf8(planted.content).unwrap()
    };
    assert!(planted("TestCart_").contains("func TestCart_"));
    assert!(planted("Cart_").contains("func Test_Cart_"));
}

#[test]
fn new_files_belong_to_the_package_of_their_folder() {
    let files = [
        File { path: "main.go", content: b"// A program.\npackage main\n" },
        File { path: "cart/cart.go", content: b"package cart\n" },
        File { path: "cart/gen.go", content: b"//go:build ignore\n\npackage main\n" },
        File { path: "cart/testdata/a.go", content: b"package a\n" },
    ];
    let made = fresh(&files.iter().collect::<Vec<_>>(), "", &mut Names::new(1));
    let starts: Vec<(&str, String)> = made
        .iter()
        .map(|(path, planted)| {
            (folder(path), String::from_utf8_lossy(&planted.content).lines().next().unwrap().to_owned())
        })
        .collect();
    assert_eq!(starts, [("", "package main".to_owned()), ("cart", "package cart".to_owned())]);
}
