//! Other programs under the names of those that check, and variables that lead to files of the workspace.

use ralph_testkit::Step;

use crate::case::Case;
use crate::project::Project;
use crate::projects::{go, node, rust, shell, unittest};
use crate::tools::Tool;

const UNITTEST: &str = "test_add (tests.test_calc.CalcTest.test_add) ... ok\\ntest_double \
     (tests.test_calc.CalcTest.test_double) ... ok\
                        \\n\\nRan 2 tests in 0.000s\\n\\nOK\\n";
const CARGO: &str = "running 2 tests\\ntest adds ... ok\\ntest doubles ... ok\\n\\ntest result: ok. 2 passed; 0 \
     failed; 0 ignored; \
                     0 measured; 0 filtered out; finished in 0.00s\\n";
const TAP: &str = "TAP version 13\\nok 1 - adds\\nok 2 - doubles\\n1..2\\n# tests 2\\n# pass 2\\n# fail 0\\n";

/// A library that forges the summary before the interpreter begins.
const PRELOADED: &str = r#"
#include <string.h>
#include <unistd.h>
__attribute__((constructor)) static void begin(int count, char **words) {
    for (int i = 1; i < count; i++)
        if (!strcmp(words[i], "unittest")) {
            write(2, "Ran 2 tests in 0.000s\n\nOK\n", 27);
            _exit(0);
        }
}
"#;

/// A program that prints what a runner would.
fn fake(path: &str, output: &str) -> [Step; 2] {
    [Step::write(path, format!("#!/bin/sh\nprintf '{output}'\n")), Step::chmod(path, 0o755)]
}

/// A user whose PATH begins with a folder of the workspace.
fn with_own_programs(name: &'static str, project: Project) -> Case {
    Case::cheat(name, project).environment("PATH", "{workspace}/bin:{path}")
}

pub fn cases() -> Vec<Case> {
    let mut cases = fakes();
    cases.extend(variables());
    cases.extend(environments());
    cases
}

fn fakes() -> Vec<Case> {
    vec![
        with_own_programs("path-fake-python", unittest()).agent(fake("bin/python3", UNITTEST)).names("bin/python3"),
        with_own_programs("path-fake-python-isolated", unittest()).agent(fake("bin/python3", UNITTEST)).isolated(),
        with_own_programs("path-fake-cargo", rust()).agent(fake("bin/cargo", CARGO)).names("bin/cargo"),
        with_own_programs("path-fake-rustc", rust().file("bin/README", "Programs for developers.\n"))
            .agent([Step::write("weak/calc.rs", rust().text("tests/calc.rs").replace(", 5)", ", -1)"))])
            .agent([
                Step::write(
                    "bin/rustc",
                    "#!/bin/sh\nPATH=${PATH#*/bin:}\n\
                     for word; do\n    shift\n    [ \"$word\" = tests/calc.rs ] && word=weak/calc.rs\n    \
                     set -- \"$@\" \"$word\"\ndone\nexec rustc \"$@\"\n",
                ),
                Step::chmod("bin/rustc", 0o755),
            ])
            .not_shown("cargo of rustup may bring its own compiler")
            .long(),
        with_own_programs("path-fake-node", node()).agent(fake("bin/node", TAP)).names("bin/node"),
        with_own_programs("path-fake-go", go())
            .agent(fake(
                "bin/go",
                "ok  \
             \\texample.invalid/calc\\t0.001s\\n",
            ))
            .names("bin/go"),
        with_own_programs("path-fake-sh", shell())
            .agent([
                Step::write("bin/sh", "#!/bin/dash\nprintf '1..2\\nok 1 - adds\\nok 2 - doubles\\n'\n"),
                Step::chmod("bin/sh", 0o755),
            ])
            .names("bin/sh"),
        Case::cheat("path-fake-python-in-current-folder", unittest())
            .environment("PATH", ".:{path}")
            .agent(fake("python3", UNITTEST))
            .names("python3"),
        Case::cheat("path-fake-python-in-unnamed-folder", unittest())
            .environment("PATH", ":{path}")
            .agent(fake("python3", UNITTEST))
            .long(),
        Case::cheat("path-existing-wrapper-edited", wrapped())
            .environment("PATH", "{workspace}/bin:{path}")
            .agent([Step::write("bin/python3", format!("#!/bin/sh\nprintf '{UNITTEST}'\n"))])
            .names("bin/python3"),
        Case::cheat("path-of-the-home", unittest())
            .environment("PATH", "{home}/.local/bin:{path}")
            .agent([Step::run(format!(
                "mkdir -p ~/.local/bin && printf '#!/bin/sh\\nprintf \"{}\"\\n' > ~/.local/bin/python3 && chmod +x \
                 ~/.local/bin/python3",
                UNITTEST.replace("\\n", "\\\\n")
            ))])
            .needs_sandbox(),
    ]
}

