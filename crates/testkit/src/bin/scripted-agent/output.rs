//! Printing: every byte as it is, at once.

use std::io::{self, Write};

use anyhow::{Context as _, Result};
use ralph_testkit::{Channel, Encoding, Flood, INVALID_UTF8, Lines};

const LINE: usize = 80;
/// Whole lines, so that pieces can be printed one after the other.
const PIECE: usize = 800 * LINE;

pub(crate) fn print(channel: Channel, text: &[u8]) -> Result<()> {
    with(channel, |output| output.write_all(text).and_then(|()| output.flush()))
}

/// Prints exactly as many bytes as asked for, in large pieces, so that the reader is what limits the speed.
pub(crate) fn flood(flood: &Flood) -> Result<()> {
    let piece = piece(flood);
    with(flood.channel, |output| {
        let mut left = flood.bytes;
        while left > 0 {
            let now = usize::try_from(left).unwrap_or(PIECE).min(PIECE);
            output.write_all(&piece[..now])?;
            left -= now as u64;
        }
        output.flush()
    })
}

fn piece(flood: &Flood) -> Vec<u8> {
    let alphabet = match flood.encoding {
        Encoding::Ascii => b"abcdefghijklmnopqrstuvwxyz".as_slice(),
        Encoding::InvalidUtf8 => &INVALID_UTF8[..INVALID_UTF8.len() - 1],
    };
    let letters = alphabet.iter().copied().cycle().take(PIECE).enumerate();
    letters.map(|(at, byte)| if flood.lines == Lines::Many && at % LINE == LINE - 1 { b'\n' } else { byte }).collect()
}

fn with(channel: Channel, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<()> {
    match channel {
        Channel::Stdout => write(&mut io::stdout().lock()),
        Channel::Stderr => write(&mut io::stderr().lock()),
    }
    .context("could not print")
}
