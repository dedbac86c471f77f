//! How much a verified result is worth: one table of rules over what the journal records. `docs/verified.md` has the same table.

use ralph_model::{Grade, Tripwire, Verdict, Verify};

use crate::facts::Facts;

/// Names of files that a reason shows.
const MAX_NAMED: usize = 3;

/// What a result is worth, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Graded {
    pub grade: Grade,
    /// Why it is worth no less and no more, one sentence each.
    pub reasons: Vec<String>,
}

struct Finding {
    /// The most that a result with it is worth.
    allows: Grade,
    says: String,
    /// Another pass of the agent may change it.
    may_pass: bool,
}

/// What the result that was recorded last is worth; nothing where its checks did not pass.
pub fn grade(facts: &Facts) -> Option<Graded> {
    let findings = findings(facts)?;
    let grade = findings.iter().map(|finding| finding.allows).min()?;
    Some(Graded { grade, reasons: findings.into_iter().map(|finding| finding.says).collect() })
}

/// What is missing for the grade that the user requires.
pub(crate) struct Shortfall {
    pub(crate) grade: Option<Grade>,
    pub(crate) required: Grade,
    /// Only what is below the required grade.
    pub(crate) reasons: Vec<String>,
    /// Another pass of the agent may change it.
    pub(crate) may_pass: bool,
}

/// What the result that was recorded last lacks, where the user requires more.
pub(crate) fn shortfall(facts: &Facts, is_verified: bool) -> Option<Shortfall> {
    let required = facts.config.require?;
    let below: Vec<Finding> = match findings(facts) {
        Some(findings) if is_verified => findings.into_iter().filter(|finding| finding.allows < required).collect(),
        _ => vec![finding(Grade::Weak, "the files are those of the start").by_the_agent()],
    };
    let grade = below.iter().map(|finding| finding.allows).min()?;
    let may_pass = below.iter().all(|finding| finding.may_pass);
    let reasons = below.into_iter().map(|finding| finding.says).collect();
    Some(Shortfall { grade: Some(grade).filter(|_| is_verified), required, reasons, may_pass })
}

fn finding(allows: Grade, says: impl Into<String>) -> Finding {
    Finding { allows, says: says.into(), may_pass: false }
}

impl Finding {
    /// The agent may have caused it, and can undo it.
    fn by_the_agent(self) -> Self {
        Self { may_pass: true, ..self }
    }
}

/// Every rule that applies, in the order in which people read them.
fn findings(facts: &Facts) -> Option<Vec<Finding>> {
    let verdict = facts.last_verdict().filter(|verdict| facts.has_checks() && verdict.passed())?;
    let mut findings = tripwire(facts, verdict);
    let Some(known) = &facts.start.runners else {
        findings.push(finding(Grade::Weak, "recorded by a version of Ralph that knew no grades"));
        return Some(findings);
    };
    findings.extend(runners(facts, known, verdict));
    findings.push(match facts.config.verify {
        Verify::Isolated => finding(Grade::Strong, "checks ran isolated"),
        Verify::Guarded => finding(Grade::Standard, "checks ran in the workspace, guarded"),
    });
    let sandbox = facts.start.sandbox.as_str();
    if sandbox == "off" || sandbox.starts_with("none") {
        findings.push(finding(Grade::Standard, "no sandbox kept the agent from what the checks use"));
    }
    findings.extend(changed(verdict));
    Some(findings)
}

