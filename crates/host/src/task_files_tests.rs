use std::os::unix::fs::PermissionsExt as _;

use ralph_model::{CheckpointReason, Timestamp};
use uuid::Uuid;

use super::*;

fn checkpoint(at: i64) -> Checkpoint {
    Checkpoint {
        task_id: TaskId::from_uuid(Uuid::from_u128(9)),
        iteration: 2,
        context_full: false,
        timestamp: Timestamp(at),
        checkpoint_reason: CheckpointReason::Stop,
    }
}

#[test]
fn a_checkpoint_is_written_read_replaced_and_cleared() {
    let folder = tempfile::tempdir().unwrap();
    let checkpoints = Checkpoints::new(folder.path().join("a/b"));
    let task = checkpoint(0).task_id;
    assert_eq!(checkpoints.read(task).unwrap(), None);
    assert!(!checkpoints.clear(task).unwrap());
    checkpoints.write(&checkpoint(1000)).unwrap();
    checkpoints.write(&checkpoint(2000)).unwrap();
    assert_eq!(checkpoints.read(task).unwrap(), Some(checkpoint(2000)));
    let mode = |path: PathBuf| path.metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(checkpoints.file(task)), 0o600);
    assert_eq!(mode(folder.path().join("a/b")), 0o700);
    let files = fs::read_dir(folder.path().join("a/b")).unwrap().count();
    assert_eq!(files, 1, "nothing of the first one is left");
    assert!(checkpoints.clear(task).unwrap());
    assert_eq!(checkpoints.read(task).unwrap(), None);
}

#[test]
fn a_link_and_the_file_of_another_task_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let checkpoints = Checkpoints::new(folder.path().to_owned());
    checkpoints.write(&checkpoint(1)).unwrap();
    let other = TaskId::from_uuid(Uuid::from_u128(10));
    fs::copy(checkpoints.file(checkpoint(1).task_id), checkpoints.file(other)).unwrap();
    assert!(checkpoints.read(other).is_err());
    fs::remove_file(checkpoints.file(other)).unwrap();
    std::os::unix::fs::symlink(checkpoints.file(checkpoint(1).task_id), checkpoints.file(other)).unwrap();
    assert!(checkpoints.read(other).is_err());
}

/// An agent can write the folder: a pipe would hold the worker up, a folder would stay in its way.
#[test]
fn what_an_agent_puts_in_the_place_of_a_checkpoint_holds_nothing_up() {
    let folder = tempfile::tempdir().unwrap();
    let checkpoints = Checkpoints::new(folder.path().to_owned());
    let task = checkpoint(0).task_id;
    let path = checkpoints.file(task);
    rustix::fs::mknodat(rustix::fs::CWD, &path, rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
    assert!(checkpoints.read(task).is_err());
    assert!(checkpoints.clear(task).unwrap());
    fs::create_dir(&path).unwrap();
    fs::write(path.join("inside"), "x").unwrap();
    assert!(checkpoints.read(task).is_err());
    assert!(checkpoints.clear(task).unwrap());
    assert_eq!(checkpoints.read(task).unwrap(), None);
}

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
    assert_eq!(claims.read(claim.task_id).unwrap(), None);
    claims.write(&claim).unwrap();
    claims.write(&claim).unwrap();
    assert_eq!(claims.read(claim.task_id).unwrap(), Some(claim.clone()));
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
    assert!(claims.read(first.task_id).is_err());
    fs::write(claims.file(first.task_id), "{").unwrap();
    assert!(claims.read(first.task_id).is_err());
    claims.write(&second).unwrap();
    fs::remove_file(claims.file(first.task_id)).unwrap();
    std::os::unix::fs::symlink(claims.file(second.task_id), claims.file(first.task_id)).unwrap();
    assert!(claims.read(first.task_id).is_err());
}
