use std::fs;

use proptest::prelude::*;

use super::*;

fn workspace() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("src")).unwrap();
    fs::write(folder.path().join("a.txt"), "").unwrap();
    folder
}

#[test]
fn only_names_of_what_is_there_are_escaped() {
    let folder = workspace();
    let cases = [
        ("plain", "plain"),
        ("mail someone@example.com", "mail someone@example.com"),
        ("@pytest.fixture\n@app.route(\"/\")", "@pytest.fixture\n@app.route(\"/\")"),
        ("root@src: x", "root@src: x"),
        ("root@src, x", r"root\@src, x"),
        ("see @a.txt.", r"see \@a.txt."),
        ("see @src/lib.rs and @other/lib.rs", r"see \@src/lib.rs and @other/lib.rs"),
        ("@./src @../x", r"\@./src \@../x"),
        (r"already \@src", r"already \@src"),
        (r#"@"my file" @my\ file"#, r#"\@"my file" \@my\ file"#),
        ("import x from '@/components'", "import x from '@/components'"),
        ("@ @@ @", "@ @@ @"),
        ("@@src", r"@\@src"),
        ("ü@src", r"ü\@src"),
    ];
    for (prompt, want) in cases {
        assert_eq!(plain(prompt, folder.path()), want);
    }
    let whole = format!("@{}/src", folder.path().display());
    assert_eq!(plain(&whole, folder.path()), format!("\\{whole}"));
}

#[test]
fn no_prompt_begins_with_a_slash() {
    let folder = workspace();
    assert_eq!(plain("/help me", folder.path()), "\n/help me");
    assert_eq!(plain("a /help", folder.path()), "a /help");
    assert_eq!(plain("", folder.path()), "");
}

#[test]
fn a_prompt_full_of_names_is_not_looked_up_for_ever() {
    let folder = workspace();
    let prompt: String = (0..MAX_NAMES + 10).map(|number| format!("@n{number} ")).collect();
    let plain = plain(&prompt, folder.path());
    assert_eq!(plain.matches('\\').count(), 10, "those that were not looked up count as names");
    assert_eq!(plain.replace('\\', ""), prompt);
}

proptest! {
    #[test]
    fn nothing_but_backslashes_is_added(prompt in "[@/a-z\"\\\\ .\n-]{0,200}") {
        let folder = workspace();
        let plain = plain(&prompt, folder.path());
        let removed: String = plain.chars().filter(|c| *c != '\\').collect();
        let original: String = prompt.chars().filter(|c| *c != '\\').collect();
        prop_assert_eq!(removed.trim_start_matches('\n'), original.trim_start_matches('\n'));
        prop_assert!(!plain.starts_with('/'));
    }
}
