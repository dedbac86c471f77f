use super::*;
use crate::testing::{aborted, record};

#[test]
fn the_line_has_exactly_the_promised_names() {
    let line = serde_json::to_string(&aborted(1, "STALL")).unwrap();
    assert_eq!(
        line,
        "{\"loopId\":\"00000000-0000-0000-0000-000000000001\",\"skill\":\"tdd\",\"taskType\":\"bug\",\
         \"startTime\":\"2026-11-15T00:00:00.000Z\",\"endTime\":\"2026-11-15T00:01:00.000Z\",\"status\":\"ABORTED\",\
         \"abortReason\":\"STALL\",\"iterations\":3,\"costUSD\":0.25,\"durationSeconds\":60.0,\"filesModified\":2,\
         \"testsFixed\":1,\"completionPromiseDetected\":true,\"verificationPassed\":false,\"falseClaims\":0,\
         \"tampered\":0,\"flakes\":0,\"agent\":\"claude\",\"model\":\"opus\",\"inputTokens\":1000,\"outputTokens\":100}"
    );
}

#[test]
fn what_was_written_is_read_back() {
    for status in [Status::Completed, Status::Aborted, Status::Error] {
        let written = Record { status, cost: Money::from_micros(1), duration: Millis(1), tests_fixed: -4, ..record(7) };
        let line = serde_json::to_string(&written).unwrap();
        assert_eq!(serde_json::from_str::<Record>(&line).unwrap(), written);
    }
}

#[test]
fn lines_of_other_versions_are_read() {
    let line = r#"{"loopId":"00000000-0000-0000-0000-000000000001","startTime":"2026-11-15T01:00:00+01:00",
        "endTime":"2026-11-15T00:01:00Z","status":"COMPLETED","costUSD":0.30000000000000004,"colour":"blue"}"#;
    let record: Record = serde_json::from_str(line).unwrap();
    assert_eq!(record.start_time, Timestamp(crate::testing::DAY));
    assert_eq!(record.cost, Money::from_micros(300_000), "to the nearest micro-dollar");
    assert_eq!((record.skill, record.iterations, record.agent.as_str()), (None, 0, ""));
}

#[test]
fn what_makes_no_sense_is_refused() {
    for (field, value) in [
        ("costUSD", "-1"),
        ("costUSD", "1e300"),
        ("costUSD", "\"5\""),
        ("durationSeconds", "-0.5"),
        ("startTime", "\"yesterday\""),
        ("endTime", "17"),
        ("status", "\"DONE\""),
        ("loopId", "\"first\""),
        ("iterations", "-1"),
    ] {
        let mut line = serde_json::to_value(record(1)).unwrap();
        line[field] = serde_json::from_str(value).unwrap();
        assert!(serde_json::from_value::<Record>(line).is_err(), "{field} = {value}");
    }
}
