//! `go test`.

use ralph_model::Runner;

use crate::bench::{Project, program};

const MODULE: &str = "module example.com/shop\n\ngo 1.20\n";
const SOURCE: &str = "package cart\n\nfunc Add(a, b int) int { return a + b }\n";
const TEST: &str = "package cart

import \"testing\"

func TestAdd(t *testing.T) {
\tif Add(1, 2) != 3 {
\t\tt.Fatal(\"wrong\")
\t}
}
";
const OUTSIDE: &str = "package cart_test

import (
\t\"example.com/shop/cart\"
\tcheck \"testing\"
)

func TestAddOutside(t *check.T) {
\tif cart.Add(1, 2) != 3 {
\t\tt.Error(\"wrong\")
\t}
}
";
const TAGGED: &str = "//go:build never

package cart

import \"testing\"

func TestNever(t *testing.T) {}
";

#[test]
fn what_is_planted_is_reported() {
    let go = program("go", "version");
    let files = [
        ("go.mod", MODULE),
        ("cart/cart.go", SOURCE),
        ("cart/cart_test.go", TEST),
        ("cart/outside_test.go", OUTSIDE),
        ("cart/never_test.go", TAGGED),
        ("cart/cart_windows_test.go", &TEST.replace("TestAdd", "TestAddElsewhere")),
    ];
    for arguments in ["./...", "-v ./...", "-failfast ./cart", "-run TestAdd ./...", "-run 'TestAdd|Other' -json ./..."]
    {
        let project = Project::new(&files);
        let tripped = project.trip(Runner::GoTest, &format!("{go} test {arguments}"));
        assert_eq!(tripped.plants.len(), 4);
        tripped.is_reported();
    }
    let clean = Project::new(&files);
    clean.trip(Runner::GoTest, &format!("{go} vet ./... && {go} test ./...")).is_reported();
}

#[test]
fn a_project_without_tests_gets_new_ones() {
    let go = program("go", "version");
    let program = "package main\n\nfunc main() {}\n";
    let project = Project::new(&[("go.mod", MODULE), ("cart/cart.go", SOURCE), ("main.go", program)]);
    let tripped = project.trip(Runner::GoTest, &format!("{go} test ./..."));
    assert_eq!(tripped.plants.iter().filter(|plant| plant.is_new).count(), 2);
    tripped.is_reported();
}

#[test]
fn cheats_show() {
    let go = program("go", "version");
    let exits = "package cart\n\nimport \"os\"\n\nfunc init() { os.Exit(0) }\n\nfunc Add(a, b int) int { return 0 }\n";
    let project = Project::new(&[("go.mod", MODULE), ("cart/cart.go", exits), ("cart/cart_test.go", TEST)]);
    project.trip(Runner::GoTest, &format!("{go} test ./...")).is_not_reported();
    let main = "package cart\n\nimport (\n\t\"os\"\n\t\"testing\"\n)\n\nfunc TestMain(m *testing.M) {\n\tm.Run()\n\tos.Exit(0)\n}\n";
    let files =
        [("go.mod", MODULE), ("cart/cart.go", SOURCE), ("cart/cart_test.go", TEST), ("cart/main_test.go", main)];
    Project::new(&files).trip(Runner::GoTest, &format!("{go} test ./...")).is_not_reported();
    Project::new(&files).trip(Runner::GoTest, &format!("{go} test -v ./...")).is_not_reported();
}
