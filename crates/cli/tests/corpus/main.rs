//! The corpus: agents that cheat and agents that work, each in a real project with real tests. A cheat must not
//! complete, and honest work must. One test per case, so that cases can be filtered, sharded and retried:
//!
//! - `ralph::NAME` runs the case under Ralph;
//! - `control::NAME` shows that the case is what it says: without Ralph the checks of a cheat pass while the bug is there.
//!
//! `RALPH_TEST_LONG=1` runs the long cases and all controls; without it one control in [`CONTROLS`] runs, because they depend
//! on the cases and the test runners alone. `scripts/test-tools` installs the test runners; a case whose runner is missing
//! fails. What became of each case is kept as a row in `target/tmp/corpus`, from which `scripts/test` prints the figures.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    missing_docs,
    unreachable_pub,
    dead_code,
    reason = "tests panic with what went wrong, and share helpers with the suite"
)]

#[path = "../suite/aid.rs"]
mod aid;
mod case;
mod cheats;
#[path = "../suite/harness.rs"]
mod harness;
mod honest;
mod judge;
mod more_projects;
mod other_runners;
mod project;
mod projects;
mod stage;
mod tools;

use std::collections::BTreeSet;
use std::path::Path;

use case::{Case, Kind, Length};
use judge::{Judged, Judgement};
use libtest_mimic::{Arguments, Failed, Trial};

use crate::aid::is_long;

/// How many cheats share one control in a normal run.
const CONTROLS: usize = 4;

fn main() {
    let arguments = Arguments::from_args();
    let mut trials = vec![Trial::test("cases::are_enough_and_have_names_of_their_own", cases_are_enough)];
    for (position, case) in everything().into_iter().enumerate() {
        let is_skipped = case.length == Length::Long && !is_long();
        let (name, is_honest) = (case.name, case.kind == Kind::Honest);
        let control =
            move || runnable(control_of(name)).and_then(|case| judge::without_ralph(&case).map_err(Failed::from));
        trials.push(Trial::test(format!("ralph::{name}"), move || under_ralph(case)).with_ignored_flag(is_skipped));
        // That honest work passes its checks shows under Ralph, too.
        let is_skipped = is_skipped || ((is_honest || position % CONTROLS != 0) && !is_long());
        trials.push(Trial::test(format!("control::{name}"), control).with_ignored_flag(is_skipped));
    }
    libtest_mimic::run(&arguments, trials).exit();
}

fn everything() -> Vec<Case> {
    let mut cases = cheats::all();
    cases.extend(honest::all());
    cases
}

/// The same case once more: a case is used up when it runs.
fn control_of(name: &str) -> Case {
    everything().into_iter().find(|case| case.name == name).unwrap()
}

fn runnable(case: Case) -> Result<Case, Failed> {
    match case.needs().iter().find(|tool| !tool.is_there()) {
        Some(tool) => Err(format!("{tool} is not installed: run scripts/test-tools").into()),
        None => Ok(case),
    }
}

fn under_ralph(case: Case) -> Result<(), Failed> {
    let case = runnable(case)?;
    let judged = judge::under_ralph(&case);
    keep_row(&case, &judged);
    let why = match &judged.judgement {
        Judgement::Missed => format!("a cheat completed {}", judged.grade),
        Judgement::Broken(why) => why.clone(),
        Judgement::Refused if judged.says_how_to_allow() => "honest work was refused".to_owned(),
        Judgement::Refused => "honest work was refused, and nothing says how to allow it".to_owned(),
        Judgement::Unguarded => "there is no sandbox on this machine, and only a sandbox stops this cheat".to_owned(),
        Judgement::Caught | Judgement::Completed | Judgement::Beyond => return Ok(()),
    };
    Err(format!("{why}\n{}", judged.output).into())
}

/// Name, language, kind, judgement, seconds, outcome, why and grade, for the figures.
fn keep_row(case: &Case, judged: &Judged) {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("corpus");
    let (kind, why) = match case.kind {
        Kind::Cheat => ("cheat", ""),
        Kind::Honest => ("honest", ""),
        Kind::Beyond(why) => ("beyond", why),
    };
    let row = [
        case.name,
        &case.project.language.to_string(),
        kind,
        &judged.judgement.to_string(),
        &format!("{:.1}", judged.took.as_secs_f32()),
        &judged.outcome,
        why,
        &judged.grade,
    ];
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join(case.name.replace(['/', ' '], "-")), row.join("\t") + "\n").unwrap();
}

fn cases_are_enough() -> Result<(), Failed> {
    let cases = everything();
    let names: BTreeSet<&str> = cases.iter().map(|case| case.name).collect();
    assert_eq!(names.len(), cases.len(), "two cases have the same name");
    let count = |kind: Kind| cases.iter().filter(|case| case.kind == kind && case.length == Length::Short).count();
    let (cheats, honest) = (count(Kind::Cheat), count(Kind::Honest));
    assert!(cheats >= 45 && honest >= 45, "{cheats} cheats and {honest} honest changes in the short run");
    Ok(())
}
