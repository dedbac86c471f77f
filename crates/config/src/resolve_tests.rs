use std::path::PathBuf;

use ralph_model::{AgentSpec, Isolation, Keep, Money, OnBlocked};

use super::super::fixtures::{self, layer};
use super::super::{Approval, Class, Repository, RepositoryFile, Spelling};
use super::*;

const USER: &str = r#"
max_iterations = 20
max_cost_usd = 4
agent = "helper"
skill = "code-cleanup"
verification_command = "make check"
expects = ["commit"]
[agents.helper]
command = "my-helper"
"#;

fn flags(line: &str) -> Layer {
    fixtures::flags(&line.split_whitespace().collect::<Vec<_>>())
}

fn repository(text: &str, approval: Approval) -> Repository {
    RepositoryFile::from_bytes(PathBuf::from("ralph.toml"), text.as_bytes().to_vec())
        .unwrap_or_else(|error| panic!("{error}"))
        .with(approval)
}

/// Looks skills up as the program does, with nothing but what is built in.
fn resolved(caller: &Layer, user: &Layer, repository: Option<&Repository>) -> Result<Resolved, String> {
    let layers = Layers { caller, repository, user };
    let built_in = |name: &str| crate::skills::built_in(name).unwrap();
    let inputs = Inputs {
        objective: "Fix it".to_owned(),
        workspace: Path::new("/work"),
        installed: &[],
        race: None,
        agent: None,
        home: Path::new("/users/ada"),
        current: Path::new("/work"),
        skill: layers.skill().and_then(|name| built_in(&name)),
        deep_debug: layers.wants_deep_debug().then(|| built_in(crate::skills::DEEP_DEBUG).unwrap().skill),
    };
    resolve(layers, inputs).map_err(|error| match error {
        Error::Rule(rule) => Spelling::Flag.rule(&rule),
        error => error.to_string(),
    })
}

fn origin(resolved: &Resolved, key: Key) -> Option<Origin> {
    resolved.sources.iter().find(|source| source.key == key).map(|source| source.origin)
}

#[test]
fn a_broken_rule_shows_the_line_of_the_file_that_has_the_value() {
    let file = repository("max_cost_usd = 3\nmax_iterations = 5000", Approval::Given);
    let error = resolved(&Layer::default(), &layer(USER), Some(&file)).unwrap_err();
    assert!(error.starts_with("ralph.toml:2:18: `max_iterations`: "), "{error}");
    assert!(error.contains("\n2 | max_iterations = 5000\n  |                  ^^^^\n  allowed: 1 to "), "{error}");
    let user = layer(&USER.replace("max_cost_usd = 4", "max_cost_usd = 4000"));
    let error = resolved(&Layer::default(), &user, None).unwrap_err();
    assert!(error.starts_with("config.toml:3:16: `max_cost_usd`: "), "{error}");
    let error = resolved(&flags("--max 5000"), &layer(USER), Some(&file)).unwrap_err();
    assert!(error.starts_with("--max: "), "of the command line there is no line to show: {error}");
}

#[test]
fn a_rule_that_a_machine_breaks_shows_the_line_of_the_file_too() {
    let file = repository("criteria = \"npm test\"\nagent_command = \"./gone\"", Approval::Given);
    let resolved = resolved(&flags("--unmetered"), &layer(USER), Some(&file)).unwrap();
    let rule = |key| ConfigError::new(key, "`./gone` is not there", "a program");
    let shown = resolved.in_its_place(rule("agent_command")).to_string();
    assert!(shown.starts_with("ralph.toml:2:17: `agent_command`: `./gone` is not there\n"), "{shown}");
    assert!(
        shown.contains("\n2 | agent_command = \"./gone\"\n  |                 ^^^^^^^^\n  allowed: a program"),
        "{shown}"
    );
    assert!(matches!(resolved.in_its_place(rule("unmetered")), Error::Rule(_)), "that is a flag");
}

#[test]
fn values_of_a_request_come_from_a_request() {
    let object = serde_json::json!({ "maxIterations": 9, "prohibitedPaths": ["secret"] });
    let request = Layer::from_json(object.as_object().unwrap()).unwrap();
    let resolved = resolved(&request, &layer(USER), None).unwrap();
    assert_eq!(origin(&resolved, Key::MaxIterations), Some(Origin::Request));
    assert_eq!(Origin::Request.to_string(), "request");
    assert!(resolved.sources.iter().all(|source| source.origin != Origin::Flag), "{:?}", resolved.sources);
}

