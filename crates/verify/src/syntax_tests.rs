use super::*;

#[test]
fn every_query_fits_its_grammar_and_names_only_known_captures() {
    for language in &LANGUAGES {
        let (_, query) = language.compiled();
        for name in query.capture_names() {
            assert!(name.starts_with('_') || marks::NAMES.contains(name), "{:?} {name}", language.extensions);
        }
    }
}

#[test]
fn tests_are_found_with_their_names() {
    for (path, text, names) in [
        ("a.py", "class T:\n    def test_a(self):\n        pass\n\ndef helper():\n    pass\n", &["test_a"][..]),
        ("a.ts", "describe('x', () => { it('adds', () => {}); test.each([1])('b %i', (a) => {}) })", &["adds", "b %i"]),
        ("a.go", "package a\nfunc TestA(t *testing.T) {}\nfunc Testify() {}\n", &["TestA"]),
        ("A.java", "class A { @Test void adds() {} void helper() {} }", &["adds"]),
        ("a_spec.rb", "describe A do\n  it 'adds' do\n  end\nend\n", &["adds"]),
        ("ATest.php", "<?php\nclass ATest extends TestCase { public function testAdd() {} }\n", &["testAdd"]),
        ("test_a.c", "static void test_add(void) { assert(1 == 1); }\n", &["test_add"]),
    ] {
        let source = Source::parse(path, text).unwrap();
        assert_eq!(source.tests().into_iter().map(|(_, name)| name).collect::<Vec<_>>(), names, "{path}");
    }
}

#[test]
fn what_cannot_be_parsed_is_unknown() {
    for (path, text) in
        [("a.py", "def a(:\n"), ("a.js", "f('a"), ("a.go", "func {"), ("a.rs", "fn a( {"), ("a.yml", "a: 1")]
    {
        assert!(Source::parse(path, text).is_none(), "{path}");
    }
    for open in ["(", "[", "a(", "{", "f\"{", "`${"] {
        assert!(Source::parse("a.js", &open.repeat(100_000)).is_none());
    }
    let closed = format!("{}{}", "a(".repeat(20_000), ")".repeat(20_000));
    assert!(Source::parse("a.js", &closed).is_none());
}

#[test]
fn names_of_tests_are_those_that_runners_print() {
    for (title, name) in [
        (r#"'adds'"#, "adds"),
        (r#"'starts with "."'"#, r#"starts with ".""#),
        (r#""`a` and 'b'""#, "`a` and 'b'"),
        (r#"'"a"'"#, r#""a""#),
        (r"'does not add what isn\'t there'", "does not add what isn't there"),
        ("`adds`", "adds"),
    ] {
        let text = format!("it({title}, () => {{ expect(1).toBe(1); }});\n");
        let source = Source::parse("a.test.js", &text).unwrap();
        assert_eq!(source.tests().into_iter().map(|(_, name)| name).collect::<Vec<_>>(), [name]);
    }
}

#[test]
fn texts_are_read_that_mean_the_same_to_every_reader() {
    for text in ["a\n\u{c}\nb\n", "# \u{80}\u{e}\u{9f}\n", "a\r\nb\r\n", "\t\n"] {
        assert!(readable(text.as_bytes()).is_some(), "{text:?}");
    }
    for text in ["if a:\n  \u{c}b\n", "# \u{85}b\n", "# \u{2028}b\n", "a\rb\n", "\0", "\u{4}\n", "\u{1a}\n"] {
        assert!(readable(text.as_bytes()).is_none(), "{text:?}");
    }
}
