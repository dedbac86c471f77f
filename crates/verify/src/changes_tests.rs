use super::*;

#[test]
fn messages_of_java_are_no_values() {
    for (head, line, changed) in [
        ("", "assertEquals(\"sum\", 5, f(1));", "assertEquals(\"sum\", 4, f(1));"),
        ("", "assertEquals(5, f(1));", "assertEquals(4, f(1));"),
        (
            "import org.junit.jupiter.api.*;\n",
            "assertEquals(\"a\", f(1), \"sum\");",
            "assertEquals(\"ar\", f(1), \"sum\");",
        ),
    ] {
        let text = format!("{head}class ATest {{\n  @Test public void testA() {{\n    {line}\n  }}\n}}\n");
        let tests = changeable_tests("ATest.java", text.as_bytes(), None, 0);
        let now = change(text.as_bytes(), &[(&tests[0].places[0], 0)]).unwrap();
        let now = String::from_utf8(now).unwrap();
        assert!(now.contains(changed), "{now}");
    }
}

#[test]
fn old_tests_of_java_get_no_function_that_they_do_not_have() {
    let text = |head: &str| {
        format!("class ATest extends Base {{\n  {head}public void testA() {{ assertEquals(B.C, f()); }}\n}}\n")
    };
    for (head, ways) in [("", 0), ("@Test ", 1)] {
        let tests = changeable_tests("ATest.java", text(head).as_bytes(), None, 0);
        assert_eq!(tests[0].places.iter().map(Place::ways).sum::<usize>(), ways, "{tests:?}");
    }
}

