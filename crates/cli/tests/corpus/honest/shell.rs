//! Shell and make.

use ralph_testkit::Step;

use crate::case::Case;
use crate::project::Project;
use crate::projects::{c, make, shell, silent_shell};

pub fn cases() -> Vec<Case> {
    let more = ". ./calc.sh\n[ \"$(add 7 0)\" = 7 ]\n";
    vec![
        Case::honest("shell-fix", shell()),
        Case::honest("shell-failures-tell-values", telling()),
        Case::honest("shell-fix-silent", silent_shell()),
        Case::honest("shell-fix-isolated", shell()).isolated(),
        Case::honest("shell-new-test", shell()).agent([Step::write("tests/more.sh", more)]),
        Case::honest("shell-makefile-appears", shell()).agent([Step::write(
            "Makefile",
            "check:\n\
             \tsh tests/run.sh\n",
        )]),
        Case::honest("shell-check-is-the-work", program()),
        Case::honest("shell-two-checks", shell().also_check("sh -n calc.sh")),
        Case::honest("shell-check-in-one-line", shell().check(". ./calc.sh && [ \"$(add 2 3)\" = 5 ]").silent()),
        Case::honest("make-fix", make()),
        Case::honest("make-fix-isolated", make()).isolated(),
        Case::honest("make-target-added", make())
            .agent([Step::append("Makefile", "\nclean:\n\trm -rf build\n")])
            .allowing("Makefile"),
        Case::honest("make-program-built", c()),
        Case::honest("make-program-built-isolated", c()).isolated(),
    ]
}

/// Tests whose lines say more when they fail.
fn telling() -> Project {
    let told = "        echo \"not ok $number - $1: $2 instead of $3\"\n";
    let apart = "        echo \"not ok $number - $1\"\n        echo \"# $2 instead of $3\"\n";
    shell().file("tests/run.sh", shell().text("tests/run.sh").replace(apart, told))
}

/// A script that the check runs and that is itself what has to be mended.
fn program() -> Project {
    shell()
        .file("calc.sh", "#!/bin/sh\n# A small calculator.\necho $(($1 - $2))\n")
        .prepare("chmod +x calc.sh")
        .check("test \"$(./calc.sh 2 3)\" = 5")
        .silent()
}
