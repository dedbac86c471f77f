//! Standard input that is fed while the program runs.

use std::fs;
use std::time::Duration;

use ralph_model::{Ended, Millis};
use ralph_process::{Error, FeedError, Feeder, Finished, Spec, Stdin, Stop, Stream, feed};
use ralph_text::Redactor;
use tokio::sync::{mpsc, watch};

use crate::support::{Lab, TIMEOUT, is_alive};

/// A spec whose input is fed, and what feeds it.
fn fed(lab: &Lab, line: &str, most: usize) -> (Spec, Feeder) {
    let (feeder, feed) = feed(most);
    let mut spec = lab.spec(line);
    spec.stdin = Stdin::Fed(feed);
    (spec, feeder)
}

/// Runs while `talk` feeds the program and hears what it prints.
async fn converse<T>(
    lab: &Lab,
    spec: Spec,
    talk: impl AsyncFnOnce(mpsc::UnboundedReceiver<String>) -> T,
) -> (Result<Finished, Error>, T) {
    let (_sender, stop) = watch::channel(None);
    let (printed, heard) = mpsc::unbounded_channel();
    let mut observe = |stream, text: &str| {
        assert_eq!(stream, Stream::Stdout);
        // A talk that has heard enough is no fault.
        let _ = printed.send(text.to_owned());
    };
    let both = async { tokio::join!(lab.supervisor.run(spec, stop, &mut observe), talk(heard)) };
    tokio::time::timeout(TIMEOUT, both).await.expect("the conversation ends")
}

/// The next whole line.
async fn line(heard: &mut mpsc::UnboundedReceiver<String>) -> String {
    let mut line = String::new();
    while !line.ends_with('\n') {
        line.push_str(&heard.recv().await.expect("the program goes on"));
    }
    line
}

#[tokio::test]
async fn a_program_is_answered_while_it_runs() {
    let lab = Lab::new();
    let (spec, feeder) = fed(&lab, "while read -r word; do echo \"heard $word\"; done; echo end", 1);
    let (finished, ()) = converse(&lab, spec, async |mut heard| {
        // Hundreds of turns would not fit into the time if a line waited for more bytes to come.
        for turn in 0..300 {
            feeder.send(format!("turn {turn}\n")).await.unwrap();
            assert_eq!(line(&mut heard).await, format!("heard turn {turn}\n"));
        }
        drop(feeder);
        assert_eq!(line(&mut heard).await, "end\n");
    })
    .await;
    assert_eq!(finished.unwrap().ended, Ended::Exited { code: 0 });
}

#[tokio::test]
async fn a_line_is_heard_at_once_whatever_it_ends_with() {
    // Each looks like the beginning of a secret, up to the end of its line.
    let lines =
        ["Authorization: Bearer abcd", "eyJhbGciOiJIUzI1NiJ9", "sk-ant-api03-AAAA", "see https://user:pa", "corr"];
    let lab = Lab::with(Redactor::new([("TOKEN", "correct horse battery")]));
    let (spec, feeder) = fed(&lab, "exec cat", 1);
    let (finished, ()) = converse(&lab, spec, async |mut heard| {
        for text in lines {
            let text = format!("{text}\n");
            feeder.send(text.clone()).await.unwrap();
            assert_eq!(line(&mut heard).await, text);
        }
        drop(feeder);
    })
    .await;
    assert_eq!(finished.unwrap().ended, Ended::Exited { code: 0 });
}

#[tokio::test]
async fn everything_arrives_whole_and_in_its_order() {
    let lab = Lab::new();
    // Reads late and slowly at first, so that much has to wait.
    let (spec, feeder) = fed(&lab, "sleep 0.3; { dd bs=1000 count=100 2>/dev/null; cat; } > copy", 3);
    let messages: Vec<String> =
        (0..2_000_usize).map(|number| format!("{number}:{}\n", "x".repeat(number * 7 % 4_000))).collect();
    let (finished, ()) = converse(&lab, spec, async |_| {
        for (number, message) in messages.iter().enumerate() {
            feeder.send(message.clone()).await.unwrap();
            if number % 500 == 0 {
                feeder.send("").await.unwrap();
                feeder.send("y".repeat(1 << 20)).await.unwrap();
            }
        }
        drop(feeder);
    })
    .await;
    assert_eq!(finished.unwrap().ended, Ended::Exited { code: 0 });
    let copy = fs::read_to_string(lab.path("copy")).unwrap();
    assert!(copy.replace('y', "") == messages.concat());
    assert_eq!(copy.len(), messages.concat().len() + (4 << 20));
}

#[tokio::test]
async fn what_was_accepted_arrives_though_its_feeder_is_gone() {
    let lab = Lab::new();
    let (spec, feeder) = fed(&lab, "exec cat", 8);
    for word in ["one ", "two ", "three"] {
        feeder.try_send(word).unwrap();
    }
    drop(feeder);
    assert_eq!(lab.run_spec(spec).await.unwrap().stdout, "one two three");
}

