use super::*;

fn report(cost: Option<Money>) -> Option<ReportFile> {
    Some(ReportFile { cost, ..ReportFile::default() })
}

#[test]
fn a_reported_cost_is_not_taken_back() {
    let (low, high) = (Money::from_micros(1), Money::from_micros(900_000));
    for (last, highest, counts) in [
        (report(Some(low)), Some(high), Some(high)),
        (report(Some(high)), Some(low), Some(high)),
        (report(None), Some(high), Some(high)),
        (None, Some(high), Some(high)),
        (report(Some(low)), None, Some(low)),
        (None, None, None),
    ] {
        assert_eq!(keep_highest(last, highest).and_then(|report| report.cost), counts);
    }
}

#[tokio::test]
async fn the_highest_cost_of_a_running_command_is_remembered_and_ends_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("result.json");
    let report = |cost: &str| fs::write(&path, format!("{{\"costUSD\": {cost}}}")).unwrap();
    let (ended_by, mut ended) = watch::channel(None);
    let mut highest = None;
    {
        report("1.25");
        let steps = async {
            ended.changed().await.unwrap();
            assert_eq!(*ended.borrow(), Some(Stop::BudgetSpent));
            report("0.0");
            // It is looked at again, and nothing is taken back however often that is.
            tokio::time::sleep(COST_POLL_INTERVAL * 3).await;
        };
        let watching = watch_cost(&ended_by, Some(Money::dollars(1)), &path, &mut highest);
        tokio::select! { never = watching => match never {}, () = steps => {} }
    }
    assert_eq!(highest, Some(Money::from_micros(1_250_000)));
}
