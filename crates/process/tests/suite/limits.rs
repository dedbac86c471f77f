//! Time limits, idleness, and requests to stop.

use ralph_model::{Ended, Millis};
use ralph_process::{Spec, Stop};
use tokio::sync::watch;

use crate::support::{Lab, is_alive};

#[tokio::test]
async fn a_program_is_ended_when_its_time_is_up() {
    let lab = Lab::new();
    let spec = || lab.spec("echo before; sleep 1000");
    let (finished, limit) = lab.run_into_limit(spec, |finished| finished.stdout == "before\n").await;
    assert!(finished.duration >= limit, "{finished:?}");
}

#[tokio::test]
async fn whoever_ignores_the_request_is_killed_after_the_grace() {
    let lab = Lab::new();
    let spec = || Spec { grace: Millis(300), ..lab.spec("trap '' TERM; echo $$ > pids; sleep 1000; sleep 1000") };
    let (finished, limit) = lab.run_into_limit(spec, |_| lab.path("pids").exists()).await;
    assert!(finished.duration.0 >= limit.0 + 300, "{finished:?}");
    assert!(!is_alive(lab.numbers("pids", 1).await[0]));
}

#[tokio::test]
async fn whoever_obeys_is_given_the_time_to_clean_up_and_no_more_is_waited_for() {
    let lab = Lab::new();
    let line = "trap 'sleep 0.3; echo cleaned; exit 0' TERM; echo $$ > pids; while :; do sleep 0.05; done";
    // Longer than a run may take here.
    let spec = || Spec { grace: Millis(600_000), ..lab.spec(line) };
    let (finished, _) = lab.run_into_limit(spec, |_| lab.path("pids").exists()).await;
    assert_eq!(finished.stdout, "cleaned\n");
}

#[tokio::test]
async fn a_stopped_process_can_still_obey() {
    let lab = Lab::new();
    let line = "trap 'echo obeyed; exit 0' TERM; echo $$ > pids; kill -STOP $$; while :; do sleep 0.05; done";
    let spec = || Spec { grace: Millis(600_000), ..lab.spec(line) };
    let (finished, _) = lab.run_into_limit(spec, |_| lab.path("pids").exists()).await;
    assert_eq!(finished.stdout, "obeyed\n");
}

#[tokio::test]
async fn waiting_for_nothing_is_idle() {
    let lab = Lab::new();
    let mut spec = lab.spec("echo '? '; sleep 1000");
    spec.idle = Some(Millis(300));
    let finished = lab.run_spec(spec).await.unwrap();
    assert_eq!(finished.ended, Ended::Idle { after: Millis(300) });
    assert!(finished.duration >= Millis(300), "{finished:?}");
}

#[tokio::test]
async fn work_without_output_is_not_idle() {
    let lab = Lab::new();
    // Busy in a background process whose parent only waits, for twice the limit at least.
    let line = "( end=$(($(date +%s) + 3)); while [ $(date +%s) -lt $end ]; do i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done; done ) & wait; echo done";
    let mut spec = lab.spec(line);
    spec.idle = Some(Millis(1_000));
    let finished = lab.run_spec(spec).await.unwrap();
    assert_eq!((finished.ended, finished.stdout.as_str()), (Ended::Exited { code: 0 }, "done\n"));
}

#[tokio::test]
async fn output_without_work_is_not_idle() {
    let lab = Lab::new();
    let mut spec = lab.spec("for i in $(seq 20); do echo $i; sleep 0.2; done");
    spec.idle = Some(Millis(3_000));
    assert_eq!(lab.run_spec(spec).await.unwrap().ended, Ended::Exited { code: 0 });
}

#[tokio::test]
async fn a_run_can_be_stopped_and_says_for_what_reason() {
    for (stop, ended) in [
        (Stop::Requested, Ended::Stopped),
        (Stop::BudgetSpent, Ended::BudgetSpent),
        (Stop::Hopeless, Ended::Hopeless),
        (Stop::Done, Ended::Exited { code: 0 }),
    ] {
        let lab = Lab::new();
        let (sender, receiver) = watch::channel(None);
        let run = lab.run_until(lab.spec("echo $$ > pids; sleep 1000"), receiver);
        let ask = async {
            let pids = lab.numbers("pids", 1).await;
            sender.send(Some(stop)).unwrap();
            pids[0]
        };
        let (finished, pid) = tokio::join!(run, ask);
        assert_eq!(finished.unwrap().ended, ended);
        assert!(!is_alive(pid));
    }
}

/// Says that it was asked to end, and does not mind.
const DEAF: &str = "trap 'echo 1 >> asked' TERM; echo $$ > pids; while :; do sleep 0.05; done";

#[tokio::test]
async fn spent_money_cuts_the_grace_of_a_run_that_is_ending_already() {
    for (timeout, ended) in [(None, Ended::Stopped), (Some(Millis(2_000)), Ended::TimedOut { after: Millis(2_000) })] {
        let lab = Lab::new();
        let (sender, receiver) = watch::channel(None);
        let mut spec = lab.spec(DEAF);
        (spec.timeout, spec.grace) = (timeout, Millis(600_000));
        let run = lab.run_until(spec, receiver);
        let ask = async {
            let pids = lab.numbers("pids", 1).await;
            if timeout.is_none() {
                sender.send(Some(Stop::Requested)).unwrap();
            }
            lab.numbers("asked", 1).await;
            sender.send(Some(Stop::BudgetSpent)).unwrap();
            pids[0]
        };
        // Within the time of a test: the grace is longer.
        let (finished, pid) = tokio::join!(run, ask);
        // Whoever asked first is the reason, and the grace was his.
        assert_eq!(finished.unwrap().ended, ended);
        assert!(!is_alive(pid));
    }
}

#[tokio::test]
async fn nobody_left_to_ask_for_a_stop_is_no_stop() {
    let lab = Lab::new();
    let (sender, receiver) = watch::channel(None);
    drop(sender);
    assert_eq!(lab.run_until(lab.spec("sleep 0.1; exit 4"), receiver).await.unwrap().ended, Ended::Exited { code: 4 });
}

#[tokio::test]
async fn limits_that_no_clock_can_add_are_no_limits() {
    let lab = Lab::new();
    let mut spec = lab.spec("exit 5");
    (spec.timeout, spec.idle, spec.grace) = (Some(Millis(u64::MAX)), Some(Millis(u64::MAX)), Millis(u64::MAX));
    assert_eq!(lab.run_spec(spec).await.unwrap().ended, Ended::Exited { code: 5 });
}
