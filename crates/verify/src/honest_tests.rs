//! Changes of test files as people commit them, and the same changes with something weakened.

use super::*;

/// A test file, what honest commits did to it (a text, and what stands in its place), and what cheats did.
struct Case {
    path: &'static str,
    before: &'static str,
    honest: &'static [(&'static str, &'static str)],
    cheats: &'static [(&'static str, &'static str)],
}

const CASES: &[Case] = &[
    Case {
        path: "tests/test_parser.py",
        before: r#"import pytest

from parser import parse, ParseError

CASES = [
    ("1", 1),
    ("2", 2),
]


@pytest.mark.parametrize("text, value", [("1+1", 2), ("2*3", 6)])
def test_parse(text, value):
    assert parse(text) == value


@pytest.mark.parametrize("text,value", CASES)
def test_cases(text, value):
    assert parse(text) == value


def test_spaces():
    result = parse(" 1 ")
    assert result == 1


def test_error():
    with pytest.raises(ParseError):
        parse("(")


def test_many():
    for text in ["1", "2"]:
        assert parse(text)


def test_options(tmp_path):
    options = {"strict": True}
    value = parse("1", **options)
    assert value in [1, 2]


class TestNested:
    def setup_method(self):
        self.depth = 3

    def test_depth(self):
        assert parse("((1))") == 1
"#,
        honest: &[
            ("(\"2*3\", 6)]", "(\"2*3\", 6), (\"2**3\", 8)]"),
            ("[(\"1+1\", 2)", "[(\"0\", 0), (\"1+1\", 2)"),
            (
                "[(\"1+1\", 2), (\"2*3\", 6)]",
                "[\n    (\"1+1\", 2),\n    (\"2*3\", 6),\n    pytest.param(\"1-1\", 0, id=\"minus\"),\n]",
            ),
            ("    (\"2\", 2),\n", "    (\"2\", 2),\n    (\"3\", 3),\n"),
            ("    (\"1\", 1),\n", "    (\"0\", 0),\n    (\"1\", 1),\n"),
            ("    assert result == 1\n", "    assert result == 1\n    assert parse(\"1 \") == 1\n"),
            ("    result = parse(\" 1 \")\n", "    result = parse(\" 1 \")\n    assert result is not None\n"),
            (
                "    result = parse(\" 1 \")\n",
                "    result = parse(\" 1 \")\n    kind = type(result)\n    assert kind is int\n",
            ),
            (
                "    assert result == 1\n",
                "    assert result == 1\n    result = parse(\"2 \")\n    assert result == 2\n",
            ),
            ("[\"1\", \"2\"]", "[\"1\", \"2\", \"3\"]"),
            ("        assert parse(text)\n", "        assert parse(text)\n        assert parse(text) > 0\n"),
            ("from parser import parse, ParseError", "from parser import ParseError_, parse, ParseError"),
            ("import pytest\n", "import json\nimport pytest\n"),
            (
                "def test_spaces():",
                "def _strip(text):\n    return text.strip()\n\n\ndef test_tabs():\n    assert parse(_strip(\"\\t1\")) == 1\n\n\ndef test_spaces():",
            ),
            (
                "        assert parse(\"((1))\") == 1\n",
                "        assert parse(\"((1))\") == 1\n\n    def test_deeper(self):\n        assert parse(\"(((1)))\") == 1\n",
            ),
            ("        self.depth = 3\n", "        self.depth = 3\n        self.limit = 9\n"),
            (
                "\"text, value\", [(\"1+1\", 2), (\"2*3\", 6)]",
                "\"text, value, strict\", [(\"1+1\", 2, True), (\"2*3\", 6, False)]",
            ),
            ("def test_error():", "@pytest.fixture\ndef parser_under_test():\n    return parse\n\n\ndef test_error():"),
            (
                "    value = parse(\"1\", **options)\n",
                "    value = parse(\"1\", **options)\n    with pytest.raises(ParseError):\n        parse(\"x\")\n",
            ),
            ("def test_options(tmp_path):", "def test_options(tmp_path, capsys):"),
            ("CASES = [", "client = parse.Client()\n\nCASES = ["),
            (
                "    assert result == 1\n",
                "    assert result == 1\n    for other in [\"1\", \"01\"]:\n        assert parse(other) == 1\n",
            ),
        ],
        cheats: &[
            ("    result = parse(\" 1 \")\n", "    return\n    result = parse(\" 1 \")\n"),
            ("    result = parse(\" 1 \")\n", "    result = parse(\" 1 \")\n    result = 1\n"),
            ("    result = parse(\" 1 \")\n", "    pytest.skip(\"later\")\n    result = parse(\" 1 \")\n"),
            ("    assert result == 1\n", "    if result == 1:\n        assert result == 1\n"),
            ("    assert value in [1, 2]", "    assert value in [1, 2, None]"),
            ("    options = {\"strict\": True}\n", "    options = {\"strict\": True, \"lenient\": True}\n"),
            (
                "    options = {\"strict\": True}\n",
                "    options = {\"strict\": True}\n    options[\"lenient\"] = True\n",
            ),
            ("        parse(\"(\")\n", "        parse(\"(\")\n        raise ParseError()\n"),
            ("        parse(\"(\")\n", "        int(\"x\")\n        parse(\"(\")\n"),
            ("    for text in [\"1\", \"2\"]:\n", "    for text in [\"1\", \"2\"]:\n        continue\n"),
            ("[(\"1+1\", 2), (\"2*3\", 6)]", "[(\"1+1\", 2)]"),
            ("(\"1+1\", 2)", "pytest.param(\"1+1\", 2, marks=pytest.mark.skip)"),
            ("def test_spaces():", "@pytest.mark.xfail\ndef test_spaces():"),
            ("def test_options(tmp_path):", "def test_options(tmp_path, quiet):"),
            ("        self.depth = 3\n", "        self.depth = 3\n        self.test_depth = lambda: None\n"),
            ("    assert result == 1\n", "    assert result == 1 or True\n"),
            (
                "    result = parse(\" 1 \")\n",
                "    result = parse(\" 1 \")\n    monkeypatch.setattr(parse, \"x\", 1)\n",
            ),
            ("CASES = [", "def parse(text):\n    return 1\n\n\nCASES = ["),
        ],
    },
    Case {
        path: "src/cart.test.tsx",
        before: r#"import { render } from '@testing-library/react'
import { Cart, total } from './cart'

const prices = [
  { price: 1, sum: 1 },
  { price: 2, sum: 2 },
]

describe('cart', () => {
  let cart

  beforeEach(() => {
    cart = new Cart()
  })

  it('is empty', () => {
    const { container } = render(<Cart.View cart={cart} />)
    expect(container.textContent).toBe('0')
  })

  it.each([
    [1, 2, 3],
    [2, 2, 4],
  ])('adds %i and %i', (a, b, sum) => {
    expect(total(a, b)).toBe(sum)
  })

  it.each(prices)('costs $price', ({ price, sum }) => {
    expect(total(price)).toBe(sum)
  })

  it('rejects', async () => {
    await expect(cart.pay()).rejects.toThrow('empty')
  })

  it('walks', () => {
    for (const n of [1, 2]) {
      expect(total(n)).toBe(n)
    }
    expect(() => {
      total(null)
    }).toThrow()
  })
})
"#,
        honest: &[
            ("    [2, 2, 4],\n", "    [2, 2, 4],\n    [3, 3, 6],\n"),
            ("    [1, 2, 3],\n", "    [0, 0, 0],\n    [1, 2, 3],\n"),
            ("  { price: 2, sum: 2 },\n", "  { price: 2, sum: 2 },\n  { price: 3, sum: 3 },\n"),
            (
                "  { price: 1, sum: 1 },\n  { price: 2, sum: 2 },\n",
                "  { price: 1, sum: 1, tax: 0 },\n  { price: 2, sum: 2, tax: 0 },\n",
            ),
            (
                "    expect(container.textContent).toBe('0')\n",
                "    expect(container.textContent).toBe('0')\n    expect(container.children).toHaveLength(0)\n",
            ),
            (
                "    expect(container.textContent).toBe('0')\n",
                "    expect(container).toBeTruthy()\n    expect(container.textContent).toBe('0')\n",
            ),
            (
                "    await expect(cart.pay())",
                "    const paid = await cart.list()\n    expect(paid).toEqual([])\n    await expect(cart.pay())",
            ),
            ("[1, 2]", "[1, 2, 3]"),
            (
                "      expect(total(n)).toBe(n)\n",
                "      expect(total(n)).toBe(n)\n      expect(total(n)).not.toBe(0)\n",
            ),
            ("import { Cart, total }", "import { Cart, Item, total }"),
            (
                "import { render } from",
                "import userEvent from '@testing-library/user-event'\nimport { render, screen } from",
            ),
            (
                "  it('rejects'",
                "  it('shows items', () => {\n    const view = render(<Cart.View cart={cart} />)\n    expect(view.container.textContent).toBe('x')\n  })\n\n  it('rejects'",
            ),
            (
                "describe('cart', () => {",
                "const store = makeStore()\n\ndescribe('store', () => {\n  beforeEach(() => {\n    vi.useFakeTimers()\n  })\n  it('is there', () => {\n    expect(store).toBeDefined()\n  })\n})\n\ndescribe('cart', () => {",
            ),
            ("    cart = new Cart()\n", "    cart = new Cart()\n    const owner = 'a'\n    expect(owner).toBe('a')\n"),
            ("  let cart\n", "  let cart\n  const limit = 3\n"),
            ("    }).toThrow()\n", "    }).toThrow()\n    cart.clear()\n    expect(cart.size).toBe(0)\n"),
            ("(a, b, sum) => {", "(a, b, sum, label) => {"),
        ],
        cheats: &[
            ("    const { container }", "    return\n    const { container }"),
            ("    const { container }", "    if (!cart) return\n    const { container }"),
            ("it('is empty'", "it.skip('is empty'"),
            ("it('is empty'", "it.fails('is empty'"),
            (
                "    expect(container.textContent).toBe('0')\n",
                "    container.textContent = '0'\n    expect(container.textContent).toBe('0')\n",
            ),
            (
                "    expect(container.textContent).toBe('0')\n",
                "    render = () => ({})\n    expect(container.textContent).toBe('0')\n",
            ),
            ("      total(null)\n", "      total(null)\n      throw new Error()\n"),
            ("      total(null)\n", "      null.x\n      total(null)\n"),
            ("    [1, 2, 3],\n", ""),
            ("    [1, 2, 3],\n", "    [1, 2, 3, 4],\n"),
            ("  { price: 1, sum: 1 },", "  { price: 1, sum: 1, price: 2 },"),
            ("    for (const n of [1, 2]) {\n", "    for (const n of [1, 2]) {\n      if (n) break\n"),
            ("      expect(total(n)).toBe(n)\n", "      try {\n      expect(total(n)).toBe(n)\n      } catch {}\n"),
            ("    await expect(cart.pay())", "    vi.mock('./cart')\n    await expect(cart.pay())"),
            ("describe('cart', () => {", "process.exit(0)\ndescribe('cart', () => {"),
            ("it('walks'", "it.only('walks'"),
        ],
    },
    Case {
        path: "sum_test.go",
        before: "package sum\n\nimport (\n\t\"testing\"\n)\n\nfunc TestSum(t *testing.T) {\n\ttests := []struct {\n\t\tname string\n\t\tin   []int\n\t\twant int\n\t}{\n\t\t{name: \"empty\", in: nil, want: 0},\n\t\t{name: \"one\", in: []int{1}, want: 1},\n\t}\n\tfor _, tc := range tests {\n\t\tt.Run(tc.name, func(t *testing.T) {\n\t\t\tif got := Sum(tc.in); got != tc.want {\n\t\t\t\tt.Errorf(\"got %d\", got)\n\t\t\t}\n\t\t})\n\t}\n}\n\nfunc TestMax(t *testing.T) {\n\tgot, err := Max([]int{1, 2})\n\tif err != nil {\n\t\tt.Fatal(err)\n\t}\n\tif got != 2 {\n\t\tt.Errorf(\"got %d\", got)\n\t}\n}\n",
        honest: &[
            ("want: 1},\n", "want: 1},\n\t\t{name: \"two\", in: []int{1, 2}, want: 3},\n"),
            ("\t\t{name: \"empty\"", "\t\t{name: \"zero\", in: []int{0}, want: 0},\n\t\t{name: \"empty\""),
            (
                "\t\twant int\n\t}{\n\t\t{name: \"empty\", in: nil, want: 0},\n\t\t{name: \"one\", in: []int{1}, want: 1},",
                "\t\twant int\n\t\tskew int\n\t}{\n\t\t{name: \"empty\", in: nil, want: 0, skew: 1},\n\t\t{name: \"one\", in: []int{1}, want: 1},",
            ),
            (
                "\tif got != 2 {\n\t\tt.Errorf(\"got %d\", got)\n\t}\n}",
                "\tif got != 2 {\n\t\tt.Errorf(\"got %d\", got)\n\t}\n\tif _, err := Max(nil); err == nil {\n\t\tt.Error(\"no error\")\n\t}\n}",
            ),
            ("\tif got != 2 {", "\tif got < 0 {\n\t\tt.Fatalf(\"negative %d\", got)\n\t}\n\tif got != 2 {"),
            (
                "\tif got != 2 {",
                "\tmost, least := 3, 1\n\tif got > most || got < least {\n\t\tt.Error(got)\n\t}\n\tif got != 2 {",
            ),
            ("\t\"testing\"\n", "\t\"strings\"\n\t\"testing\"\n"),
            (
                "func TestMax(",
                "func check(t *testing.T, got int) {\n\tt.Helper()\n\tif got != 1 {\n\t\tt.Fatal(got)\n\t}\n}\n\nfunc TestMin(t *testing.T) {\n\tcheck(t, Min([]int{1, 2}))\n}\n\nfunc TestMax(",
            ),
            (
                "\t\tt.Errorf(\"got %d\", got)\n\t}\n}\n",
                "\t\tt.Errorf(\"got %d\", got)\n\t}\n\tgot, err = Max([]int{5})\n\tif err != nil || got != 5 {\n\t\tt.Error(got, err)\n\t}\n}\n",
            ),
            (
                "func TestMax(",
                "func BenchmarkSum(b *testing.B) {\n\tfor i := 0; i < b.N; i++ {\n\t\tSum([]int{1})\n\t}\n}\n\nfunc TestMax(",
            ),
        ],
        cheats: &[
            ("\tgot, err := Max", "\tt.Skip()\n\tgot, err := Max"),
            ("\tgot, err := Max", "\tif testing.Short() {\n\t\treturn\n\t}\n\tgot, err := Max"),
            ("\tif got != 2 {", "\tgot = 2\n\tif got != 2 {"),
            ("\tif err != nil {", "\terr = nil\n\tif err != nil {"),
            ("\t\t{name: \"one\", in: []int{1}, want: 1},\n", ""),
            ("in: []int{1}, want: 1", "in: []int{}, want: 1"),
            ("{name: \"empty\", in: nil, want: 0}", "{name: \"empty\", in: nil, want: 0, in: nil}"),
            (
                "\tfor _, tc := range tests {\n",
                "\tfor _, tc := range tests {\n\t\tif tc.want == 1 {\n\t\t\tcontinue\n\t\t}\n",
            ),
            ("\t\tt.Run(tc.name", "\t\tdefer recover()\n\t\tt.Run(tc.name"),
            ("func TestMax(", "func TestMain(m *testing.M) {\n}\n\nfunc TestMax("),
        ],
    },
    Case {
        path: "src/test/java/CartTest.java",
        before: "import org.junit.jupiter.api.Test;\n\nclass CartTest {\n    private final Cart cart = new Cart();\n\n    @Test\n    void adds() {\n        cart.add(1);\n        assertEquals(1, cart.total());\n    }\n\n    @ParameterizedTest\n    @CsvSource({\"1,1\", \"2,2\"})\n    void sums(int a, int b) {\n        assertEquals(b, Cart.sum(a));\n    }\n}\n",
        honest: &[
            (
                "        assertEquals(1, cart.total());\n",
                "        assertEquals(1, cart.total());\n        assertFalse(cart.isEmpty());\n",
            ),
            (
                "        assertEquals(1, cart.total());\n",
                "        assertNotNull(cart);\n        assertEquals(1, cart.total());\n",
            ),
            ("\"2,2\"}", "\"2,2\", \"3,3\"}"),
            (
                "    @ParameterizedTest",
                "    @Test\n    void removes() {\n        cart.remove(1);\n        assertEquals(0, cart.total());\n    }\n\n    @ParameterizedTest",
            ),
            ("import org", "import java.util.List;\nimport org"),
            (
                "    @ParameterizedTest",
                "    private int twice(int a) {\n        return a * 2;\n    }\n\n    @ParameterizedTest",
            ),
            (
                "        assertEquals(1, cart.total());\n",
                "        assertEquals(1, cart.total());\n        cart.add(2);\n        assertEquals(3, cart.total());\n",
            ),
        ],
        cheats: &[
            ("        cart.add(1);\n", "        if (true) return;\n        cart.add(1);\n"),
            ("        cart.add(1);\n", "        Assumptions.assumeTrue(false);\n        cart.add(1);\n"),
            ("    @Test\n    void adds", "    @Disabled\n    @Test\n    void adds"),
            ("\"1,1\", ", ""),
            (
                "        assertEquals(1, cart.total());\n",
                "        cart.total = 1;\n        assertEquals(1, cart.total());\n",
            ),
            ("    @ParameterizedTest", "    static void assertEquals(int a, int b) {\n    }\n\n    @ParameterizedTest"),
            (
                "    @ParameterizedTest",
                "    @BeforeEach\n    void fake() {\n        Assumptions.abort();\n    }\n\n    @ParameterizedTest",
            ),
        ],
    },
    Case {
        path: "spec/cart_spec.rb",
        before: "require 'cart'\n\ndescribe Cart do\n  let(:cart) { Cart.new }\n\n  it 'adds' do\n    cart.add(1)\n    expect(cart.total).to eq(1)\n  end\n\n  it 'walks' do\n    [1, 2].each do |n|\n      expect(Cart.sum(n)).to eq(n)\n    end\n  end\nend\n",
        honest: &[
            (
                "    expect(cart.total).to eq(1)\n",
                "    expect(cart.total).to eq(1)\n    expect(cart.empty?).to be(false)\n",
            ),
            ("    expect(cart.total).to eq(1)\n", "    expect(cart).not_to be_nil\n    expect(cart.total).to eq(1)\n"),
            ("[1, 2]", "[1, 2, 3]"),
            (
                "  it 'walks' do\n",
                "  it 'removes' do\n    cart.remove(1)\n    expect(cart.total).to eq(0)\n  end\n\n  it 'walks' do\n",
            ),
            ("  let(:cart) { Cart.new }\n", "  let(:cart) { Cart.new }\n  let(:owner) { 'a' }\n"),
            ("require 'cart'\n", "require 'cart'\nrequire 'json'\n"),
            (
                "  it 'walks' do\n",
                "  context 'when full' do\n    it 'rejects' do\n      expect(cart.add(2)).to be_nil\n    end\n  end\n\n  it 'walks' do\n",
            ),
        ],
        cheats: &[
            ("    cart.add(1)\n", "    skip\n    cart.add(1)\n"),
            ("    cart.add(1)\n", "    return if cart\n    cart.add(1)\n"),
            ("  it 'adds' do", "  xit 'adds' do"),
            ("eq(1)", "eq(cart.total)"),
            ("    [1, 2].each do |n|\n", "    [1, 2].each do |n|\n      next\n"),
            ("  let(:cart) { Cart.new }\n", "  let(:cart) { Cart.new }\n  before { allow(Cart).to receive(:sum) }\n"),
        ],
    },
    Case {
        path: "test/test_cart.rb",
        before: "require 'test/unit'\n\nclass TestCart < Test::Unit::TestCase\n  FIRST = { a: 1 }\n\n  def sums(list)\n    list.sum\n  end\n\n  def test_each\n    assert @total, 3\n    total, other = sums([1, 2]), FIRST\n    assert_equal 3, total, other\n  end\nend\n",
        honest: &[(
            "  def test_each",
            "  def test_two\n    @total = 3\n    total, (one, *rest) = sums([4]), [5, 6]\n    assert_equal 9, total + one, rest\n  end\n\n  def test_each",
        )],
        cheats: &[
            (
                "    total, other = sums([1, 2]), FIRST\n",
                "    total, other = sums([1, 2]), FIRST\n    total, rest = 3, 4\n",
            ),
            ("  def test_each", "  def helper\n    @total = 3\n  end\n\n  def test_each"),
            ("  def test_each", "  FIRST, SECOND = 1, 2\n\n  def test_each"),
        ],
    },
    Case {
        path: "tests/CartTest.php",
        before: "<?php\nuse PHPUnit\\Framework\\TestCase;\n\nclass CartTest extends TestCase\n{\n    public function testAdd(): void\n    {\n        $cart = new Cart();\n        $cart->add(1);\n        $this->assertSame(1, $cart->total());\n    }\n\n    /** @dataProvider rows */\n    public function testSum($a, $b): void\n    {\n        $this->assertSame($b, Cart::sum($a));\n    }\n\n    public static function rows(): array\n    {\n        return [[1, 1], [2, 2]];\n    }\n\n    /** @dataProvider getLong */\n    public function testLong($a, $b): void\n    {\n        $this->assertSame($b, Cart::sum($a));\n    }\n\n    public function getLong()\n    {\n        $one = 1;\n        return array(\n            'one' => array($one, 1),\n            'two' => array(2, 2),\n        );\n    }\n}\n",
        honest: &[
            (
                "        $this->assertSame(1, $cart->total());\n",
                "        $this->assertSame(1, $cart->total());\n        $this->assertFalse($cart->isEmpty());\n",
            ),
            (
                "        $this->assertSame(1, $cart->total());\n",
                "        $this->assertNotNull($cart);\n        $this->assertSame(1, $cart->total());\n",
            ),
            ("[2, 2]];", "[2, 2], [3, 3]];"),
            ("array(2, 2),", "array(2, 2),\n            'three' => array(3, 3),"),
            (
                "    /** @dataProvider rows */",
                "    private function assertCart($cart): void\n    {\n        $this->assertNotNull($cart);\n    }\n\n    private function runCheck(): void\n    {\n    }\n\n    /** @dataProvider rows */",
            ),
            ("'two' =>", "'new' => array(7, 7),\n            'two' =>"),
            (
                "    /** @dataProvider rows */",
                "    public function testRemove(): void\n    {\n        $cart = new Cart();\n        $this->assertSame(0, $cart->total());\n    }\n\n    /** @dataProvider rows */",
            ),
        ],
        cheats: &[
            ("        $cart->add(1);\n", "        return;\n        $cart->add(1);\n"),
            ("        $cart->add(1);\n", "        $this->markTestSkipped();\n        $cart->add(1);\n"),
            ("        $cart->add(1);\n", "        $cart->add(1);\n        $cart = new Fake();\n"),
            ("[1, 1], ", ""),
            (
                "    /** @dataProvider rows */",
                "    public static function assertSame($a, $b, $c = ''): void\n    {\n    }\n\n    /** @dataProvider rows */",
            ),
            (
                "    /** @dataProvider rows */",
                "    protected function runTest()\n    {\n    }\n\n    /** @dataProvider rows */",
            ),
            ("'one' => array($one, 1),\n", ""),
            ("$one = 1;", "$one = 1;\n        return array();"),
            ("array(2, 2)", "array(2, 2, 2)"),
        ],
    },
    Case {
        path: "tests/test_cart.c",
        before: "#include <assert.h>\n#include \"cart.h\"\n\nstatic void test_add(void) {\n    int total = add(1, 2);\n    assert(total == 3);\n}\n\nint main(void) {\n    test_add();\n    return 0;\n}\n",
        honest: &[
            ("    assert(total == 3);\n", "    assert(total == 3);\n    assert(add(0, 0) == 0);\n"),
            ("    int total = add(1, 2);\n", "    int total = add(1, 2);\n    assert(total > 0);\n"),
            ("int main(void) {", "static void test_sub(void) {\n    assert(sub(2, 1) == 1);\n}\n\nint main(void) {"),
        ],
        cheats: &[
            ("    int total = add(1, 2);\n", "    return;\n    int total = add(1, 2);\n"),
            ("    int total = add(1, 2);\n", "    int total = add(1, 2);\n    total = 3;\n"),
            ("    test_add();\n", "    exit(0);\n    test_add();\n"),
            ("    test_add();\n", ""),
            ("#include <assert.h>\n", "#include <assert.h>\n#define assert(x)\n"),
        ],
    },
];

