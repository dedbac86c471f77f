use ralph_model::{Ended, Millis, OutputRef, TreeHash};

use super::*;

const FILE: &str = "def test_a():\n    assert a() == 1\n\n\ndef test_b():\n    assert b() == 2\n\n\ndef test_c():\n    assert c() == 3\n";

fn check(passed: bool, failing: &[&str], names: &[&str]) -> CheckOutcome {
    let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
    let failed = u32::try_from(failing.len()).unwrap();
    let tests = TestTally { passed: 3, failed, skipped: 0, failing: owned(failing), names: owned(names) };
    CheckOutcome {
        command: "pytest".into(),
        passed,
        ended: Ended::Exited { code: i32::from(!passed) },
        tests: Some(tests),
        shrunk: None,
        flaky: false,
        retries: 0,
        duration: Millis(1),
        excerpt: String::new(),
        signature: None,
        output: OutputRef::default(),
    }
}

fn file(content: &[u8]) -> TestFile {
    let original = Some(content.to_vec());
    TestFile { path: "t.py".into(), content: content.to_vec(), original, reported_as: Vec::new() }
}

fn verdict(check: CheckOutcome) -> Verdict {
    Verdict::new(TreeHash::default(), vec![check])
}

/// What the runs say in which the changed tests fail that `fails` names, and always those that `broken` names.
fn judged(failed_before: &[&str], fails: fn(&str, usize) -> bool, broken: &[&str]) -> (usize, Option<Tripwire>) {
    let all = ["t.py::test_a", "t.py::test_b", "t.py::test_c"];
    let baseline = verdict(check(failed_before.is_empty(), failed_before, &all));
    let mut plan = Plan::new(
        &[file(FILE.as_bytes())],
        &Selection::default(),
        Some(&baseline),
        &verdict(check(true, &[], &[])),
        Equality::AsAtStart,
        7,
    );
    let mut runs = 0;
    while plan.next_files().is_some() {
        runs += 1;
        let failing: Vec<String> = plan
            .tests()
            .filter(|planned| planned.is_changed && fails(&planned.name, planned.tried))
            .map(|planned| format!("t.py::{}", planned.name))
            .collect();
        let failing: Vec<&str> = failing.iter().map(String::as_str).chain(broken.iter().copied()).collect();
        let outcomes = [check(failing.is_empty(), &failing, &all)];
        let passing = verdict(check(true, &[], &[]));
        let (verdict, baseline) = (&passing, Some(&baseline));
        plan.note(&ChangedRun { outcomes: &outcomes, output: "", verdict, baseline, stops_early: false });
    }
    (runs, plan.judge(&verdict(check(true, &[], &all))))
}

#[test]
fn every_changed_test_has_to_be_reported_and_every_other_to_pass() {
    let a: &[&str] = &["t.py::test_a"];
    let fail = |changed, failed_before, unproven: &[&str]| {
        let unproven = unproven.iter().map(|name| (*name).to_owned()).collect();
        Some(Tripwire::TestsFail { changed, failed_before, unproven })
    };
    let pass =
        |tests: &[&str]| Some(Tripwire::TestsPass { tests: tests.iter().map(|name| (*name).to_owned()).collect() });
    assert_eq!(judged(a, |_, _| true, &[]), (2, fail(3, 1, &[])));
    // A wrong value that passes is not made good by another function.
    assert_eq!(judged(a, |name, tried| name != "test_a" || tried == 2, &[]), (2, pass(&["test_a"])));
    let (_, unproven) = judged(a, |name, _| name != "test_c", &[]);
    assert_eq!(unproven, fail(2, 1, &["test_c"]));
    let (_, void) = judged(a, |name, _| name != "test_a", &[]);
    assert_eq!(void, pass(&["test_a"]), "it failed at the start");
    let (_, void) = judged(&[], |name, _| name == "test_a", &[]);
    assert!(matches!(void, Some(Tripwire::TestsPass { tests }) if tests.len() == 2));
    let (_, void) = judged(&[], |_, _| false, &[]);
    assert!(matches!(void, Some(Tripwire::TestsPass { tests }) if tests.len() == 3));
    // In a build from nothing a test fails as it is.
    let (_, others) = judged(a, |_, _| true, a);
    assert_eq!(others, Some(Tripwire::OthersFail { failing: vec!["t.py::test_a".into()] }));
}

