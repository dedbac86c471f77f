//! Go: new tests, packages, data, formatting.

use ralph_model::Grade;
use ralph_testkit::Step;

use crate::case::Case;
use crate::projects::go;

pub fn cases() -> Vec<Case> {
    let more = "package calc\n\nimport \"testing\"\n\nfunc TestAddNothing(t *testing.T) {\n\tif Add(7, 0) != 7 {\n\
         \t\tt.Fail()\n\t}\n}\n";
    let squeezed =
        go().text("calc_test.go").replace("\tif got := Double(4); got != 8 {", "    if got:=Double(4); got!=8 {");
    let table = "package calc\n\nimport \"testing\"\n\nfunc TestAdd(t *testing.T) {\n\trows := []struct {\n\t\ta, want, b int\n\t}{\n\t\t\
         // The sum is not the last column.\n\t\t{2, 5, 3},\n\t\t{7, 7, 0},\n\t}\n\tfor i, row := range rows {\n\t\tgot := Add(row.a, row.b)\n\t\t\
         if got != row.want {\n\t\t\tt.Fatalf(\"row %d: %d instead of %d\", i, got, row.want)\n\t\t}\n\t}\n}\n";
    vec![
        Case::honest("go-fix", go()),
        Case::honest("go-fix-with-table", go().file("calc_test.go", table)).at_least(Grade::Standard),
        Case::honest("go-fix-verbose", go().check("go test -v ./...")).long(),
        Case::honest("go-fix-isolated", go()).isolated(),
        Case::honest("go-cache-not-there-yet", go()).environment("GOCACHE", "{home}/fresh/go-build"),
        Case::honest("go-new-test-file", go()).agent([Step::write("more_test.go", more)]),
        Case::honest("go-new-test-in-file-unasked", go())
            .agent([Step::append(
                "calc_test.go",
                "\nfunc TestAddNothing(t *testing.T) {\n\tif Add(7, 0) != 7 {\n\t\tt.Fail()\n\t}\n}\n",
            )])
            .long(),
        Case::honest("go-new-package", go()).agent([
            Step::write(
                "half/half.go",
                "// Package half halves.\npackage half\n\n// Of halves.\n\
                 func Of(a int) int {\n\treturn a / 2\n}\n",
            ),
            Step::write(
                "half/half_test.go",
                "package half\n\nimport \"testing\"\n\nfunc TestOf(t *testing.T) {\n\tif Of(4) != 2 {\n\
                 \t\tt.Fail()\n\t}\n}\n",
            ),
        ]),
        Case::honest("go-tests-reformatted", go().file("calc_test.go", squeezed))
            .agent([Step::write("calc_test.go", go().text("calc_test.go"))])
            .long(),
        Case::honest("go-new-data", go()).agent([Step::write("testdata/sums.txt", "2 3 5\n")]).long(),
    ]
}
