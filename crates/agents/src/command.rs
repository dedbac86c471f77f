//! Any program as an agent: the prompt on its standard input, or in a file that its command line names.

use std::convert::Infallible;
use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use ralph_model::{AgentEvent, AgentSpec, Cost, Money, ToolEvidence, Usage, shell_word};
use ralph_process::{Finished, Spec, Stdin, Stop, Stream};
use tokio::sync::watch;

use crate::agent::{Capabilities, ReportsCost};
use crate::files::write_private;
use crate::process_agent::Run;
use crate::registry::{Behind, Kind, Needs, Start};
use crate::report_file::{ReportFile, read_report, redact_report};
use crate::request::{Error, Observed, TAIL};
use crate::stream::{ask, pass_on};
use crate::text::{REPORT, bounded, short, tool_name};

/// Names the file to which a command writes its cost and its results.
pub const REPORT_VARIABLE: &str = "RALPH_RESULT_FILE";
const PROMPT_FILE: &str = "{prompt_file}";
/// Characters of a reported name, and of a reported line.
const MAX_NAME: usize = 100;
const MAX_SUMMARY: usize = 500;
/// Half of the two seconds within which a spent budget has to end the run, less what ending takes.
const COST_POLL_INTERVAL: Duration = Duration::from_millis(250);

pub(crate) static KIND: Kind = Kind {
    name: AgentSpec::COMMAND,
    needs: Needs::Command,
    capabilities: Capabilities {
        streams_tool_calls: false,
        reports_cost: ReportsCost::Always,
        announces_start: false,
        takes_model: false,
        writes_report: true,
        ..Capabilities::STREAMING
    },
    program: Behind::Unknown,
    start: Start::Line(|given| Box::pin(run(given))),
    log_parser: None,
};

async fn run(run: Run<'_>) -> Result<Observed, Error> {
    let Run { supervisor, spec: AgentSpec { unmetered, .. }, target: command, request, stop, events: observe } = run;
    let prompt_file = request.base.scratch.join("prompt.md");
    let report = request.base.scratch.join("result.json");
    write_private(&prompt_file, request.prompt)?;
    let (line, stdin) = if command.contains(PROMPT_FILE) {
        (command.replace(PROMPT_FILE, &shell_word(&prompt_file.to_string_lossy())), Stdin::Empty)
    } else {
        (command.to_owned(), Stdin::Bytes(request.prompt.as_bytes().to_vec()))
    };
    let mut environment = request.base.environment.clone();
    let own = [(REPORT_VARIABLE, report.as_path()), ("RALPH_PROMPT_FILE", prompt_file.as_path())];
    environment.extend(own.map(|(name, path)| (OsString::from(name), path.as_os_str().to_owned())));
    let (budget, redactor) = (request.budget, Arc::clone(&request.base.redactor));
    let spec = request.into_spec(Spec::shell(&line), environment, stdin, None);
    let (ended_by, stops) = watch::channel(*stop.borrow());
    let mut highest = None;
    let finished = {
        let mut on_text = |_: Stream, text: &str| observe(AgentEvent::Output { text: text.to_owned() });
        let watch_cost = watch_cost(&ended_by, budget, &report, &mut highest);
        tokio::select! {
            // Neither of these two ever ends by itself; first, so that output does not keep them waiting.
            biased;
            never = pass_on(stop, &ended_by) => match never {},
            never = watch_cost => match never {},
            finished = supervisor.run(spec, stops, &mut on_text) => finished?,
        }
    };
    // It holds the prompt word for word; the copy that is kept has no secrets in it. The agent may have removed it itself.
    let _ = fs::remove_file(&prompt_file);
    let transcript = match read_report(&report).map(|report| keep_highest(report, highest)) {
        transcript if redact_report(&report, &redactor).is_ok() => transcript,
        transcript => {
            transcript.and(Err("the report file could not be freed of secrets and stays as the agent wrote it".into()))
        }
    };
    if let Ok(Some(ReportFile { cost: Some(cost), usage, .. })) = &transcript {
        let Usage { input_tokens, output_tokens, .. } = *usage;
        observe(AgentEvent::Usage { input_tokens, output_tokens, cost: *cost });
    }
    Ok(observed(finished, transcript, *unmetered, &redactor))
}

/// A cost that was reported once is not taken back by a later report.
fn keep_highest(report: Option<ReportFile>, highest: Option<Money>) -> Option<ReportFile> {
    let Some(highest) = highest else { return report };
    let report = report.unwrap_or_default();
    Some(ReportFile { cost: report.cost.max(Some(highest)), ..report })
}

/// Asks for the end when the report says that the budget is spent.
async fn watch_cost(
    ended_by: &watch::Sender<Option<Stop>>,
    budget: Option<Money>,
    report: &Path,
    highest: &mut Option<Money>,
) -> Infallible {
    let Some(budget) = budget else { return std::future::pending().await };
    let mut look = tokio::time::interval(COST_POLL_INTERVAL);
    loop {
        look.tick().await;
        if let Ok(Some(ReportFile { cost, .. })) = read_report(report) {
            *highest = cost.max(*highest);
            ask(ended_by, highest.filter(|cost| *cost >= budget).map(|_| Stop::BudgetSpent));
        }
    }
}

fn observed(
    finished: Finished,
    transcript: Result<Option<ReportFile>, String>,
    unmetered: bool,
    redactor: &ralph_text::Redactor,
) -> Observed {
    let (report, problem) = match transcript {
        Ok(report) => (report.unwrap_or_default(), None),
        Err(problem) => (ReportFile::default(), Some(problem)),
    };
    let clean = |text: &str| redactor.clean(text).into_owned();
    let mut evidence: Vec<ToolEvidence> = report
        .evidence
        .into_iter()
        .map(|transcript| ToolEvidence {
            tool: tool_name(short(clean(&transcript.tool), MAX_NAME)),
            summary: short(clean(&transcript.summary), MAX_SUMMARY),
            external_id: transcript.external_id.map(|id| short(clean(&id), MAX_NAME)),
            next_step: transcript.next_step.map(|step| short(clean(&step), MAX_SUMMARY)),
            ..transcript
        })
        .collect();
    if let Some(problem) = problem {
        evidence.push(ToolEvidence::error(REPORT, clean(&problem)));
    }
    let cost = match (unmetered, report.cost) {
        (true, _) => Cost::Unmetered,
        (false, Some(amount)) => Cost::Known { amount },
        // A process that never ran cannot have cost anything.
        (false, None) if matches!(finished.ended, ralph_model::Ended::NotStarted { .. }) => {
            Cost::Known { amount: Money::ZERO }
        }
        (false, None) => Cost::Unknown,
    };
    Observed {
        ended: finished.ended,
        evidence,
        opaque: true,
        final_message: report.summary.map_or(finished.stdout, |summary| bounded(clean(&summary), TAIL)),
        escalation: report.escalation.map(|why| short(clean(&why), MAX_SUMMARY)),
        faults: Vec::new(),
        trouble: None,
        usage: Usage { model: report.usage.model.map(|model| short(clean(&model), MAX_NAME)), ..report.usage },
        cost,
        unpriced: Vec::new(),
        duration: finished.duration,
        output: finished.output,
        swept: finished.swept,
    }
}

#[cfg(test)]
#[path = "command_tests.rs"]
mod tests;
