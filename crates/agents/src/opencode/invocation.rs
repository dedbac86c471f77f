//! How OpenCode is called.

use std::ffi::OsString;

use ralph_model::AgentSpec;
use ralph_process::Stdin;
use serde_json::Value;

use super::settings;
use crate::adapter::Invocation;
use crate::request::Request;

/// A call of OpenCode that goes without questions, and without whatever no event would show.
pub(crate) fn invocation(spec: &AgentSpec, program: &str, request: &Request<'_>) -> Invocation {
    let mut words: Vec<&str> = vec![program, "run", "--format", "json"];
    // Whatever is not denied is allowed, instead of asked and then rejected for want of a person.
    words.push("--auto");
    // Without a title it asks a model for one, and no event shows what that costs.
    words.extend(["--title", "ralph"]);
    // Events call every mistake in the settings an error of the server.
    words.extend(["--print-logs", "--log-level", "ERROR"]);
    if !spec.user_settings {
        words.push("--pure");
    }
    if let Some(model) = &spec.model {
        words.extend(["--model", model]);
    }
    words.extend(spec.args.iter().map(String::as_str));
    Invocation {
        program: words.into_iter().map(OsString::from).collect(),
        environment: environment(spec, request),
        stdin: Stdin::Bytes(request.prompt.as_bytes().to_vec()),
        pieces: None,
        parser: super::parser(spec.model.clone().or_else(|| settings::model(request))),
    }
}

/// Variables that hold for every way to run it.
pub(crate) fn environment(spec: &AgentSpec, request: &Request<'_>) -> Vec<(OsString, OsString)> {
    let mut variables: Vec<(OsString, OsString)> = vec![
        // It works where this says, whatever folder it was started in.
        ("PWD".into(), request.base.directory.clone().into_os_string()),
        ("OPENCODE_DISABLE_AUTOUPDATE".into(), "1".into()),
        ("OPENCODE_DISABLE_LSP_DOWNLOAD".into(), "1".into()),
    ];
    if request.base.variable("OPENCODE_DISABLE_MODELS_FETCH").is_none() {
        // It has a list of models, and would ask a server of its own for a newer one each time it is started.
        variables.push(("OPENCODE_DISABLE_MODELS_FETCH".into(), "1".into()));
    }
    let own = settings::of_every_run(request).map(|mut own| {
        if !spec.user_settings {
            settings::keep_apart(&mut own, request);
        }
        settings::add_server(&mut own, request);
        own
    });
    if let Some(own) = own {
        variables.push(("OPENCODE_CONFIG_CONTENT".into(), Value::Object(own).to_string().into()));
    }
    if !spec.user_settings {
        variables.push(("OPENCODE_DISABLE_PROJECT_CONFIG".into(), "1".into()));
    }
    // No event shows what subagents use; where that is seen on the wire, or nobody counts, they may work.
    if !spec.unmetered && !request.base.counted.is_expected() {
        let rules = Value::Object(settings::without_subagents(request));
        variables.push(("OPENCODE_PERMISSION".into(), rules.to_string().into()));
    }
    variables
}

#[cfg(test)]
#[path = "invocation_tests.rs"]
mod tests;
