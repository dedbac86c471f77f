//! `ralph completions`: shell completions and the manual page, made from the words themselves so that they cannot differ.

use std::io::{self, Write};

use clap::CommandFactory;
use clap_complete::Shell;

use crate::args::{Cli, CompletionsArgs, CompletionsTarget};

/// Prints what was asked for.
///
/// # Errors
/// When it cannot be written.
pub(crate) fn completions(args: &CompletionsArgs, out: &mut dyn Write) -> io::Result<()> {
    let mut text = Vec::new();
    match args.target {
        CompletionsTarget::Bash => shell(Shell::Bash, &mut text),
        CompletionsTarget::Zsh => shell(Shell::Zsh, &mut text),
        CompletionsTarget::Fish => shell(Shell::Fish, &mut text),
        CompletionsTarget::Elvish => shell(Shell::Elvish, &mut text),
        CompletionsTarget::PowerShell => shell(Shell::PowerShell, &mut text),
        CompletionsTarget::Man => manual(&mut text)?,
    }
    // Written at once: the generator panics where a pipe was closed, this returns the error.
    out.write_all(&text)
}

fn shell(shell: Shell, text: &mut Vec<u8>) {
    clap_complete::generate(shell, &mut Cli::command(), "ralph", text);
}

/// One page for everything: `man ralph` shows each command with its flags.
fn manual(text: &mut Vec<u8>) -> io::Result<()> {
    let mut command = Cli::command();
    command.build();
    let mut page = Vec::new();
    clap_mangen::Man::new(command.clone()).render(&mut page)?;
    // The generator names a page of its own for each command; here they are sections of this one.
    let page = String::from_utf8_lossy(&page).replace("ralph\\-", "ralph ").replace("(1)\n", "\n");
    text.extend_from_slice(page.replace(".SH EXTRA", ".SH EXAMPLES").as_bytes());
    for inner in command.get_subcommands().filter(|inner| inner.get_name() != "help") {
        let (man, mut section) = (clap_mangen::Man::new(inner.clone()), Vec::new());
        man.render_description_section(&mut section)?;
        man.render_synopsis_section(&mut section)?;
        man.render_options_section(&mut section)?;
        man.render_extra_section(&mut section)?;
        writeln!(text, ".SH \"RALPH {}\"", inner.get_name().to_uppercase())?;
        let section = String::from_utf8_lossy(&section).replace(".SH ", ".SS ").replace(".SS EXTRA", ".SS EXAMPLES");
        text.extend_from_slice(section.as_bytes());
    }
    Ok(())
}

#[cfg(test)]
#[path = "completions_tests.rs"]
mod tests;
