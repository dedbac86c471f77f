use ralph_model::{Keep, Millis, OnBlocked};

use super::*;

fn run(args: &[&str]) -> Result<RunArgs, clap::Error> {
    let line = ["ralph", "run"].into_iter().chain(args.iter().copied());
    Cli::try_parse_from(line).map(|args| match args.command {
        Command::Run(run) => *run,
        other => panic!("parsed as {other:?}"),
    })
}

/// All but `help`, which clap adds.
fn documented(command: &clap::Command) -> impl Iterator<Item = &clap::Command> {
    command.get_subcommands().filter(|inner| inner.get_name() != "help")
}

#[test]
fn the_words_agree_with_each_other() {
    Cli::command().debug_assert();
}

#[test]
fn every_command_and_flag_has_help_and_every_command_an_example() {
    fn check(command: &clap::Command) {
        assert!(command.get_about().is_some(), "{} has no help", command.get_name());
        let examples = command.get_after_help().map(ToString::to_string).unwrap_or_default();
        assert!(examples.starts_with("Example"), "{} has no example", command.get_name());
        // The first is also the one that an error shows.
        let first = examples.lines().find(|line| line.starts_with("  ")).unwrap_or_default();
        let typed = command.get_bin_name().unwrap_or_default();
        assert!(first.contains(typed), "the first example of `{typed}` is another command's: {first}");
        for argument in command.get_arguments() {
            assert!(argument.get_help().is_some(), "{} {} has no help", command.get_name(), argument.get_id());
        }
        documented(command).for_each(check);
    }
    check(&whole());
}

/// Examples rot silently otherwise: each is parsed as a shell would hand it over.
#[test]
fn every_example_parses() {
    fn examples(command: &clap::Command, into: &mut Vec<String>) {
        let text = command.get_after_help().map(ToString::to_string).unwrap_or_default().replace("\\\n", " ");
        into.extend(text.lines().filter_map(|line| line.trim().rfind("ralph ").map(|at| line.trim()[at..].to_owned())));
        documented(command).for_each(|inner| examples(inner, into));
    }
    let mut lines = Vec::new();
    examples(&whole(), &mut lines);
    assert!(lines.len() > 20, "only {} examples", lines.len());
    for line in lines {
        let line = line.split([';', '|', '>']).next().unwrap();
        // Quotes around several words, and nothing else, occur in the examples.
        let args: Vec<&str> = line
            .split('"')
            .enumerate()
            .flat_map(|(at, part)| if at % 2 == 1 { vec![part] } else { part.split_whitespace().collect() })
            .collect();
        Cli::try_parse_from(&args).unwrap_or_else(|error| panic!("`{line}`: {error}"));
    }
}

#[test]
fn all_flags_of_run_are_understood() {
    let args = run(&[
        "do it",
        "--max",
        "10",
        "--max-cost",
        "$2.50",
        "--criteria",
        "a",
        "--verification-command",
        "b",
        "--promise",
        "DONE",
        "--agent-command",
        "./x",
        "--unmetered",
        "--skill",
        "tdd",
        "--workspace",
        "/w",
        "--worktree",
        "--commit",
        "--json",
        "--pause",
        "250",
        "--iteration-timeout",
        "30s",
        "--verify-timeout",
        "1m",
        "--max-duration",
        "2h",
        "--idle-timeout",
        "5m",
        "--prohibit",
        "secret/**",
        "--protect",
        "tests/**",
        "--stall",
        "3",
        "--same-error",
        "4",
        "--deep-debug",
        "--on-blocked",
        "continue",
        "--keep",
        "best",
        "--ratchet",
        "--expect",
        "commit",
        "--junit",
        "out/*.xml",
        "--env",
        "HTTP_PROXY",
        "--no-context",
        "--quiet",
    ])
    .unwrap();
    assert_eq!(args.criteria, ["a", "b"]);
    assert_eq!(args.max_cost.map(|cost| cost.micros()), Some(2_500_000));
    assert_eq!((args.pause, args.idle_timeout), (Some(Millis(250)), Some(Millis::minutes(5))));
    assert_eq!((args.keep, args.on_blocked), (Some(Keep::Best), Some(OnBlocked::Continue)));
    assert!(args.screen.json && args.screen.quiet && args.no_context && args.deep_debug && args.ratchet);
}

#[test]
fn a_pause_is_milliseconds_or_a_span() {
    for (text, millis) in [("0", 0), ("500", 500), ("2s", 2000), ("1m", 60_000)] {
        assert_eq!(run(&["x", "--pause", text]).unwrap().pause, Some(Millis(millis)), "{text}");
    }
    assert!(run(&["x", "--pause", "soon"]).unwrap_err().to_string().contains("500ms, 30s"));
}

#[test]
fn mistakes_are_usage_errors_with_exit_code_2() {
    let table: [&[&str]; 14] = [
        &[],
        &["x", "--max", "many"],
        &["x", "--max-cost", "1e3"],
        &["x", "--objective-file", "f"],
        &["x", "--agent", "a", "--agent-command", "b"],
        &["x", "--keep", "worst"],
        &["x", "--quiet", "--plain"],
        &["x", "--expect", "magic"],
        &["x", "--race", "many"],
        &["x", "--rotate", "--escalate-after", "2"],
        &["x", "--verify", "elsewhere"],
        &["x", "--sandbox", "maybe"],
        &["x", "--retries", "-1"],
        &["x", "--no-lessons"],
    ];
    for args in table {
        assert_eq!(run(args).map(|_| ()).unwrap_err().exit_code(), 2, "{args:?}");
    }
}