/// A test, and what becomes of its line in each way that it can be changed.
#[test]
fn tests_are_changed_so_that_they_must_fail() {
    for (path, text, expected) in [
        (
            "a.py",
            "def test_a():\n    assert add(1, 2) == 3, 'sum'\n",
            &["assert add(1, 2) == 2, 'sum'", "assert add(1, 2) != 3, 'sum'", "assert not (add(1, 2) == 3), 'sum'"][..],
        ),
        (
            "a.py",
            "class T:\n    def test_a(self):\n        self.assertEqual(add(1, 2), total)\n",
            &["self.assertEqual(add(1, 2), (total, 7))", "self.assertNotEqual(add(1, 2), total)"],
        ),
        (
            "a.py",
            "class T:\n    def test_a(self):\n        self.assertEqual(6, add(1, 5))\n",
            &["self.assertEqual(5, add(1, 5))", "self.assertNotEqual(6, add(1, 5))"],
        ),
        (
            "a.py",
            "@pytest.mark.parametrize('a, expected', [(1, 10)])\ndef test_a(a, expected):\n    assert f(a) == expected\n",
            &[
                "@pytest.mark.parametrize('a, expected', [(1, 11)])",
                "assert f(a) != expected",
                "assert not (f(a) == expected)",
            ],
        ),
        (
            "a.py",
            "@pytest.mark.parametrize(('a', 'expected'), ((1, 7),))\ndef test_a(a, expected):\n    assert f(a) == expected\n",
            &[
                "@pytest.mark.parametrize(('a', 'expected'), ((1, 6),))",
                "assert f(a) != expected",
                "assert not (f(a) == expected)",
            ],
        ),
        (
            "a.py",
            "@pytest.mark.parametrize('want, a', [(10, 1)])\ndef test_a(a, want):\n    assert f(a) == want\n",
            &["@pytest.mark.parametrize('want, a', [(11, 1)])", "assert f(a) != want", "assert not (f(a) == want)"],
        ),
        (
            "a.py",
            "def test_a():\n    for want, a in ((10, 1),):\n        assert f(a) == want\n",
            &["for want, a in ((11, 1),):", "assert f(a) != want", "assert not (f(a) == want)"],
        ),
        (
            "a.py",
            "class T:\n    def test_a(self):\n        rows = {d(a=1): 7}\n        for a, want in rows.items():\n            with self.subTest(want):\n                self.assertEqual(f(a), want)\n",
            &["rows = {d(a=1): 6}", "self.assertNotEqual(f(a), want)"],
        ),
        (
            "a_test.go",
            "package a\nfunc TestA(t *testing.T) {\n\tfor _, tc := range []struct{ in string; want, lim int }{\n\t\t// Plain.\n\t\t{\"a\", 9, 4},\n\t} {\n\t\tif got := F(tc.in, tc.lim); got != tc.want { t.Errorf(\"%s\", tc.want) }\n\t}\n}\n",
            &["{\"a\", 8, 4},", "if got := F(tc.in, tc.lim); got == tc.want { t.Errorf(\"%s\", tc.want) }"],
        ),
        (
            "a_test.go",
            "package a\ntype row struct {\n\tin string\n\twant int\n\tlim int\n}\nfunc TestA(t *testing.T) {\n\trows := []row{{want: 7, in: \"a\", lim: 4}}\n\tfor _, tc := range rows {\n\t\tif got := F(tc.in, tc.lim); got != tc.want { t.Error(got) }\n\t}\n}\n",
            &[
                "rows := []row{{want: 6, in: \"a\", lim: 4}}",
                "if got := F(tc.in, tc.lim); got == tc.want { t.Error(got) }",
            ],
        ),
        (
            "a_test.go",
            "package a\nfunc TestA(t *testing.T) {\n\tfor want, in := range map[int]string{7: \"a\"} {\n\t\tif got := F(in); got != want { t.Error(got) }\n\t}\n}\n",
            &["for want, in := range map[int]string{6: \"a\"} {", "if got := F(in); got == want { t.Error(got) }"],
        ),
        (
            "a.py",
            "def test_a(skip):\n    with pytest.raises(ValueError, match='a'):\n        f()\n",
            &["with pytest.raises(BufferError, match='a'):"],
        ),
        (
            "a.py",
            "class T:\n    def test_a(self):\n        self.assertRaises(BufferError, f)\n",
            &["self.assertRaises(EOFError, f)"],
        ),
        (
            "a.py",
            "class T:\n    def test_a(self):\n        with self.subTest():\n            self.assertTrue(f())\n",
            &["self.assertFalse(f())"],
        ),
        (
            "a.rs",
            "#[test]\nfn a() {\n    assert_eq!(Some(4), f(3));\n}\n",
            &["assert_eq!(Some(3), f(3));", "assert_ne!(Some(4), f(3));"],
        ),
        (
            "a_test.go",
            "package a\nfunc TestA(t *testing.T) {\n\tif err := F(); err != nil { t.Fatal(err) }\n}\n",
            &["if err := F(); err == nil { t.Fatal(err) }"],
        ),
        (
            "A.java",
            "class A {\n  @Test void a(int expected) {\n    assertEquals(expected, add(x));\n  }\n}\n",
            &["assertNotEquals(expected, add(x));"],
        ),
        (
            "a.py",
            "class T:\n    def test_a(self):\n        self.assertTrue(ok(), 'why')\n",
            &["self.assertFalse(ok(), 'why')"],
        ),
        (
            "a.py",
            "@pytest.mark.parametrize('a, b', [pytest.param(1, g(2), id='one')])\ndef test_a(a, b):\n    assert f(a) == b\n",
            &[
                "@pytest.mark.parametrize('a, b', [pytest.param(1, g(1), id='one')])",
                "assert f(a) != b",
                "assert not (f(a) == b)",
            ],
        ),
        (
            "a.py",
            "@pytest.mark.parametrize('a', [10])\ndef test_a(a):\n    assert f(a) in b\n",
            &["@pytest.mark.parametrize('a', [11])", "assert f(a) not in b", "assert not (f(a) in b)"],
        ),
        (
            "a.ts",
            "it('a', () => {\n  expect(add(1, 2)).toBe(3)\n})\n",
            &["expect(add(1, 2)).toBe(2)", "expect(add(1, 2)).not.toBe(3)"],
        ),
        (
            "a.ts",
            "it('a', () => {\n  expect(f()).toBe(1_000)\n})\n",
            &["expect(f()).toBe(1_001)", "expect(f()).not.toBe(1_000)"],
        ),
        ("a.ts", "it('a', () => {\n  expect(a).not.toBeNull()\n})\n", &["expect(a).toBeNull()"]),
        (
            "a.js",
            "test('a', () => {\n  assert.deepEqual(f(), '{\"a\": 19}')\n})\n",
            &["assert.deepEqual(f(), '{\"a\": 18}')"],
        ),
        ("a.ts", "Deno.test('a', () => {\n  strictEqual(add(1, 2), 3)\n})\n", &["strictEqual(add(1, 2), 2)"]),
        (
            "a.js",
            "test('a', () => {\n  assert.strictEqual(add(1), null)\n})\n",
            &["assert.strictEqual(add(1), 0)", "assert.notStrictEqual(add(1), null)"],
        ),
        (
            "a.py",
            "def test_a():\n    assert names() == [\"a\", \"b\"]\n",
            &[
                "assert names() == [\"a\", \"bd\"]",
                "assert names() != [\"a\", \"b\"]",
                "assert not (names() == [\"a\", \"b\"])",
            ],
        ),
        (
            "a.py",
            "def test_a():\n    wanted = [1]\n    assert f() == wanted\n",
            &["wanted = [0]", "assert f() != wanted", "assert not (f() == wanted)"],
        ),
        (
            "a.py",
            "class T:\n    def test_a(self):\n        self.assertEqual(f(), wanted, message)\n",
            &["self.assertEqual(f(), (wanted, 7), message)", "self.assertNotEqual(f(), wanted, message)"],
        ),
        (
            "a.ts",
            "it('a', () => {\n  expect(f()).toEqual(wanted)\n})\n",
            &["expect(f()).toEqual([wanted, 7])", "expect(f()).not.toEqual(wanted)"],
        ),
        (
            "a.py",
            "class T:\n    def test_a(self):\n        self.assertGreater(f(), 1)\n",
            &["self.assertLessEqual(f(), 1)"],
        ),
        ("a.js", "test('a', () => {\n  assert.doesNotThrow(() => f())\n})\n", &["assert.throws(() => f())"]),
        ("a.js", "test('a', () => {\n  assert.match(f(), /b/)\n})\n", &["assert.doesNotMatch(f(), /b/)"]),
        (
            "a.js",
            "test('a', () => {\n  expect(f()).to.be.above(1)\n})\n",
            &["expect(f()).to.be.above(0)", "expect(f()).to.be.most(1)"],
        ),
        (
            "a.js",
            "test('a', () => assert.equal(add(1, 2), 3))\n",
            &["test('a', () => assert.equal(add(1, 2), 2))", "test('a', () => assert.notEqual(add(1, 2), 3))"],
        ),
        (
            "a.ts",
            "it('a', async () => await expect(f()).resolves.toBe(3))\n",
            &[
                "it('a', async () => await expect(f()).resolves.toBe(2))",
                "it('a', async () => await expect(f()).resolves.not.toBe(3))",
            ],
        ),
        (
            "a.ts",
            "it('a', () => {\n  return expect(f()).resolves.toBe(3)\n})\n",
            &["return expect(f()).resolves.toBe(2)", "return expect(f()).resolves.not.toBe(3)"],
        ),
        (
            "a.js",
            "test('a', () => {\n  assert.ok(a === b, 'message')\n})\n",
            &[
                "assert.ok(a === [b, 7], 'message')",
                "assert.ok(a !== b, 'message')",
                "assert.ok(!(a === b), 'message')",
            ],
        ),
        (
            "a.rs",
            "#[test]\nfn a() {\n    assert_eq!(add(1, 2), 255, \"sum\");\n}\n",
            &["assert_eq!(add(1, 2), 254, \"sum\");", "assert_ne!(add(1, 2), 255, \"sum\");"],
        ),
        ("a.rs", "#[test]\nfn a() {\n    assert!(a.ok(), \"why\");\n}\n", &["assert!(!(a.ok()), \"why\");"]),
        (
            "a_test.go",
            "package a\nfunc TestA(t *testing.T) {\n\tif got := F(0); got != 2 { t.Errorf(\"%d\", 7) }\n}\n",
            &["if got := F(0); got != 1 { t.Errorf(\"%d\", 7) }", "if got := F(0); got == 2 { t.Errorf(\"%d\", 7) }"],
        ),
        (
            "a_test.go",
            "package a\nfunc TestA(t *testing.T) {\n\tassert.Equal(t, want, F())\n}\n",
            &["assert.NotEqual(t, want, F())"],
        ),
        (
            "A.java",
            "class A {\n  @Test void a() {\n    assertEquals(10, add(x));\n  }\n}\n",
            &["assertEquals(11, add(x));", "assertNotEquals(10, add(x));"],
        ),
        (
            "a_spec.rb",
            "it 'a' do\n  expect(add).to eq(3)\nend\n",
            &["expect(add).to eq(2)", "expect(add).not_to eq(3)"],
        ),
        (
            "ATest.php",
            "<?php\nclass A {\n  function testA() {\n    $this->assertSame(3, add());\n  }\n}\n",
            &["$this->assertSame(2, add());", "$this->assertNotSame(3, add());"],
        ),
        (
            "A.java",
            "class A {\n  @Test public void a() {\n    try {\n      f(3);\n      fail(\"why\");\n    } catch (final E e) {\n      // Expected\n    }\n  }\n}\n",
            &["} catch (final E e) { fail(\"why\");"],
        ),
        (
            "a.c",
            "static void adds(void) {\n  TEST_ASSERT_TRUE(add(x));\n}\nint EXPORTED main(void) {\n  RUN_TEST(adds);\n  return UNITY_END();\n}\n",
            &["TEST_ASSERT_FALSE(add(x));"],
        ),
        (
            "test_a.c",
            "void test_a(void) {\n  assert(add(x) == y);\n}\n",
            &["assert(add(x) != y);", "assert(!(add(x) == y));"],
        ),
    ] {
        let tests = changeable_tests(path, text.as_bytes(), None, 0);
        assert_eq!((tests.len(), tests[0].places.len()), (1, 1), "{path} {text}");
        let place = &tests[0].places[0];
        let lines: Vec<String> = (0..place.ways())
            .map(|way| {
                let changed = String::from_utf8(change(text.as_bytes(), &[(place, way)]).unwrap()).unwrap();
                let line = changed.lines().find(|line| !text.lines().any(|old| old == *line)).unwrap_or_default();
                line.trim().replace("  ", " ")
            })
            .collect();
        assert_eq!(lines, expected, "{path}");
    }
}

