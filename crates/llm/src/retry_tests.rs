use ralph_model::TroubleKind;

use super::*;

const NOW: Timestamp = Timestamp(1_000_000);

fn trouble(kind: TroubleKind, seconds: Option<i64>) -> Trouble {
    let until = seconds.map(|seconds| Timestamp(NOW.0 + seconds * 1000));
    Trouble { kind, until, message: String::new(), advice: None }
}

#[test]
fn waits_grow_and_end() {
    let overload = trouble(TroubleKind::Overload, None);
    let waits: Vec<Option<u128>> =
        (1..6).map(|tries| wait(&overload, tries, NOW, 0.0).map(|wait| wait.as_millis())).collect();
    assert_eq!(waits, [Some(500), Some(1000), Some(2000), Some(4000), None]);
    assert_eq!(wait(&overload, 1, NOW, 1.0), Some(Duration::from_millis(750)));
}

#[test]
fn a_service_that_says_how_long_is_believed_up_to_a_minute() {
    assert_eq!(wait(&trouble(TroubleKind::RateLimit, Some(7)), 1, NOW, 1.0), Some(Duration::from_secs(7)));
    assert_eq!(wait(&trouble(TroubleKind::RateLimit, Some(-5)), 1, NOW, 1.0), Some(Duration::ZERO));
    assert_eq!(wait(&trouble(TroubleKind::RateLimit, Some(3600)), 1, NOW, 1.0), None);
}

#[test]
fn what_time_does_not_heal_is_not_tried_again() {
    for kind in [
        TroubleKind::Authentication,
        TroubleKind::OutOfCredit,
        TroubleKind::ModelNotFound,
        TroubleKind::ContextOverflow,
    ] {
        assert_eq!(wait(&trouble(kind, None), 1, NOW, 0.0), None, "{kind:?}");
    }
}
