use uuid::Uuid;

use super::*;

#[test]
fn commits_of_persons_and_of_newer_leases_are_refused() {
    let (task, other) = (TaskId::from_uuid(Uuid::from_u128(1)), TaskId::from_uuid(Uuid::from_u128(2)));
    let (ralph, jane) = ("Ralph <ralph@localhost>", "Jane <jane@host.example>");
    let record = |author: &str, committer: &str, message: &str| {
        format!("commit 0123456789abcdef0123456789abcdef01234567\n{author}\n{committer}\n{message}\n\0\n")
    };
    let mine = message("Make it (iteration 2)", task, Some(LoopId::from_uuid(Uuid::from_u128(3))), 2);
    let older = format!("Make it\n\nRalph task {task}\n");
    let fine = record(ralph, ralph, &mine) + &record(ralph, ralph, &older);
    refuse_foreign(&fine, task, 2).unwrap();
    refuse_foreign("", task, 2).unwrap();
    for (record, epoch, words) in [
        (record(jane, jane, "Correct it"), 2, "0123456789ab of Jane <jane@host.example> is on it (Correct it)"),
        // An amended commit and a copied message.
        (record(ralph, jane, &mine), 2, "of Jane"),
        (record(jane, ralph, &mine), 2, "of Jane"),
        (record(ralph, ralph, &message("x", other, None, 1)), 2, "not overwritten"),
        (record(ralph, ralph, &mine), 1, "took the task over"),
    ] {
        let refused = refuse_foreign(&(fine.clone() + &record), task, epoch).unwrap_err().to_string();
        assert!(refused.contains(words), "{refused}");
    }
}