#[test]
fn strings_change_inside_their_quotes() {
    for (text, start) in
        [("'abc'", "'abc"), ("\"\"", "\""), ("'''a\nb'''", "'''a\nb"), ("f'a'", "f'a"), ("b'x'", "b'x")]
    {
        let file = format!("def test_a():\n    assert f() == {text}\n");
        let tests = changeable_tests("a.py", file.as_bytes(), None, 7);
        let changed = String::from_utf8(change(file.as_bytes(), &[(&tests[0].places[0], 0)]).unwrap()).unwrap();
        let literal = changed.split(" == ").nth(1).unwrap().trim_end();
        assert!(literal.starts_with(start) && literal.len() == text.len() + 1, "{literal}");
        assert!(literal.ends_with(&text[text.len() - 1..]));
    }
}

#[test]
fn tests_that_do_not_run_or_have_to_fail_are_left_alone() {
    for (path, text) in [
        ("a.py", "@pytest.mark.skip\ndef test_a():\n    assert f() == 1\n"),
        ("a.py", "@unittest.expectedFailure\ndef test_a():\n    assert f() == 1\n"),
        ("a.py", "def helper():\n    assert f() == 1\n"),
        ("a.ts", "it.skip('a', () => { expect(f()).toBe(1) })"),
        ("a.rs", "#[test]\n#[ignore]\nfn a() { assert_eq!(f(), 1); }"),
        ("a.rs", "fn a() { assert_eq!(f(), 1); }"),
        ("a.py", "def test_a(:\n"),
    ] {
        let mut tests = changeable_tests(path, text.as_bytes(), None, 0);
        tests.retain(|test| !test.may_be_skipped);
        assert_eq!(tests, [], "{path} {text}");
    }
}

