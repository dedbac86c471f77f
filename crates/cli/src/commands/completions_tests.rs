use super::*;

fn printed(target: CompletionsTarget) -> String {
    let mut out = Vec::new();
    completions(&CompletionsArgs { target }, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn every_shell_knows_commands_and_flags() {
    use CompletionsTarget::{Bash, Elvish, Fish, PowerShell, Zsh};
    for shell in [Bash, Zsh, Fish, Elvish, PowerShell] {
        let text = printed(shell);
        for word in ["verify-run", "max-cost", "on-blocked"] {
            assert!(text.contains(word), "{shell:?} does not know {word}");
        }
    }
}

#[test]
fn the_manual_has_every_command_with_its_flags() {
    let text = printed(CompletionsTarget::Man);
    assert!(text.starts_with(".ie") || text.contains(".TH ralph 1"), "{}", &text[..200]);
    for command in whole().get_subcommands().filter(|inner| inner.get_name() != "help") {
        assert!(
            text.contains(&format!(".SH \"RALPH {}\"", command.get_name().to_uppercase())),
            "{}",
            command.get_name()
        );
    }
    for word in [r"\-\-max\-cost", r"\-\-discard\-after", "PROHIBITED_PATH"] {
        assert!(text.contains(word), "{word}");
    }
    // Roff would take an apostrophe or a dot at the start of a line for a request.
    assert!(!text.lines().any(|line| line.starts_with('\'')));
}

#[test]
fn a_closed_pipe_is_an_error_and_no_panic() {
    struct Closed;
    impl Write for Closed {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(io::ErrorKind::BrokenPipe.into())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let words = CompletionsArgs { target: CompletionsTarget::Bash };
    assert_eq!(completions(&words, &mut Closed).unwrap_err().kind(), io::ErrorKind::BrokenPipe);
}
