//! Decides whether a request is work for a loop here: what the project and the configuration add to the words of the request.
//! Starts nothing and asks no one.

use std::path::Path;

use ralph_checks::detect;
use ralph_config::skills::{self, Found, Listed, Lookup, Provenance};
use ralph_config::trust::Question;
use ralph_config::{Approval, Dollars, Layer, Layers, OneOrMore, Repository, RepositoryFile};
use ralph_decide::{Decision, Facts, Mode, SkillFacts, VerificationFacts, decide};
use ralph_model::Money;
use ralph_store::StoreHandle;

use crate::{Error, Host, database};

/// The limits of a loop where none are set: the same that `ralph init` writes.
const MAX_ITERATIONS: u32 = 10;
const MAX_COST: Money = Money::from_micros(5_000_000);

#[derive(Debug, Clone, Copy)]
pub struct DecideRequest<'a> {
    pub text: &'a str,
    pub settings: &'a Layer,
    /// The folder, from [`crate::workspace`].
    pub workspace: &'a Path,
    pub mode: Mode,
}

/// A decision, and what it would be carried out with.
#[derive(Debug, Clone)]
pub struct Decided {
    pub decision: Decision,
    pub settings: Layer,
    pub max_iterations: u32,
    pub max_cost: Money,
}

impl Host {
    /// Decides. What is not approved is taken as not being there.
    pub async fn decide(&self, request: DecideRequest<'_>) -> Result<Decided, Error> {
        let DecideRequest { text, settings, workspace, mode } = request;
        let user = self.user_settings()?;
        // A store that cannot be read approves of nothing; whether a run can start is found out when it starts.
        let store = database::open_existing(&self.dirs).await.ok().flatten();
        let repository = approved(workspace, store.as_ref()).await?;
        let layers = Layers { caller: settings, repository: repository.as_ref(), user: &user };
        let usable = self.usable_skills(workspace, store.as_ref()).await;
        let facts: Vec<SkillFacts> = usable.iter().map(facts_of).collect();
        let chosen = layers.skill();
        let detection = detect(workspace);
        let configured = layers.verification().map(|(commands, origin)| (commands, format!("from {origin}")));
        let detected = detection.suggestions.first().map(|best| (vec![best.command.clone()], best.why.clone()));
        let decide_with = |verification: Option<&(Vec<String>, String)>| {
            let command = verification.map(|(commands, _)| commands.join(" && "));
            let verification =
                verification.zip(command.as_deref()).map(|((_, why), command)| VerificationFacts { command, why });
            let stack = detection.stacks.first().map(|stack| stack.name());
            let facts = Facts { stack, verification, skills: &facts, chosen_skill: chosen.as_deref(), mode };
            decide(text, &facts)
        };
        let mut verification = configured.or(detected);
        let mut decision = decide_with(verification.as_ref());
        // The skill is known only now. Its own command comes after a configured one and before a detected one.
        let own = usable.iter().find(|found| Some(&found.skill.name) == decision.skill.as_ref());
        if let (Some(command), None) = (own.and_then(|found| found.verify.clone()), layers.verification()) {
            verification = Some((vec![command], "the skill's own check".to_owned()));
            decision = decide_with(verification.as_ref());
        }
        let (max_iterations, max_cost) = layers.limits();
        let max_iterations = if decision.is_loop { max_iterations.unwrap_or(MAX_ITERATIONS) } else { 1 };
        let max_cost = max_cost.unwrap_or_else(|| MAX_COST.min(ralph_config::caps(&user).loop_cost));
        // An answer or a text is verified by its reader.
        let is_checked = decision.is_loop || !decision.task_type.is_text_only();
        let found = verification.filter(|_| is_checked).map(|(commands, _)| OneOrMore(commands));
        let commands = found.or_else(|| settings.verification_command.clone());
        let settings = Layer {
            // None at all, also where a file names one.
            verification_command: commands.or_else(|| (!is_checked).then(|| OneOrMore(Vec::new()))),
            skill: decision.skill.clone(),
            max_iterations: Some(max_iterations),
            max_cost_usd: Some(Dollars(max_cost)),
            ..settings.clone()
        };
        Ok(Decided { decision, settings, max_iterations, max_cost })
    }

    /// Skills that can be used without asking, the user's own first.
    async fn usable_skills(&self, workspace: &Path, store: Option<&StoreHandle>) -> Vec<Found> {
        let mut usable: Vec<(Provenance, Found)> = Vec::new();
        for Listed { provenance, lookup, .. } in skills::all(&self.dirs.skills(), workspace) {
            match lookup {
                Ok(Lookup::Ready(found)) => usable.push((provenance, found)),
                Ok(Lookup::NeedsApproval(candidate)) => {
                    let question = Question::about_skill(&candidate, workspace);
                    if is_approved(&question, store).await {
                        usable.push((provenance, candidate.approved()));
                    }
                }
                Err(error) => tracing::debug!(%error, "a skill cannot be used"),
            }
        }
        usable.sort_by_key(|(provenance, _)| match provenance {
            Provenance::User => 0,
            Provenance::Repository => 1,
            Provenance::BuiltIn => 2,
        });
        usable.into_iter().map(|(_, found)| found).collect()
    }
}

fn facts_of(found: &Found) -> SkillFacts {
    let (name, task_types) = (found.skill.name.clone(), found.task_types.clone());
    SkillFacts { name, task_types, supports_loops: found.supports_loops }
}

async fn is_approved(question: &Question, store: Option<&StoreHandle>) -> bool {
    match store {
        Some(store) => question.is_approved(store).await.unwrap_or(false),
        None => false,
    }
}

/// What counts of the repository's file.
async fn approved(workspace: &Path, store: Option<&StoreHandle>) -> Result<Option<Repository>, Error> {
    let Some(file) = RepositoryFile::read(workspace)? else { return Ok(None) };
    let approval = match Question::about_file(&file, workspace) {
        Some(question) if is_approved(&question, store).await => Approval::Given,
        Some(_) | None => Approval::Missing,
    };
    Ok(Some(file.with(approval)))
}
