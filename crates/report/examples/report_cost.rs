//! What a report over 100,000 loops costs, in milliseconds. Leaves the report in the folder that is named, if one is.
#![allow(clippy::print_stdout, missing_docs)] // a measurement prints

use std::error::Error;
use std::fs;
use std::io::{BufWriter, Write as _};
use std::path::PathBuf;
use std::time::Instant;

use ralph_model::{LoopId, Millis, Money, Timestamp};
use ralph_report::{Record, Status, Summary};
use uuid::Uuid;

const LOOPS: u32 = 100_000;

fn main() -> Result<(), Box<dyn Error>> {
    let scratch = tempfile::TempDir::new()?;
    let folder = std::env::args_os().nth(1).map_or_else(|| scratch.path().to_owned(), PathBuf::from);
    let metrics = scratch.path().join("ralph-loops.jsonl");
    let mut file = BufWriter::new(fs::File::create(&metrics)?);
    for number in 0..LOOPS {
        serde_json::to_writer(&mut file, &record(number))?;
        file.write_all(b"\n")?;
    }
    file.flush()?;
    println!("{LOOPS} lines, {} MB", fs::metadata(&metrics)?.len() / 1_000_000);

    let begun = Instant::now();
    let found = ralph_report::read(&metrics, None, None)?;
    let read = begun.elapsed();
    let summary = Summary::of(&found.records);
    let summed = begun.elapsed();
    let (report, _) = ralph_report::write(&folder, "2026-11-15", "of all time", &summary, found.broken.len())?;
    let all = begun.elapsed();
    println!(
        "read {} ms, sum up {} ms, write {} ms",
        read.as_millis(),
        (summed - read).as_millis(),
        (all - summed).as_millis()
    );
    println!("all together: {} ms for {} loops, {}", all.as_millis(), summary.loops, report.display());
    Ok(())
}

fn record(number: u32) -> Record {
    let scatter = i64::from(number.wrapping_mul(2_654_435_761) >> 8);
    let ended = 1_794_700_800_000 - (scatter % 400) * 86_400_000;
    let is_good = scatter % 4 > 0;
    Record {
        kind: ralph_model::RunKind::Loop,
        loop_id: LoopId::from_uuid(Uuid::from_u128(u128::from(number) << 64)),
        skill: (!number.is_multiple_of(3)).then(|| "systematic-debugging".to_owned()),
        task_type: Some("bug".to_owned()),
        start_time: Timestamp(ended - 90_000),
        end_time: Timestamp(ended),
        status: if is_good { Status::Completed } else { Status::Aborted },
        abort_reason: (!is_good).then(|| "STALL".to_owned()),
        iterations: 1 + number % 9,
        cost: Money::from_micros(scatter % 900_000),
        duration: Millis(90_000 + u64::from(number)),
        files_modified: 4,
        tests_fixed: 2,
        completion_promise_detected: is_good,
        verification_passed: is_good,
        false_claims: number % 2,
        flakes: 0,
        tampered: 0,
        agent: ["claude", "codex", "opencode"][number as usize % 3].to_owned(),
        model: Some("a-model-of-some-length-4-5".to_owned()),
        input_tokens: 120_000,
        output_tokens: 9_000,
    }
}