/// How many places each test of a file has.
#[test]
fn assertions_are_changed_one_by_one_where_they_are_reached() {
    for (path, text, original, expected) in [
        ("a.py", "def test_a():\n    assert f() == 1\n    assert g() == 2\n", None, &[2][..]),
        ("a.py", "def test_a():\n    f()\n", None, &[0]),
        ("a.py", "def test_a():\n    if x:\n        assert f() == 1\n    assert g() == 2\n", None, &[2]),
        (
            "a.py",
            "def same(a, b):\n    assert a == b\n\n\ndef test_a():\n    same(f(), 1)\n    assert g() == 2\n",
            None,
            &[2],
        ),
        ("a.py", "def test_a():\n    if x:\n        assert f() == 1\n    else:\n        assert g() == 2\n", None, &[1]),
        (
            "a.py",
            "def test_a():\n    assert f() == 1\n    assert True\n",
            Some("def test_a():\n    assert f() == 1\n"),
            &[1],
        ),
        (
            "a.py",
            "class A:\n    def test_a(self):\n        assert f() == 1\nclass B:\n    def test_a(self):\n        assert f() == 2\n",
            None,
            &[1, 1],
        ),
        ("a.rs", "#[test]\nfn a() {\n    assert_eq!(f(), 1);\n    assert!(g());\n}\n", None, &[2]),
    ] {
        let tests = changeable_tests(path, text.as_bytes(), original.map(str::as_bytes), 0);
        let places: Vec<usize> = tests.iter().map(|test| test.places.len()).collect();
        assert_eq!(places, expected, "{text}");
    }
}

