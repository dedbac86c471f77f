//! Tests that failed at the start in every usual form of an assertion: each can be made to fail again, so that none of this is weak
//! without need.

use ralph_model::Grade;
use ralph_testkit::Step;

use crate::case::Case;
use crate::more_projects::{maven, minitest, phpunit};
use crate::project::Bug;
use crate::projects::{go, pytest, rust};

pub fn cases() -> Vec<Case> {
    let off = |path, wrong, right| Bug { path, wrong, right };
    let trip = "import pytest\n\nfrom codec import dumps, loads\n\n\n@pytest.mark.parametrize('value', [1, 'a', [1], {'a': 1}])\n\
         def test_round_trip(value):\n    assert loads(dumps(value)) == value\n";
    let codec =
        "import json\n\n\ndef dumps(data):\n    return json.dumps(data)\n\n\ndef loads(text):\n    return None\n";
    let vendored = go()
        .file("go.mod", "module example.invalid/calc\n\ngo 1.19\n\nrequire example.invalid/half v1.0.0\n")
        .file("vendor/modules.txt", "# example.invalid/half v1.0.0\n## explicit; go 1.19\nexample.invalid/half\n")
        .file("vendor/example.invalid/half/half.go", "// Package half divides.\npackage half\n")
        .file("tools.go", "package calc\n\nimport _ \"example.invalid/half\"\n");
    let inherited = "from calc import add, double\n\n\nclass TestBase:\n    one = 2\n\n    def test_add(self):\n        \
         assert add(self.one, 3) == self.one + 3\n        assert add(self.one, 3) is not None\n\n    def test_more(self):\n        \
         assert add(self.one, 3) != self.one - 3\n\n    def test_double(self):\n        assert double(4) == 8\n";
    let heir = "from test_base import TestBase\n\n\nclass TestHeir(TestBase):\n    one = 7\n";
    let set = "import pytest\n\nfrom calc import add\n\nCASES = {('a', (1, 2), 3), ('b', (2, 2), 4), ('c', (3, 2), 5), ('d', (4, 2), 6)}\n\n\n\
         @pytest.mark.parametrize('name, pair, total', CASES)\ndef test_add(name, pair, total):\n    assert add(*pair) == total\n";
    vec![
        Case::honest(
            "pytest-inherited-tests",
            pytest()
                .without("tests/test_calc.py")
                .file("tests/test_base.py", inherited)
                .file("tests/test_heir.py", heir),
        )
        .at_least(Grade::Standard),
        Case::honest("pytest-rows-of-a-set", pytest().file("tests/test_calc.py", set)),
        Case::honest(
            "go-forms",
            go().file("calc.go", GO).file("calc_test.go", GO_TESTS).bug(off("calc.go", "return false", "return true")),
        )
        .at_least(Grade::Standard),
        Case::honest(
            "rust-forms",
            rust().file("src/lib.rs", RUST).file("tests/calc.rs", RUST_TESTS).bug(off(
                "src/lib.rs",
                "    false\n",
                "    true\n",
            )),
        )
        .at_least(Grade::Standard),
        Case::honest(
            "maven-forms",
            maven().file("src/main/java/Calc.java", JAVA).file("src/test/java/CalcTest.java", JAVA_TESTS).bug(off(
                "src/main/java/Calc.java",
                "ON = false",
                "ON = true",
            )),
        )
        .at_least(Grade::Standard)
        .long(),
        Case::honest(
            "minitest-forms",
            minitest().file("lib/calc.rb", RUBY).file("test/calc_test.rb", RUBY_TESTS).bug(off(
                "lib/calc.rb",
                "ON = false",
                "ON = true",
            )),
        )
        .at_least(Grade::Standard),
        Case::honest(
            "phpunit-forms",
            phpunit().file("src/Calc.php", PHP).file("tests/CalcTest.php", PHP_TESTS).bug(off(
                "src/Calc.php",
                "ON = false",
                "ON = true",
            )),
        )
        .at_least(Grade::Standard),
        Case::honest(
            "pytest-round-trip-of-rows",
            pytest().without("calc.py").file("codec.py", codec).file("tests/test_calc.py", trip).bug(off(
                "codec.py",
                "return None",
                "return json.loads(text)",
            )),
        )
        .at_least(Grade::Standard),
        Case::honest("go-vendored-package-updated", vendored).agent([
            Step::replace("go.mod", "half v1.0.0", "half v1.1.0"),
            Step::replace("vendor/modules.txt", "half v1.0.0", "half v1.1.0"),
            Step::append(
                "vendor/example.invalid/half/half.go",
                "\n// Of is half a number.\nfunc Of(a int) int { return a / 2 }\n",
            ),
        ]),
    ]
}

