//! `ralph doctor`: looks at everything a loop needs and says what to do about what is missing. Changes nothing but
//! throwaway files of its own.

mod agents;
mod machine;
mod workspace;

use std::ffi::OsString;
use std::io::IsTerminal as _;
use std::path::Path;

use anyhow::Result;
use ralph_model::{AgentSpec, exit_code};
use ralph_process::ReaperProgram;
use ralph_store::RunEntry;
use ratatui_core::text::{Line, Span};
use serde::Serialize;
use serde_json::json;

use crate::args::DoctorArgs;
use crate::page::Page;
use crate::screen::Screen;
use crate::style::{BAD, GOOD, WARN};
use ralph_host::agents::Readiness;
use ralph_host::{Dirs, Host};

/// What the examination depends on: values, so that it can be tried on any machine.
pub(crate) struct Subject<'a> {
    pub(crate) dirs: &'a Dirs,
    pub(crate) current: &'a Path,
    pub(crate) path: OsString,
    pub(crate) reaper: ReaperProgram,
    pub(crate) level: ralph_process::Level,
    pub(crate) environment: Vec<(OsString, OsString)>,
    pub(crate) readiness: Box<dyn Fn(&AgentSpec) -> Readiness + 'a>,
    pub(crate) is_interrupted: Box<dyn Fn(&RunEntry) -> bool + 'a>,
    pub(crate) terminal: Terminal,
}

impl<'a> Subject<'a> {
    pub(crate) fn new(host: &'a Host) -> Self {
        Self {
            dirs: &host.dirs,
            current: &host.current,
            path: host.search_path(),
            reaper: host.reaper(),
            level: host.level(),
            environment: host.check_environment(&[]),
            readiness: Box::new(|spec| host.readiness(spec)),
            is_interrupted: Box::new(|entry| host.is_interrupted(entry)),
            terminal: match (std::io::stdin().is_terminal(), std::io::stderr().is_terminal()) {
                (true, true) => Terminal::Whole,
                (false, true) => Terminal::OutputOnly,
                (_, false) => Terminal::None,
            },
        }
    }
}

/// Which of the standard streams are terminals.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Terminal {
    /// Input and standard error: live view and questions work.
    Whole,
    /// Standard error alone: the live view works, questions do not.
    OutputOnly,
    None,
}

/// How bad a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
enum Level {
    Ok,
    Warn,
    Fail,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
struct Finding {
    name: &'static str,
    level: Level,
    detail: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    advice: Option<String>,
}

impl Finding {
    fn ok(name: &'static str, detail: impl Into<String>) -> Self {
        Self { name, level: Level::Ok, detail: detail.into(), advice: None }
    }

    fn warn(name: &'static str, detail: impl Into<String>, advice: impl Into<String>) -> Self {
        Self { name, level: Level::Warn, detail: detail.into(), advice: Some(advice.into()) }
    }

    fn fail(name: &'static str, detail: impl Into<String>, advice: impl Into<String>) -> Self {
        Self { name, level: Level::Fail, detail: detail.into(), advice: Some(advice.into()) }
    }
}

/// Examines, prints and gives the exit code: 1 when anything fails.
pub(crate) async fn doctor(args: &DoctorArgs, subject: &Subject<'_>, screen: &mut Screen<'_>) -> Result<u8> {
    let findings = examine(subject).await;
    let worst = findings.iter().map(|finding| finding.level).max().unwrap_or(Level::Ok);
    screen.show(args.json, &json!({ "ok": worst != Level::Fail, "checks": findings }), |_| table(&findings, worst))?;
    Ok(if worst == Level::Fail { exit_code::ERROR } else { exit_code::COMPLETED })
}

async fn examine(subject: &Subject<'_>) -> Vec<Finding> {
    let (git, git_finding) = machine::git(subject);
    let mut findings =
        vec![git_finding, machine::state(subject), machine::disk(subject), machine::database_finding(subject).await];
    findings.push(machine::proc());
    findings.push(machine::reaper(subject).await);
    findings.push(machine::sandbox(subject));
    findings.push(machine::sandbox_gaps(subject));
    findings.push(machine::configuration(subject));
    findings.extend(agents::finding(subject));
    findings.extend(workspace::findings(subject, git.as_deref()).await);
    findings.push(machine::terminal(subject));
    findings
}

fn table(findings: &[Finding], worst: Level) -> Page {
    let width = findings.iter().map(|finding| finding.name.len()).max().unwrap_or(0);
    let hang = width + 8;
    let mut page = Page::default();
    for finding in findings {
        let (level, style) = match finding.level {
            Level::Ok => ("ok  ", GOOD),
            Level::Warn => ("warn", WARN),
            Level::Fail => ("FAIL", BAD),
        };
        let rest = Span::raw(format!("  {:width$}  {}", finding.name, finding.detail));
        page.hanging(hang, Line::from(vec![Span::styled(level, style), rest]));
        if let Some(advice) = &finding.advice {
            page.hanging(hang + 3, Line::raw(format!("{:hang$}-> {advice}", "")));
        }
    }
    let nobody = findings.iter().any(|finding| finding.name == agents::NAME && finding.level == Level::Warn);
    page.line("");
    page.line(match worst {
        Level::Warn if nobody => Line::styled("No usable agent found; see the warnings.", WARN),
        Level::Ok => Line::styled("Everything is ready.", GOOD),
        Level::Warn => Line::styled("Loops can run; see the warnings.", WARN),
        Level::Fail => Line::styled("Fix the errors above first.", BAD),
    });
    page
}

#[cfg(test)]
#[path = "doctor_tests.rs"]
mod tests;