#[test]
fn the_last_column_of_a_table_is_a_sure_change() {
    for (rows, parameters, is_sure) in [
        ("[(1, 10), (2, 20)]", "a, expected", true),
        ("[(1, [10]), (2, [20])]", "a, expected", true),
        ("[(1, TEN), (2, TWENTY)]", "a, expected", true),
        ("[(10, 1), (20, 2)]", "expected, a", true),
    ] {
        let file = format!(
            "@pytest.mark.parametrize('{parameters}', {rows})\ndef test_a({parameters}):\n    assert f(a) == expected\n"
        );
        let tests = changeable_tests("a.py", file.as_bytes(), None, 0);
        assert_eq!(tests[0].places[0].is_sure(), is_sure, "{rows}");
    }
    let file = "test.each([[1, 2, 3]])('adds %i', (a, b, sum) => {\n  expect(add(a, b)).toBe(sum)\n})\n";
    assert!(changeable_tests("a.js", file.as_bytes(), None, 0)[0].places[0].is_sure());
}

#[test]
fn a_row_of_which_only_the_input_is_a_literal_is_no_sure_change() {
    let file = "static ROWS: &[(&str, Option<&str>)] = &[(\"a b\", Some(\"a\")), (\"'a\", None)];\n\n#[test]\nfn a() {\n    \
                for &(input, output) in ROWS {\n        assert_eq!(first(input), output.map(str::to_owned));\n    }\n}\n";
    let places = &changeable_tests("a.rs", file.as_bytes(), None, 0)[0].places;
    assert_eq!(places.len(), 2);
    assert!(places.iter().all(|place| !place.is_sure()));
}

#[test]
fn what_is_given_to_the_code_is_no_sure_change() {
    for (text, is_sure) in [
        ("assert f(1) == 2", true),
        ("assert 2 == f(1)", true),
        ("assert f(1) == CLEAN", true),
        ("assert f(1) == g(2)", false),
        ("self.assertEqual(2, f(10))", true),
        ("self.assertEqual(two, f(10))", true),
        ("assert f() == [1, 2]", true),
    ] {
        let file = format!("def test_a(self):\n    {text}\n");
        assert_eq!(changeable_tests("a.py", file.as_bytes(), None, 0)[0].places[0].is_sure(), is_sure, "{text}");
    }
}

