use ralph_model::{Millis, Money};

use super::*;

fn parsed(text: &str) -> Result<Document, String> {
    parse(Path::new("ralph.toml"), text).map_err(|error| error.to_string())
}

fn message(text: &str) -> String {
    parsed(text).unwrap_err()
}

/// The table and the types cannot drift apart: every example sets exactly its own key.
#[test]
fn the_example_of_every_key_is_understood_and_changes_something() {
    for key in Key::ALL {
        let text = match key {
            // An agent without a command is none.
            Key::AgentsUnmetered => format!("{}\n{}", Key::AgentsCommand.example(), key.example()),
            _ => key.example().to_owned(),
        };
        let document = parsed(&text).unwrap_or_else(|error| panic!("{key:?}: {error}"));
        assert!(document.present.iter().any(|present| present.key == *key), "{key:?}");
        assert_ne!(document.layer, Layer::default(), "{key:?}");
    }
}

/// A field that the table does not know could never be set; the name of each is tried as a key.
#[test]
fn every_field_of_the_file_is_in_the_table() {
    let fields = format!("{:#?}", Layer::default());
    let names: Vec<&str> =
        fields.lines().filter(|line| line.starts_with("    ") && !line.starts_with("     ")).map(str::trim).collect();
    let names: Vec<&str> = names.iter().filter_map(|line| line.split_once(':').map(|(name, _)| name)).collect();
    assert!(names.len() > 25, "{names:?}");
    // Where the values are is no value, and the file of an objective belongs to a request.
    for name in names.into_iter().filter(|name| !["places", "checklist_file"].contains(name)) {
        assert!(Key::ALL.iter().any(|key| key.segments().next() == Some(name)), "{name} is not in the table");
    }
}

#[test]
fn a_whole_file_is_understood() {
    let document = parsed(
        r#"
        max_iterations = 12
        max_cost_usd = "$2.50"
        verification_command = ["cargo test", "cargo clippy"]
        pause_ms = "2s"
        iteration_timeout = "1h30m"
        [agents.helper]
        command = "./helper"
        unmetered = true
        [caps]
        daily_cost_usd = 12.000001
        "#,
    )
    .unwrap();
    let layer = &document.layer;
    assert_eq!(layer.max_cost_usd.map(|dollars| dollars.0), Some(Money::from_micros(2_500_000)));
    assert_eq!(layer.caps.daily_cost_usd.map(|dollars| dollars.0), Some(Money::from_micros(12_000_001)));
    assert_eq!(layer.pause_ms.map(|pause| pause.0), Some(Millis(2000)));
    assert_eq!(layer.iteration_timeout.map(|span| span.0), Some(Millis::minutes(90)));
    assert_eq!(layer.agents["helper"].command.as_deref(), Some("./helper"));
    let lines: Vec<(&str, usize)> = document.present.iter().map(|p| (p.name.as_str(), p.at.line)).collect();
    assert_eq!(lines[0], ("max_iterations", 2));
    assert!(lines.contains(&("agents.helper.unmetered", 9)) && lines.contains(&("caps.daily_cost_usd", 11)));
}

#[test]
fn an_unknown_key_names_file_line_key_and_the_nearest_valid_one() {
    insta::assert_snapshot!(message("\nmax_iteration = 3"), @r#"
    ralph.toml:2:1: `max_iteration` is not a key
      |
    2 | max_iteration = 3
      | ^^^^^^^^^^^^^
      did you mean `max_iterations`?
    "#);
    for (typed, nearest) in [
        ("maxIterations = 1", "max_iterations"),
        ("max-cost-usd = 1", "max_cost_usd"),
        ("verfication_command = 1", "verification_command"),
        ("caps.iteration = 1", "caps.iterations"),
        ("[notify]\ncomand = 1", "notify.command"),
        ("agents.x.comand = 1", "agents.x.command"),
        ("cap.iterations = 1", "caps"),
    ] {
        let message = message(typed);
        assert!(message.contains(&format!("did you mean `{nearest}`?")), "{typed}: {message}");
    }
}

#[test]
fn what_no_file_can_say_is_explained() {
    assert!(message("objective = 'x'").contains("pass the objective"));
    assert!(message("workspace = 'x'").contains("--workspace DIR"));
}

#[test]
fn a_wrong_value_names_its_line_and_shows_one_that_works() {
    insta::assert_snapshot!(message("\n\nmax_iterations = 'ten'"), @r#"
    ralph.toml:3:18: `max_iterations`: expected a whole number, found string "ten"
      |
    3 | max_iterations = 'ten'
      |                  ^^^^^
      example: max_iterations = 10
    "#);
    insta::assert_snapshot!(message("max_cost_usd = -1"), @r#"
    ralph.toml:1:16: `max_cost_usd`: `-1` is not an amount in dollars: write it like 5, 2.50 or $0.75, with at most six decimals
      |
    1 | max_cost_usd = -1
      |                ^^
      example: max_cost_usd = 2.50
    "#);
    insta::assert_snapshot!(message("caps = 3"), @r#"
    ralph.toml:1:1: `caps`: must be a table
      |
    1 | caps = 3
      | ^^^^
      example: caps.iterations = 80
    "#);
    for (text, wanted) in [
        ("max_iterations = -1", "max_iterations"),
        ("max_iterations = 5000000000", "max_iterations"),
        ("max_cost_usd = 0.0000001", "at most six decimals"),
        ("max_cost_usd = inf", "not an amount"),
        ("max_cost_usd = true", "an amount in dollars"),
        ("iteration_timeout = 30", "iteration_timeout"),
        ("iteration_timeout = 'soon'", "not a duration"),
        ("pause_ms = -5", "negative"),
        ("isolation = 'box'", "worktree"),
        ("expects = ['magic']", "not an expectation"),
        ("verification_command = 3", "a list of commands"),
        ("verification_command = ['a', 3]", "verification_command"),
        ("agents.x = 'y'", "must be a table"),
        ("agents.x.settings = 'mine'", "settings"),
        ("agents.'a b'.command = 'x'", "cannot be the name of an agent"),
        ("[[agents]]\ncommand = 'x'", "must be a table"),
    ] {
        let message = message(text);
        assert!(message.contains(wanted) && message.starts_with("ralph.toml:"), "{text}: {message}");
    }
}

#[test]
fn broken_toml_names_the_line() {
    assert!(message("a = 1\nmax_iterations = [").starts_with("ralph.toml:2:19: is not valid TOML"));
    assert!(message("max_iterations = 1\nmax_iterations = 2").contains("ralph.toml:2:1: is not valid TOML"));
}

#[test]
fn a_byte_order_mark_and_windows_line_ends_are_fine() {
    let document = parsed("\u{feff}max_iterations = 3\r\nskill = 'tdd'\r\n").unwrap();
    assert_eq!((document.layer.max_iterations, document.location(Key::Skill).map_or(0, |at| at.line)), (Some(3), 2));
}
