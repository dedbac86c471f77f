//! Gemini CLI: how it is called without anybody's settings but the login, and who reads what it prints.
//!
//! Its stream tells words and tool calls as they come, and tokens only at the end. With what code a command ended stands in the
//! record of the chat that it keeps beside; see `records`.

mod calls;
mod home;
mod kind;
mod parser;
mod prompt;
mod records;
mod refusal;
mod speech;

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use ralph_model::AgentSpec;
use ralph_process::{Pieces, Stdin};

pub(crate) use self::kind::KIND;
use self::parser::CHOICES;
use self::parser::Gemini;
use self::records::Records;
use crate::adapter::{Invocation, Parser};
use crate::request::{Error, Request};

/// How it is called for a run. Without a model of the user's choice it chooses one itself, which costs one request of a small
/// model.
pub(crate) fn invocation(spec: &AgentSpec, program: &str, request: &Request<'_>) -> Result<Invocation, Error> {
    let mut arguments = [program, "--output-format=stream-json", "--yolo", "--skip-trust"].map(OsString::from).to_vec();
    let mut environment: Vec<(OsString, OsString)> = vec![
        // Without this, the process that Ralph started ignores requests to end, and its child does the work.
        ("GEMINI_CLI_NO_RELAUNCH".into(), "true".into()),
        ("NO_COLOR".into(), "1".into()),
    ];
    let user = home::folder(request);
    let parser = if spec.user_settings {
        // The switch comes too late for the repository's settings: they are read before it is.
        environment.push(("GEMINI_CLI_TRUST_WORKSPACE".into(), "true".into()));
        parser(user.as_deref().unwrap_or(Path::new("")), None)
    } else {
        arguments.push("--extensions=none".into());
        let own = home::prepare(request, user.as_deref())?;
        environment.extend(own.environment.into_iter().map(|(name, value)| (name.into(), value)));
        let shown = |folder: &Path| folder.join(home::SETTINGS).to_string_lossy().into_owned();
        parser(&own.folder, user.map(|user| (shown(&own.folder), shown(&user))))
    };
    arguments.extend(spec.model.iter().map(|model| format!("--model={model}").into()));
    arguments.extend(spec.args.iter().map(OsString::from));
    let prompt = prompt::plain(request.prompt, &request.base.directory);
    let (stdin, pieces) = (Stdin::Bytes(prompt.into_bytes()), Some(Pieces::ToldOnce(speech::SPEECH)));
    Ok(Invocation { program: arguments, environment, stdin, pieces, parser })
}

/// The parser of one run, from the folder that the program keeps its state in. `settings` are the file of settings that was made
/// for the run, and the user's own that stands behind it.
pub(crate) fn parser(folder: &Path, settings: Option<(String, String)>) -> Box<dyn Parser> {
    Box::new(Gemini::new(Records::new(folder), settings))
}

/// The user's own settings folder for the program, under the home that it would use.
fn settings_folder(home: &Path) -> PathBuf {
    home.join(".gemini")
}

#[cfg(test)]
#[path = "gemini_tests.rs"]
mod tests;
