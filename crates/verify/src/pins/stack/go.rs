//! Go: tests, their data, what configures the go tool.

use ralph_model::PinKind::{Absent, Frozen, Parts, Steering};

use crate::pins::path;
use crate::pins::question::{Layers, Project, add as pin};

pub(super) fn add(project: &Project<'_>, layers: &mut Layers) {
    if !project.has_name(&["go.mod"]) && !project.has_extension(&["go"]) && !project.uses(&["go"]) {
        return;
    }
    pin(&mut layers.tests, Frozen, "Go tests", "*_test.go");
    pin(&mut layers.tests, Frozen, "data of Go tests", "testdata/");
    for file in project.files.iter().filter(|file| path::name(file) == "go.mod") {
        pin(&mut layers.parts, Parts, "replacements of Go modules", path::exact(file));
    }
    // Where it exists, Go compiles what lies there instead of the modules that `go.sum` vouches for.
    if !project.sources.has("vendor/modules.txt") {
        pin(&mut layers.installed, Absent, "Go modules that are compiled into the tests", "/vendor/**");
    }
    pin(&mut layers.steering, Steering, "configures the go tool", "go.work");
    pin(&mut layers.steering, Steering, "configures the go tool", "go.env");
}
