//! What an agent does, in words: one line for each event that is worth one.

use ralph_model::AgentEvent;

/// Characters of a message that fit a line.
const MAX_MESSAGE: usize = 240;

/// A line about an event, with a mark that no line of Ralph's own begins with; none for what comes whole later or is a figure.
pub(crate) fn event_line(event: &AgentEvent) -> Option<String> {
    let (mark, text) = match event {
        AgentEvent::Message { text } => ('|', beginning(text)),
        event => ('>', deed(event)?),
    };
    (!text.is_empty()).then(|| format!("  {mark} {text}"))
}

/// The same without the mark, for a view that has one line for it.
pub(crate) fn event_words(event: &AgentEvent) -> Option<String> {
    match event {
        AgentEvent::Message { text } => Some(beginning(text)).filter(|words| !words.is_empty()),
        event => deed(event),
    }
}

/// Whether it tells of something that failed.
pub(crate) const fn is_failure(event: &AgentEvent) -> bool {
    matches!(
        event,
        AgentEvent::ToolFinished { success: false, .. } | AgentEvent::Limit { .. } | AgentEvent::Fault { .. }
    )
}

/// Events as text: messages as they are, a marked line for everything else that is worth one.
pub(crate) fn transcript(events: Vec<AgentEvent>) -> String {
    let mut text = String::new();
    for event in events {
        match event {
            AgentEvent::Message { text: message } => text.push_str(message.trim_end()),
            event => match event_line(&event) {
                Some(line) => text.push_str(&line),
                None => continue,
            },
        }
        text.push('\n');
    }
    text
}

fn deed(event: &AgentEvent) -> Option<String> {
    Some(match event {
        AgentEvent::ToolStarted { tool, summary, .. } => joined(tool, summary),
        AgentEvent::ToolFinished { success: false, tool, summary, .. } => joined(&format!("FAILED {tool}"), summary),
        AgentEvent::Retry { reason } => joined("tries again", reason),
        AgentEvent::Limit { trouble } => trouble.to_string(),
        AgentEvent::Fault { fault } => fault.to_string(),
        // Its beginning was shown.
        AgentEvent::ToolFinished { success: true, .. } => return None,
        AgentEvent::Output { .. }
        | AgentEvent::Message { .. }
        | AgentEvent::Usage { .. }
        | AgentEvent::Estimate { .. }
        | AgentEvent::Uncounted => return None,
    })
}

fn joined(left: &str, right: &str) -> String {
    if right.is_empty() { left.to_owned() } else { format!("{left}: {right}") }
}

fn beginning(message: &str) -> String {
    let words = message.split_whitespace().collect::<Vec<_>>().join(" ");
    match words.char_indices().nth(MAX_MESSAGE) {
        Some((end, _)) => format!("{}…", &words[..end]),
        None => words,
    }
}

#[cfg(test)]
#[path = "agent_event_tests.rs"]
mod tests;
