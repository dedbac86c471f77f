use std::fs;

use super::*;

struct Scene {
    folder: tempfile::TempDir,
}

impl Scene {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    fn with(self, path: &str, text: &str) -> Self {
        let path = self.folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
        self
    }

    fn find(&self, name: &str) -> Result<Lookup, String> {
        find(name, &self.folder.path().join("config/skills"), &self.folder.path().join("work"))
            .map_err(|error| error.to_string())
    }
}

fn ready(lookup: Lookup) -> Found {
    match lookup {
        Lookup::Ready(found) => found,
        Lookup::NeedsApproval(candidate) => panic!("needs approval: {candidate:?}"),
    }
}

#[test]
fn the_built_in_skills_keep_their_promises_and_say_how_to_end_and_how_to_correct_themselves() {
    let promises = [
        ("tdd", "<promise>COMPLETE</promise>"),
        ("systematic-debugging", "<promise>BUG_FIXED</promise>"),
        ("code-cleanup", "<promise>LINT_CLEAN</promise>"),
        ("executor", "{\"status\":\"PASS\"}"),
    ];
    for (name, promise) in promises {
        let found = ready(Scene::new().find(name).unwrap());
        assert_eq!((found.skill.name.as_str(), found.skill.promise.as_deref()), (name, Some(promise)));
        assert!(!found.description.is_empty() && !found.task_types.is_empty(), "{name}");
        assert!(found.skill.text.contains("## Completion criteria"), "{name}");
        assert!(found.skill.text.contains("## When "), "{name} has no self-correction");
        assert!(found.skill.text.contains("## Verification"), "{name}");
        assert!(found.supports_loops, "{name}");
        assert_eq!(check(name, built_in_text(name).unwrap()), [], "{name}");
        assert!(!found.skill.text.contains("supportsRalph"), "{name} shows its front matter");
    }
}

#[test]
fn the_users_skill_comes_before_a_built_in_one_and_the_repositorys_after_it() {
    let scene = Scene::new()
        .with("config/skills/tdd/SKILL.md", "---\npromise: MINE\nverify: make\ntaskTypes: [bug]\n---\nMy way.\n")
        .with("work/.ralph/skills/tdd/SKILL.md", "evil")
        .with("work/.ralph/skills/code-cleanup/SKILL.md", "evil");
    let found = ready(scene.find("tdd").unwrap());
    assert_eq!((found.skill.text.as_str(), found.skill.promise.as_deref()), ("My way.", Some("MINE")));
    assert_eq!((found.verify.as_deref(), found.task_types), (Some("make"), vec!["bug".to_owned()]));
    assert!(ready(scene.find("code-cleanup").unwrap()).skill.text.starts_with("# Code cleanup"));
}

#[test]
fn a_repositorys_skill_needs_approval_of_its_exact_bytes() {
    for folder in [".ralph", ".claude"] {
        let text = "---\nverify: ./evil\n---\nDo this.";
        let scene = Scene::new().with(&format!("work/{folder}/skills/own/SKILL.md"), text);
        let Lookup::NeedsApproval(candidate) = scene.find("own").unwrap() else { panic!("used without approval") };
        assert_eq!((candidate.sha256.as_str(), candidate.verify()), (hash(text.as_bytes()).as_str(), Some("./evil")));
        assert_eq!(candidate.approved().skill.text, "Do this.");
    }
}

#[test]
fn an_unknown_skill_lists_what_there_is() {
    let scene = Scene::new()
        .with("config/skills/mine/SKILL.md", "x")
        .with("work/.claude/skills/theirs/SKILL.md", "x")
        .with("work/.claude/skills/empty/README.md", "x");
    let message = scene.find("tddd").unwrap_err();
    assert!(message.contains("code-cleanup, executor, mine, systematic-debugging, tdd, theirs; your own"), "{message}");
    assert!(message.starts_with("skill: there is no skill `tddd`"), "each caller spells the key itself: {message}");
}

#[test]
fn a_name_stays_inside_the_folder() {
    for name in ["../tdd", "a/b", "", ".", "..", ".hidden", "a b", "a\u{1b}[2J", "-x"] {
        let message = Scene::new().find(name).unwrap_err();
        assert!(message.contains("cannot be the name of a skill"), "{name}: {message}");
    }
}

#[test]
fn what_cannot_be_used_says_why() {
    let scene = Scene::new()
        .with("config/skills/open/SKILL.md", "---\nname: x\n")
        .with("config/skills/bare/SKILL.md", "---\nname: x\n---\n \n")
        .with("config/skills/maybe/SKILL.md", "---\nsupportsRalph: perhaps\n---\ntext");
    for (name, wanted) in [("open", "no end"), ("bare", "no instructions"), ("maybe", "not valid YAML")] {
        let message = scene.find(name).unwrap_err();
        assert!(message.contains(wanted), "{name}: {message}");
    }
}

#[test]
fn a_link_in_a_repository_is_refused_and_one_of_the_users_is_followed() {
    let scene =
        Scene::new().with("target", "text").with("work/.ralph/skills/x/README", "").with("config/skills/y/README", "");
    let root = scene.folder.path();
    for link in ["work/.ralph/skills/x/SKILL.md", "config/skills/y/SKILL.md"] {
        std::os::unix::fs::symlink(root.join("target"), root.join(link)).unwrap();
    }
    assert!(scene.find("x").unwrap_err().contains("symbolic link"));
    assert_eq!(ready(scene.find("y").unwrap()).skill.text, "text");
}

#[test]
fn all_candidates_of_a_workspace_are_listed() {
    let scene = Scene::new()
        .with("work/.ralph/skills/b/SKILL.md", "x")
        .with("work/.claude/skills/a/SKILL.md", "x")
        .with("work/.claude/skills/broken/SKILL.md", "---\n");
    let all = candidates(&scene.folder.path().join("work"));
    let names: Vec<(&str, bool)> = all.iter().map(|(name, found)| (name.as_str(), found.is_ok())).collect();
    assert_eq!(names, [("b", true), ("a", true), ("broken", false)]);
}

#[test]
fn a_skill_that_is_not_for_loops_is_found_and_says_so() {
    let scene = Scene::new().with("config/skills/single/SKILL.md", "---\nsupportsRalph: false\n---\ntext");
    let found = ready(scene.find("single").unwrap());
    assert!(found.require_loops().unwrap_err().to_string().contains("not meant for a loop"));
}

#[test]
fn a_listing_has_each_name_once_with_the_skill_that_it_stands_for() {
    let scene = Scene::new()
        .with("config/skills/tdd/SKILL.md", "Mine.")
        .with("work/.ralph/skills/tdd/SKILL.md", "Theirs.")
        .with("work/.claude/skills/theirs/SKILL.md", "Theirs.")
        .with("work/.ralph/skills/broken/SKILL.md", "---\n");
    let root = scene.folder.path();
    let listed = all(&root.join("config/skills"), &root.join("work"));
    let rows: Vec<_> =
        listed.iter().map(|one| (one.name.as_str(), one.provenance.name(), one.lookup.is_ok())).collect();
    assert_eq!(
        rows,
        [
            ("broken", "repository", false),
            ("code-cleanup", "built-in", true),
            ("executor", "built-in", true),
            ("systematic-debugging", "built-in", true),
            ("tdd", "user", true),
            ("theirs", "repository", true),
        ]
    );
}
