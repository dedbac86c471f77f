#![allow(clippy::unwrap_used, reason = "tests panic with what went wrong")]

use std::os::unix::fs::PermissionsExt as _;

use super::*;

fn claim(task: &str) -> Claim {
    Claim {
        task_id: task.parse().unwrap(),
        summary: "made hello.ts".to_owned(),
        promise_evidence: "it prints Hello World".to_owned(),
        artifact_paths: vec!["hello.ts".to_owned()],
    }
}

const FIRST: &str = "0197f3a0-0000-7000-8000-000000000001";
const SECOND: &str = "0197f3a0-0000-7000-8000-000000000002";

#[test]
fn a_claim_is_written_privately_read_and_cleared() {
    let folder = tempfile::tempdir().unwrap();
    let claims = Claims::new(folder.path().to_owned());
    let claim = claim(FIRST);
    assert_eq!(claims.read(claim.task_id), None);
    claims.write(&claim).unwrap();
    claims.write(&claim).unwrap();
    assert_eq!(claims.read(claim.task_id), Some(claim.clone()));
    let files: Vec<_> = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert_eq!(files, [claims.file(claim.task_id)]);
    assert_eq!(files[0].metadata().unwrap().permissions().mode() & 0o777, 0o600);
    assert!(claims.clear(claim.task_id).unwrap());
    assert!(!claims.clear(claim.task_id).unwrap());
}

#[test]
fn what_is_no_claim_about_the_task_is_none() {
    let folder = tempfile::tempdir().unwrap();
    let claims = Claims::new(folder.path().to_owned());
    let (first, second) = (claim(FIRST), claim(SECOND));
    fs::write(claims.file(first.task_id), serde_json::to_vec(&second).unwrap()).unwrap();
    assert_eq!(claims.read(first.task_id), None);
    fs::write(claims.file(first.task_id), "{").unwrap();
    assert_eq!(claims.read(first.task_id), None);
    claims.write(&second).unwrap();
    fs::remove_file(claims.file(first.task_id)).unwrap();
    std::os::unix::fs::symlink(claims.file(second.task_id), claims.file(first.task_id)).unwrap();
    assert_eq!(claims.read(first.task_id), None);
}
