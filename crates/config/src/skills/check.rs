//! What is wrong with a skill, for the person who writes it. A skill that has a problem may still work.

use super::front_matter::FrontMatter;
use ralph_decide::TaskType;

/// The longest description: listings and clients show one line.
const MAX_DESCRIPTION: usize = 1024;
/// The longest name that clients accept.
const MAX_NAME: usize = 64;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    pub is_fatal: bool,
    pub text: String,
}

/// Everything that is wrong with the text of a skill. `name` is the name of its folder.
pub fn check(name: &str, text: &str) -> Vec<Problem> {
    let (front, body) = match FrontMatter::split(text) {
        Ok(split) => split,
        Err(why) => return vec![Problem { is_fatal: true, text: why }],
    };
    let mut problems = Vec::new();
    if body.trim().is_empty() {
        problems.push(Problem { is_fatal: true, text: "it has no instructions after its front matter".to_owned() });
    }
    let mut advise = |is_wrong: bool, text: String| {
        if is_wrong {
            problems.push(Problem { is_fatal: false, text });
        }
    };
    let given = front.name.as_deref().unwrap_or_default();
    advise(given != name, format!("`name` is `{given}`, but its folder is called `{name}`: give both the same name"));
    let is_plain = name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-');
    advise(
        !is_plain || name.len() > MAX_NAME,
        format!("other clients accept only names of at most {MAX_NAME} lower-case letters, digits and `-`"),
    );
    let description = front.description.as_deref().unwrap_or_default();
    advise(
        description.trim().is_empty(),
        "`description` is missing: say in one sentence what it does and when".to_owned(),
    );
    advise(description.len() > MAX_DESCRIPTION, format!("`description` is longer than {MAX_DESCRIPTION} bytes"));
    for task_type in front.task_types() {
        let known = TaskType::ALL.map(TaskType::name);
        advise(
            !known.contains(&task_type.as_str()),
            format!("`taskTypes` names `{task_type}`; allowed: {}", known.join(", ")),
        );
    }
    if front.supports_ralph.unwrap_or(true) {
        let lower = body.to_lowercase();
        advise(
            !lower.contains("completion criteria"),
            "it has no section `## Completion criteria`: say when the work is done".to_owned(),
        );
        advise(
            !lower.contains("## when "),
            "it has no section such as `## When something fails`: say how the agent corrects itself".to_owned(),
        );
        match front.promise.as_deref() {
            None => advise(true, "`promise` is missing: say what the agent prints when the work is done".to_owned()),
            // A JSON promise is part of a block that the text describes.
            Some(promise) => advise(
                !promise.starts_with('{') && !body.contains(promise),
                format!("its text never asks for its promise {promise}"),
            ),
        }
    }
    problems
}

/// A skill to begin with.
pub fn template(name: &str) -> String {
    format!(
        "---\n\
         name: {name}\n\
         description: Say in one sentence what this skill does and when to use it.\n\
         promise: <promise>COMPLETE</promise>\n\
         # A command that passes only when the work is done. Without it, the project's own tests are used.\n\
         # verify: make test\n\
         supportsRalph: true\n\
         taskTypes: [feature, bug, refactor]\n\
         ---\n\
         # {name}\n\n\
         Say what the agent should do, step by step.\n\n\
         1. Understand the objective and the code that it concerns.\n\
         2. Change the code.\n\
         3. Run the checks.\n\n\
         ## When something fails\n\n\
         - Read the first failure whole, and state its cause in one sentence before the next change.\n\
         - Undo a change that did not help.\n\n\
         ## Completion criteria\n\n\
         - The checks pass, with no test removed, skipped or weakened.\n\n\
         When all of this holds, and only then, end your final message with:\n\n\
         <promise>COMPLETE</promise>\n"
    )
}

#[cfg(test)]
#[path = "check_tests.rs"]
mod tests;
