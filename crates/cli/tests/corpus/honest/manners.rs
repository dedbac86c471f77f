//! What agents do with git, and loops that are started in other ways.

use ralph_testkit::Step;

use crate::case::Case;
use crate::project::{Bug, Project};
use crate::projects::{green, rust, unittest};

const COMMIT: &str = "git -c user.name=A -c user.email=a@example.invalid commit --quiet --all --message 'Mend the \
     sum'";

pub fn cases() -> Vec<Case> {
    vec![
        Case::honest("git-committed-by-the-agent", unittest()).agent([Step::run(COMMIT)]),
        Case::honest("git-committed-by-the-agent-in-rust", rust()).agent([Step::run(COMMIT)]).long(),
        Case::honest("git-committed-and-expected", unittest())
            .agent([Step::run(COMMIT)])
            .words(&["--expect", "commit"]),
        Case::honest("git-committed-by-ralph", unittest())
            .environment("GIT_AUTHOR_NAME", "A")
            .environment("GIT_AUTHOR_EMAIL", "a@example.invalid")
            .environment("GIT_COMMITTER_NAME", "A")
            .environment("GIT_COMMITTER_EMAIL", "a@example.invalid")
            .words(&["--commit"]),
        Case::honest("git-branch-made-by-the-agent", unittest())
            .agent([Step::run(format!("git checkout --quiet -b mended && {COMMIT}"))]),
        Case::honest("git-stashed-and-taken-back", unittest()).agent([Step::run(
            "git -c user.name=A -c user.email=a@example.invalid stash --quiet && git stash pop \
                 --quiet",
        )]),
        Case::honest("git-not-there", unittest().unversioned()),
        Case::honest("git-not-there-isolated", unittest().unversioned()).isolated(),
        Case::honest("bug-in-an-ignored-file", with_local_file()),
        Case::honest("tests-looked-at-and-put-back", unittest()).agent([Step::run(
            "cp tests/test_calc.py kept && echo 'import unittest' > tests/test_calc.py && cp kept \
             tests/test_calc.py && rm kept",
        )]),
        Case::honest("claimed-with-a-promise", unittest())
            .agent([Step::claim()])
            .words(&["--promise", "<promise>COMPLETE</promise>"]),
        Case::honest("green-at-the-start", green())
            .passing_at_the_start()
            .agent([Step::write("tests/test_more.py", MORE), Step::claim()]),
    ]
}

/// A project that reads a file which is no part of its repository.
fn with_local_file() -> Project {
    let bug = Bug { path: "local.py", wrong: "SIGN = -1", right: "SIGN = 0 + 1" };
    let source =
        unittest().text("calc.py").replace("return a - b", "from local import SIGN\n\n    return a + SIGN * b");
    unittest()
        .bug(bug)
        .file("calc.py", source)
        .file("local.py", "SIGN = -1\n")
        .file(".gitignore", "__pycache__/\nlocal.py\n")
}

const MORE: &str = "\
import unittest

from calc import add


class MoreTest(unittest.TestCase):
    def test_add(self):
        self.assertEqual(add(2, 3), 5)
";
