use proptest::prelude::*;

use super::*;

fn named(names: &[&str]) -> Vec<String> {
    let mut ran = Ran::default();
    names.iter().for_each(|name| ran.again(name));
    ran.into_sorted()
}

#[test]
fn what_changes_from_run_to_run_is_cut() {
    assert_eq!(named(&[" src/lib.rs - total (line 4) "]), ["src/lib.rs - total"]);
    assert_eq!(named(&["a.py::t[<object at 0x7f804fd4d880>]"]), ["a.py::t[<object at 0x…>]"]);
    // Small numbers are parameters that somebody chose.
    assert_eq!(named(&["a.py::t[0x10]"]), ["a.py::t[0x10]"]);
    for (name, wanted) in [
        ("total (2 ms)", "total"),
        ("total (1.5 s)", "total"),
        ("total 12ms", "total"),
        ("total  400ms", "total"),
        ("rate (5 ms) 0ms", "rate"),
        ("total (fast)", "total (fast)"),
        ("costs 12", "costs 12"),
        ("12ms", "12ms"),
    ] {
        assert_eq!(without_time(name), wanted, "{name}");
    }
}

#[test]
fn copies_are_told_apart_where_every_name_is_a_test() {
    assert_eq!(named(&["b", "a", "b", "b"]), ["a", "b", "b #2", "b #3"]);
    let mut ran = Ran::default();
    ran.once("a");
    ran.once("a");
    let mut other = Ran::default();
    other.again("a");
    other.again("a");
    assert_eq!((ran.len(), ran.taken(), other.len(), other.taken()), (1, 0, 1, 2));
    ran.unite(other);
    assert_eq!(ran.into_sorted(), ["a", "a #2"]);
}

#[test]
fn what_is_named_only_when_it_fails_is_no_test() {
    assert_eq!(named(&["\"before all\" hook for \"a\"", "unittest.loader._FailedTest.test_b", "", " "]), [""; 0]);
}

#[test]
fn names_are_bounded_and_do_not_depend_on_their_order() {
    let most = TestTally::MAX_TESTS;
    let take = |numbers: &mut dyn Iterator<Item = usize>| {
        let mut ran = Ran::default();
        numbers.for_each(|number| ran.again(&format!("{:06}", number % (most + 500))));
        ran.into_sorted()
    };
    let forward = take(&mut (0..2 * (most + 500)));
    let backward = take(&mut (0..2 * (most + 500)).rev());
    assert_eq!((forward.len(), &forward), (most, &backward));
    assert_eq!(forward[..3], ["000000", "000000 #2", "000001"]);
    assert!(named(&[&"é".repeat(1000)])[0].len() <= MAX_LENGTH);
    let mut often = Ran { copies: [("a".to_owned(), u32::MAX)].into(), taken: 0 };
    often.again("a");
    assert_eq!(often.into_sorted().len(), most);
}

proptest! {
    #[test]
    fn the_order_of_tests_does_not_matter(mut names in proptest::collection::vec("[a-c]{1,2}( \\(line [0-9]\\))?", 0..40)) {
        let texts = |names: &[String]| named(&names.iter().map(String::as_str).collect::<Vec<_>>());
        let forward = texts(&names);
        names.reverse();
        prop_assert_eq!(&forward, &texts(&names));
        prop_assert!(forward.is_sorted() && forward.len() == names.len());
    }
}

#[test]
fn the_rows_of_one_test_do_not_hide_another() {
    let rows = (0..500).map(|row| format!("t.a[{row:03}]"));
    let all: Vec<String> = rows.chain(["t.b[2]", "t.b[1]", "t.c"].map(str::to_owned)).collect();
    let kept = |all: &mut dyn Iterator<Item = &String>| {
        let mut names = Names::default();
        all.for_each(|name| names.insert(name));
        names.into_sorted()
    };
    let names = kept(&mut all.iter());
    assert_eq!(names.len(), TestTally::MAX_NAMES);
    assert_eq!(names[197..], ["t.a[197]", "t.b[1]", "t.c"]);
    assert_eq!(names, kept(&mut all.iter().rev()));
}