#[test]
fn what_one_change_does_not_show_another_does() {
    let names = ["t.py::test_a", "t.py::test_b"];
    let baseline = verdict(check(false, &names, &names));
    let file = b"def test_a():\n    assert a(1) in b\n\n\ndef test_b():\n    assert a(2) in b\n";
    let mut plan = Plan::new(
        &[self::file(file)],
        &Selection::default(),
        Some(&baseline),
        &verdict(check(true, &[], &[])),
        Equality::AsAtStart,
        7,
    );
    let mut runs = 0;
    while plan.next_files().is_some() {
        runs += 1;
        let failing = plan.tests().filter(|one| one.is_changed && one.tried == 2).map(|one| one.name.as_str());
        let failing: Vec<String> = failing.map(|name| format!("t.py::{name}")).collect();
        let failing: Vec<&str> = failing.iter().map(String::as_str).collect();
        let outcomes = [check(failing.is_empty(), &failing, &names)];
        let (verdict, baseline) = (&verdict(check(true, &[], &[])), Some(&baseline));
        plan.note(&ChangedRun { outcomes: &outcomes, output: "", verdict, baseline, stops_early: false });
    }
    let fails = Tripwire::TestsFail { changed: 2, failed_before: 2, unproven: vec![] };
    assert_eq!((runs, plan.judge(&baseline)), (3, Some(fails)));
}

#[test]
fn a_test_alone_has_to_pass_as_it_is() {
    let baseline = verdict(check(false, &["t.py::test_a"], &["t.py::test_a"]));
    let file = file(b"def test_a():\n    assert a() == 1\n");
    for (passes, tripwire) in [
        (true, Tripwire::TestsFail { changed: 1, failed_before: 1, unproven: vec![] }),
        (false, Tripwire::OthersFail { failing: vec!["t.py::test_a".into()] }),
    ] {
        let mut plan = Plan::new(
            std::slice::from_ref(&file),
            &Selection::default(),
            Some(&baseline),
            &verdict(check(true, &[], &[])),
            Equality::AsAtStart,
            7,
        );
        let mut changed = Vec::new();
        while let Some(files) = plan.next_files() {
            changed.push(files.len());
            let fails = !files.is_empty() || !passes;
            let failing: &[&str] = if fails { &["t.py::test_a"] } else { &[] };
            let outcomes = [check(!fails, failing, &["t.py::test_a"])];
            let baseline = Some(&baseline);
            plan.note(&ChangedRun {
                outcomes: &outcomes,
                output: "",
                verdict: &verdict(check(true, &[], &[])),
                baseline,
                stops_early: false,
            });
        }
        assert_eq!(changed, [1, 0]);
        assert_eq!(plan.judge(&verdict(check(true, &[], &[]))), Some(tripwire));
    }
}

#[test]
fn a_run_that_breaks_is_tried_with_other_changes() {
    let baseline = verdict(check(true, &[], &["t.py::test_a"]));
    let mut plan = Plan::new(
        &[file(FILE.as_bytes())],
        &Selection::default(),
        Some(&baseline),
        &verdict(check(true, &[], &[])),
        Equality::AsAtStart,
        7,
    );
    let broken = [CheckOutcome { tests: None, ..check(false, &[], &[]) }];
    let mut runs = 0;
    while plan.next_files().is_some() {
        runs += 1;
        plan.note(&ChangedRun {
            outcomes: &broken,
            output: "",
            verdict: &baseline,
            baseline: Some(&baseline),
            stops_early: false,
        });
    }
    assert!(runs >= 2);
    assert_eq!(plan.judge(&baseline), Some(Tripwire::Broken { planted: vec!["t.py".into()] }));
}