/// Whether a changed value that passes leaves no doubt that the assertion is void.
#[test]
fn a_value_that_is_compared_for_equality_leaves_no_doubt() {
    for (path, line, expected) in [
        ("a.py", "assert f() == 3", true),
        ("a.py", "assert f() == [1, (2, 'a')]", true),
        ("a.py", "assert f() == {'a': [1]}", true),
        ("a.py", "assert f() == wanted", true),
        ("a.py", "assert f() == g(1)", false),
        ("a.py", "assert f()['a'] == wanted", true),
        ("a.py", "assert f() > 1", true),
        ("a.py", "assert f() is wanted", false),
        ("a.py", "assert f() != wanted", false),
        ("a.py", "assert 'a' in f()", true),
        ("a.py", "assert f() in [1, 2]", true),
        ("a.py", "assert f() in known", false),
        ("a.py", "assert f() in 'abc'", false),
        ("a.py", "self.assertIn(f(), (1, 2))", true),
        ("a.py", "self.assertGreater(f(), 1)", true),
        ("a.py", "self.assertAlmostEqual(f(), 1.5, places=2)", true),
        ("a.py", "assert len(f()) == 2 and f()[0] == 5", true),
        ("a.py", "assert f() == 1 or f() == 2", false),
        ("a.py", "assert f() == approx(1.5, rel=0.1)", true),
        ("aTest.php", "$this->assertEquals(5, f(2));", true),
        ("aTest.php", "$this->assertEquals(5, Calc::add(2, 3));", true),
        ("a.rs", "assert_eq!(f(), vec![1, 2]);", true),
        ("a.rs", "assert_eq!(f(1), g(2));", false),
        ("a.rs", "let wanted = 5; assert_eq!(f(1), wanted);", true),
        ("a.rs", "let wanted = 5; assert_eq!(f(wanted), wanted);", false),
        ("a.rs", "assert!(f(1) > 4);", true),
        ("a.rs", "assert!(f::<Vec<u8>>(1) > 4);", false),
        ("a.js", "assert.deepEqual(f(), { a: [1] })", true),
        ("a.js", "assert.equal(f(), wanted, message)", true),
        ("a.js", "deepStrictEqual(f(), 5)", true),
        ("a.js", "assert.ok(f() !== wanted, 'a == b')", false),
        ("a.js", "expect(f()).toEqual({ a: [b, 1] })", true),
        ("a.js", "expect(f(1)).toEqual(expect.any(Number))", false),
        ("a.js", "expect(f()).toMatchObject({ a: 1 })", true),
        ("a.js", "expect(f()).toContainEqual(5)", true),
        ("a.js", "expect(f()).not.toContainEqual(5)", false),
        ("a.py", "assert f().startswith('a')", true),
        ("a.py", "assert not f().startswith('a')", false),
    ] {
        let text = match path {
            "a.py" => format!("def test_a():\n    {line}\n"),
            "aTest.php" => format!("<?php\nclass ATest {{\n  function testA() {{\n    {line}\n  }}\n}}\n"),
            "a.rs" => format!("#[test]\nfn a() {{\n    {line}\n}}\n"),
            _ => format!("test('a', () => {{\n  {line}\n}})\n"),
        };
        let tests = changeable_tests(path, text.as_bytes(), None, 0);
        assert_eq!(tests[0].places[0].is_sure(), expected, "{line}");
    }
}

/// The changed lines of each place of the first test.
fn changes_of(path: &str, text: &str) -> Vec<String> {
    let tests = changeable_tests(path, text.as_bytes(), None, 0);
    let of = |place: &Place| String::from_utf8(change(text.as_bytes(), &[(place, 0)]).unwrap()).unwrap();
    tests[0].places.iter().map(of).map(|text| text.replace("  ", " ").replace("  ", " ")).collect()
}

#[test]
fn each_condition_and_each_row_is_changed_by_itself() {
    let both = changes_of("a.py", "def test_a():\n    assert len(f()) == 2 and f()[0] == 5\n");
    assert_eq!(both.len(), 2);
    assert!(both[0].contains("== 1 and f()[0] == 5") && both[1].contains("== 2 and f()[0] == 4"), "{both:?}");
    let rows = "def test_a():\n    for a, b, total in [(1, 0, 1), (2, 3, 5)]:\n        assert add(a, b) == total\n";
    let rows = changes_of("a.py", rows);
    assert_eq!(rows.len(), 2, "{rows:?}");
    assert!(rows[0].contains("(1, 0, 0), (2, 3, 5)") && rows[1].contains("(1, 0, 1), (2, 3, 4)"), "{rows:?}");
}