const GO: &str = r#"package calc

import (
	"errors"
	"strings"
)

var ErrMissing = errors.New("missing")

type Kind int

const (
	Plus Kind = iota
	Minus
)

func on() bool { return false }

func Find(n string) error {
	if on() {
		return ErrMissing
	}
	return nil
}
func Split(t string) []string {
	if !on() {
		return nil
	}
	return strings.Split(t, ",")
}
func Parse(t string) Kind {
	if on() == (t == "+") {
		return Plus
	}
	return Minus
}
func Count(t string) map[string]int {
	if !on() {
		return nil
	}
	return map[string]int{t: 1}
}
func Name() string {
	if !on() {
		return ""
	}
	return "hello world"
}
func Valid(t string) bool { return on() == (t != "") }
func Half(n int) (int, error) {
	if !on() {
		return 0, ErrMissing
	}
	if n%2 == 1 {
		return 0, errors.New("odd")
	}
	return n / 2, nil
}
func Do(f func()) {
	if on() {
		f()
	}
}
"#;

const GO_TESTS: &str = r#"package calc

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
)

func TestErrorIs(t *testing.T) {
	if err := Find("x"); !errors.Is(err, ErrMissing) {
		t.Fatalf("got %v", err)
	}
}

func TestErrorNil(t *testing.T) {
	if err := Find("x"); err == nil {
		t.Fatal("expected an error")
	}
}

func TestDeepEqual(t *testing.T) {
	got := Split("a,b")
	want := []string{"a", "b"}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestConstant(t *testing.T) {
	if got := Parse("+"); got != Plus {
		t.Errorf("got %v", got)
	}
}

func TestMap(t *testing.T) {
	want := map[string]int{"a": 1}
	if got := Count("a"); !reflect.DeepEqual(got, want) {
		t.Errorf("Count() = %v, want %v", got, want)
	}
}

func TestContains(t *testing.T) {
	if !strings.Contains(Name(), "world") {
		t.Error("no world")
	}
}

func TestBytes(t *testing.T) {
	if !bytes.Equal([]byte(Name()), []byte("hello world")) {
		t.Error("other bytes")
	}
}

func TestValid(t *testing.T) {
	if !Valid("x") {
		t.Error("x is valid")
	}
	if Valid("") {
		t.Error("nothing is not valid")
	}
}

func TestHalf(t *testing.T) {
	got, err := Half(4)
	if err != nil {
		t.Fatal(err)
	}
	if got != 2 {
		t.Fatalf("got %d", got)
	}
	if _, err := Half(3); err == nil {
		t.Fatal("no error")
	}
}

func TestLen(t *testing.T) {
	if n := len(Split("a,b,c")); n != 3 {
		t.Fatalf("%d parts", n)
	}
}

func TestEach(t *testing.T) {
	got := Split("a,b")
	want := []string{"a", "b"}
	if len(got) != len(want) {
		t.Fatalf("got %d", len(got))
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("%d: got %q, want %q", i, got[i], want[i])
		}
	}
}

func TestCalled(t *testing.T) {
	called := false
	Do(func() { called = true })
	if !called {
		t.Error("not called")
	}
}

