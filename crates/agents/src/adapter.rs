//! What every agent program has in common: how it is called, and a parser for what it prints.

use std::ffi::OsString;

use ralph_model::Ended;
use ralph_process::{Pieces, Stdin};

use crate::transcript::Transcript;

/// How a program is called and read.
pub(crate) struct Invocation {
    pub(crate) program: Vec<OsString>,
    /// Variables for it; they replace those of the request that have the same name.
    pub(crate) environment: Vec<(OsString, OsString)>,
    pub(crate) stdin: Stdin,
    /// How it tells words in pieces, if it does.
    pub(crate) pieces: Option<Pieces>,
    pub(crate) parser: Box<dyn Parser>,
}

/// Turns the lines of a program into a transcript. Any line may be broken, cut or unknown: none is an error, and none makes a
/// parser panic or remember more than a bounded amount.
pub(crate) trait Parser: Send {
    /// A line of standard output, without its end. One that is longer than [`crate::lines::MAX`] is left out and counted in
    /// [`Transcript::overlong`].
    fn stdout(&mut self, line: &str, transcript: &mut Transcript);

    fn stderr(&mut self, line: &str, transcript: &mut Transcript);

    /// Looks at what the program writes beside its outputs. Called about four times a second, and once when it has ended.
    fn look(&mut self, transcript: &mut Transcript) {
        let _ = transcript;
    }

    /// Whether a tool call is told when it begins, and not only when it has ended.
    fn tells_beginnings(&self) -> bool {
        true
    }

    /// A line of what the program writes beside its outputs, for parsers that look at such a file.
    fn side(&mut self, line: &str, transcript: &mut Transcript) {
        let _ = (line, transcript);
    }

    /// How the run ended. A program that was asked to end in its own protocol may exit before it is asked by a signal.
    fn ended(&self, ended: Ended) -> Ended {
        ended
    }

    /// The program has ended: the last conclusions.
    fn end(&mut self, ended: &Ended, transcript: &mut Transcript);
}
