use ralph_model::Money;

use super::*;
use crate::Spelling;
use crate::fixtures::{flags, layer};

fn chosen(words: &[&str], user: &str, installed: &[&str]) -> Result<Agents, String> {
    let installed: Vec<String> = installed.iter().map(|name| (*name).to_owned()).collect();
    let (caller, user) = (flags(words), layer(user));
    let mut from = Chooser::new(Layers { caller: &caller, repository: None, user: &user });
    from.agents(&installed).map_err(|error| Spelling::Flag.rule(&error))
}

fn titles(agents: &Agents) -> Vec<String> {
    std::iter::once(&agents.first).chain(&agents.more).map(AgentSpec::title).collect()
}

#[test]
fn without_a_name_the_first_that_is_there_is_taken() {
    let agents = chosen(&[], "", &["codex", "claude"]).unwrap();
    assert_eq!(agents.first, AgentSpec::program("codex", "codex"));
    let none = chosen(&[], "", &[]).unwrap_err();
    assert!(none.contains("none of claude, codex, opencode, gemini is installed"), "{none}");
    assert!(none.contains("ralph agents") && none.contains("--agent-command"), "{none}");
}

#[test]
fn a_name_can_carry_a_model_and_come_several_times() {
    let agents = chosen(&["--agent", "claude:haiku", "--agent", "claude:opus", "--agent", "codex"], "", &[]).unwrap();
    assert_eq!(titles(&agents), ["claude:haiku", "claude:opus", "codex"]);
    assert_eq!(agents.turns, Turns::Escalate { after: 2 });
    let turned = chosen(&["--agent", "claude", "--agent", "codex", "--rotate"], "escalate_after = 5", &[]).unwrap();
    assert_eq!(turned.turns, Turns::Rotate);
    let after = chosen(&["--escalate-after", "3"], "rotate = true\nagent = ['claude', 'codex']", &[]).unwrap();
    assert_eq!(after.turns, Turns::Escalate { after: 3 });
    let model = chosen(&["--agent", "claude:haiku", "--agent", "codex", "--model", "gpt-5.5"], "", &[]).unwrap();
    assert_eq!(titles(&model), ["claude:haiku", "codex:gpt-5.5"], "a model of its own weighs more");
    let standing = chosen(&[], "agent = ['claude', 'own']\nmodel = 'opus'\n[agents.own]\ncommand = 'x'", &[]).unwrap();
    assert_eq!(titles(&standing), ["claude:opus", "own"], "a command takes none");
    let other = chosen(&["--agent", "codex"], "agent = 'claude'\nmodel = 'opus'", &[]).unwrap();
    assert_eq!(titles(&other), ["codex"], "a standing model is not for whoever is named now");
    let usual = chosen(&[], "model = 'opus'", &["claude"]).unwrap();
    assert_eq!(titles(&usual), ["claude:opus"]);
}

#[test]
fn a_file_can_describe_agents_of_every_kind() {
    let file = r#"
        agent = ["cheap", "own", "server", "gemini"]
        agent_args = ["--verbose"]
        [agents.cheap]
        kind = "claude"
        model = "haiku"
        args = ["--max-turns", "30"]
        settings = "user"
        [agents.own]
        command = "./own"
        unmetered = true
        [agents.server]
        kind = "acp"
        command = "opencode acp"
        [agents.gemini]
        program = "/opt/gemini"
    "#;
    let error = chosen(&[], file, &[]);
    // The list is for all: a command of one's own cannot take it, and says so when the loop is checked as a whole.
    let agents = error.unwrap();
    assert_eq!(titles(&agents), ["cheap:haiku", "own", "server", "gemini"]);
    assert_eq!(agents.first.args, ["--max-turns", "30", "--verbose"]);
    assert!(agents.first.user_settings && agents.more[0].unmetered);
    assert_eq!((agents.more[1].kind.as_str(), agents.more[1].shell_line()), ("acp", Some("opencode acp")));
    assert_eq!((agents.more[2].kind.as_str(), agents.more[2].program_name()), ("gemini", Some("/opt/gemini")));
}

