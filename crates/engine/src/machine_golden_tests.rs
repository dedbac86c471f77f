//! Makes golden journals for `tests/journals`. Never writes over one: what a journal meant once, it means for ever.

use std::io::Write as _;

use ralph_model::{AbortReason, AgentRun, LoopConfig, Money, Tripwire, TroubleKind};

use super::*;
use crate::BEHAVIOUR;
use crate::fixtures::*;
use crate::run::JournalEvent as _;

fn completed() -> Scene {
    let mut scene = Scene::start(LoopConfig { commit: true, ratchet: true, ..config() });
    scene.baseline(red(&["a", "b"])).pass(saying("b", CLAIM), red(&["b"])).pass(run("c"), red(&["a", "b", "c"]));
    scene.restore("b").pass(run("d"), green()).commit(Some("abc123"), None);
    scene
}

fn stall() -> Scene {
    let mut scene = Scene::red(LoopConfig { stall_threshold: 2, deep_debug: Some(debugging()), ..config() });
    scene.pass(run("b"), red(&["a"]));
    for _ in 0..4 {
        scene.pass(run("b"), red(&["a"]));
    }
    scene
}

fn prohibited() -> Scene {
    let mut scene = Scene::red(config());
    scene.pass(run("b"), red(&["a"]));
    scene.begin().agent(AgentRun { violations: vec![touched(".env")], ..run("c") }).guard(vec![touched(".env")]);
    scene
}

fn interrupted_and_resumed() -> Scene {
    let mut scene = Scene::green(config());
    scene.begin().resume_not_ran().begin().resume().begin().agent(saying("b", CLAIM)).resume().checks(green());
    scene
}

fn cost_limit() -> Scene {
    let mut scene = Scene::red(config());
    scene
        .pass(costing("b", known(Money::dollars(4))), red(&["a"]))
        .pass(costing("c", ralph_model::Cost::Unknown), red(&["a"]));
    scene
}

fn tampering() -> Scene {
    let mut scene = Scene::red(wired());
    for (after, path) in [("b", "tests/a.rs"), ("c", "tests/b.rs"), ("d", "tests/c.rs")] {
        scene.pass(run(after), tampered(red(&["a"]), path));
    }
    scene
}

fn tripwire() -> Scene {
    let mut scene = Scene::red(LoopConfig { commit: true, ..wired() });
    scene.pass(run("b"), red(&["a"])).pass(run("b"), green());
    scene.pass(run("c"), green()).wire(Tripwire::OthersFail { failing: vec!["a".into()] });
    scene.pass(run("d"), tampered(green(), "tests/a.rs")).wire(reported()).pins_restored("e", &[]);
    scene.commit(Some("abc123"), None);
    scene
}

fn limited() -> Scene {
    let mut scene = Scene::red(taking_turns());
    scene.pass(run("b"), red(&["a"])).begin().agent(refused("b", TroubleKind::RateLimit, None));
    scene.begin().agent(refused("c", TroubleKind::Overload, None)).checks(red(&["a"]));
    scene.pass(run("d"), red(&["a"])).begin().agent(refused("d", TroubleKind::Authentication, None));
    scene
}

fn patience() -> Scene {
    let free = ralph_model::AgentSpec { unmetered: true, ..ralph_model::AgentSpec::command("free", "./free") };
    let mut scene = Scene::red(LoopConfig { more_agents: vec![free], turns: ralph_model::Turns::Rotate, ..wired() });
    let soon = |scene: &Scene| Some(Timestamp(scene.now.0 + 2_500));
    for _ in 0..2 {
        scene.begin();
        let until = soon(&scene);
        scene.agent(refused("start", TroubleKind::RateLimit, until));
    }
    scene.now.0 -= 7_200_000;
    scene.pass(costing("b", known(Money::dollars(5))), red(&["a"])).begin();
    let until = soon(&scene);
    scene.agent(refused("c", TroubleKind::RateLimit, until)).checks(green()).stop(crate::StopWhen::Now);
    scene.wire(Tripwire::NotPossible { why: "stopped".into() });
    scene
}

fn rewound() -> Scene {
    let mut scene = Scene::red(config());
    scene.pass(run("b"), red(&["b"])).pass(run("c"), red(&["c"]));
    scene.begin().stop(crate::StopWhen::Now).agent(run("d")).resume_finding("b", None);
    scene.pass(run("e"), green());
    scene
}

#[test]
fn the_golden_scenes_end_as_their_names_say() {
    assert_eq!(patience().reason(), AbortReason::Cancelled);
    assert_eq!(rewound().outcome(), &Outcome::Completed { verified: true });
    assert!(matches!(limited().outcome(), Outcome::Error { .. }));
    assert_eq!(completed().outcome(), &Outcome::Completed { verified: true });
    assert_eq!(stall().reason(), AbortReason::Stall);
    assert_eq!(prohibited().reason(), AbortReason::ProhibitedPath);
    assert_eq!(interrupted_and_resumed().outcome(), &Outcome::Completed { verified: true });
    assert_eq!(cost_limit().reason(), AbortReason::CostLimit);
    assert_eq!(tampering().reason(), AbortReason::Tampered);
    assert_eq!(tripwire().outcome(), &Outcome::Completed { verified: true });
}

#[test]
#[expect(clippy::disallowed_methods, clippy::disallowed_types, reason = "makes the files that another test reads")]
fn every_golden_scene_has_its_journal() {
    let adds = std::env::var_os("RALPH_ADD_JOURNALS").is_some_and(|value| value == "1");
    for (name, scene) in [
        ("completed", completed()),
        ("stall", stall()),
        ("prohibited", prohibited()),
        ("interrupted-resumed", interrupted_and_resumed()),
        ("cost-limit", cost_limit()),
        ("tampered", tampering()),
        ("tripwire", tripwire()),
        ("limited", limited()),
        ("patience", patience()),
        ("rewound", rewound()),
    ] {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/journals");
        let version = scene.journal.iter().map(|(_, event)| event.version()).max().unwrap();
        let path = format!("{folder}/v{version}-b{BEHAVIOUR}-{name}.jsonl");
        if std::path::Path::new(&path).is_file() {
            continue;
        }
        assert!(adds, "there is no journal of {name}: see tests/journals/README.md");
        let mut file = std::fs::OpenOptions::new().write(true).create_new(true).open(&path).unwrap();
        file.write_all(journal(&scene).as_bytes()).unwrap();
    }
}

fn journal(scene: &Scene) -> String {
    let facts = scene.run.facts();
    let expected = serde_json::json!({ "expect": {
        "outcome": scene.outcome(),
        "iterations": facts.iterations.len(),
        "interrupted": facts.iterations.iter().filter(|record| record.interrupted).count(),
        "spent": facts.spent,
        "falseClaims": facts.false_claims(),
        "activeMillis": facts.active,
        "alerts": facts.alerts,
    }});
    let mut text = format!("{expected}\n");
    for (place, (at, event)) in scene.journal.iter().enumerate() {
        let phase = Loop::replay(scene.journal[..=place].to_vec()).unwrap().phase().name();
        let line = serde_json::json!({ "at": at, "version": event.version(), "phase": phase, "event": event });
        text.push_str(&format!("{line}\n"));
    }
    text
}
