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