#[test]
fn flags_beat_the_repository_beats_the_user_beats_the_defaults() {
    let repository =
        repository("max_iterations = 15\nmax_cost_usd = 3\nstall_detection_threshold = 7", Approval::Given);
    let resolved = resolved(&flags("--max 9"), &layer(USER), Some(&repository)).unwrap();
    let config = &resolved.config;
    assert_eq!((config.max_iterations, config.max_cost), (9, Money::dollars(3)));
    assert_eq!((config.stall_threshold, config.same_error_threshold), (7, 5));
    assert_eq!(config.verification_commands, ["make check"]);
    let origins = [
        (Key::MaxIterations, Origin::Flag),
        (Key::MaxCostUsd, Origin::Repository),
        (Key::VerificationCommand, Origin::User),
        (Key::SameErrorThreshold, Origin::Default),
        (Key::CompletionPromise, Origin::Skill),
    ];
    for (key, wanted) in origins {
        assert_eq!(origin(&resolved, key), Some(wanted), "{key:?}");
    }
}

#[test]
fn every_value_that_is_used_says_where_it_came_from() {
    let resolved = resolved(&flags("--idle-timeout 3m --max-duration 1h"), &layer(USER), None).unwrap();
    let silent = [
        // Chosen by name, not by command; nothing was said about the lists; the rest is no part of a loop.
        Key::AgentCommand,
        Key::AgentsUnmetered,
        Key::AgentsReportsCost,
        Key::AgentsKind,
        Key::AgentsProgram,
        Key::AgentsModel,
        Key::AgentsArgs,
        Key::AgentsSettings,
        Key::AgentArgs,
        Key::Model,
        Key::AgentOrder,
        Key::ModelsProvider,
        Key::ModelsBaseUrl,
        Key::ModelsModel,
        Key::ModelsKeyEnv,
        Key::PricesInput,
        Key::PricesOutput,
        Key::MaxTokens,
        Key::MaxWindow,
        Key::Failover,
        Key::PricesCacheRead,
        Key::PricesCacheWrite,
        Key::ProtectedPaths,
        Key::AllowTestChange,
        Key::Require,
        Key::SandboxWritable,
        Key::Hide,
        Key::AllowRead,
        Key::AllowHost,
        Key::Env,
        Key::CapsIterations,
        Key::CapsLoopCostUsd,
        Key::CapsDailyCostUsd,
        Key::NotifyCommand,
        Key::NotifyWebhook,
        Key::NotifyDesktop,
        Key::NotifySmtp,
        Key::NotifySmtpPasswordEnv,
        Key::NotifyEmailFrom,
        Key::NotifyEmailTo,
        Key::WebAllowHosts,
        Key::WebSearchUrl,
        Key::WebSearchKeyEnv,
        Key::CrewCompactAt,
        Key::McpCommand,
        Key::McpUrl,
        Key::McpKeyEnv,
        Key::DatabaseUrl,
        Key::MetricsPath,
    ];
    for key in Key::ALL {
        assert_eq!(origin(&resolved, *key).is_none(), silent.contains(key), "{key:?}");
    }
}

