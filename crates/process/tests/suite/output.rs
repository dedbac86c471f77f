//! What becomes of what a program prints.

use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};

use ralph_model::{Ended, Millis};
use ralph_process::{Error, Stream};
use ralph_text::Redactor;
use sha2::{Digest, Sha256};
use tokio::sync::watch;

use crate::support::{Lab, is_alive};

#[tokio::test]
async fn both_outputs_are_logged_in_their_order_and_kept_apart() {
    let lab = Lab::new();
    let finished = lab
        .run(
            "logged() { until grep -q $1 log; do sleep 0.01; done; }
        echo one; logged one; echo two >&2; logged two; echo three",
        )
        .await;
    assert_eq!(lab.log(), "one\ntwo\nthree\n");
    assert_eq!((finished.stdout.as_str(), finished.stderr.as_str()), ("one\nthree\n", "two\n"));
    assert_eq!((finished.output.bytes, finished.output.cut), (14, false));
    let expected: String = Sha256::digest(lab.log()).iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(finished.output.sha256, expected);
}

#[tokio::test]
async fn the_log_can_be_followed_while_the_program_runs() {
    let lab = Lab::new();
    // The program goes on only when its own first line is in its own log.
    let finished = lab.run("echo first; while ! grep -q first log; do sleep 0.01; done; echo second").await;
    assert_eq!(finished.stdout, "first\nsecond\n");
}

#[tokio::test]
async fn the_log_is_private() {
    use std::os::unix::fs::PermissionsExt;
    let lab = Lab::new();
    lab.run("echo x").await;
    assert_eq!(fs::metadata(lab.path("log")).unwrap().permissions().mode() & 0o777, 0o600);
}

#[tokio::test]
async fn characters_secrets_and_line_ends_survive_being_cut_and_escapes_do_not() {
    let lab = Lab::with(Redactor::new([("TOKEN", "correct horse battery")]));
    let finished = lab
        .run(
            r"printf 'gr\303'; sleep 0.1; printf '\274n correct hor'; sleep 0.1; printf 'se battery\r'; sleep 0.1
            printf '\n\033[31mred\377 sk-ant-api03-AAAAAAAA'; sleep 0.1; printf 'BBBBBBBBBBBBBBBBBBBB.'",
        )
        .await;
    assert_eq!(finished.stdout, "grün [redacted:TOKEN]\nred\u{FFFD} [redacted:anthropic-key].");
    assert_eq!(lab.log(), finished.stdout);
}

/// Whatever takes colours away later must not put a secret together.
#[tokio::test]
async fn a_secret_with_escapes_inside_is_redacted() {
    let lab = Lab::with(Redactor::new([("TOKEN", "correct horse battery")]));
    let finished = lab
        .run(
            r"printf 'correct \033[31mhor\033[0mse battery\ncorrect \033]0;title\007horse b\033'; sleep 0.1; printf '[1mattery\n'
            printf 'sk-ant-\033(Bapi03-AAAAAAAA\033[KBBBBBBBBBBBBBBBBBBBB.\n'",
        )
        .await;
    assert_eq!(finished.stdout, "[redacted:TOKEN]\n[redacted:TOKEN]\n[redacted:anthropic-key].\n");
    assert_eq!(lab.log(), finished.stdout);
}

#[tokio::test]
async fn a_long_output_is_cut_and_says_so_while_the_observer_sees_all_of_it() {
    let lab = Lab::new();
    let mut spec = lab.spec("i=0; while [ $i -lt 1000 ]; do echo ünü$i; i=$((i+1)); done");
    (spec.log_limit, spec.tail) = (100, 8);
    let (_sender, stop) = watch::channel(None);
    let mut seen = String::new();
    let mut observe = |stream, text: &str| {
        assert_eq!(stream, Stream::Stdout);
        seen.push_str(text);
    };
    let finished = lab.supervisor.run(spec, stop, &mut observe).await.unwrap();
    assert_eq!(seen.lines().count(), 1000);
    assert_eq!(finished.output.bytes, seen.len() as u64);
    assert!(finished.output.cut);
    // Eight bytes would begin in the middle of a character.
    assert_eq!(finished.stdout, "nü999\n");
    let kept = seen.floor_char_boundary(100);
    let expected = format!(
        "{}\n[ralph: the log was cut here, after {kept} bytes]\n[ralph: {} more bytes were not kept]\n",
        &seen[..kept],
        seen.len() - kept
    );
    assert_eq!(lab.log(), expected);
}

#[tokio::test]
async fn a_log_that_cannot_be_written_ends_the_run_and_is_named() {
    let lab = Lab::new();
    let mut spec = lab.spec("echo $$ > pids; echo x; sleep 1000");
    spec.log = PathBuf::from("/dev/full");
    spec.grace = Millis(1_000);
    let error = lab.run_spec(spec).await.unwrap_err();
    assert!(matches!(&error, Error::Log { path, .. } if path.ends_with("full")), "{error:?}");
    assert!(!is_alive(lab.numbers("pids", 1).await[0]));
}

#[tokio::test]
async fn a_log_that_cannot_be_created_starts_nothing() {
    let lab = Lab::new();
    let mut spec = lab.spec("touch ran");
    spec.log = lab.path("no/such/folder");
    let error = lab.run_spec(spec).await.unwrap_err();
    assert!(matches!(&error, Error::CreateLog { path, .. } if path.ends_with("folder")), "{error:?}");
    assert!(error.is_before_start());
    assert!(!lab.path("ran").exists());
}

#[tokio::test]
async fn a_flood_leaves_everybody_else_a_turn() {
    let lab = Lab::new();
    let (_sender, stop) = watch::channel(None);
    let seen = AtomicUsize::new(0);
    let mut observe = |_, text: &str| {
        seen.fetch_add(text.len(), Ordering::Relaxed);
    };
    let mut most = 0;
    let others = async {
        let mut last = 0;
        loop {
            let now = seen.load(Ordering::Relaxed);
            most = most.max(now - last);
            last = now;
            tokio::task::yield_now().await;
        }
    };
    let mut spec = lab.spec("head -c 60000000 /dev/zero | tr '\\0' x");
    spec.log_limit = 1 << 20;
    let finished = tokio::select! {
        finished = lab.supervisor.run(spec, stop, &mut observe) => finished.unwrap(),
        () = others => unreachable!("it never ends"),
    };
    assert_eq!(finished.output.bytes, 60_000_000);
    assert!(most < 4 << 20, "{most}");
}

#[tokio::test]
async fn what_was_printed_last_is_there() {
    let lab = Lab::new();
    for _ in 0..20 {
        let finished = lab.run("head -c 200000 /dev/zero | tr '\\0' x; echo; echo last; echo last >&2").await;
        assert_eq!(finished.ended, Ended::Exited { code: 0 });
        assert_eq!(finished.output.bytes, 200_000 + 1 + 5 + 5);
        assert!(finished.stdout.ends_with("last\n") && finished.stderr == "last\n");
    }
}
