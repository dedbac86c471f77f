use std::fs;

use super::*;

struct Tree(tempfile::TempDir);

impl Tree {
    /// A repository with the folder `pkg/a` in it, in a folder that is none.
    fn new() -> Self {
        let tree = Self(tempfile::tempdir().unwrap());
        tree.repository("repo/.git");
        fs::create_dir_all(tree.path("repo/pkg/a")).unwrap();
        tree
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn repository(&self, name: &str) {
        for part in ["objects", "refs"] {
            fs::create_dir_all(self.path(name).join(part)).unwrap();
        }
        self.write(&format!("{name}/HEAD"), "ref: refs/heads/main\n");
    }

    fn write(&self, name: &str, text: &str) {
        fs::create_dir_all(self.path(name).parent().unwrap()).unwrap();
        fs::write(self.path(name), text).unwrap();
    }

    fn found(&self) -> Option<PathBuf> {
        foreign(&self.path("repo/pkg/a"), None)
    }
}

#[test]
fn plugins_are_found_in_every_folder_up_to_the_root_of_the_repository() {
    for folder in ["repo", "repo/pkg", "repo/pkg/a"] {
        for kind in FOLDERS {
            let tree = Tree::new();
            assert_eq!(tree.found(), None);
            let place = format!("{folder}/.opencode/{kind}");
            fs::create_dir_all(tree.path(&place)).unwrap();
            assert_eq!(tree.found(), None, "an empty folder runs nothing");
            tree.write(&format!("{place}/evil.ts"), "");
            assert_eq!(tree.found(), Some(tree.path(&place)));
        }
    }
}

#[test]
fn what_lies_above_the_repository_is_not_its_own() {
    let tree = Tree::new();
    tree.write(".opencode/plugin/mine.ts", "");
    assert_eq!(tree.found(), None);
}

#[test]
fn a_folder_that_only_looks_like_a_repository_ends_no_search() {
    let tree = Tree::new();
    tree.write("repo/.opencode/plugin/evil.ts", "");
    fs::create_dir(tree.path("repo/pkg/a/.git")).unwrap();
    assert_eq!(tree.found(), Some(tree.path("repo/.opencode/plugin")));
}

#[test]
fn a_worktree_is_a_repository_and_a_broken_link_to_one_is_none() {
    let tree = Tree::new();
    tree.write(".opencode/plugin/above.ts", "");
    fs::remove_dir_all(tree.path("repo/.git")).unwrap();
    tree.write("main/.git/worktrees/w/HEAD", "");
    tree.write("main/.git/worktrees/w/commondir", "../..");
    tree.write("repo/.git", &format!("gitdir: {}\n", tree.path("main/.git/worktrees/w").display()));
    assert_eq!(tree.found(), None);
    tree.write("repo/.git", "gitdir: nowhere\n");
    assert_eq!(tree.found(), Some(tree.path(".opencode/plugin")), "OpenCode looks further then");
}

#[test]
fn without_a_repository_every_folder_above_counts_but_the_users_home() {
    let tree = Tree::new();
    fs::remove_dir_all(tree.path("repo/.git")).unwrap();
    tree.write(".opencode/plugin/mine.ts", "");
    assert_eq!(tree.found(), Some(tree.path(".opencode/plugin")));
    assert_eq!(foreign(&tree.path("repo/pkg/a"), Some(tree.0.path())), None);
}

#[test]
fn settings_that_name_plugins_are_found_too() {
    for name in ["repo/opencode.json", "repo/pkg/opencode.jsonc", "repo/pkg/a/.opencode/opencode.json"] {
        for (text, found) in [
            ("{\"plugin\": [\"./evil.ts\"]}", true),
            ("{ // mine\n\"plugins\": [{\"package\": \"evil\"}],}", true),
            ("{\"pl\\u0075gin\": [\"./evil.ts\"]}", true),
            ("\u{feff}{\"plugin\": [\"./evil.ts\"]}", true),
            ("{\"plugin\": [], \"model\": \"p/m\"}", false),
            ("{\"mcp\": {\"plugin\": {}}}", false),
            ("broken", false),
            ("", false),
        ] {
            let tree = Tree::new();
            tree.write(name, text);
            assert_eq!(tree.found(), found.then(|| tree.path(name)), "{name}: {text}");
        }
    }
}