#[test]
fn what_is_near_or_among_others_is_changed_far() {
    for (line, changed) in [
        ("assert f() == approx(5, rel=0.1)", "assert f() == approx(7000005, rel=0.1)"),
        ("self.assertAlmostEqual(f(), 0.5, places=1)", "self.assertAlmostEqual(f(), 700000.5, places=1)"),
        ("assert f() in (4, 5)", "assert f() in (7000004, 7000005)"),
        ("assert 'a' in f()", "assert 'aqvkx' in f()"),
        ("assert 0 < f() < 9", "assert 0 >= f() < 9"),
        ("self.assertLess(f(), 9)", "self.assertGreaterEqual(f(), 9)"),
        ("assert f().startswith('ab')", "assert f().startswith('abqvkx')"),
        ("assert f() is not None", "assert f() is None"),
        ("assert f() != 5", "assert f() == 5"),
    ] {
        let all = changes_of("a.py", &format!("def test_a(self):\n    {line}\n"));
        assert!(all[0].contains(changed), "{line}: {}", all[0]);
    }
    for (line, changed) in [
        ("assert_operator f, :>, 4", "assert_operator f, :<=, 4"),
        ("assert f > 4", "assert f <= 4"),
        ("assert_includes [5, 6], f", "assert_includes [7000005, 7000006], f"),
        ("assert_in_delta 5, f, 0.1", "assert_in_delta 7000005, f, 0.1"),
    ] {
        let all = changes_of("a_test.rb", &format!("class A < Minitest::Test\n  def test_a\n    {line}\n  end\nend\n"));
        assert!(all[0].contains(changed), "{line}: {}", all[0]);
    }
    for (line, changed) in [
        ("expect(f()).toContainEqual(5)", "expect(f()).toContainEqual(7000005)"),
        ("expect(f()).toMatchObject({ a: 5 })", "expect(f()).toMatchObject({ a: 4 })"),
        ("const want = [1], got = f(want); t.same(got, want)", "t.same(got, [want, 7])"),
        ("assert.closeTo(f(), 0.9, 0.1)", "assert.closeTo(f(), 700000.9, 0.1)"),
        ("expect(f()).not.toBe(5)", "expect(f()).toBe(5)"),
        ("assert.notEqual(f(), 5)", "assert.equal(f(), 5)"),
    ] {
        let all = changes_of("a.test.js", &format!("test('a', () => {{\n  {line};\n}});\n"));
        assert!(all[0].contains(changed), "{line}: {}", all[0]);
    }
    let rust = changes_of("a.rs", "#[test]\nfn a() {\n    assert!(f().starts_with(\"ab\"));\n}\n");
    assert!(rust[0].contains("starts_with(\"abqvkx\")"), "{}", rust[0]);
}

