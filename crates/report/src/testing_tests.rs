//! Made-up loops for the tests of this crate.

use ralph_model::{LoopId, Millis, Money, Timestamp};
use uuid::Uuid;

use crate::record::{Record, Status};

/// The first moment of 2026-11-15 in UTC.
pub(crate) const DAY: i64 = 1_794_700_800_000;

pub(crate) fn record(number: u32) -> Record {
    Record {
        kind: ralph_model::RunKind::Loop,
        loop_id: LoopId::from_uuid(Uuid::from_u128(u128::from(number))),
        skill: Some("tdd".to_owned()),
        task_type: Some("bug".to_owned()),
        start_time: Timestamp(DAY),
        end_time: Timestamp(DAY + 60_000),
        status: Status::Completed,
        abort_reason: None,
        iterations: 3,
        cost: Money::from_micros(250_000),
        duration: Millis(60_000),
        files_modified: 2,
        tests_fixed: 1,
        completion_promise_detected: true,
        verification_passed: true,
        false_claims: 0,
        tampered: 0,
        flakes: 0,
        agent: "claude".to_owned(),
        model: Some("opus".to_owned()),
        input_tokens: 1_000,
        output_tokens: 100,
    }
}

pub(crate) fn aborted(number: u32, reason: &str) -> Record {
    Record {
        status: Status::Aborted,
        abort_reason: Some(reason.to_owned()),
        verification_passed: false,
        ..record(number)
    }
}

/// Loops of every kind over some days, always the same ones.
pub(crate) fn mixed(count: u32, days: i64) -> Vec<Record> {
    (0..count)
        .map(|number| {
            let scatter = scattered(number);
            let kind = match scatter % 20 {
                0..=13 => record(number),
                14 | 15 => aborted(number, "STALL"),
                16 => aborted(number, "MAX_ITERATIONS"),
                17 => aborted(number, "COST_LIMIT"),
                18 => aborted(number, "SAME_ERROR_5X"),
                _ => Record { status: Status::Error, verification_passed: false, ..record(number) },
            };
            let ended = DAY - (scatter / 20 % days) * 86_400_000 + scatter % 80_000_000;
            Record {
                end_time: Timestamp(ended),
                start_time: Timestamp(ended - 90_000),
                iterations: 1 + u32::try_from(scatter % 9).unwrap(),
                cost: Money::from_micros(scatter % 900_000),
                agent: ["claude", "codex", "opencode"][number as usize % 3].to_owned(),
                false_claims: u32::from(number % 17 == 0),
                ..kind
            }
        })
        .collect()
}

/// A number below 2^24 without visible order, always the same one for the same input.
fn scattered(number: u32) -> i64 {
    let mut mixed = u64::from(number + 1).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 31)).wrapping_mul(0x94d0_49bb_1331_11eb);
    i64::try_from((mixed ^ (mixed >> 29)) >> 40).unwrap()
}
