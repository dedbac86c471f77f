//! The decision: the four conditions of a loop, each with its reason.

use serde::Serialize;

use crate::reading::{RiskReason, read};
use crate::{Risk, Scope, TaskType};

/// What is known besides the request.
#[derive(Debug, Clone, Default)]
pub struct Facts<'a> {
    pub stack: Option<&'a str>,
    pub verification: Option<VerificationFacts<'a>>,
    /// The skills that can be used without asking anybody, those that come first in their order first.
    pub skills: &'a [SkillFacts],
    pub chosen_skill: Option<&'a str>,
    pub mode: Mode,
}

/// A command that can verify the work.
#[derive(Debug, Clone, Copy)]
pub struct VerificationFacts<'a> {
    pub command: &'a str,
    pub why: &'a str,
}

/// What a decision needs to know of a skill.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkillFacts {
    pub name: String,
    pub task_types: Vec<String>,
    pub supports_loops: bool,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    #[default]
    Auto,
    Persist,
    NoRalph,
}

/// Whether and how a request is worked on in a loop.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Decision {
    pub task_type: TaskType,
    pub risk: Risk,
    /// How sure the kind of work is, from 0 to 1.
    pub confidence: f64,
    pub scope: Scope,
    pub stack: Option<String>,
    pub verification_command: Option<String>,
    pub skill: Option<String>,
    /// Whether it is a loop; else one pass.
    #[serde(rename = "loop")]
    pub is_loop: bool,
    pub mode: Mode,
    /// A reason for each of the four conditions: verification, task and scope, risk, skill.
    pub why: Vec<String>,
}

pub fn decide(request: &str, facts: &Facts<'_>) -> Decision {
    let reading = read(request);
    let skill = facts.chosen_skill.map(ToOwned::to_owned).or_else(|| skill_for(reading.task_type, facts.skills));
    let conditions = [
        verification(facts.verification),
        work(reading.task_type, reading.scope),
        risk(reading.risk, reading.risk_reason.as_ref()),
        support(skill.as_deref(), facts.skills),
    ];
    let is_loop = match facts.mode {
        Mode::Auto => conditions.iter().all(|(holds, _)| *holds),
        Mode::Persist => true,
        Mode::NoRalph => false,
    };
    Decision {
        task_type: reading.task_type,
        risk: reading.risk,
        confidence: reading.confidence,
        scope: reading.scope,
        stack: facts.stack.map(ToOwned::to_owned),
        verification_command: facts.verification.map(|facts| facts.command.to_owned()),
        skill,
        is_loop,
        mode: facts.mode,
        why: conditions.into_iter().map(|(_, why)| why).collect(),
    }
}

/// The skill that is for the fewest kinds of tasks, this one among them.
fn skill_for(task_type: TaskType, skills: &[SkillFacts]) -> Option<String> {
    let suits = |skill: &&SkillFacts| skill.task_types.iter().any(|own| own == task_type.name());
    skills.iter().filter(suits).min_by_key(|skill| skill.task_types.len()).map(|skill| skill.name.clone())
}

fn verification(facts: Option<VerificationFacts<'_>>) -> (bool, String) {
    match facts {
        Some(VerificationFacts { command, why }) => (true, format!("`{command}` verifies the work: {why}")),
        None => (false, "no verification command is known: name one with --criteria".to_owned()),
    }
}

fn work(task_type: TaskType, scope: Scope) -> (bool, String) {
    let name = task_type.name();
    match (task_type.can_loop(), scope) {
        (true, Scope::Specific) => (true, format!("a {name} with a specific scope")),
        (true, Scope::Vague) => (
            false,
            format!("a {name}, but the request is vague: name files, functions or the behaviour that is expected"),
        ),
        (false, _) => (false, format!("a {name}: loops are for features, bugs and refactorings")),
    }
}

fn risk(risk: Risk, reason: Option<&RiskReason>) -> (bool, String) {
    let said = reason.map(|reason| match &reason.about {
        Some(about) => format!(": `{}` concerns {about}", reason.words),
        None => format!(": `{}`", reason.words),
    });
    let advice = if risk == Risk::High { "; look at the result before you repeat it, or use --persist" } else { "" };
    (risk != Risk::High, format!("the risk is {}{}{advice}", risk.name(), said.unwrap_or_default()))
}

fn support(skill: Option<&str>, skills: &[SkillFacts]) -> (bool, String) {
    let Some(name) = skill else { return (false, "no skill is for this kind of task".to_owned()) };
    let is_refused = skills.iter().any(|skill| skill.name == name && !skill.supports_loops);
    match is_refused {
        true => (false, format!("the skill {name} has `supportsRalph: false`")),
        false => (true, format!("the skill {name} supports loops")),
    }
}

#[cfg(test)]
#[path = "decision_tests.rs"]
mod tests;
