//! Checks a finished loop offline: its chain, its decisions, its outputs, its certificate.

use ralph_engine::{Event, Loop};
use ralph_model::{Grade, LoopId, OutputRef, TreeHash};
use ralph_view::RunView;
use serde::Serialize;

use crate::artifacts::ArtifactFiles;
use crate::error::Error;
use crate::home::{Home, LoopFolder};
use crate::journaled::replay;
use crate::project::Certificate;
use ralph_store::StoreHandle;

/// Whether one thing is as it was written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Finding {
    /// What was looked at.
    pub what: String,
    /// Whether it holds.
    pub holds: bool,
    /// In words.
    pub detail: String,
}

/// What a loop's verdict depends on, and whether that still stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Proof {
    /// Which loop.
    pub loop_id: LoopId,
    /// Whether everything holds.
    pub holds: bool,
    /// Its status, as the journal gives it.
    pub status: String,
    /// Whether checks passed at its end.
    pub verified: bool,
    /// What that is worth.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub grade: Option<Grade>,
    /// Why it is worth no less and no more.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub grade_reasons: Vec<String>,
    /// The tree that the last verdict is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tree: Option<TreeHash>,
    /// Commands that the verdict depends on.
    pub checks: Vec<String>,
    /// What else it depends on, one sentence each.
    pub rests_on: Vec<String>,
    /// Events of the journal.
    pub events: u64,
    /// The last hash of the journal.
    pub chain_head: String,
    /// Everything that was looked at.
    pub findings: Vec<Finding>,
}

/// Checks a loop offline.
///
/// # Errors
/// When the store cannot be read or the loop is unknown. A loop that does not hold is a [`Proof`], not an error.
pub async fn verify_run(home: &Home, store: &StoreHandle, loop_id: LoopId) -> Result<Proof, Error> {
    let chain = store.verify(loop_id).await?;
    let mut proof = Proof {
        loop_id,
        holds: false,
        status: "UNKNOWN".into(),
        verified: false,
        grade: None,
        grade_reasons: Vec::new(),
        tree: None,
        checks: Vec::new(),
        rests_on: Vec::new(),
        events: chain.events,
        chain_head: chain.head.hash.to_string(),
        findings: Vec::new(),
    };
    match chain.broken {
        Some(broken) => proof.note("journal", false, format!("event {}: {}", broken.seq, broken.why)),
        None => {
            proof.note("journal", true, format!("{} events, hash-chained without a gap", chain.events));
            let recorded = store.journal(loop_id).await?;
            let told = recorded.last().and_then(|last| Event::decode(last.version, &last.payload).ok());
            match replay::<Loop>(loop_id, recorded) {
                Ok(run) => proof.look_at(home, &run, told, store.certificate(loop_id).await?.as_deref()),
                Err(error) => proof.note("decisions", false, error.chain()),
            }
        }
    }
    proof.holds = proof.findings.iter().all(|finding| finding.holds);
    Ok(proof)
}

impl Proof {
    fn note(&mut self, what: impl Into<String>, holds: bool, detail: impl Into<String>) {
        self.findings.push(Finding { what: what.into(), holds, detail: detail.into() });
    }

    /// `told` is the last event: the record of an end has to be the end that the events before it lead to. `certificate` is the one
    /// in the store.
    fn look_at(&mut self, home: &Home, run: &Loop, told: Option<Event>, certificate: Option<&str>) {
        let view = RunView::new(self.loop_id, run);
        let expected = Certificate::new(&view, self.events, self.chain_head.clone());
        self.status.clone_from(&expected.status);
        self.verified = expected.verified;
        self.grade = expected.grade;
        self.grade_reasons.clone_from(&expected.grade_reasons);
        self.tree.clone_from(&expected.tree);
        self.checks = expected.checks.iter().map(|check| check.command.clone()).collect();
        self.rests_on = rests_on(&view, &expected);
        match told {
            Some(Event::LoopFinished { outcome })
                if !run.outcome().is_some_and(|replayed| replayed.agrees_with(&outcome)) =>
            {
                let detail = format!("the journal says {}, the events lead to {}", outcome.status(), self.status);
                self.note("decisions", false, detail);
            }
            _ => self.note("decisions", true, format!("the events replay to {}", self.status)),
        }
        let folder = home.loop_folder(self.loop_id);
        let files = ArtifactFiles::new(&folder);
        for output in outputs(&view) {
            match files.sha256(&output.file) {
                Ok(found) if found == output.sha256 => {}
                Ok(_) => self.note(&output.file, false, "the output was changed after it was written"),
                Err(error) => self.note(&output.file, false, format!("the output cannot be read: {error}")),
            }
        }
        if run.outcome().is_some() {
            self.compare(&expected, &folder, certificate);
        }
    }

    /// Compares the certificate with the one that the journal leads to: that in the store, and the file. A file that is missing
    /// matters only for a loop of an earlier version, which has nothing else.
    fn compare(&mut self, expected: &Certificate, folder: &LoopFolder, stored: Option<&str>) {
        let path = folder.certificate();
        let file = (stored.is_none() || path.symlink_metadata().is_ok())
            .then(|| Certificate::read(&path).map_err(|problem| format!("{}: {problem}", path.display())));
        for found in stored.map(Certificate::parse).into_iter().chain(file) {
            match found {
                Err(problem) => return self.note("certificate", false, problem),
                Ok(found) if expected.agrees_with(&found) => {}
                Ok(_) => return self.note("certificate", false, "does not agree with the journal"),
            }
        }
        self.note("certificate", true, "agrees with the journal");
    }
}

/// What a verdict depends on besides its checks, one sentence each.
fn rests_on(view: &RunView, certificate: &Certificate) -> Vec<String> {
    let mut sentences = Vec::new();
    if let Some(pins) = &certificate.pins {
        sentences.push(format!("{} protected patterns, restored for every check (sha256 {})", pins.count, pins.sha256));
    }
    if !certificate.allowed.is_empty() {
        sentences.push(format!("changed with the user's permission: {}", certificate.allowed.join(", ")));
    }
    if let Some(tripwire) = &certificate.tripwire {
        sentences.push(format!("tripwire: {tripwire}"));
    }
    if view.state.tampered > 0 {
        sentences.push(format!("iterations with tampering: {}", view.state.tampered));
    }
    if !view.start.sandbox.is_empty() {
        sentences.push(format!("sandbox: {}", view.start.sandbox));
    }
    sentences
}

fn outputs(view: &RunView) -> Vec<&OutputRef> {
    let verdicts = view.iterations.iter().filter_map(|iteration| iteration.verdict.as_ref()).chain(&view.baseline);
    let checks = verdicts
        .flat_map(|verdict| verdict.checks.iter().map(|check| &check.outcome.output).chain(&verdict.tripwire_outputs));
    view.runs().map(|run| &run.output).chain(checks).filter(|output| !output.file.is_empty()).collect()
}