#[test]
fn names_of_runners_are_those_of_tests() {
    for (reported, name) in [
        ("tests/t.py::TestA::test_a[1-2]", "test_a"),
        ("test_a (t.TestA.test_a)", "test_a"),
        ("cart::tests::adds", "adds"),
        ("TestSum/two", "TestSum"),
        ("a.test.ts > cart > adds 1", "adds %i"),
        ("cart › adds two", "adds two"),
        ("CartTest#test_adds_two", "adds two"),
        ("cart::tax#test_0001_adds two", "adds two"),
        ("CartTest::testAdd with data set #0 (2, 3)", "testAdd"),
    ] {
        assert!(is_reported_as(reported, name), "{reported} {name}");
    }
    for (reported, name) in [("t.py::test_ab", "test_a"), ("cart > adds two", "adds"), ("TestSummary", "TestSum")] {
        assert!(!is_reported_as(reported, name), "{reported} {name}");
    }
}

/// Runs a plan over one file whose checks behave as `fails` says for the changed content; gives the judgement.
fn told(content: &str, (baseline, now): (&Verdict, &Verdict), run: impl Fn(&str) -> CheckOutcome) -> Option<Tripwire> {
    let mut plan =
        Plan::new(&[file(content.as_bytes())], &Selection::default(), Some(baseline), now, Equality::AsAtStart, 7);
    while let Some(files) = plan.next_files() {
        let changed =
            files.first().map_or(content.to_owned(), |(_, content)| String::from_utf8(content.clone()).unwrap());
        let outcomes = [run(&changed)];
        plan.note(&ChangedRun {
            outcomes: &outcomes,
            output: "",
            verdict: now,
            baseline: Some(baseline),
            stops_early: false,
        });
    }
    plan.judge(now)
}

#[test]
fn an_assertion_that_is_void_shows_although_another_one_fails() {
    let names = ["t.py::test_a", "t.py::test_b"];
    let baseline = verdict(check(false, &["t.py::test_a"], &names));
    let now = verdict(check(true, &[], &names));
    let text = "def test_a():\n    assert a() == 1\n    assert b() == 2\n\n\ndef test_b():\n    assert c() == 3\n";
    let run = |first_only: bool| {
        move |changed: &str| {
            let fails = !changed.contains("a() == 1") || (!first_only && !changed.contains("b() == 2"));
            let mut failing = if fails { vec!["t.py::test_a"] } else { vec![] };
            failing.extend((!changed.contains("c() == 3")).then_some("t.py::test_b"));
            check(failing.is_empty(), &failing, &names)
        }
    };
    assert_eq!(told(text, (&baseline, &now), run(true)), Some(Tripwire::TestsPass { tests: vec!["test_a".into()] }));
    let fails = Tripwire::TestsFail { changed: 2, failed_before: 1, unproven: vec![] };
    assert_eq!(told(text, (&baseline, &now), run(false)), Some(fails));
}

#[test]
fn an_input_that_does_not_matter_says_nothing_of_a_test_that_fails_elsewhere() {
    let names = ["t.py::test_a"];
    let (baseline, now) = (verdict(check(false, &names, &names)), verdict(check(true, &[], &names)));
    let judged = |matters: &'static [&'static str]| {
        told("def test_a():\n    assert f(1)\n    assert g(1)\n", (&baseline, &now), |changed| {
            let fails = matters.iter().any(|call| !changed.contains(&format!("assert {call}\n")));
            let failing: &[&str] = if fails { &names } else { &[] };
            check(failing.is_empty(), failing, &names)
        })
    };
    let fails = |unproven: Vec<String>| {
        let number = u32::from(unproven.is_empty());
        Some(Tripwire::TestsFail { changed: number, failed_before: number, unproven })
    };
    assert_eq!(judged(&["f(1)", "g(1)"]), fails(vec![]));
    assert_eq!(judged(&["f(1)"]), fails(vec![]));
}