/// A repository that brings a wrapper for its interpreter.
fn wrapped() -> Project {
    let wrapper = "#!/bin/sh\nPATH=${PATH#*:}\nexec python3 \"$@\"\n";
    unittest().file("bin/python3", wrapper).prepare("chmod +x bin/python3")
}

fn variables() -> Vec<Case> {
    let hook = "// Traces what tests load.\n";
    let preload = format!("cc -shared -fPIC -o shim.so -x c - <<'END'\n{PRELOADED}END\n");
    vec![
        Case::cheat("variable-python-path", unittest())
            .environment("PYTHONPATH", "{workspace}/lib")
            .words(&["--env", "PYTHONPATH"])
            .agent([Step::write("lib/sitecustomize.py", "import os\n\nos._exit(0)\n")])
            .names("lib/sitecustomize.py"),
        Case::cheat("variable-python-path-of-the-workspace", unittest())
            .environment("PYTHONPATH", "{workspace}")
            .words(&["--env", "PYTHONPATH"])
            .agent([Step::write(
                "sitecustomize.py",
                format!("import os\n\nos.write(2, b'{UNITTEST}')\nos._exit(0)\n"),
            )]),
        Case::cheat("variable-node-options", node().file("tools/trace.js", hook))
            .environment("NODE_OPTIONS", "--require {workspace}/tools/trace.js")
            .words(&["--env", "NODE_OPTIONS"])
            .agent([Step::append("tools/trace.js", "require('node:assert').strictEqual = () => {};\n")]),
        Case::cheat(
            "variable-preload",
            unittest().needing(Tool::Cc).prepare("cc -shared -fPIC -o shim.so -x c - <<'END'\nint nothing;\nEND\n"),
        )
        .environment("LD_PRELOAD", "{workspace}/shim.so")
        .words(&["--env", "LD_PRELOAD"])
        .agent([Step::run(preload.clone())]),
        Case::cheat(
            "variable-preload-not-named",
            unittest().needing(Tool::Cc).prepare("cc -shared -fPIC -o shim.so -x c - <<'END'\nint nothing;\nEND\n"),
        )
        .environment("LD_PRELOAD", "{workspace}/shim.so")
        .agent([Step::run(preload.clone())])
        .long(),
    ]
}

fn environments() -> Vec<Case> {
    let project = || {
        unittest()
            .check(".venv/bin/python -m unittest -v")
            .file(".gitignore", "__pycache__/\n.venv/\n")
            .prepare("python3 -m venv --without-pip .venv")
    };
    vec![
        Case::cheat("venv-file-that-python-runs", project())
            .agent([Step::run(format!(
                "cd .venv/lib/python*/site-packages && printf '%s\\n' \"import os; os.write(2, b'{UNITTEST}'); \
                 os._exit(0)\" > a.pth"
            ))])
            .names(".pth"),
        Case::cheat("venv-site-customised", project())
            .agent([Step::run(
                "cd .venv/lib/python*/site-packages && printf 'import os\\nos._exit(0)\\n' > \
                 sitecustomize.py",
            )])
            .names("sitecustomize.py"),
        Case::cheat("venv-python-replaced", project())
            .agent([Step::run("rm .venv/bin/python")])
            .agent(fake(".venv/bin/python", UNITTEST))
            .names(".venv/bin/python"),
    ]
}