#[test]
fn what_makes_no_sense_is_refused_with_the_way_out() {
    let cases = [
        (&["--agent", "cloud"][..], "", "`cloud` is not a known agent"),
        (&["--agent", "cloud:opus"], "", "`cloud:opus` is not a known agent"),
        (&["--agent", "x"], "[agents.x]\nmodel = 'm'", "says neither `kind` nor `command`"),
        (&["--agent", "x"], "[agents.x]\nkind = 'acp'", "has no `command`"),
        (&["--agent", "x"], "[agents.x]\nkind = 'claude'\ncommand = 'y'", "which has no `command`"),
        (&["--agent", "x"], "[agents.x]\nkind = 'gpt'", "the unknown kind"),
        (&["--agent", "x"], "[agents.x]\ncommand = 'y'\nprogram = 'z'", "both a `program` and a `command`"),
    ];
    for (words, file, wanted) in cases {
        let error = chosen(words, file, &[]).unwrap_err();
        assert!(error.contains(wanted), "{words:?} {file}: {error}");
    }
}

#[test]
fn an_option_without_effect_is_refused_and_a_standing_one_waits_for_its_use() {
    let cases = [
        (&["--agent", "claude:opus", "--model", "haiku"][..], "", "--agent claude:haiku"),
        (&["--agent", "own", "--model", "haiku"], "[agents.own]\nkind = 'claude'\nmodel = 'opus'", "--agent own:haiku"),
        (&["--model", "haiku"], "agent = 'claude:opus'", "claude:opus has a model already"),
        (&["--agent", "claude", "--rotate"], "", "--rotate: the only agent is claude"),
        (&["--agent", "claude", "--escalate-after", "3"], "", "or no --escalate-after"),
        (&["--agent-command", "./x", "--rotate"], "", "the only agent is"),
        (&["--rotate"], "", "the only agent is codex"),
    ];
    for (words, file, wanted) in cases {
        let error = chosen(words, file, &["codex"]).unwrap_err();
        assert!(error.contains(wanted), "{words:?} {file}: {error}");
    }
    let standing = "rotate = true\nescalate_after = 3\nmodel = 'opus'";
    assert_eq!(titles(&chosen(&["--agent", "claude:haiku"], standing, &[]).unwrap()), ["claude:haiku"]);
}

#[test]
fn a_misspelt_agent_is_guessed() {
    let cases = [
        ("cluade", "`cluade` is not a known agent: did you mean `claude`?"),
        ("cluade:opus", "did you mean `claude:opus`?"),
        ("Codex", "did you mean `codex`?"),
        ("helpr", "did you mean `helper`?"),
        ("claude:", "`claude:` has no model after the colon"),
        ("helper: ", "`helper: ` has no model after the colon"),
    ];
    for (name, wanted) in cases {
        let error = chosen(&["--agent", name], "[agents.helper]\ncommand = 'x'", &[]).unwrap_err();
        assert!(error.contains(wanted), "{error}");
    }
    let far = chosen(&["--agent", "aider"], "", &[]).unwrap_err();
    assert!(far.contains("`aider` is not a known agent") && !far.contains("did you mean"), "{far}");
}

#[test]
fn prices_are_the_users_to_add() {
    let list = prices(&layer("[prices.\"my/model:1\"]\ninput = 2\noutput = \"$8\"\ncache_read = 0.5")).unwrap();
    let rates = list.of("my/model:1").unwrap().rates;
    assert_eq!((rates.input, rates.output), (Money::dollars(2), Money::dollars(8)));
    assert_eq!((rates.cache_read, rates.cache_write), (Money::from_micros(500_000), Money::from_micros(2_500_000)));
    let half = prices(&layer("[prices.m]\ninput = 2")).unwrap_err().to_string();
    assert!(half.contains("needs both `input` and `output`"), "{half}");
}

#[test]
fn a_model_without_a_price_is_refused_where_nobody_else_says_what_it_costs() {
    let list = PriceList::default();
    let spec = |kind: &str, model: &str| AgentSpec { model: Some(model.to_owned()), ..AgentSpec::program(kind, kind) };
    let refused = |spec: &AgentSpec| refuse_unpriced(&[spec], &list).is_err();
    assert!(refused(&spec("codex", "mystery-1")) && refused(&spec("gemini", "mystery-1")));
    assert!(!refused(&spec("codex", "gpt-5.5")));
    assert!(!refused(&spec("claude", "mystery-1")), "it says itself what it costs");
    assert!(!refused(&AgentSpec { unmetered: true, ..spec("codex", "mystery-1") }));
    let own_choice = |kind: &str| AgentSpec { model: None, ..spec(kind, "") };
    assert!(!refused(&own_choice("gemini")), "the model shows when it runs");
    let both = [&spec("claude", "mystery-1"), &spec("codex", "mystery-1")];
    let said = Spelling::Flag.rule(&refuse_unpriced(&both, &PriceList::default()).unwrap_err());
    assert!(said.contains("--agent NAME:MODEL"), "{said}");
    // What Codex takes by itself has no price, and the answer names models that have one.
    let said = Spelling::Flag.rule(&refuse_unpriced(&[&own_choice("codex")], &list).unwrap_err());
    assert!(said.contains("gpt-6.1-sol") && said.contains("gpt-6-sol") && said.contains("--prices"), "{said}");
    assert!(!refused(&AgentSpec { user_settings: true, ..own_choice("codex") }), "its settings may name another");
}