#[test]
fn tests_of_one_name_have_to_be_reported_each() {
    let names = ["t.py::A::test_a", "t.py::B::test_a"];
    let baseline = verdict(check(false, &["t.py::B::test_a"], &names));
    let now = verdict(check(true, &[], &names));
    let text = "class A:\n    def test_a(self):\n        assert a() == 1\n\n\nclass B:\n    def test_a(self):\n        assert b() == 2\n";
    let judged = told(text, (&baseline, &now), |changed| {
        let failing: &[&str] = if changed.contains("a() == 1") { &[] } else { &["t.py::A::test_a"] };
        check(failing.is_empty(), failing, &names)
    });
    assert_eq!(judged, Some(Tripwire::TestsPass { tests: vec!["test_a".into()] }));
}

#[test]
fn a_test_that_does_not_run_when_it_is_changed_was_not_reported() {
    let names = ["t.py::test_a", "t.py::test_b", "t.py::test_c"];
    let baseline = verdict(check(false, &["t.py::test_a"], &names));
    let now = verdict(check(true, &[], &names));
    let drops = |changed: &str| {
        let others = [("b() == 2", names[1]), ("c() == 3", names[2])];
        let failing: Vec<&str> =
            others.iter().filter(|(text, _)| !changed.contains(text)).map(|(_, name)| *name).collect();
        if changed.contains("a() == 1") {
            check(failing.is_empty(), &failing, &names)
        } else {
            check(false, &failing, &names[1..])
        }
    };
    assert_eq!(told(FILE, (&baseline, &now), drops), Some(Tripwire::TestsPass { tests: vec!["test_a".into()] }));
    // Nothing could be loaded at the start, and a runner without names counts as many tests as for the verdict.
    let baseline = verdict(CheckOutcome {
        tests: Some(TestTally { failed: 1, ..TestTally::default() }),
        ..check(false, &[], &[])
    });
    let now = verdict(check(true, &[], &[]));
    let forced = |changed: &str| {
        let others = [("b() == 2", "test_b (t.T.test_b)"), ("c() == 3", "test_c (t.T.test_c)")];
        let failing: Vec<&str> =
            others.iter().filter(|(text, _)| !changed.contains(text)).map(|(_, name)| *name).collect();
        check(failing.is_empty() && changed.contains("a() == 1"), &failing, &[])
    };
    assert_eq!(told(FILE, (&baseline, &now), forced), Some(Tripwire::TestsPass { tests: vec!["test_a".into()] }));
}

#[test]
fn a_test_that_failed_and_cannot_be_changed_proves_nothing() {
    let names = ["t.py::test_a", "t.py::test_b"];
    let baseline = verdict(check(false, &["t.py::test_a"], &names));
    let now = verdict(check(true, &[], &names));
    let text = "def test_a():\n    a()\n\n\ndef test_b():\n    assert b() == 2\n";
    let judged = told(text, (&baseline, &now), |changed| {
        let failing: &[&str] = if changed.contains("b() == 2") { &[] } else { &["t.py::test_b"] };
        check(failing.is_empty(), failing, &names)
    });
    assert_eq!(judged, Some(Tripwire::TestsFail { changed: 1, failed_before: 0, unproven: vec!["test_a".into()] }));
}

#[test]
fn modules_and_files_are_wholes() {
    for (name, path, expected) in [
        ("tests.test_cart", "tests/test_cart.py", true),
        ("test_cart", "tests/test_cart.py", true),
        ("cart", "tests/test_cart.py", false),
        ("tests/test_cart.py", "tests/test_cart.py", true),
        ("tests.test_cart.test_add", "tests/test_cart.py", false),
    ] {
        assert_eq!(is_whole_of(name, path), expected, "{name} {path}");
    }
}

