//! Checks a finished loop offline: its chain, its decisions, its outputs, its certificate.

use ralph_engine::Loop;
use ralph_model::{LoopId, OutputRef, TreeHash};
use serde::Serialize;

use crate::error::Error;
use crate::home::Home;
use crate::open::replay;
use crate::project::Certificate;
use ralph_store::Store;

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

/// What a loop's verdict rests on, and whether that still stands.
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
    /// The tree that the last verdict is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tree: Option<TreeHash>,
    /// Commands that the verdict rests on.
    pub checks: Vec<String>,
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
pub async fn verify_run(home: &Home, store: &Store, loop_id: LoopId) -> Result<Proof, Error> {
    let chain = store.verify(loop_id).await?;
    let mut proof = Proof {
        loop_id,
        holds: false,
        status: "UNKNOWN".into(),
        verified: false,
        tree: None,
        checks: Vec::new(),
        events: chain.events,
        chain_head: chain.head.hash.to_string(),
        findings: Vec::new(),
    };
    match chain.broken {
        Some(broken) => proof.note("journal", false, format!("event {}: {}", broken.seq, broken.why)),
        None => {
            proof.note("journal", true, format!("{} events, hash-chained without a gap", chain.events));
            match store.journal(loop_id).await.map_err(Error::from).and_then(|recorded| replay(loop_id, recorded)) {
                Ok(run) => proof.look_at(home, &run),
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

    fn look_at(&mut self, home: &Home, run: &Loop) {
        let facts = run.facts();
        let outcome = run.outcome();
        self.status = outcome.map_or("RUNNING", |outcome| outcome.status()).to_owned();
        self.verified = outcome == Some(&ralph_model::Outcome::Completed { verified: true });
        if let Some(verdict) = facts.last_verdict() {
            self.tree = Some(verdict.tree.clone());
            self.checks = verdict.checks.iter().map(|check| check.command.clone()).collect();
        }
        self.note("decisions", true, format!("the events replay to {}", self.status));
        let folder = home.loop_folder(self.loop_id);
        for output in outputs(run) {
            let path = folder.root().join(&output.file);
            match std::fs::read(&path) {
                Ok(bytes) if crate::project::sha256(&bytes) == output.sha256 => {}
                Ok(_) => self.note(&output.file, false, "the output was changed after it was written"),
                Err(error) => self.note(&output.file, false, format!("the output cannot be read: {error}")),
            }
        }
        if outcome.is_some() {
            self.compare_certificate(&folder.certificate());
        }
    }

    fn compare_certificate(&mut self, path: &std::path::Path) {
        match Certificate::read(path) {
            Err(problem) => self.note("certificate", false, format!("{}: {problem}", path.display())),
            Ok(certificate) => {
                let same = certificate.loop_id == self.loop_id
                    && certificate.chain_head == self.chain_head
                    && certificate.events == self.events
                    && certificate.tree == self.tree
                    && certificate.verified == self.verified
                    && certificate.status == self.status;
                let detail = if same { "agrees with the journal" } else { "does not agree with the journal" };
                self.note("certificate", same, detail);
            }
        }
    }
}

fn outputs(run: &Loop) -> Vec<OutputRef> {
    let facts = run.facts();
    let verdicts = facts.iterations.iter().filter_map(|record| record.verdict.as_ref()).chain(&facts.baseline);
    let checks = verdicts.flat_map(|verdict| verdict.checks.iter().map(|check| check.output.clone()));
    let agents = facts.iterations.iter().filter_map(|record| record.run.as_ref().map(|run| run.output.clone()));
    agents.chain(checks).filter(|output| !output.file.is_empty()).collect()
}