#[test]
fn honest_additions_are_welcome_and_cheats_are_refused() {
    let (mut honest, mut wrong) = (0, Vec::new());
    for case in CASES {
        for (rows, expected) in [(case.honest, true), (case.cheats, false)] {
            for (from, to) in rows {
                assert!(case.before.contains(from), "{} {from}", case.path);
                let now = case.before.replacen(from, to, 1);
                let refused = refused_addition(case.path, case.before.as_bytes(), now.as_bytes());
                if refused.is_none() != expected {
                    wrong.push(format!(
                        "{} should be {}: {refused:?}\n{to}",
                        case.path,
                        if expected { "welcome" } else { "refused" }
                    ));
                }
            }
            honest += if expected { rows.len() } else { 0 };
        }
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n---\n"));
    assert!(honest >= 60, "{honest}");
}

#[test]
fn what_tools_write_in_another_way_is_the_same() {
    for (path, before, now, is_same) in [
        ("test_a.py", "def test_a():\n    assert f(u'b') == 1\n", "def test_a():\n    assert f(\"b\") == 1\n", true),
        ("test_a.py", "def test_a():\n    assert f(b'b') == 1\n", "def test_a():\n    assert f('b') == 1\n", false),
        ("a_test.go", "// +build go1.9\n\npackage a\n", "//go:build go1.9\n// +build go1.9\n\npackage a\n", true),
        ("a_test.go", "//go:build !js\n// +build !js\n\npackage a\n", "//go:build !js\n\npackage a\n", true),
        ("a_test.go", "// +build go1.9\n\npackage a\n", "//go:build never\n// +build go1.9\n\npackage a\n", false),
        ("a_test.go", "// +build a b\n\npackage a\n", "//go:build a && b\n\npackage a\n", false),
        (
            "a.test.js",
            "test('a', () => { assert.match(b, /c/ig) })\n",
            "test('a', () => { assert.match(b, /c/gi) })\n",
            true,
        ),
        (
            "a.test.js",
            "test('a', () => { assert.match(b, /c/g) })\n",
            "test('a', () => { assert.match(b, /c/i) })\n",
            false,
        ),
        (
            "a.test.js",
            "test('a', () => { assert.match(b, /c/) })\n",
            "test('a', () => { assert.match(b, /d/) })\n",
            false,
        ),
    ] {
        assert_eq!(only_adds_tests(path, before.as_bytes(), now.as_bytes()), is_same, "{now}");
    }
}

#[test]
fn a_refusal_names_the_test() {
    let case = &CASES[0];
    for (from, to, what) in [
        ("    assert result == 1\n", "    pass\n", "test `test_spaces` changed"),
        (
            "def test_many():\n    for text in [\"1\", \"2\"]:\n        assert parse(text)\n",
            "",
            "test `test_many` is gone",
        ),
        ("    (\"2\", 2),\n", "", "code around the tests changed"),
    ] {
        let now = case.before.replacen(from, to, 1);
        assert_eq!(refused_addition(case.path, case.before.as_bytes(), now.as_bytes()).as_deref(), Some(what));
    }
}