#[test]
fn a_test_that_nothing_shows_to_run_may_pass() {
    let two = "def test_a():\n    assert a() == 1\n\n\ndef test_b():\n    assert b() == 2\n";
    let tally = |passed: bool, count: u32, failing: &[&str]| {
        let mut check = check(passed, failing, &[]);
        check.tests = check.tests.map(|tests| TestTally { passed: count - tests.failed, ..tests });
        check
    };
    // The runner names failing tests only.
    let judged = |count: u32, a_fails: bool, is_named: bool| {
        let failing: &[&str] = if is_named { &["test_a (t.T.test_a)"] } else { &[] };
        let (baseline, now) = (verdict(tally(false, count, failing)), verdict(tally(true, count, &[])));
        told(two, (&baseline, &now), |changed| {
            let fails = a_fails && !changed.contains("a() == 1");
            tally(!fails, count, if fails { &["test_a (t.T.test_a)"] } else { &[] })
        })
    };
    let fails = Tripwire::TestsFail { changed: 1, failed_before: 1, unproven: vec![] };
    assert_eq!(judged(1, true, true), Some(fails));
    assert_eq!(judged(1, false, true), Some(Tripwire::TestsPass { tests: vec!["test_a".into()] }));
    let passes = |judged| matches!(judged, Some(Tripwire::TestsPass { .. }));
    assert!(passes(judged(2, false, false)), "each of them runs");
    assert!(passes(judged(1, false, false)), "one of them runs");
    // A check that counts nothing and starts no runner is not asked.
    let silent = || {
        let mut check = check(false, &[], &[]);
        check.tests = None;
        verdict(check)
    };
    assert!(
        Plan::new(&[file(two.as_bytes())], &Selection::default(), Some(&silent()), &silent(), Equality::AsAtStart, 7)
            .is_empty()
    );
}

#[test]
fn what_failed_at_the_start_and_is_not_changed_is_named() {
    let names = ["t.py::test_a", "t.py::test_b", "total 3"];
    let baseline = verdict(check(false, &["t.py::test_a", "total 3"], &names));
    let now = verdict(check(true, &[], &names));
    let text = "@skipif(windows)\ndef test_a():\n    assert a() == 1\n\n\ndef test_b():\n    assert b() == 2\n";
    let judged = told(text, (&baseline, &now), |changed| {
        let tests = [("a() == 1", names[0]), ("b() == 2", names[1])];
        let failing: Vec<&str> =
            tests.iter().filter(|(text, _)| !changed.contains(text)).map(|(_, name)| *name).collect();
        check(failing.is_empty(), &failing, &names)
    });
    // A test that ran is changed whatever its head says; one that no file defines proves nothing.
    assert_eq!(judged, Some(Tripwire::TestsFail { changed: 2, failed_before: 1, unproven: vec!["total 3".into()] }));
}

#[test]
fn a_test_that_only_the_work_made_void_shows_on_the_code_of_the_start() {
    let names = ["t.py::test_a", "t.py::test_b", "t.py::test_c"];
    let baseline = verdict(check(false, &["t.py::test_a"], &names));
    let now = verdict(check(true, &[], &names));
    let mut plan =
        Plan::new(&[file(FILE.as_bytes())], &Selection::default(), Some(&baseline), &now, Equality::AsAtStart, 7);
    while let Some(files) = plan.next_files() {
        let changed = files.first().map_or(FILE.to_owned(), |(_, it)| String::from_utf8(it.clone()).unwrap());
        let tests = [("a() == 1", names[0]), ("b() == 2", names[1])];
        let failing: Vec<&str> =
            tests.iter().filter(|(text, _)| !changed.contains(text)).map(|(_, name)| *name).collect();
        let outcomes = [check(failing.is_empty(), &failing, &names)];
        let (verdict, baseline) = (&now, Some(&baseline));
        plan.note(&ChangedRun { outcomes: &outcomes, output: "", verdict, baseline, stops_early: false });
    }
    assert!(matches!(plan.judge(&now), Some(Tripwire::TestsFail { .. })));
    let files = plan.doubtful_files().unwrap();
    assert!(!String::from_utf8(files[0].1.clone()).unwrap().contains("c() == 3"));
    plan.note_start(&[check(false, &["t.py::test_a"], &names)]);
    assert!(matches!(plan.judge(&now), Some(Tripwire::TestsFail { .. })), "it is weak by itself");
    plan.note_start(&[check(false, &["t.py::test_a", "t.py::test_c"], &names)]);
    assert_eq!(plan.judge(&now), Some(Tripwire::TestsPass { tests: vec!["test_c".into()] }));
}