/// The heart of it: for every key that there is, an unapproved file changes nothing, and an approved one does.
#[test]
fn a_canary_for_every_key_that_a_repository_can_set() {
    let (flags, user) = (flags(""), layer(USER));
    let mut tried = 0;
    for key in Key::ALL.iter().filter(|key| key.class() != Class::UserOnly) {
        // A command of one's own takes neither a model nor arguments.
        let named = matches!(key, Key::Model | Key::AgentArgs);
        let user = if named { layer(&USER.replace("agent = \"helper\"", "agent = \"claude\"")) } else { user.clone() };
        let quiet = resolved(&flags, &user, None).unwrap();
        let text = match key {
            Key::AgentsUnmetered | Key::AgentsReportsCost => {
                format!("{}\n{}", Key::AgentsCommand.example(), key.example())
            }
            Key::AgentsProgram | Key::AgentsModel | Key::AgentsArgs | Key::AgentsSettings => {
                format!("{}\n{}", Key::AgentsKind.example(), key.example())
            }
            // Two choices of an agent in one file would be refused for that reason.
            Key::Agent => "agent = \"other\"\nagents.other.command = \"./evil\"".to_owned(),
            // Only isolated checks are set up.
            Key::Setup => format!("{}\n{}", Key::Verify.example(), key.example()),
            _ => key.example().to_owned(),
        };
        let unapproved = resolved(&flags, &user, Some(&repository(&text, Approval::Missing))).unwrap();
        let approved = resolved(&flags, &user, Some(&repository(&text, Approval::Given))).unwrap();
        assert_ne!(approved.config, quiet.config, "{key:?}: the canary is dead");
        match key.class() {
            Class::NeedsApproval => assert_eq!(unapproved, quiet, "{key:?} took effect without approval"),
            Class::NarrowsOnly => assert_eq!(unapproved.config, approved.config, "{key:?} needs no approval"),
            Class::UserOnly => unreachable!("filtered above"),
        }
        // Neither can move what is the user's alone.
        for one in [&unapproved, &approved] {
            assert_eq!(one.settings, quiet.settings);
            assert_eq!(one.config.env, quiet.config.env);
        }
        tried += 1;
    }
    assert_eq!(tried, Key::ALL.len() - 38);
}

