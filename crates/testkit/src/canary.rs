//! Programs in a repository's configuration that git would start, to show that Ralph starts none of them.

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use crate::{git_environment, shell_quoted};

/// What is planted: each name is what its program adds to the log when something starts it.
pub const CANARIES: &[&str] = &[
    "fsmonitor",
    "diff-external",
    "textconv",
    "clean",
    "smudge",
    "process",
    "pager",
    "editor",
    "ssh",
    "credential",
    "gpg",
    "hook",
];

const HOOKS: &[&str] = &[
    "pre-commit",
    "prepare-commit-msg",
    "commit-msg",
    "post-commit",
    "post-checkout",
    "post-index-change",
    "post-merge",
    "post-rewrite",
    "pre-auto-gc",
    "pre-rebase",
    "reference-transaction",
];

/// Plants the canaries in the repository at `root`: configuration, hooks and `.gitattributes`. Each one, when started,
/// adds its name as a line to `log` (an absolute path).
pub fn plant_canaries(root: &Path, log: &Path) -> io::Result<()> {
    let note = |name: &str| format!("echo {name} >> {}", shell_quoted(&log.to_string_lossy()));
    let settings = [
        ("core.fsmonitor", format!("{}; false", note("fsmonitor"))),
        ("diff.external", format!("{}; true", note("diff-external"))),
        ("diff.canary.textconv", format!("{}; cat", note("textconv"))),
        ("filter.canary.clean", format!("{}; cat", note("clean"))),
        ("filter.canary.smudge", format!("{}; cat", note("smudge"))),
        ("filter.canary-process.process", format!("{}; false", note("process"))),
        ("core.pager", format!("{}; cat", note("pager"))),
        ("core.editor", format!("{}; true", note("editor"))),
        ("core.sshCommand", format!("{}; false", note("ssh"))),
        ("credential.helper", format!("!{}; false", note("credential"))),
        ("gpg.program", format!("{}; false", note("gpg"))),
    ];
    for (name, value) in settings {
        let output =
            Command::new("git").arg("-C").arg(root).args(["config", name, &value]).envs(git_environment()).output()?;
        if !output.status.success() {
            return Err(io::Error::other(format!("git config {name}: {}", String::from_utf8_lossy(&output.stderr))));
        }
    }
    fs::write(root.join(".gitattributes"), "* filter=canary diff=canary\n*.processed filter=canary-process\n")?;
    let hooks = root.join(".git/hooks");
    fs::create_dir_all(&hooks)?;
    for hook in HOOKS {
        let path = hooks.join(hook);
        fs::write(&path, format!("#!/bin/sh\n{}\n", note("hook")))?;
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755))?;
    }
    Ok(())
}
