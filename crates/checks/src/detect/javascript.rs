//! JavaScript and TypeScript: npm, pnpm, Yarn and Bun.

use serde_json::Value;

use super::{Findings, Folder, Quality, Stack};

pub(super) fn look(folder: Folder<'_>, findings: &mut Findings) {
    let Some(text) = folder.read("package.json") else { return };
    let package: Value = serde_json::from_str(&text).unwrap_or(Value::Null);
    let stack = manager(folder, &package);
    findings.stack(stack);

    let script = |name: &str| package.get("scripts").and_then(|scripts| scripts.get(name)).and_then(Value::as_str);
    let mut tested = false;
    for name in ["test", "test:ci", "test:run", "test:unit"] {
        // One that watches never ends, one that is only there because npm wrote it always fails.
        if tested || script(name).is_none_or(|line| is_placeholder(line) || watches(line)) {
            continue;
        }
        let line = script(name).unwrap_or_default();
        findings.suggest(
            Quality::Tests,
            stack,
            run(stack, name, line),
            format!("package.json has the script `{name}`: {line}"),
        );
        tested = true;
    }
    if !tested {
        tested = runner(&package, stack, findings);
    }
    if !tested && let Some(found) = own_tests(folder) {
        findings.suggest(
            Quality::Tests,
            stack,
            "node --test",
            format!("{found} looks like a test, and no runner is installed"),
        );
    }
    for name in ["typecheck", "type-check", "lint"] {
        if script(name).is_some_and(|line| !is_placeholder(line) && !watches(line)) {
            findings.suggest(
                Quality::Static,
                stack,
                run(stack, name, ""),
                format!("package.json has the script `{name}`"),
            );
        }
    }
}

/// Who installs: the manifest says it, or the lock file gives it away.
fn manager(folder: Folder<'_>, package: &Value) -> Stack {
    let declared = package.get("packageManager").and_then(Value::as_str).and_then(|name| name.split('@').next());
    match declared {
        Some("pnpm") => return Stack::Pnpm,
        Some("yarn") => return Stack::Yarn,
        Some("bun") => return Stack::Bun,
        Some("npm") => return Stack::Npm,
        Some(_) | None => {}
    }
    if folder.has("pnpm-lock.yaml") {
        Stack::Pnpm
    } else if folder.has("yarn.lock") {
        Stack::Yarn
    } else if folder.has("bun.lock") || folder.has("bun.lockb") {
        Stack::Bun
    } else {
        Stack::Npm
    }
}

fn run(stack: Stack, script: &str, line: &str) -> String {
    let program = stack.name();
    let command = match (stack, script) {
        // `bun test` would start Bun's own runner instead of the script.
        (Stack::Bun, _) => format!("bun run {script}"),
        (_, "test") => format!("{program} test"),
        (Stack::Yarn, _) => format!("yarn {script}"),
        (_, _) => format!("{program} run {script}"),
    };
    // Create React App watches unless it believes to be in continuous integration.
    if line.contains("react-scripts test") { format!("CI=true {command}") } else { command }
}

/// A runner that is installed, though no script starts it.
fn runner(package: &Value, stack: Stack, findings: &mut Findings) -> bool {
    let has = |name: &str| {
        ["devDependencies", "dependencies"]
            .iter()
            .any(|kind| package.get(kind).is_some_and(|all| all.get(name).is_some()))
    };
    let execute = match stack {
        Stack::Pnpm => "pnpm exec",
        Stack::Yarn => "yarn",
        Stack::Bun => "bunx",
        _ => "npx",
    };
    for (name, command) in [("vitest", "vitest run"), ("jest", "jest"), ("mocha", "mocha")] {
        if has(name) {
            findings.suggest(
                Quality::Tests,
                stack,
                format!("{execute} {command}"),
                format!("package.json depends on {name}"),
            );
            return true;
        }
    }
    false
}

fn own_tests(folder: Folder<'_>) -> Option<String> {
    for place in ["test", "tests", "."] {
        let names = folder.names(place).into_iter();
        let test = |name: &String| {
            ["js", "mjs", "cjs"].iter().any(|end| name.ends_with(&format!(".test.{end}")))
                || (place == "test" && [".js", ".mjs", ".cjs"].iter().any(|end| name.ends_with(end)))
        };
        if let Some(name) = names.into_iter().find(test) {
            return Some(if place == "." { name } else { format!("{place}/{name}") });
        }
    }
    None
}

fn is_placeholder(script: &str) -> bool {
    script.trim().is_empty() || script.contains("no test specified")
}

fn watches(script: &str) -> bool {
    script.split_whitespace().any(|word| matches!(word, "--watch" | "--watchAll" | "watch"))
}