/// Whether tests that had to fail did.
fn tripwire(facts: &Facts, verdict: &Verdict) -> Vec<Finding> {
    let failed_at_start =
        || facts.baseline.iter().flat_map(|baseline| &baseline.checks).filter_map(|check| check.tests.as_ref());
    let Some(wire) = &verdict.tripwire else { return vec![finding(Grade::Weak, "no tripwire was tried")] };
    let said = wire.to_string();
    match wire {
        Tripwire::TestsFail { failed_before, unproven, .. } => {
            let allows = if unproven.is_empty() { Grade::Strong } else { Grade::Standard };
            let mut findings = vec![finding(allows, said)];
            // Where no test could be counted at the start, and checks failed, each failed.
            let nothing_ran = facts.baseline.iter().flat_map(|baseline| &baseline.checks).any(|check| !check.passed)
                && failed_at_start().all(|tests| tests.passed == 0 && tests.failing.is_empty());
            let failed = |name: &String| {
                // `test_cart.py::test_add` of a file that could not be loaded.
                let is_of = |failing: &String| failing.contains(name) || name.starts_with(failing.as_str());
                nothing_ran || failed_at_start().any(|tests| tests.failing.iter().any(is_of))
            };
            if let Some(name) = unproven.iter().find(|name| failed(name)) {
                let says = format!("`{name}` failed at the start and could not be made to fail again");
                findings.push(finding(Grade::Weak, says));
            }
            if *failed_before == 0 && failed_at_start().any(|tests| !tests.failing.is_empty()) {
                let says = "none of the tests that failed at the start could be changed so that they must fail";
                findings.push(finding(Grade::Weak, says));
            }
            findings
        }
        Tripwire::Reported { .. } => vec![finding(Grade::Weak, format!("{said}, not real ones changed"))],
        Tripwire::BaselineFails => {
            vec![finding(Grade::Weak, format!("{said}, and no test could be changed so that it must fail"))]
        }
        Tripwire::TimedOut { .. } => vec![finding(Grade::Weak, format!("the tripwire {said}")).by_the_agent()],
        Tripwire::NotPossible { .. } | Tripwire::Off => vec![finding(Grade::Weak, format!("the tripwire was {said}"))],
        Tripwire::TestsPass { .. }
        | Tripwire::Passed { .. }
        | Tripwire::OthersFail { .. }
        | Tripwire::Broken { .. } => {
            vec![finding(Grade::Weak, said)]
        }
    }
}

/// Whether it is known how the checks find and report tests.
fn runners(facts: &Facts, known: &[String], verdict: &Verdict) -> Vec<Finding> {
    let mut findings = Vec::new();
    if known.is_empty() {
        findings.push(finding(Grade::Weak, "the checks use no test runner that Ralph knows"));
    }
    let failed_at_start = |command: &str| {
        let checks = facts.baseline.iter().flat_map(|baseline| &baseline.checks);
        checks.filter(|check| check.command == command).any(|check| !check.passed)
    };
    let uncounted = verdict.checks.iter().filter(|check| check.tests.is_none());
    for check in uncounted {
        // Of a linter beside the tests only the exit code counts, as it did at the start.
        let allows = if failed_at_start(&check.command) { Grade::Weak } else { Grade::Strong };
        findings.push(finding(allows, format!("`{}` names no tests: its exit code alone counts", check.command)));
    }
    if !facts.start.computed.is_empty() {
        let says = format!("the checks depend on files that they compute: {}", named(&facts.start.computed));
        findings.push(finding(Grade::Weak, says));
    }
    findings
}

/// Whether anything but the work changed.
fn changed(verdict: &Verdict) -> Vec<Finding> {
    let mut findings = Vec::new();
    if !verdict.allowed.is_empty() {
        findings.push(finding(Grade::Weak, format!("changed with your permission: {}", named(&verdict.allowed))));
    }
    if !verdict.packages.is_empty() {
        let says = format!("installed packages changed: {}", named(&verdict.packages));
        findings.push(finding(Grade::Weak, says).by_the_agent());
    }
    if !verdict.signs.is_empty() {
        let what = "the work can tell that it is checked, changes what checks use, or leads out of the tree";
        let says = format!("{what}: {}", named(&verdict.signs));
        findings.push(finding(Grade::Weak, says).by_the_agent());
    }
    if !verdict.tampered.is_empty() {
        let paths: Vec<String> = verdict.tampered.iter().map(|tamper| tamper.path.clone()).collect();
        let says = format!("protected files were changed, and restored for the checks: {}", named(&paths));
        findings.push(finding(Grade::Standard, says).by_the_agent());
    }
    if findings.is_empty() {
        findings.push(finding(Grade::Strong, "only the work changed"));
    }
    findings
}

fn named(names: &[String]) -> String {
    let shown = names.iter().take(MAX_NAMED).map(String::as_str).collect::<Vec<_>>().join(", ");
    let more = names.len().saturating_sub(MAX_NAMED);
    if more == 0 { shown } else { format!("{shown} and {more} more") }
}

#[cfg(test)]
#[path = "grade_tests.rs"]
mod tests;