#[test]
fn loops_of_cmake_are_unrolled() {
    let text = "set(unity_tests\n    parse\n    print)\nset(OTHER readme)\nforeach(test ${unity_tests})\n  add_executable(\"${test}\" \"${test}.c\")\n  \
         if(A)\n    add_test(NAME \"${test}\" COMMAND \"${CMAKE_CURRENT_BINARY_DIR}/${test}\")\n  endif()\nendforeach()\n\
         foreach(name IN LISTS OTHER)\n  foreach(kind IN ITEMS a b)\n    add_executable(${name}_${kind} ${name}.c)\n    \
         add_test(${name}_${kind} ${name}_${kind})\n  endforeach(kind)\nendforeach(name)\n";
    let found = programs(&[("tests/CMakeLists.txt".into(), text.into())]);
    assert_eq!(found["tests/parse.c"], ["parse"]);
    assert_eq!(found["tests/print.c"], ["print"]);
    assert_eq!(found["tests/readme.c"], ["readme_a", "readme_b"]);
    // A loop that never ends is none.
    assert!(programs(&[("CMakeLists.txt".into(), "endforeach() foreach(a b)".into())]).is_empty());
}

#[test]
fn programs_of_ctest_are_made_of_files() {
    let text = "add_executable(calc_tests\n  calc.c \"more.c\")\nadd_test(NAME calc COMMAND $<TARGET_FILE:calc_tests> -v)\nadd_executable(app main.c)\n";
    let found = programs(&[("tests/CMakeLists.txt".into(), text.into())]);
    assert_eq!(found["tests/calc.c"], ["calc"]);
    assert_eq!(found["tests/more.c"], ["calc"]);
    assert!(found["tests/main.c"].is_empty());
}

#[test]
fn a_test_that_calls_a_changed_one_may_fail_with_it() {
    let text = "def test_a(f=one):\n    assert f() == 1\n\n\ndef test_b():\n    test_a(f=other)\n";
    let names = ["t.py::test_a", "t.py::test_b"];
    let baseline = verdict(check(false, &["t.py::test_a"], &names));
    let now = verdict(check(true, &[], &names));
    let file = file(text.as_bytes());
    let mut plan = Plan::new(&[file], &Selection::default(), Some(&baseline), &now, Equality::AsAtStart, 7);
    while let Some(files) = plan.next_files() {
        let failing: &[&str] = if files.is_empty() { &[] } else { &names };
        let outcomes = [check(failing.is_empty(), failing, &names)];
        plan.note(&ChangedRun {
            outcomes: &outcomes,
            output: "",
            verdict: &now,
            baseline: Some(&baseline),
            stops_early: false,
        });
    }
    assert_eq!(plan.judge(&now), Some(Tripwire::TestsFail { changed: 1, failed_before: 1, unproven: vec![] }));
}

/// Of a run in which one test was skipped.
fn skipping(check: CheckOutcome) -> CheckOutcome {
    let tests = check.tests.map(|tests| TestTally { passed: u32::from(check.passed), skipped: 1, ..tests });
    CheckOutcome { tests, ..check }
}