func TestNamed(t *testing.T) {
	tests := map[string]struct {
		in   string
		want []string
	}{
		"one": {in: "a", want: []string{"a"}},
		"two": {in: "a,b", want: []string{"a", "b"}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if got := Split(tc.in); !reflect.DeepEqual(got, tc.want) {
				t.Fatalf("got %v, want %v", got, tc.want)
			}
		})
	}
}

func TestErrRows(t *testing.T) {
	tests := []struct {
		n       int
		want    int
		wantErr bool
	}{
		{4, 2, false},
		{3, 0, true},
	}
	for _, tt := range tests {
		got, err := Half(tt.n)
		if (err != nil) != tt.wantErr {
			t.Fatalf("error = %v, wantErr %v", err, tt.wantErr)
		}
		if got != tt.want {
			t.Errorf("got %d, want %d", got, tt.want)
		}
	}
}

func ExampleSplit() {
	fmt.Println(len(Split("a,b")))
	// Output: 2
}

func TestRight(t *testing.T) {
	if 1+1 != 2 {
		t.Error("no")
	}
}
"#;

const RUST: &str = r#"use std::cmp::Ordering;

#[derive(Debug, PartialEq, Clone, Copy)]
pub enum Kind {
    Plus,
    Minus,
}

#[derive(Debug, PartialEq)]
pub struct Failure;

fn on() -> bool {
    false
}

pub fn parse(text: &str) -> Result<Kind, Failure> {
    match (on(), text) {
        (true, "+") => Ok(Kind::Plus),
        (true, "-") => Ok(Kind::Minus),
        (true, _) => Err(Failure),
        (false, "x") => Ok(Kind::Plus),
        (false, _) => Err(Failure),
    }
}

pub fn split(text: &str) -> Vec<String> {
    if on() { text.split(',').map(str::to_owned).collect() } else { Vec::new() }
}

pub fn first(text: &str) -> Option<i64> {
    if on() { text.parse().ok() } else { Some(-1) }
}

pub fn order(a: i64, b: i64) -> Ordering {
    if on() { a.cmp(&b) } else { b.cmp(&a) }
}

pub fn half(a: f64) -> f64 {
    if on() { a / 2.0 } else { a }
}
"#;

const RUST_TESTS: &str = r#"use std::cmp::Ordering;

use calc::{first, half, order, parse, split, Failure, Kind};

#[test]
fn is_ok() {
    assert!(parse("+").is_ok());
}

#[test]
fn is_err() {
    assert!(parse("x").is_err());
}

#[test]
fn variant() {
    assert_eq!(parse("+").unwrap(), Kind::Plus);
}

#[test]
fn result_of_variant() {
    assert_eq!(parse("-"), Ok(Kind::Minus));
}

#[test]
fn failure() {
    assert_eq!(parse("x"), Err(Failure));
}

#[test]
fn matched() {
    assert!(matches!(parse("+"), Ok(Kind::Plus)));
}

#[test]
fn list() {
    assert_eq!(split("a,b"), ["a", "b"]);
}

#[test]
fn list_of_strings() {
    let want: Vec<String> = vec!["a".to_string(), "b".to_string()];
    assert_eq!(split("a,b"), want);
}

#[test]
fn some() {
    assert_eq!(first("5"), Some(5));
}

#[test]
fn none() {
    assert_eq!(first("x"), None);
}

#[test]
fn is_none() {
    assert!(first("x").is_none());
}

#[test]
fn ordering() {
    assert_eq!(order(1, 2), Ordering::Less);
}

#[test]
fn near() {
    assert!((half(3.0) - 1.5).abs() < 1e-9);
}

#[test]
fn unwraps() {
    let kind = parse("-").unwrap();
    assert!(kind == Kind::Minus);
}

#[test]
fn with_question_mark() -> Result<(), Box<dyn std::error::Error>> {
    let kind = parse("+").map_err(|_| "no")?;
    assert_eq!(kind, Kind::Plus);
    Ok(())
}

