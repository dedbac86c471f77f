//! The envelope: the report on a delegation for the orchestrator.

use std::fmt::Write as _;

use ralph_model::{Status, ToolEvidence};

const MAX_LINES: usize = 12;
const MAX_SUMMARY: usize = 4 * 1024;
/// Characters of one part of a line of evidence.
const MAX_LINE: usize = 1000;
/// The subject of what a check showed.
const VERIFY: &str = "verify";

/// The bracketed word in front of an evidence line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mark {
    Ok,
    /// It did not.
    Error,
    Pending,
    /// It was expected and not seen.
    Missing,
    /// Something that the checks rest on was changed.
    Tampered,
}

impl Mark {
    const fn word(self) -> &'static str {
        match self {
            Self::Ok => "[OK]",
            Self::Error => "[ERROR]",
            Self::Pending => "[PENDING]",
            Self::Missing => "[MISSING]",
            Self::Tampered => "[TAMPERED]",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EvidenceLine {
    pub mark: Mark,
    pub subject: String,
    pub text: String,
}

impl EvidenceLine {
    pub fn new(mark: Mark, subject: impl Into<String>, text: impl Into<String>) -> Self {
        Self { mark, subject: subject.into(), text: text.into() }
    }
}

impl From<&ToolEvidence> for EvidenceLine {
    fn from(evidence: &ToolEvidence) -> Self {
        let mark = match (evidence.is_pending(), evidence.success) {
            (true, _) => Mark::Pending,
            (false, true) => Mark::Ok,
            (false, false) => Mark::Error,
        };
        let subject = match &evidence.external_id {
            Some(id) => format!("{} id={id}", evidence.tool),
            None => evidence.tool.clone(),
        };
        Self { mark, subject, text: evidence.summary.clone() }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Envelope<'a> {
    pub agent: &'a str,
    pub objective: &'a str,
    pub expected_outcome: Option<&'a str>,
    pub status: Status,
    pub evidence: Vec<EvidenceLine>,
    pub escalation: Option<&'a str>,
    pub recommendations: &'a [String],
    pub summary: &'a str,
}

impl Envelope<'_> {
    /// The text, in the one form that agents and scripts know.
    pub fn render(&self) -> String {
        let mut text = format!("[DELEGATION RESULT — {}]\nObjective: {}\n", self.agent.to_uppercase(), self.objective);
        if let Some(expected) = self.expected_outcome {
            let _ = writeln!(text, "Expected Outcome: {expected}");
        }
        let _ = write!(text, "\nStatus: {}\nEvidence:\n", self.status.shout());
        let lines = merge_repeats(&self.evidence);
        let (shown, dropped) = choose(&lines);
        for line in shown {
            let _ = writeln!(text, "  - {} {}: {}", line.mark.word(), one_line(&line.subject), one_line(&line.text));
        }
        if dropped > 0 {
            let _ = writeln!(text, "  - ({dropped} more [OK] not shown)");
        }
        if let Some(escalation) = self.escalation {
            let _ = write!(text, "\nEscalation: {}\n", one_line(escalation));
        }
        if !self.recommendations.is_empty() {
            let _ = write!(text, "\nRecommendations: {}\n", self.recommendations.join("; "));
        }
        let _ = write!(text, "\nAgent Response:\n{}", bounded(self.summary));
        text
    }
}

/// Keeps everything that is not plain success, and as many successes as there is room for, in order.
fn choose(lines: &[EvidenceLine]) -> (Vec<&EvidenceLine>, usize) {
    let must = lines.iter().filter(|line| line.mark != Mark::Ok).count();
    let mut room = MAX_LINES.saturating_sub(must);
    let mut shown = Vec::new();
    let mut dropped = 0;
    for line in lines {
        if line.mark != Mark::Ok {
            shown.push(line);
        } else if room > 0 {
            room -= 1;
            shown.push(line);
        } else {
            dropped += 1;
        }
    }
    (shown, dropped)
}

/// One line for all failures of one tool, so that a hundred refused calls cannot push everything else out.
fn merge_repeats(lines: &[EvidenceLine]) -> Vec<EvidenceLine> {
    if lines.iter().filter(|line| line.mark != Mark::Ok).count() <= MAX_LINES {
        return lines.to_vec();
    }
    let same = |a: &EvidenceLine, b: &EvidenceLine| a.mark == b.mark && a.subject == b.subject;
    let mut merged: Vec<EvidenceLine> = Vec::new();
    for (index, line) in lines.iter().enumerate() {
        if line.mark != Mark::Error {
            merged.push(line.clone());
        } else if !lines[..index].iter().any(|earlier| same(earlier, line)) {
            let more = lines[index + 1..].iter().filter(|later| same(later, line)).count();
            let mut first = line.clone();
            if more > 0 {
                let _ = write!(first.text, " (and {more} more of this kind)");
            }
            merged.push(first);
        }
    }
    fold_tampered(fold_surplus(merged))
}

/// One line for protected files beyond the first dozen that names as many as fit: an agent may delete all tests at once.
fn fold_tampered(lines: Vec<EvidenceLine>) -> Vec<EvidenceLine> {
    let (tampered, mut kept): (Vec<_>, Vec<_>) = lines.into_iter().partition(|line| line.mark == Mark::Tampered);
    let surplus = tampered.len().saturating_sub(MAX_LINES);
    let names: Vec<&str> = tampered.iter().skip(MAX_LINES).map(|line| line.subject.as_str()).collect();
    let rest = (surplus > 0)
        .then(|| EvidenceLine::new(Mark::Tampered, format!("{surplus} more protected files"), names.join(", ")));
    kept.extend(tampered.iter().take(MAX_LINES).cloned());
    kept.extend(rest);
    kept
}

/// One line for the failures of tools beyond the first dozen: an agent names its tools itself, as many as it likes. Checks
/// are never among them.
fn fold_surplus(lines: Vec<EvidenceLine>) -> Vec<EvidenceLine> {
    let is_call = |line: &EvidenceLine| line.mark == Mark::Error && line.subject != VERIFY;
    let surplus = lines.iter().filter(|line| is_call(line)).count().saturating_sub(MAX_LINES);
    if surplus == 0 {
        return lines;
    }
    let mut calls = 0;
    let mut kept: Vec<EvidenceLine> = Vec::new();
    for line in lines {
        calls += usize::from(is_call(&line));
        if !is_call(&line) || calls <= MAX_LINES {
            kept.push(line);
        } else if calls == MAX_LINES + 1 {
            kept.push(EvidenceLine::new(Mark::Error, "others", format!("{surplus} more tools failed")));
        }
    }
    kept
}

/// Evidence is one line each, and not a page: a name or a summary with line breaks could forge further lines.
fn one_line(text: &str) -> String {
    let mut line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if let Some((at, _)) = line.char_indices().nth(MAX_LINE) {
        line.truncate(at);
        line.push('…');
    }
    line
}

/// The end of a long message says more than its beginning.
fn bounded(text: &str) -> String {
    let text = text.trim_end();
    if text.len() <= MAX_SUMMARY {
        return text.to_owned();
    }
    let start = text.ceil_char_boundary(text.len() - MAX_SUMMARY);
    format!("[… {start} bytes before this left out]\n{}", &text[start..])
}

#[cfg(test)]
#[path = "envelope_tests.rs"]
mod tests;