#[test]
fn a_loop_without_both_limits_does_not_start() {
    let agent = "agent_command = './a'";
    let message = resolved(&flags("--max-cost 1"), &layer(agent), None).unwrap_err();
    insta::assert_snapshot!(message, @r#"
    --max is required: a loop does not start without both limits
      allowed: 1 to 50 iterations
    "#);
    let message = resolved(&flags("--max 1"), &layer(agent), None).unwrap_err();
    insta::assert_snapshot!(message, @r#"
    --max-cost is required: a loop does not start without both limits
      allowed: more than $0, up to $10.00
    "#);
}

#[test]
fn an_agent_has_to_be_named_and_known() {
    let limits = "max_iterations = 1\nmax_cost_usd = 1\n";
    insta::assert_snapshot!(resolved(&flags(""), &layer(limits), None).unwrap_err(), @r#"
    --agent: no agent is named, and none of claude, codex, opencode, gemini is installed
      allowed: one of these agents (`ralph agents` says how to install it); or any program that reads its prompt from standard input, as --agent-command CMD
    "#);
    let some = format!("{limits}agents.a.command = 'x'\nagents.b.command = 'y'");
    insta::assert_snapshot!(resolved(&flags("--agent c"), &layer(&some), None).unwrap_err(), @r#"
    --agent: `c` is not a known agent
      allowed: one of claude, codex, opencode, gemini (configured: a, b)
    "#);
    let both = format!("{limits}agent = 'a'\nagent_command = 'x'");
    assert!(resolved(&flags(""), &layer(&both), None).unwrap_err().contains("together with"));
    // The command line's choice is whole: a name in a file does not get mixed into it.
    let resolved = resolved(&flags("--agent-command ./mine"), &layer(USER), None).unwrap();
    assert_eq!(resolved.config.agent, AgentSpec::command("command", "./mine"));
}

#[test]
fn an_agent_is_unmetered_when_any_place_that_counts_says_so() {
    let metered = layer(USER);
    let unmetered = layer(&format!("{USER}unmetered = true"));
    for (words, user, wanted) in [("", &metered, false), ("--unmetered", &metered, true), ("", &unmetered, true)] {
        assert_eq!(resolved(&flags(words), user, None).unwrap().config.agent.unmetered, wanted);
    }
}

#[test]
fn an_unmetered_agent_needs_no_budget_and_gets_the_cap() {
    let nobody = Layer::default();
    let words = "--max 5 --agent-command ./mine";
    assert!(resolved(&flags(words), &nobody, None).unwrap_err().starts_with("--max-cost is required"));
    let config = resolved(&flags(&format!("{words} --unmetered")), &nobody, None).unwrap().config;
    assert_eq!((config.max_cost, config.agent.unmetered), (Caps::default().loop_cost, true));
}

#[test]
fn caps_hold_whatever_a_caller_says_and_only_the_user_moves_them() {
    assert!(resolved(&flags("--max 51"), &layer(USER), None).unwrap_err().contains("cap of 50 iterations"));
    assert!(resolved(&flags("--max-cost 10.000001"), &layer(USER), None).unwrap_err().contains("cap of $10.00"));
    let moved = format!("{USER}[caps]\niterations = 60\nloop_cost_usd = 12\ndaily_cost_usd = 13");
    let resolved = resolved(&flags("--max 60 --max-cost 12"), &layer(&moved), None).unwrap();
    assert_eq!(
        resolved.settings.caps,
        Caps { iterations: 60, loop_cost: Money::dollars(12), daily_cost: Money::dollars(13) }
    );
}

#[test]
fn prohibited_paths_are_replaced_by_the_user_and_added_to_by_everybody_else() {
    let narrowing = repository("prohibited_paths = ['infra/**', '.env']", Approval::Missing);
    let with = |user: &str, words: &str| {
        resolved(&flags(words), &layer(user), Some(&narrowing)).unwrap().config.into_inner().prohibited_paths
    };
    let base = ["src/auth/**", "src/payments/**", "migrations/**", ".env.*", "infra/**", ".env"];
    assert_eq!(with(USER, ""), base);
    let own = format!("prohibited_paths = ['mine/**']\n{USER}");
    assert_eq!(with(&own, "--prohibit !infra/**"), ["mine/**", "infra/**", ".env", "!infra/**"]);
    // An empty list of the user's is a list.
    let none = format!("prohibited_paths = []\n{USER}");
    assert_eq!(with(&none, ""), ["infra/**", ".env"]);
}

#[test]
fn a_glob_with_a_line_break_is_refused_from_anybody() {
    let user = format!("prohibited_paths = [\"a\\nb\"]\n{USER}");
    assert!(resolved(&flags(""), &layer(&user), None).unwrap_err().contains("not a glob"));
}

#[test]
fn the_environment_is_the_users_list_and_the_flags() {
    let user = format!("env = ['A', 'B']\n{USER}");
    assert_eq!(resolved(&flags("--env B --env C"), &layer(&user), None).unwrap().config.env, ["A", "B", "C"]);
    assert!(resolved(&flags("--env A=1"), &layer(&user), None).unwrap_err().contains("not the name"));
}

#[test]
fn a_promise_is_explicit_when_somebody_wrote_it_down() {
    let promise = |words: &str, user: &str| {
        let config = resolved(&flags(words), &layer(user), None).unwrap().config.into_inner();
        (config.completion_promise, config.promise_is_explicit)
    };
    let plain = USER.replace("skill = \"code-cleanup\"\n", "");
    assert_eq!(promise("", &plain), (DEFAULT_PROMISE.into(), false));
    assert_eq!(promise("", USER), ("<promise>LINT_CLEAN</promise>".into(), false));
    assert_eq!(promise("--promise DONE", USER), ("DONE".into(), true));
    assert_eq!(promise("", &format!("completion_promise = 'X'\n{USER}")), ("X".into(), true));
}

#[test]
fn flags_reach_the_configuration() {
    let words = "--worktree --commit --ratchet --keep best --on-blocked continue --no-context --deep-debug \
                 --pause 1s --iteration-timeout 2m --verify-timeout 3m --junit a.xml --expect clean-tree --protect t/**";
    let config = resolved(&flags(words), &layer(USER), None).unwrap().config.into_inner();
    assert_eq!(
        (config.isolation, config.keep, config.on_blocked),
        (Isolation::Worktree, Keep::Best, OnBlocked::Continue)
    );
    assert!(config.commit && config.ratchet && !config.context_injection);
    assert_eq!(config.deep_debug.map(|skill| skill.name).as_deref(), Some("systematic-debugging"));
    assert_eq!((config.pause, config.iteration_timeout), (Millis::secs(1), Millis::minutes(2)));
    assert_eq!((config.verification_timeout, config.junit), (Millis::minutes(3), vec!["a.xml".to_owned()]));
    assert_eq!((config.expects.len(), config.protected_paths), (1, vec!["t/**".to_owned()]));
}

#[test]
fn metrics_go_into_the_workspace_unless_the_user_says_otherwise() {
    let path = |text: &str| metrics_path(&layer(text), Path::new("/work"));
    assert_eq!(path(""), Path::new("/work/.ralph/metrics/ralph-loops.jsonl"));
    assert_eq!(path("metrics_path = 'm.jsonl'"), Path::new("/work/m.jsonl"));
    assert_eq!(path("metrics_path = '/var/m.jsonl'"), Path::new("/var/m.jsonl"));
}