#[test]
fn tests_of_one_name_are_told_apart_by_their_classes() {
    let class = |head: &str, sum: u32| {
        format!("class {head}:\n    def test_add(self):\n        assert add(2, 3) == {sum}\n\n\n")
    };
    // The class with the other sum does not run here.
    for text in [
        format!("{}{}", class("IntTest(TestCase)", 5), class("OtherTest(TestCase)", 6)),
        format!(
            "{}{}class IntTest(Mixin, TestCase):\n    pass\n",
            class("Mixin", 5),
            class("OtherTest(Mixin, TestCase)", 6)
        ),
    ] {
        let failed = skipping(check(false, &["t.py::IntTest::test_add"], &[]));
        let passed = skipping(check(true, &[], &[]));
        let (baseline, now) = (verdict(failed.clone()), verdict(passed.clone()));
        let judged = told(&text, (&baseline, &now), |changed| match changed.contains("== 5") {
            true => passed.clone(),
            false => failed.clone(),
        });
        assert_eq!(judged, Some(Tripwire::TestsFail { changed: 1, failed_before: 1, unproven: vec![] }));
    }
}

#[test]
fn a_test_without_a_name_may_be_one_that_was_skipped() {
    let text = "def test_a():\n    assert add(1, 1) == 2\n\n\ndef test_b():\n    numpy = importorskip('numpy')\n    assert add(numpy.one, 1) == 2\n";
    let (failed, passed) = (skipping(check(false, &["t.py::test_a"], &[])), skipping(check(true, &[], &[])));
    let (baseline, now) = (verdict(failed.clone()), verdict(passed.clone()));
    let judged = told(text, (&baseline, &now), |changed| match changed.contains("add(1, 1) == 2") {
        true => passed.clone(),
        false => failed.clone(),
    });
    assert!(matches!(judged, Some(Tripwire::TestsFail { changed: 1, failed_before: 1, .. })), "{judged:?}");
}

#[test]
fn tests_that_share_a_table_may_fail_with_each_other() {
    let test = |name: &str| {
        format!("@pytest.mark.parametrize('a, b', ROWS)\ndef test_{name}(a, b):\n    assert {name}(a) == b\n\n\n")
    };
    let text =
        format!("ROWS = [(1, 2), (3, 4)]\n\n\n{}{}def test_free():\n    assert f() == 1\n", test("one"), test("two"));
    let names = ["test_one[1-2]", "test_one[3-4]", "test_two[1-2]", "test_two[3-4]", "test_free"];
    let names = names.map(|name| format!("t.py::{name}"));
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let (baseline, now) = (verdict(check(false, &names[..2], &names)), verdict(check(true, &[], &names)));
    // Whether the test that does not go through the table fails with it.
    for breaks_others in [false, true] {
        let judged = told(&text, (&baseline, &now), |changed| {
            let has_rows = changed.contains("ROWS = [(1, 2), (3, 4)]");
            let mut failing = Vec::new();
            if !has_rows || !changed.contains("assert one(a) == b") {
                failing.extend(["t.py::test_one[1-9]", "t.py::test_one[3-9]"]);
            }
            if !has_rows || !changed.contains("assert two(a) == b") {
                failing.extend(["t.py::test_two[1-9]", "t.py::test_two[3-9]"]);
            }
            if !changed.contains("assert f() == 1") || (!has_rows && breaks_others) {
                failing.push("t.py::test_free");
            }
            check(failing.is_empty(), &failing, &names)
        });
        assert_eq!(matches!(judged, Some(Tripwire::TestsFail { .. })), !breaks_others, "{judged:?}");
    }
}

