//! What the end of a loop depends on, in one file that can be kept apart from the journal.

use std::path::Path;
use std::{fmt, fs};

use ralph_model::{Grade, LoopId, Pin, TreeHash, Tripwire};
use ralph_store::Head;
use ralph_view::{CheckView, RunStatus, RunView};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::replace;
use crate::perform::Context;

/// What the end of a loop depends on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Certificate {
    pub(crate) loop_id: LoopId,
    pub(crate) objective_sha256: String,
    pub(crate) status: String,
    pub(crate) verified: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) grade: Option<Grade>,
    /// Why, in words that may be worded differently later.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) grade_reasons: Vec<String>,
    /// The tree that the last verdict is about.
    pub(crate) tree: Option<TreeHash>,
    pub(crate) checks: Vec<CertifiedCheck>,
    /// What the verdict depends on besides the checks: how many pins, and their hash.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) pins: Option<CertifiedPins>,
    /// Pinned files that are not as they were at the start, with the user's permission.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) allowed: Vec<String>,
    /// Whether the checks showed that they can still fail.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) tripwire: Option<CertifiedTripwire>,
    pub(crate) events: u64,
    pub(crate) chain_head: String,
}

impl Certificate {
    /// What a journal of this length and with this last hash makes of a loop.
    pub(crate) fn new(view: &RunView, events: u64, chain_head: String) -> Self {
        let verdict = view.last_verdict();
        let certified = |CheckView { outcome, .. }: &CheckView| CertifiedCheck {
            command: outcome.command.clone(),
            passed: outcome.passed,
            output_sha256: outcome.output.sha256.clone(),
        };
        Self {
            loop_id: view.state.loop_id,
            objective_sha256: sha256(view.objective.as_bytes()),
            status: view.outcome.as_ref().map_or(RunStatus::Running, |outcome| outcome.status).name().to_owned(),
            verified: view.state.verified,
            grade: view.state.grade,
            grade_reasons: view.state.grade_reasons.clone(),
            tree: verdict.map(|verdict| verdict.tree.clone()),
            checks: verdict.map_or_else(Vec::new, |verdict| verdict.checks.iter().map(certified).collect()),
            pins: CertifiedPins::of(&view.start.pins),
            allowed: verdict.map(|verdict| verdict.allowed.clone()).unwrap_or_default(),
            tripwire: verdict
                .and_then(|verdict| verdict.tripwire.as_ref())
                .map(|wire| CertifiedTripwire::Typed(wire.clone())),
            events,
            chain_head,
        }
    }

    /// Whether a certificate that was written earlier says the same. One from before tripwires were typed has a sentence in its
    /// place, which may be worded differently now; one from before there were grades has none.
    pub(crate) fn agrees_with(&self, found: &Self) -> bool {
        let mut expected = Self { grade_reasons: found.grade_reasons.clone(), ..self.clone() };
        if found.grade.is_none() {
            expected.grade = None;
        }
        if expected.tripwire.is_some() && matches!(found.tripwire, Some(CertifiedTripwire::Sentence(_))) {
            expected.tripwire.clone_from(&found.tripwire);
        }
        expected == *found
    }

    /// Reads one, or says in words why not.
    pub(crate) fn read(path: &Path) -> Result<Self, String> {
        // Opening a pipe would wait for a writer.
        if fs::symlink_metadata(path).is_ok_and(|found| !found.is_file()) {
            return Err(format!("{} is not an ordinary file", path.display()));
        }
        let text = fs::read_to_string(path).map_err(|error| error.to_string())?;
        Self::parse(&text)
    }

    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        serde_json::from_str(text).map_err(|error| error.to_string())
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub(crate) enum CertifiedTripwire {
    Typed(Tripwire),
    Sentence(String),
}

impl fmt::Display for CertifiedTripwire {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Typed(tripwire) => tripwire.fmt(f),
            Self::Sentence(sentence) => f.write_str(sentence),
        }
    }
}

/// One check of the last verdict.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CertifiedCheck {
    pub(crate) command: String,
    pub(crate) passed: bool,
    pub(crate) output_sha256: String,
}

/// What a verdict depends on besides its checks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CertifiedPins {
    pub(crate) count: usize,
    pub(crate) sha256: String,
}

impl CertifiedPins {
    fn of(pins: &[Pin]) -> Option<Self> {
        let text = serde_json::to_vec(pins).ok()?;
        (!pins.is_empty()).then(|| Self { count: pins.len(), sha256: sha256(&text) })
    }
}

pub(super) fn write(
    context: &Context,
    view: &RunView,
    head: &Head,
    written: &mut Option<String>,
) -> Result<(), String> {
    let certificate = Certificate::new(view, head.seq.0, head.hash.to_string());
    let text = serde_json::to_string_pretty(&certificate).map_err(|error| error.to_string())?;
    let path = context.folder.certificate();
    replace(&path, written.insert(text)).map_err(|error| format!("{}: {error}", path.display()))
}

fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}
