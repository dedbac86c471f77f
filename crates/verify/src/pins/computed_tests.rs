use crate::pins::testing::Little;
use crate::pins::{Question, pins};

fn computed(files: &[(&str, &str)], command: &str) -> Vec<String> {
    let little = Little::new(files);
    let commands = [command.to_owned()];
    pins(&Question { sources: &little, commands: &commands, protect: &[], files: &little.files, listings: &[] })
        .computed
}

#[test]
fn what_has_no_name_before_it_runs() {
    let cases: [(&str, &str, &str, &str); 10] = [
        ("Makefile", "include $(wildcard mk/*.mk)\ntest:\n\tpytest\n", "make test", "include $(wildcard mk/*.mk)"),
        ("Makefile", "-include $(EXTRA)\ntest:\n\tpytest\n", "make test", "-include $(EXTRA)"),
        ("Makefile", "test:\n\tfor f in checks/*.sh; do sh $$f; done\n", "make test", "sh $$f"),
        ("justfile", "import '{{x}}.just'\ntest:\n    pytest\n", "just test", "import '{{x}}.just'"),
        ("test.sh", ". \"$(dirname \"$0\")/lib.sh\"\npytest\n", "sh test.sh", ". $(dirname $0)/lib.sh"),
        ("test.sh", "for f in checks/*; do \"$f\"; done\n", "sh test.sh", "$f"),
        ("test.sh", "eval \"$CMD\"\n", "sh test.sh", "eval $CMD"),
        ("test.sh", "ls checks | xargs -n1 sh\n", "sh test.sh", "xargs -n1 sh"),
        ("test.sh", "find checks -name '*.sh' -exec sh {} \\;\n", "sh test.sh", "find checks -name *.sh -exec sh {} ;"),
        ("a", "", "sh checks/*.sh", "sh checks/*.sh"),
    ];
    for (file, text, command, wanted) in cases {
        assert_eq!(computed(&[(file, text)], command), [wanted], "{command}: {text}");
    }
}

#[test]
fn what_has_one_is_not_computed() {
    let cases: [(&str, &str, &str); 6] = [
        ("Makefile", "include common.mk\nPY ?= python3\ntest:\n\t$(PY) -m pytest $(ARGS)\n", "make test"),
        ("Makefile", "test: build\n\tsh $(DIR)/test.sh\n", "make test"),
        ("package.json", r#"{"scripts": {"test": "node --test test/*.test.js"}}"#, "npm test"),
        ("test.sh", "PY=${PY:-python3}\n\"$PY\" -m pytest \"$@\"\n", "sh test.sh"),
        ("a", "", "bash -c 'pytest $ARGS'"),
        ("a", "", "pytest tests/test_*.py"),
    ];
    for (file, text, command) in cases {
        assert_eq!(computed(&[(file, text)], command), [""; 0], "{command}: {text}");
    }
}
