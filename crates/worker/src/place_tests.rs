use uuid::Uuid;

use super::*;

#[test]
fn a_login_is_not_shown() {
    for (address, expected) in [
        ("https://user:secret@host.example/a/b.git", "https://host.example/a/b.git"),
        ("https://host.example/a@b.git", "https://host.example/a@b.git"),
        ("ssh://git@host.example", "ssh://host.example"),
        ("git@host.example:a/b.git", "git@host.example:a/b.git"),
        ("/srv/a.git", "/srv/a.git"),
    ] {
        assert_eq!(shown(address), expected);
    }
}

#[test]
fn the_branch_is_named_after_the_task() {
    let task = TaskId::from_uuid(Uuid::from_u128(1));
    assert_eq!(branch(task), "ralph/00000000-0000-0000-0000-000000000001");
}

#[test]
fn added_secrets_are_named_by_file_and_line_and_others_are_not() {
    let redactor = Redactor::new([("MY_TOKEN", "correct-horse-battery")]);
    let patch = |added: &str| {
        format!(
            "diff --git a/x.py b/x.py\n--- a/x.py\n+++ b/x.py\n@@ -3,0 +4,2 @@ def f():\n-old correct-horse-battery\n+fine\n+{added}\n"
        )
    };
    for secret in [
        "token = 'correct-horse-battery'",
        "ghp_0123456789abcdefghijABCDEFGHIJ012345",
        "-----BEGIN RSA PRIVATE KEY-----",
        "++ ghp_0123456789abcdefghijABCDEFGHIJ012345",
    ] {
        let refused = refuse_secrets(&patch(secret), &redactor).unwrap_err().to_string();
        assert!(refused.contains(": x.py:5;") && refused.contains("--allow-secrets"), "{secret}: {refused}");
        assert!(!refused.contains("correct-horse"), "{refused}");
    }
    refuse_secrets(&patch("let total = sum(values)"), &redactor).unwrap();
}