/// Forms of assertions that were left as they are, or changed without any effect.
#[test]
fn every_form_has_a_change_that_matters() {
    for (path, text, expected) in [
        (
            "a_test.go",
            "func TestA(t *testing.T) {\n\tif !Valid(\"x\") {\n\t\tt.Error(1)\n\t}\n}\n",
            "if !(!Valid(\"x\")) {",
        ),
        (
            "a_test.go",
            "func TestA(t *testing.T) {\n\twant := []int{1}\n\tif got := F(); !reflect.DeepEqual(got, want) {\n\t\tt.Errorf(\"%v %v\", got, want)\n\t}\n}\n",
            "want := []int{0}",
        ),
        (
            "a_test.go",
            "func TestA(t *testing.T) {\n\ttests := []struct{ a, want int }{\n\t\t{1, 2},\n\t}\n\tfor _, tt := range tests {\n\t\tt.Run(\"a\", func(t *testing.T) {\n\t\t\tif !Same(tt.a, tt.want) {\n\t\t\t\tt.Error(1)\n\t\t\t}\n\t\t})\n\t}\n}\n",
            "{1, 1},",
        ),
        ("a_test.go", "func ExampleA() {\n\tfmt.Println(A())\n\t// Output: 2\n}\n", "// Output: 27"),
        (
            "A.java",
            "class A {\n  @Test void a() { assertEquals(1.5, f(), 0.1); }\n}\n",
            "@Test void a() { assertEquals(7000001.5, f(), 0.1); }",
        ),
        (
            "A.java",
            "class A {\n  @Test void a() { assertThrows(E.class, () -> f(\"x\")); }\n}\n",
            "@Test void a() { assertThrows(java.util.ConcurrentModificationException.class, () -> f(\"x\")); }",
        ),
        (
            "A.java",
            "class A {\n  @Test(expected = E.class)\n  public void a() { f(); }\n}\n",
            "@Test(expected = java.util.ConcurrentModificationException.class)",
        ),
        (
            "A.java",
            "import static org.junit.Assert.assertEquals;\nclass A {\n  @Test void a() { assertEquals(g(), f()); }\n}\n",
            "@Test void a() { org.junit.Assert.assertNotEquals(g(), f()); }",
        ),
        (
            "a.rs",
            "#[test]\nfn a() { assert_eq!(f(), Kind::Plus); }\nfn b() -> Kind { Kind::Minus }\n",
            "fn a() { assert_eq!(f(), Kind::Minus); }",
        ),
        ("a.rs", "#[test]\n#[should_panic]\nfn a() { f(); }\n", ""),
        ("a_spec.rb", "describe A do\n  it { is_expected.to eq(5) }\nend\n", "it { is_expected.to eq(4) }"),
        ("a_test.rb", "def test_a\n  assert_predicate f, :any?\nend\n", "refute_predicate f, :any?"),
        ("a_test.rb", "def test_a\n  assert_raises(Bad) { f }\nend\n", "assert_raises(FloatDomainError) { f }"),
        (
            "ATest.php",
            "<?php\nclass A {\n  function testA() {\n    $this->assertStringContainsString('n', f() ?? '');\n  }\n}\n",
            "$this->assertStringContainsString('nqvkx', f() ?? '');",
        ),
        ("a.test.js", "test('a', () => {\n  assert.ok(f().includes(5));\n});\n", "assert.ok(f().includes(7000005));"),
        (
            "a_test.go",
            "func TestA(t *testing.T) {\n\trows{\n\t\t{F(1), 2},\n\t\t{F(3), 4},\n\t}.check(t)\n}\n",
            "{F(3), 3},",
        ),
        (
            "a.py",
            "@pytest.mark.parametrize('v', [1, 2])\ndef test_a(v):\n    assert g(f(v)) == v\n",
            "assert g(f(v)) == (v, 7)",
        ),
    ] {
        let tests = changeable_tests(path, text.as_bytes(), None, 0);
        let places = &tests[0].places;
        let all = places.iter().flat_map(|place| (0..place.ways()).map(move |way| (place, way)));
        let lines = all.map(|one| String::from_utf8(change(text.as_bytes(), &[one]).unwrap()).unwrap());
        let found: Vec<String> = lines.collect();
        assert!(found.iter().any(|file| file.lines().any(|line| line.trim() == expected)), "{text}\n{found:#?}");
    }
}

#[test]
fn rows_are_changed_only_where_that_matters() {
    let head = "@pytest.mark.parametrize('change', [lambda s: s + 'a', lambda s: s + 'b'])\ndef test_a(change):\n    ";
    for assertion in ["with pytest.raises(Bad):\n        load(change(f()))\n", "assert load(change(f())) != f()\n"] {
        let all = changes_of("a.py", &format!("{head}{assertion}"));
        assert_eq!(all.len(), 1, "{all:?}");
        assert!(all[0].contains("+ 'a'") && all[0].contains("+ 'b'"), "{all:?}");
    }
}

#[test]
fn what_a_test_inside_another_asserts_is_its_own() {
    let text = "test('a', async (t) => {\n  await t.test('b', () => {\n    assert.equal(f(), 1);\n  });\n  for (const name of ['x', 'y']) {\n    await t.test(name, () => {\n      assert.equal(f(), 3);\n    });\n  }\n});\ntest('c', async (t) => {\n  assert.ok(g());\n  await t.test('d', () => {\n    assert.equal(g(), 2);\n  });\n});\n";
    let tests = changeable_tests("a.test.js", text.as_bytes(), None, 0);
    let all: Vec<(&str, usize)> = tests.iter().map(|test| (test.name.as_str(), test.places.len())).collect();
    assert_eq!(all, [("b", 1), ("c", 1), ("d", 1)]);
}

#[test]
fn a_message_that_is_put_together_is_no_input() {
    let text = "<?php\nclass ATest extends TestCase {\n    public function testA(string $a): void {\n        self::assertSame($a, f($a), sprintf('%s is wrong', $a));\n    }\n}\n";
    let all = changes_of("ATest.php", text);
    assert!(all.len() == 1 && all[0].contains("'%s is wrong'") && all[0].contains("assertNotSame"), "{all:?}");
}
