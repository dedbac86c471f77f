//! Checks a finished loop offline: its chain, its decisions, its outputs, its certificate.

use ralph_engine::{Event, JournalEvent as _, Loop};
use ralph_model::{LoopId, OutputRef, protected_patterns};
use ralph_view::{ProofView, RunView};

use crate::artifacts::ArtifactFiles;
use crate::error::Error;
use crate::home::{Home, LoopFolder};
use crate::journaled::replay;
use crate::project::Certificate;
use ralph_store::StoreHandle;

/// Checks a loop offline.
///
/// # Errors
/// When the store cannot be read or the loop is unknown. A loop that does not hold is a [`ProofView`], not an error.
pub async fn verify_run(home: &Home, store: &StoreHandle, loop_id: LoopId) -> Result<ProofView, Error> {
    let chain = store.verify(loop_id).await?;
    let mut proof = ProofView {
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
                Ok(run) => look_at(&mut proof, home, &run, told, store.certificate(loop_id).await?.as_deref()),
                Err(error) => proof.note("decisions", false, error.chain()),
            }
        }
    }
    proof.holds = proof.findings.iter().all(|finding| finding.holds);
    Ok(proof)
}

/// `told` is the last event: the record of an end has to be the end that the events before it lead to. `certificate` is the one
/// in the store.
fn look_at(proof: &mut ProofView, home: &Home, run: &Loop, told: Option<Event>, certificate: Option<&str>) {
    let view = RunView::new(proof.loop_id, run);
    let expected = Certificate::new(&view, proof.events, proof.chain_head.clone());
    proof.status.clone_from(&expected.status);
    proof.verified = expected.verified;
    proof.grade = expected.grade;
    proof.grade_reasons.clone_from(&expected.grade_reasons);
    proof.tree.clone_from(&expected.tree);
    proof.checks = expected.checks.iter().map(|check| check.command.clone()).collect();
    proof.rests_on = rests_on(&view, &expected, protected_patterns(&run.facts().start.pins));
    match told {
        Some(Event::LoopFinished { outcome })
            if !run.outcome().is_some_and(|replayed| replayed.agrees_with(&outcome)) =>
        {
            let detail = format!("the journal says {}, the events lead to {}", outcome.status(), proof.status);
            proof.note("decisions", false, detail);
        }
        _ => proof.note("decisions", true, format!("the events replay to {}", proof.status)),
    }
    let folder = home.loop_folder(proof.loop_id);
    let files = ArtifactFiles::new(&folder);
    for output in outputs(&view) {
        match files.sha256(&output.file) {
            Ok(found) if found == output.sha256 => {}
            Ok(_) => proof.note(&output.file, false, "the output was changed after it was written"),
            Err(error) => proof.note(&output.file, false, format!("the output cannot be read: {error}")),
        }
    }
    if run.outcome().is_some() {
        compare(proof, &expected, &folder, certificate);
    }
}

/// Compares the certificate with the one that the journal leads to: that in the store, and the file. A file that is missing
/// matters only for a loop of an earlier version, which has nothing else.
fn compare(proof: &mut ProofView, expected: &Certificate, folder: &LoopFolder, stored: Option<&str>) {
    let path = folder.certificate();
    let file = (stored.is_none() || path.symlink_metadata().is_ok())
        .then(|| Certificate::read(&path).map_err(|problem| format!("{}: {problem}", path.display())));
    for found in stored.map(Certificate::parse).into_iter().chain(file) {
        match found {
            Err(problem) => return proof.note("certificate", false, problem),
            Ok(found) if expected.agrees_with(&found) => {}
            Ok(_) => return proof.note("certificate", false, "does not agree with the journal"),
        }
    }
    proof.note("certificate", true, "agrees with the journal");
}

/// What a verdict depends on besides its checks, one sentence each.
fn rests_on(view: &RunView, certificate: &Certificate, patterns: usize) -> Vec<String> {
    let mut sentences = Vec::new();
    if let Some(pins) = &certificate.pins {
        sentences.push(format!("{patterns} protected patterns, restored for every check (sha256 {})", pins.sha256));
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
