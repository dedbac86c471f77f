//! The tools that are decisions: delegating, asking, answering. Their schemas, and what their arguments mean.

use ralph_llm::Tool;
use ralph_model::{Delegation, Domain, Expectation, ModelTier, SearchScope};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use crate::event::CrewConfig;

/// How many delegations may run at once.
const MAX_PARALLEL: usize = 8;
const DELEGATE: &str = "delegateTo";

/// What a call of such a tool asks for.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Meta {
    Delegate(Box<Delegation>),
    Parallel(Vec<Delegation>),
    Escalate { reason: String, result: String },
    AskUser { question: String, options: Vec<String> },
    RequestApproval { action: String, why: String },
    Respond { answer: String },
    Loop(Value),
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct DelegationArguments {
    #[serde(default)]
    target: Option<String>,
    objective: String,
    #[serde(default)]
    expected_outcome: Option<String>,
    #[serde(default)]
    context_facts: Vec<String>,
    #[serde(default)]
    constraints: Vec<String>,
    #[serde(default)]
    context: Option<String>,
    #[serde(default)]
    expects: Vec<Expectation>,
    #[serde(default)]
    scope: Option<SearchScope>,
    #[serde(default)]
    model_tier: Option<ModelTier>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ParallelArguments {
    delegations: Vec<DelegationArguments>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct EscalateArguments {
    reason: String,
    #[serde(default)]
    result: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct AskArguments {
    question: String,
    #[serde(default)]
    options: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ApprovalArguments {
    action: String,
    why: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RespondArguments {
    answer: String,
}

/// Whether a tool is a decision of the crew rather than something that is run.
pub fn is_meta(name: &str) -> bool {
    name.starts_with(DELEGATE)
        || ["delegateParallel", "escalateToChapo", "askUser", "requestApproval", "respondToUser", "ralph_loop"]
            .contains(&name)
}

/// What a call means; the error is for the model that called.
pub(crate) fn parse(name: &str, arguments: &Map<String, Value>, config: &CrewConfig) -> Result<Meta, String> {
    Ok(match name {
        "delegateParallel" => {
            let ParallelArguments { delegations } = read(name, arguments)?;
            if delegations.is_empty() || delegations.len() > MAX_PARALLEL {
                return Err(format!("{name}: delegations must have 1 to {MAX_PARALLEL} entries"));
            }
            Meta::Parallel(delegations.into_iter().map(|own| delegation(None, own, config)).collect::<Result<_, _>>()?)
        }
        "escalateToChapo" => {
            let EscalateArguments { reason, result } = read(name, arguments)?;
            Meta::Escalate { reason, result }
        }
        "askUser" => {
            let AskArguments { question, options } = read(name, arguments)?;
            Meta::AskUser { question, options }
        }
        "requestApproval" => {
            let ApprovalArguments { action, why } = read(name, arguments)?;
            Meta::RequestApproval { action, why }
        }
        "respondToUser" => {
            let RespondArguments { answer } = read(name, arguments)?;
            Meta::Respond { answer }
        }
        "ralph_loop" => Meta::Loop(Value::Object(arguments.clone())),
        _ => {
            let target = name.strip_prefix(DELEGATE).unwrap_or_default().to_ascii_lowercase();
            Meta::Delegate(Box::new(delegation(Some(target), read(name, arguments)?, config)?))
        }
    })
}

fn read<T: DeserializeOwned>(name: &str, arguments: &Map<String, Value>) -> Result<T, String> {
    serde_json::from_value(Value::Object(arguments.clone())).map_err(|error| format!("{name}: {error}"))
}

fn delegation(own: Option<String>, arguments: DelegationArguments, config: &CrewConfig) -> Result<Delegation, String> {
    let target = match arguments.target.or(own) {
        Some(target) => target.to_ascii_lowercase(),
        None => return Err("missing argument `target`: the agent to delegate to".to_owned()),
    };
    let domain = match config.agent(&target) {
        Some(agent) if agent.name == config.root => return Err(format!("{target} cannot delegate to itself")),
        Some(agent) => agent.domain,
        None if config.targets.contains(&target) => Domain::Development,
        None => {
            let names = config.agents.iter().map(|agent| &agent.name).filter(|name| **name != config.root);
            let names: Vec<&str> = names.chain(&config.targets).map(String::as_str).collect();
            return Err(format!("no agent is called `{target}`: use {}", names.join(", ")));
        }
    };
    Ok(Delegation {
        expected_outcome: arguments.expected_outcome,
        context_facts: arguments.context_facts,
        constraints: arguments.constraints,
        context: arguments.context,
        scope: arguments.scope,
        model_tier: arguments.model_tier,
        expects: arguments.expects,
        ..Delegation::new(target, domain, arguments.objective)
    })
}

/// The tool as a model sees it; none where the name is not one of these.
pub(crate) fn tool(name: &str, config: &CrewConfig) -> Option<Tool> {
    let text = |what: &str| json!({ "type": "string", "description": what });
    let texts = |what: &str| json!({ "type": "array", "items": { "type": "string" }, "description": what });
    let object = |properties: Value, required: &[&str]| json!({ "type": "object", "properties": properties, "required": required, "additionalProperties": false });
    let names: Vec<&str> = config.agents.iter().map(|agent| agent.name.as_str()).collect();
    let names: Vec<&str> = names.into_iter().filter(|name| *name != config.root).collect();
    let names: Vec<&str> = names.into_iter().chain(config.targets.iter().map(String::as_str)).collect();
    let delegation = |targets: &[&str], required: &[&str]| {
        let mut properties = json!({
            "objective": text("What has to be achieved, in full: the agent knows nothing of this conversation"),
            "expectedOutcome": text("What is true afterwards"),
            "contextFacts": texts("Facts that the agent can rely on"),
            "constraints": texts("What the agent must not do"),
            "context": text("Anything else that helps"),
            "expects": texts("What Ralph checks afterwards: tool:NAME, commit, file:GLOB, command:CMD, clean-tree or checklist:FILE"),
            "scope": { "type": "string", "enum": ["codebase", "web", "both"] },
            "modelTier": { "type": "string", "enum": ["fast", "standard"] },
            "target": { "type": "string", "enum": targets, "description": "The agent" },
        });
        if let (true, Some(properties)) = (targets.is_empty(), properties.as_object_mut()) {
            properties.remove("target");
        }
        object(properties, required)
    };
    let programs: Vec<&str> = config.targets.iter().map(String::as_str).collect();
    let (description, schema) = match name {
        "delegateParallel" => (
            "Hands several independent pieces of work to agents at once. Agents that write work in worktrees, which are merged.".to_owned(),
            object(json!({ "delegations": { "type": "array", "items": delegation(&names, &["target", "objective"]) } }), &["delegations"]),
        ),
        "escalateToChapo" => (
            "Ends your work and hands it back, because you cannot meet the objective.".to_owned(),
            object(json!({ "reason": text("Why"), "result": text("What you have so far") }), &["reason"]),
        ),
        "askUser" => (
            "Asks the user and waits for the answer.".to_owned(),
            object(json!({ "question": text("The question"), "options": texts("Answers to choose from") }), &["question"]),
        ),
        "requestApproval" => (
            "Asks the user to approve an action and waits for the decision.".to_owned(),
            object(json!({ "action": text("What is to be done"), "why": text("Why") }), &["action", "why"]),
        ),
        "respondToUser" => (
            "Answers the user's request and ends the work on it.".to_owned(),
            object(json!({ "answer": text("The answer") }), &["answer"]),
        ),
        "ralph_loop" => (
            "Runs an agent again and again until a command shows that the work is done or a limit is reached.".to_owned(),
            object(
                json!({
                    "objective": text("What the agent has to achieve"),
                    "verification_command": text("The command that passes when it is done"),
                    "max_iterations": { "type": "integer", "minimum": 1, "maximum": 50 },
                    "max_cost_usd": { "type": "number" },
                    "agent": text("The agent; the user's default where none is named"),
                }),
                &["objective", "verification_command"],
            ),
        ),
        _ => {
            let target = name.strip_prefix(DELEGATE)?.to_ascii_lowercase();
            let agent = config.agent(&target)?;
            // The same work can go to another program on this machine.
            let own: &[&str] = if agent.domain == Domain::Development { &programs } else { &[] };
            (format!("Hands work to {}: {}.", agent.title(), agent.description), delegation(own, &["objective"]))
        }
    };
    Some(Tool { name: name.to_owned(), description, schema })
}