#[test]
fn a_number_out_of_range_is_told_what_is_allowed() {
    for (line, wanted) in [
        ("ralph list --limit 0", "expected 1 or more"),
        ("ralph logs --check 0", "expected 1 or more"),
        ("ralph logs 9a8057b3 x", "expected a whole number"),
        ("ralph diff 9a8057b3 x", "expected a whole number"),
        ("ralph show --prompt x", "expected a whole number"),
        ("ralph worker --concurrency 99", "expected 1 to 64"),
        ("ralph worker --lease 1", "expected 5 to 600"),
        ("ralph crew --max-cost 1 --max-rounds 0", "expected 1 to 200"),
    ] {
        let error = Cli::try_parse_from(line.split(' ')).unwrap_err();
        assert!(error.to_string().contains(wanted), "`{line}`: {error}");
    }
}

#[test]
fn a_rewind_goes_to_an_iteration_the_start_or_back() {
    for (text, wanted) in [
        ("start", Some(RewindTarget::Start)),
        ("undo", Some(RewindTarget::Undo)),
        ("redo", Some(RewindTarget::Redo)),
        ("3", Some(RewindTarget::Iteration(3))),
    ] {
        assert_eq!(text.parse().ok(), wanted);
    }
    for text in ["0", "-1", "best", ""] {
        assert!(text.parse::<RewindTarget>().is_err(), "{text}");
    }
}

#[test]
fn trust_does_one_thing_at_a_time() {
    let parse = |args: &[&str]| {
        Cli::try_parse_from(["ralph", "trust"].into_iter().chain(args.iter().copied())).map(|args| match args.command {
            Command::Trust(trust) => (trust.revoke, trust.list, trust.yes),
            other => panic!("parsed as {other:?}"),
        })
    };
    assert_eq!(parse(&[]).unwrap(), (None, false, false));
    assert_eq!(parse(&["d", "--yes"]).unwrap(), (None, false, true));
    assert_eq!(parse(&["--list", "--json"]).unwrap(), (None, true, false));
    assert_eq!(parse(&["--revoke", "ab"]).unwrap(), (Some("ab".to_owned()), false, false));
    assert!(parse(&["--revoke", "ab", "--yes"]).is_err());
    assert!(parse(&["--list", "--revoke", "ab"]).is_err());
    assert!(parse(&["--yes", "--list"]).is_err());
}

#[test]
fn a_line_of_an_example_fits_the_usual_terminal() {
    fn check(command: &clap::Command) {
        let text = command.get_after_help().map(ToString::to_string).unwrap_or_default();
        for line in text.lines() {
            assert!(line.chars().count() <= 80, "wrapped, it cannot be copied: {line}");
        }
        documented(command).for_each(check);
    }
    check(&whole());
}

#[test]
fn a_value_that_is_refused_is_told_apart_from_an_unknown_flag() {
    for (args, said) in
        [(&["x", "--max-cost", "-1"][..], "not an amount in dollars"), (&["x", "--max", "-1"][..], "a whole number")]
    {
        let error = run(args).unwrap_err().to_string();
        assert!(error.contains(said), "{error}");
    }
    for flag in ["--max", "--race", "--stall", "--same-error", "--retries", "--escalate-after"] {
        for typed in ["two", "-1", "1.5", ""] {
            let error = run(&["x", flag, typed]).unwrap_err().to_string();
            assert!(error.contains(&format!("for '{flag} ")) && error.contains("a whole number, such as 3"), "{error}");
        }
        assert!(run(&["x", flag, "99999999999"]).unwrap_err().to_string().contains("too many"), "{flag}");
    }
    let spans =
        ["--max-duration", "--iteration-timeout", "--verify-timeout", "--idle-timeout", "--max-wait", "--pause"];
    for flag in spans {
        let error = run(&["x", flag, "-1"]).unwrap_err().to_string();
        assert!(error.contains(&format!("for '{flag} ")) && error.contains("30s, 10m, 2h"), "{error}");
    }
    let report = |date| Cli::try_parse_from(["ralph", "report", "--since", date]);
    assert!(report("yesterday").unwrap_err().to_string().contains("such as 2026-11-15"));
    assert!(report("2026-02-30").unwrap_err().to_string().contains("such as 2026-11-15"));
    assert!(report("2026-02-28").is_ok());
    assert!(Cli::try_parse_from(["ralph", "list", "--limit", "0"]).is_err());
}

/// `-h` shows what most people need; `--help` shows everything, the usual flags first.
#[test]
fn the_help_of_run_begins_with_the_usual_flags() {
    let mut command = whole();
    let run = command.find_subcommand_mut("run").unwrap();
    let short = run.render_help().to_string();
    let flags = |text: &str| text.lines().filter(|line| line.trim_start().starts_with("--")).count();
    assert!((10..=20).contains(&flags(&short)), "{short}");
    assert!(short.contains("--criteria") && !short.contains("--idle-timeout"), "{short}");
    let long = run.render_long_help().to_string();
    let place = |text: &str| long.find(text).unwrap_or_else(|| panic!("{text} is not in\n{long}"));
    assert!(place("--commit") < place("Limits:") && place("Limits:") < place("--idle-timeout"), "{long}");
    for heading in ["Limits:", "Checks:", "Agent:", "Workspace:", "Sandbox:", "Output:"] {
        place(heading);
    }
}

#[test]
fn the_version_that_is_printed_without_the_commands_is_theirs() {
    assert_eq!(Cli::command().render_version(), crate::VERSION);
}
