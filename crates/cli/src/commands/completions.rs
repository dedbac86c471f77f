//! `ralph completions`: shell completions and the manual page, made from the words themselves so that they cannot differ.

use std::io::{self, Write};

use clap_complete::Shell;

use crate::args::{CompletionsArgs, CompletionsTarget, whole};

pub(crate) fn completions(args: &CompletionsArgs, out: &mut dyn Write) -> io::Result<()> {
    let mut text = Vec::new();
    match args.target {
        CompletionsTarget::Bash => {
            shell(Shell::Bash, &mut text);
            text.extend_from_slice(bash_ids().as_bytes());
        }
        CompletionsTarget::Zsh => {
            shell(Shell::Zsh, &mut text);
            text = zsh_ids(&String::from_utf8_lossy(&text)).into_bytes();
        }
        CompletionsTarget::Fish => {
            shell(Shell::Fish, &mut text);
            let names = with_loop().join(" ");
            let line = format!(
                "complete -c ralph -n \"__fish_seen_subcommand_from {names}\" -f -a \"(ralph list --all --ids 2>/dev/null)\"\n"
            );
            text.extend_from_slice(line.as_bytes());
        }
        CompletionsTarget::Elvish => shell(Shell::Elvish, &mut text),
        CompletionsTarget::PowerShell => shell(Shell::PowerShell, &mut text),
        CompletionsTarget::Man => manual(&mut text)?,
    }
    // Written at once: the generator panics where a pipe was closed, this returns the error.
    out.write_all(&text)
}

fn shell(shell: Shell, text: &mut Vec<u8>) {
    clap_complete::generate(shell, &mut whole(), "ralph", text);
}

/// The commands that take the id of a loop.
fn with_loop() -> Vec<String> {
    let command = whole();
    let takes_loop = |inner: &&clap::Command| inner.get_positionals().any(|arg| arg.get_id() == "loop_name");
    command.get_subcommands().filter(takes_loop).map(|inner| inner.get_name().to_owned()).collect()
}

/// Ids of loops after the completions that were generated, which know of flags only.
fn bash_ids() -> String {
    let names = with_loop().join("|");
    format!(
        r#"
_ralph_with_ids() {{
    _ralph "$@"
    local current="${{COMP_WORDS[COMP_CWORD]}}"
    case "${{COMP_WORDS[1]}}" in
        {names})
            if [[ $COMP_CWORD -ge 2 && "$current" != -* && "${{COMP_WORDS[COMP_CWORD-1]}}" != -* ]]; then
                COMPREPLY=( $(compgen -W "$(ralph list --all --ids 2>/dev/null | cut -f1)" -- "$current") )
            fi
            ;;
    esac
}}
complete -F _ralph_with_ids -o bashdefault -o default ralph
"#
    )
}

/// The same where the generated completions have a place for it.
fn zsh_ids(script: &str) -> String {
    let line = |line: &str| match line.contains("loop_name --") {
        true => line.replace(":_default'", ":_ralph_loops'"),
        false => line.to_owned(),
    };
    let script: Vec<String> = script.lines().map(line).collect();
    let (first, rest) = script.split_first().map_or(("", &[][..]), |(first, rest)| (first.as_str(), rest));
    format!(
        "{first}\n\n_ralph_loops() {{\n    local -a loops\n    \
         loops=(${{(f)\"$(ralph list --all --ids 2>/dev/null | tr '\\t' ':')\"}})\n    \
         _describe 'loop' loops\n}}\n{}\n",
        rest.join("\n")
    )
}

/// One page for everything: `man ralph` shows each command with its flags.
fn manual(text: &mut Vec<u8>) -> io::Result<()> {
    let command = whole();
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
