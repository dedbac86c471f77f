use super::super::tests::Table;

const GO: Table = Table {
    path: "calc_test.go",
    before: "package calc\n\nimport \"testing\"\n\ntype stack struct{ items []int }\n\nfunc TestAdd(t *testing.T) {\n\tgot := Add(1, 2)\n\tif got != 3 {\n\t\tt.Fatal(got)\n\t}\n}\n\nfunc ExampleAdd() {\n\tprint(Add(1, 2))\n\t// Output:\n\t// 3\n}\n",
};

#[test]
fn new_tests_and_what_they_need_are_welcome() {
    GO.welcome(&[
        GO.before.to_owned(),
        GO.swap(
            "import \"testing\"\n",
            "import (\n\t\"strings\"\n\t\"testing\"\n\n\tlib \"example.org/lib\" // why\n)\n",
        ),
        GO.swap("import \"testing\"\n", "import \"testing\" // for t\nimport \"os\"\n"),
        GO.swap("func TestAdd", "// TestAdd adds.\nfunc TestAdd"),
    ]);
    GO.welcome(
        &[
            "func TestZero(t *testing.T) {\n\tgot := Add(0, 0) // zero\n\tif got != 0 {\n\t\tt.Skip()\n\t}\n}",
            "func BenchmarkAdd(b *testing.B) {\n}",
            "func FuzzAdd(f *testing.F) {\n}",
            "func ExampleZero() {\n\tfmt.Println(Add(0, 0))\n\t// Output: 0\n}",
            "func helper(a int) int { return a }",
            "func mapped[T any](a []T) []T {\n\treturn a\n}",
            "type queue struct {\n\titems []int\n}\n\nfunc (q *queue) push(a int) {\n\tq.items = append(q.items, a)\n}",
            "type list[T any] struct{}\n\nfunc (l list[T]) size() int { return 0 }",
            "type (\n\tone int\n\ttwo string\n)\n\nfunc (o one) String() string { return \"\" }",
            "const limit = 3",
            "const (\n\tfirst = iota\n\tsecond, third = 1, 2\n)",
            "var cases = []struct{ a, b int }{{1, 2}, {3, 4}}",
            "var _ Adder = &adder{}",
            "func TestText(t *testing.T) {\n\ts := `// Output: 1`\n\tr := '\"'\n}",
            "func TestLint(t *testing.T) {\n\tAdd(1, 2) //nolint:errcheck\n}",
        ]
        .map(|text| GO.end(&format!("\n{text}\n"))),
    );
}

#[test]
fn what_was_there_stays_as_it_was() {
    GO.refused(&[
        GO.swap("\tgot := Add(1, 2)\n", "\tt.Skip()\n\tgot := Add(1, 2)\n"),
        GO.swap("\tgot := Add(1, 2)\n", "\treturn\n\tgot := Add(1, 2)\n"),
        GO.swap("got != 3", "got == 3"),
        GO.swap("func TestAdd", "func testAdd"),
        GO.swap("package calc\n", "package calc_test\n"),
        GO.swap("import \"testing\"\n", "import testing \"example.org/testing\"\n"),
        GO.swap("\t// Output:\n\t// 3\n", ""),
        GO.swap("\t// 3\n", "\t// 4\n"),
        GO.swap("\t// Output:\n", "\t// Output:\n\n"),
        GO.swap("\t// 3\n", "\t// 3\n\n\t// done\n"),
        GO.swap("struct{ items []int }", "struct{ items []int; more int }"),
        GO.swap("func ExampleAdd() {\n\tprint(Add(1, 2))\n\t// Output:\n\t// 3\n}\n", ""),
    ]);
}

#[test]
fn what_is_new_stands_for_nothing_old_and_runs_by_itself_never() {
    GO.refused(
        &[
            "func TestAdd(t *testing.T) {\n}",
            "func Add(a, b int) int { return 3 }",
            "func TestMain(m *testing.M) {\n}",
            "func init() {\n}",
            "func main() {\n}",
            "func bodiless()",
            "func len(a []int) int { return 3 }",
            "const true = false",
            "const (\n\tfine = 1\n\tfalse = true\n)",
            "type error interface{}",
            "type fine, int = 1",
            "var got = 3",
            "var x = f()",
            "var (\n\ty = 1\n\tx = func() int { return 1 }()\n)",
            "var x = <-c",
            "func (s *stack) String() string { return \"\" }",
            "func (Calculator) Equal(o Calculator) bool { return true }",
            "type alias = Calculator\n\nfunc (a alias) Equal(o alias) bool { return true }",
            "//go:noinline\nfunc TestB(t *testing.T) {\n}",
            "//go:linkname Add other.Add\nfunc TestB(t *testing.T) {\n}",
            "//go:embed x\nvar x string",
            "var (\n\t//go:embed x\n\tx string\n)",
            "func TestB(t *testing.T) {\n\t//go:build never\n}",
            "//line other.go:1\nfunc TestB(t *testing.T) {\n}",
            "func TestB(t *testing.T) {\n\tos.Exit(0)\n}",
            "func TestB(t *testing.T) {\n\t_ = unsafe.Pointer(nil)\n}",
            "func Tеst(t *testing.T) {\n}",
            "x := 1",
            "if true {\n}",
        ]
        .map(|text| GO.end(&format!("\n{text}\n"))),
    );
    GO.refused(&[
        GO.start("//go:build never\n\n"),
        GO.start("// +build never\n\n"),
        GO.swap("func TestAdd", "//go:noinline\nfunc TestAdd"),
        GO.swap("import \"testing\"\n", "import \"testing\"\nimport _ \"example.org/evil\"\n"),
        GO.swap("import \"testing\"\n", "import \"testing\"\nimport . \"example.org/evil\"\n"),
        GO.swap("import \"testing\"\n", "import \"testing\"\nimport \"unsafe\"\n"),
        GO.swap("import \"testing\"\n", "import \"testing\"\nimport \"C\"\n"),
        GO.swap("import \"testing\"\n", "import \"testing\"\nimport Add \"example.org/evil\"\n"),
    ]);
}

#[test]
fn nothing_comes_between_a_comment_for_tools_and_what_it_is_for() {
    let table = Table { path: "a_test.go", before: "package a\n\n//go:embed x\nvar x string\n" };
    table.welcome(&[table.end("\nfunc TestB(t *testing.T) {\n}\n")]);
    table.refused(&[
        table.swap("//go:embed x\n", "//go:embed x\nvar y string\n"),
        table.swap("//go:embed x\n", "//go:embed y\n"),
        table.swap("//go:embed x\n", ""),
    ]);
}