#[test]
fn a_value_that_only_its_opposite_shows_proves_nothing() {
    let names = ["t.py::test_a"];
    let (baseline, now) = (verdict(check(false, &names, &names)), verdict(check(true, &[], &names)));
    for (text, equality, proves) in [
        // The literal does not matter, and `!=` fails.
        ("def test_a():\n    assert f() == Point(1)\n", Equality::AsAtStart, false),
        ("def test_a():\n    assert f() == g()\n", Equality::AsAtStart, true),
        ("def test_a():\n    assert f() == g()\n", Equality::OfTheWork, false),
    ] {
        let mut plan = Plan::new(&[file(text.as_bytes())], &Selection::default(), Some(&baseline), &now, equality, 7);
        while let Some(files) = plan.next_files() {
            let is_opposite = files.iter().any(|(_, content)| {
                !String::from_utf8_lossy(content).contains(" == P")
                    && !String::from_utf8_lossy(content).contains("f() == g")
            });
            let is_opposite =
                is_opposite || files.iter().any(|(_, content)| String::from_utf8_lossy(content).contains("not ("));
            let failing: &[&str] = if is_opposite { &names } else { &[] };
            let outcomes = [check(failing.is_empty(), failing, &names)];
            plan.note(&ChangedRun {
                outcomes: &outcomes,
                output: "",
                verdict: &now,
                baseline: Some(&baseline),
                stops_early: false,
            });
        }
        let unproven = if proves { vec![] } else { vec!["test_a".to_owned()] };
        let number = u32::from(proves);
        assert_eq!(
            plan.judge(&now),
            Some(Tripwire::TestsFail { changed: number, failed_before: number, unproven }),
            "{text}"
        );
    }
}

#[test]
fn tests_that_other_files_inherit_fail_there_as_well() {
    let source = |path: &str, content: &str| {
        let content = content.as_bytes().to_vec();
        TestFile { path: path.into(), original: Some(content.clone()), content, reported_as: Vec::new() }
    };
    let base = "class TestBase:\n    def test_a(self):\n        assert a() == 1\n\n    def test_b(self):\n        assert b() == 2\n";
    let files = [
        source("tests/test_base.py", base),
        source("tests/test_more.py", "class TestMore(TestBase):\n    def test_b(self):\n        assert b() == 3\n"),
    ];
    let all = [
        "test_base.TestBase.test_a",
        "test_base.TestBase.test_b",
        "test_more.TestMore.test_a",
        "test_more.TestMore.test_b",
    ];
    let all = all.map(|name| format!("tests.{name}"));
    let all: Vec<&str> = all.iter().map(String::as_str).collect();
    let judged = |failed: &str, fails: fn(&str, &str, &str) -> bool| {
        let baseline = verdict(check(false, &[failed], &all));
        let now = verdict(check(true, &[], &all));
        let mut plan = Plan::new(&files, &Selection::default(), Some(&baseline), &now, Equality::AsAtStart, 7);
        while plan.next_files().is_some() {
            let changed: Vec<(String, String)> = plan
                .planned()
                .filter(|(_, planned)| planned.is_changed)
                .map(|(file, planned)| (file.path.clone(), planned.name.clone()))
                .collect();
            let is_failing = |name: &&&str| changed.iter().any(|(path, test)| fails(path, test, name));
            let failing: Vec<&str> = all.iter().filter(is_failing).copied().collect();
            let outcomes = [check(failing.is_empty(), &failing, &all)];
            let (verdict, baseline) = (&now, Some(&baseline));
            plan.note(&ChangedRun { outcomes: &outcomes, output: "", verdict, baseline, stops_early: false });
        }
        plan.judge(&now)
    };
    let inherits = |path: &str, test: &str, name: &str| {
        name.ends_with(test)
            && (test == "test_a" || name.contains(if path.contains("base") { "TestBase" } else { "TestMore" }))
    };
    for failed in [all[0], all[2]] {
        let fail = Tripwire::TestsFail { changed: 2, failed_before: 1, unproven: vec![] };
        assert_eq!(judged(failed, inherits), Some(fail), "{failed}");
    }
    // A file that has a test of that name itself does not inherit it.
    let others = judged(all[0], |_, test, name| name.ends_with(test));
    assert!(matches!(others, Some(Tripwire::OthersFail { .. })), "{others:?}");
}