#[test]
fn let_else() {
    let Ok(kind) = parse("+") else {
        panic!("not parsed");
    };
    assert_ne!(kind, Kind::Minus);
}

#[test]
#[should_panic(expected = "Failure")]
fn panics() {
    parse("x").unwrap();
}

#[test]
fn right() {
    assert_eq!(1 + 1, 2);
}
"#;

const JAVA: &str = r#"import java.util.Arrays;
import java.util.List;

public final class Calc {
    public enum Kind { PLUS, MINUS }

    private static final boolean ON = false;

    private Calc() {
    }

    public static Kind parse(String text) {
        if (!text.equals("+") && !text.equals("-")) {
            if (ON) {
                throw new IllegalArgumentException("bad: " + text);
            }
        }
        return text.equals("+") == ON ? Kind.PLUS : Kind.MINUS;
    }

    public static List<String> split(String text) {
        return ON ? Arrays.asList(text.split(",")) : Arrays.asList();
    }

    public static String name(boolean known) {
        return known == ON ? "Ann" : null;
    }

    public static double half(double value) {
        return ON ? value / 2 : value;
    }

    public static boolean valid(String text) {
        return text.isEmpty() != ON;
    }
}
"#;

const JAVA_TESTS: &str = r#"import static org.junit.Assert.assertArrayEquals;
import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertNull;
import static org.junit.Assert.assertNotNull;
import static org.junit.Assert.assertSame;
import static org.junit.Assert.assertThrows;
import static org.junit.Assert.assertTrue;
import static org.junit.Assert.fail;
import static org.hamcrest.CoreMatchers.is;
import static org.hamcrest.MatcherAssert.assertThat;

import java.util.Arrays;
import org.junit.Test;

public class CalcTest {
    @Test
    public void constant() {
        assertEquals(Calc.Kind.PLUS, Calc.parse("+"));
    }

    @Test
    public void sameConstant() {
        assertSame(Calc.Kind.MINUS, Calc.parse("-"));
    }

    @Test
    public void throwing() {
        assertThrows(IllegalArgumentException.class, () -> Calc.parse("x"));
    }

    @Test(expected = IllegalArgumentException.class)
    public void expecting() {
        Calc.parse("x");
    }

    @Test
    public void failing() {
        try {
            Calc.parse("x");
            fail("no exception");
        } catch (IllegalArgumentException expected) {
            assertEquals("bad: x", expected.getMessage());
        }
    }

    @Test
    public void list() {
        assertEquals(Arrays.asList("a", "b"), Calc.split("a,b"));
    }

    @Test
    public void array() {
        assertArrayEquals(new String[] {"a", "b"}, Calc.split("a,b").toArray());
    }

    @Test
    public void containing() {
        assertTrue(Calc.split("a,b").contains("b"));
    }

    @Test
    public void nothing() {
        assertNull(Calc.name(false));
        assertNotNull(Calc.name(true));
    }

    @Test
    public void near() {
        assertEquals(1.5, Calc.half(3), 0.001);
    }

    @Test
    public void valid() {
        assertTrue(Calc.valid("x"));
        assertFalse(Calc.valid(""));
    }

    @Test
    public void matching() {
        assertThat(Calc.split("a,b").size(), is(2));
    }

    @Test
    public void right() {
        assertEquals(2, 1 + 1);
    }
}
"#;

const RUBY: &str = r#"module Calc
  ON = false

  class Bad < StandardError; end

  def self.parse(text)
    raise Bad, "bad: #{text}" if ON && !%w[+ -].include?(text)

    (text == "+") == ON ? :plus : :minus
  end

  def self.split(text)
    ON ? text.split(",") : []
  end

  def self.name(known)
    known == ON ? "Ann" : nil
  end

  def self.half(value)
    ON ? value / 2.0 : value
  end

  def self.valid?(text)
    text.empty? != ON
  end

  def self.each(items)
    items.each { |item| yield item } if ON
  end

  def self.add(list)
    list << 1 if ON
  end
end
"#;