#[tokio::test]
async fn without_a_feeder_the_input_is_at_its_end() {
    let lab = Lab::new();
    let (spec, feeder) = fed(&lab, "cat; echo end", 1);
    drop(feeder);
    assert_eq!(lab.run_spec(spec).await.unwrap().stdout, "end\n");
}

#[tokio::test]
async fn of_two_runs_with_the_same_feed_the_first_is_fed() {
    let lab = Lab::new();
    let (spec, feeder) = fed(&lab, "cat; echo end", 1);
    let again = spec.clone();
    feeder.send("fed ").await.unwrap();
    drop(feeder);
    assert_eq!(lab.run_spec(spec).await.unwrap().stdout, "fed end\n");
    assert_eq!(lab.run_spec(again).await.unwrap().stdout, "end\n");
}

#[tokio::test]
async fn a_program_that_does_not_read_holds_up_its_feeder_and_nothing_else() {
    let lab = Lab::new();
    let (mut spec, feeder) = fed(&lab, "echo $$ > pids; for i in 1 2 3; do echo $i; sleep 0.02; done; sleep 1000", 2);
    spec.timeout = Some(Millis(3_000));
    let (finished, ()) = converse(&lab, spec, async |mut heard| {
        // Only a program that runs takes what it is fed into its pipe.
        assert_eq!(line(&mut heard).await, "1\n");
        let mut refused = None;
        // A pipe holds less than this, and so do two messages.
        for _ in 0..50 {
            refused = feeder.try_send(vec![b'x'; 64 << 10]).err();
            tokio::task::yield_now().await;
        }
        assert_eq!(refused, Some(FeedError::Full));
        let waiting = tokio::time::timeout(Duration::from_millis(200), feeder.send("more")).await;
        assert!(waiting.is_err(), "{waiting:?}");
        for number in 2..=3 {
            assert_eq!(line(&mut heard).await, format!("{number}\n"));
        }
        // The time limit ends the run, and with it the wait.
        assert_eq!(feeder.send("more").await, Err(FeedError::Closed));
    })
    .await;
    assert_eq!(finished.unwrap().ended, Ended::TimedOut { after: Millis(3_000) });
    assert!(!is_alive(lab.numbers("pids", 1).await[0]));
}

#[tokio::test]
async fn a_program_that_closes_its_input_ends_the_feeding_and_not_the_run() {
    let lab = Lab::new();
    let (spec, feeder) = fed(&lab, "exec 0<&-; echo closed; while ! test -e go; do sleep 0.01; done; exit 6", 1);
    let (finished, ()) = converse(&lab, spec, async |mut heard| {
        assert_eq!(line(&mut heard).await, "closed\n");
        // The first is accepted, and nobody there to read it is noticed then.
        while feeder.send("x").await.is_ok() {}
        assert_eq!(feeder.try_send("x"), Err(FeedError::Closed));
        fs::write(lab.path("go"), "").unwrap();
    })
    .await;
    assert_eq!(finished.unwrap().ended, Ended::Exited { code: 6 });
}

#[tokio::test]
async fn a_stop_ends_a_program_that_waits_for_input() {
    let lab = Lab::new();
    let (spec, feeder) = fed(&lab, "echo $$ > pids; exec cat", 1);
    let (sender, stop) = watch::channel(None);
    let ask = async {
        let pids = lab.numbers("pids", 1).await;
        sender.send(Some(Stop::Requested)).unwrap();
        pids[0]
    };
    let (finished, pid) = tokio::join!(lab.run_until(spec, stop), ask);
    assert_eq!(finished.unwrap().ended, Ended::Stopped);
    assert!(!is_alive(pid));
    assert_eq!(feeder.try_send("x"), Err(FeedError::Closed));
}

#[tokio::test]
async fn dropping_a_run_ends_the_feeding() {
    let lab = Lab::new();
    let (spec, feeder) = fed(&lab, "echo $$ > pids; exec cat", 1);
    let (_sender, stop) = watch::channel(None);
    let pids = tokio::select! {
        finished = lab.run_until(spec, stop) => panic!("{finished:?}"),
        pids = lab.numbers("pids", 1) => pids,
    };
    assert_eq!(feeder.send("x").await, Err(FeedError::Closed));
    crate::support::eventually("the tree ends", || (!is_alive(pids[0])).then_some(())).await;
}

#[tokio::test]
async fn a_run_that_never_started_ends_the_feeding() {
    let lab = Lab::new();
    let (spec, feeder) = fed(&lab, "touch ran", 1);
    let (_sender, stop) = watch::channel(Some(Stop::Requested));
    assert_eq!(lab.run_until(spec, stop).await.unwrap().ended, Ended::Stopped);
    assert_eq!(feeder.send("x").await, Err(FeedError::Closed));
    assert!(!lab.path("ran").exists());
}
