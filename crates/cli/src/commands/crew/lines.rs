//! What happens in a crew, as lines: one for each delegation, tool call and end. Prints nothing.

use ralph_crew::StreamEvent;
use ralph_model::Status;
use ratatui_core::style::Style;
use ratatui_core::text::{Line, Span};

use crate::page::Page;
use crate::style::{BAD, BUSY, GOOD, PLAIN, TITLE, WARN, fit_words, flat};

/// Columns of what is said in one event: an objective can be a page, and the journal has all of it.
const MAX_TEXT: usize = 160;

/// Adds what an event says; many say nothing.
pub(super) fn add(page: &mut Page, told: &StreamEvent) {
    let (hang, head, text) = match told {
        StreamEvent::Delegation { delegation } => (2, mark("→", BUSY, &delegation.target), &delegation.objective),
        // The end of a delegation is a line of its own.
        StreamEvent::ToolResult { result: Some(_), .. } => return,
        StreamEvent::ToolResult { agent, tool, success, summary, .. } => {
            let (mark, style) = if *success { ("✓", GOOD) } else { ("✗", BAD) };
            (4, vec![Span::styled(format!("  {mark}"), style), Span::raw(format!(" {agent} {tool}"))], summary)
        }
        StreamEvent::AgentComplete { agent, status } => {
            let style = if *status == Status::Success { GOOD } else { WARN };
            (2, mark("←", style, agent), &status.shout().to_lowercase())
        }
        StreamEvent::Question { question } => (2, mark("?", WARN, &question.agent), &question.text),
        StreamEvent::Approval { question } => {
            let mut head = mark("!", WARN, &question.agent);
            head.push(Span::raw(" wants to"));
            (2, head, &question.text)
        }
        StreamEvent::Warning { text } => (2, vec![Span::styled("warning", WARN.patch(TITLE))], text),
        StreamEvent::AgentSwitch { .. }
        | StreamEvent::ToolCall { .. }
        | StreamEvent::Delta { .. }
        | StreamEvent::Answer { .. } => return,
    };
    let words: Vec<&str> = text.split_whitespace().collect();
    let mut line = Line::from(head);
    if !words.is_empty() {
        line.push_span(Span::raw(format!(": {}", fit_words(&flat(&words.join(" ")), MAX_TEXT))));
    }
    page.hanging(hang, line);
}

fn mark(mark: &'static str, style: Style, agent: &str) -> Vec<Span<'static>> {
    vec![Span::styled(format!("{mark} "), style), Span::styled(flat(&agent.to_uppercase()), PLAIN.patch(TITLE))]
}

#[cfg(test)]
#[path = "lines_tests.rs"]
mod tests;