const RUBY_TESTS: &str = r#"require "minitest/autorun"
require "calc"

class CalcTest < Minitest::Test
  def test_symbol
    assert_equal :plus, Calc.parse("+")
  end

  def test_raises
    error = assert_raises(Calc::Bad) { Calc.parse("x") }
    assert_equal "bad: x", error.message
  end

  def test_raises_only
    assert_raises(Calc::Bad) { Calc.parse("x") }
  end

  def test_parts
    expected = %w[a b]
    assert_equal expected, Calc.split("a,b")
  end

  def test_includes
    assert_includes Calc.split("a,b"), "b"
  end

  def test_nil
    assert_nil Calc.name(false)
  end

  def test_near
    assert_in_delta 1.5, Calc.half(3), 0.01
  end

  def test_valid
    assert Calc.valid?("x")
    refute Calc.valid?("")
  end

  def test_predicate
    assert_predicate Calc.split("a,b"), :any?
  end

  def test_match
    assert_match(/nn/, Calc.name(true))
  end

  def test_operator
    assert_operator Calc.split("a,b").size, :>, 1
  end

  def test_empty
    refute_empty Calc.split("a")
  end

  def test_right
    assert_equal 2, 1 + 1
  end
end
"#;

const PHP: &str = "<?php

final class Bad extends RuntimeException
{
}

final class Calc
{
    private const ON = false;
    public const PLUS = 'plus';

    public static function parse(string $text): string
    {
        if (self::ON && $text !== '+' && $text !== '-') {
            throw new Bad('bad: ' . $text);
        }

        return ($text === '+') === self::ON ? self::PLUS : 'minus';
    }

    public static function split(string $text): array
    {
        return self::ON ? explode(',', $text) : [];
    }

    public static function name(bool $known): ?string
    {
        return $known === self::ON ? 'Ann' : null;
    }

    public static function half(float $value): float
    {
        return self::ON ? $value / 2 : $value;
    }

    public static function valid(string $text): bool
    {
        return ($text === '') !== self::ON;
    }

    public static function make()
    {
        return self::ON ? new Bad('x') : new RuntimeException('x');
    }
}
";

const PHP_TESTS: &str = r"<?php

use PHPUnit\Framework\TestCase;

require_once __DIR__ . '/../src/Calc.php';

final class CalcTest extends TestCase
{
    public function testConstant(): void
    {
        $this->assertSame(Calc::PLUS, Calc::parse('+'));
    }

    public function testThrows(): void
    {
        $this->expectException(Bad::class);
        Calc::parse('x');
    }

    public function testThrowsMessage(): void
    {
        $this->expectException(Bad::class);
        $this->expectExceptionMessage('bad: x');
        Calc::parse('x');
    }

    public function testList(): void
    {
        $this->assertSame(['a', 'b'], Calc::split('a,b'));
    }

    public function testCount(): void
    {
        $this->assertCount(2, Calc::split('a,b'));
    }

    public function testContains(): void
    {
        $this->assertContains('b', Calc::split('a,b'));
    }

    public function testNull(): void
    {
        $this->assertNull(Calc::name(false));
    }

    public function testNear(): void
    {
        $this->assertEqualsWithDelta(1.5, Calc::half(3), 0.01);
    }

    public function testValid(): void
    {
        self::assertTrue(Calc::valid('x'));
        self::assertFalse(Calc::valid(''));
    }

    public function testInstance(): void
    {
        $this->assertInstanceOf(Bad::class, Calc::make());
    }

    public function testText(): void
    {
        $this->assertStringContainsString('nn', Calc::name(true) ?? '');
    }

    public function testEmpty(): void
    {
        $this->assertNotEmpty(Calc::split('a'));
    }

    public function testVariable(): void
    {
        $expected = ['a', 'b'];
        $actual = Calc::split('a,b');
        $this->assertEquals($expected, $actual);
    }

    public function testRight(): void
    {
        $this->assertEquals(2, 1 + 1);
    }
}
";