#[test]
fn agents_that_stand_by_are_found_by_name_and_share_what_is_said_of_cost() {
    let user = "[agents.own]\ncommand = 'x'";
    let agents = chosen(&["--agent", "claude", "--failover", "codex:gpt-5.5", "--failover", "own"], user, &[]).unwrap();
    let titles: Vec<String> = agents.failover.iter().map(AgentSpec::title).collect();
    assert_eq!(titles, ["codex:gpt-5.5", "own"]);
    let free = chosen(&["--agent", "claude", "--failover", "own", "--unmetered"], user, &[]).unwrap();
    assert!(free.all().all(|agent| agent.unmetered));
    let wrong = chosen(&["--agent", "claude", "--failover", "cluade"], user, &[]).unwrap_err();
    assert!(wrong.contains("--failover") && wrong.contains("did you mean `claude`"), "{wrong}");
}

#[test]
fn an_agent_that_no_spent_budget_stops_needs_a_permission() {
    let server = |command: &str| AgentSpec::new("server", "acp", Launch::Command(command.to_owned()));
    let of = |agent: AgentSpec, cost_after_run: bool| {
        let config =
            LoopConfig::new("x".into(), 3, Money::dollars(1), AgentSpec::program("claude", "claude"), "/w".into());
        refuse_late_cost(&LoopConfig { more_agents: vec![agent], cost_after_run, ..config }, |agent| {
            agent.name == "counted"
        })
    };
    let said = |command: &str| Spelling::Flag.rule(&of(server(command), false).unwrap_err());
    let known = said("opencode acp");
    assert!(known.contains("--max-cost") && known.contains("--agent opencode instead"), "{known}");
    let unknown = said("./mine --acp");
    assert!(unknown.contains("--cost-after-run") && !unknown.contains("instead"), "{unknown}");
    of(server("opencode acp"), true).unwrap();
    of(AgentSpec { unmetered: true, ..server("opencode acp") }, false).unwrap();
    let counted = AgentSpec::new("counted", "acp", Launch::Command("opencode acp".to_owned()));
    let own = AgentSpec::command("own", "./own");
    for agent in [
        counted,
        AgentSpec::command("counted", "./own"),
        AgentSpec { reports_cost: true, ..own.clone() },
        AgentSpec { unmetered: true, ..own.clone() },
        AgentSpec::program("opencode", "opencode"),
    ] {
        of(agent, false).unwrap();
    }
    let said = Spelling::Flag.rule(&of(own.clone(), false).unwrap_err());
    for word in ["`own`", "--max-cost", "--unmetered", "--env ANTHROPIC_API_KEY", "reports_cost", "--cost-after-run"] {
        assert!(said.contains(word), "{said}");
    }
    let said = Spelling::Flag.rule(&of(AgentSpec::program("codex", "codex"), false).unwrap_err());
    assert!(said.contains("an API key") && said.contains("--unmetered") && !said.contains("instead"), "{said}");
    of(own, true).unwrap();
}

#[test]
fn an_order_names_agents_that_exist() {
    let said = |file: &str| unknown_in_order(&layer(file));
    assert_eq!(said("agent_order = ['codex', 'helper']\n[agents.helper]\ncommand = 'x'"), None);
    assert_eq!(said("agent_order = []"), None);
    let wrong = said("agent_order = ['claude', 'cluade']\n[agents.helper]\ncommand = 'x'").unwrap();
    assert!(wrong.contains("`cluade`") && wrong.contains("did you mean `claude`?"), "{wrong}");
    assert!(wrong.contains("claude, codex, gemini, helper, opencode"), "{wrong}");
}

#[test]
fn only_a_command_declares_that_it_reports_its_cost() {
    let of = |file: &str| {
        let (name, agent) = layer(file).agents.into_iter().next().unwrap();
        configured(&name, agent).map(|spec| spec.reports_cost)
    };
    assert!(of("[agents.own]\ncommand = './own'\nreports_cost = true").unwrap());
    let wrong = of("[agents.own]\nkind = 'codex'\nreports_cost = true").unwrap_err().to_string();
    assert!(wrong.contains("codex") && wrong.contains("reports_cost"), "{wrong}");
}
