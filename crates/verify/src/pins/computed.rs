//! What checks use and compute the names of: includes by pattern or variable, scripts that a variable or a pattern names. Nothing
//! can be pinned that has no name before it runs, so a result by such checks is worth less.

use crate::pins::Sources;
use crate::pins::expand::{Expanded, JUSTFILES, MAKEFILES};
use crate::pins::path;
use crate::pins::words::{Simple, commands};

/// How many are noted.
const MAX: usize = 20;

/// What the texts of a check compute, as it is written there.
pub(super) fn of(sources: &dyn Sources, texts: &[Expanded]) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    let mut read: Vec<&str> = Vec::new();
    for text in texts {
        if let Some(file) = text.from.as_deref().filter(|file| !read.contains(file)) {
            read.push(file);
            found.extend(sources.read(file).map(|whole| included(file, &whole)).unwrap_or_default());
        }
        let in_recipe = text.from.as_deref().is_some_and(is_makefile);
        let commands = commands(&text.text, &text.folder);
        let loops: Vec<&str> = commands.iter().filter_map(loop_variable).collect();
        found.extend(commands.iter().filter_map(|simple| executed(simple, in_recipe, &loops)));
    }
    let mut seen = Vec::new();
    found.retain(|one| {
        !seen.contains(one) && {
            seen.push(one.clone());
            true
        }
    });
    found.truncate(MAX);
    found
}

fn is_makefile(file: &str) -> bool {
    MAKEFILES.contains(&path::name(file)) || path::extension(file) == "mk"
}

fn is_computed(word: &str) -> bool {
    word.contains(['$', '*', '?', '`', '['])
}

/// `include $(wildcard *.mk)` of a makefile, `import "{{ x }}"` of a justfile.
fn included(file: &str, text: &str) -> Vec<String> {
    let is_include = |line: &&str| {
        let mut words = line.split_whitespace();
        match words.next() {
            Some("include" | "-include" | "sinclude") if is_makefile(file) => words.any(is_computed),
            Some("import" | "import?" | "mod") if JUSTFILES.contains(&path::name(file)) => {
                words.any(|word| word.contains("{{") || is_computed(word))
            }
            _ => false,
        }
    };
    text.lines().map(str::trim).filter(is_include).map(str::to_owned).collect()
}

/// The variable of `for f in checks/*.sh`.
fn loop_variable(simple: &Simple) -> Option<&str> {
    match simple.words.as_slice() {
        [word, name, of, list @ ..] if word == "for" && of == "in" && list.iter().any(|word| is_computed(word)) => {
            Some(name.as_str())
        }
        _ => None,
    }
}

/// A command that executes or sources what it computes. In a recipe `$(NAME)` is a variable of a makefile, which is pinned.
fn executed(simple: &Simple, in_recipe: bool, loops: &[&str]) -> Option<String> {
    let inner = simple.inner();
    let is_open =
        |word: &str| if in_recipe { word.contains("$$") || word.contains(['*', '?']) } else { is_computed(word) };
    let is_loop = |word: &str| word.starts_with('$') && loops.contains(&word.trim_matches(|c| "${}".contains(c)));
    let argument = inner.words.iter().skip(1).find(|word| !word.starts_with('-'));
    let takes_text = inner.words.iter().skip(1).any(|word| word.starts_with('-') && word.contains('c'));
    let is_so = match inner.program() {
        "source" | "." | "sh" | "bash" | "dash" | "zsh" | "ksh" => {
            !takes_text && argument.is_some_and(|word| is_open(word))
        }
        "eval" => inner.words.iter().skip(1).any(|word| is_open(word)),
        "xargs" | "parallel" | "run-parts" => true,
        "find" => inner.words.iter().any(|word| word.starts_with("-exec")),
        _ => inner.words.first().is_some_and(|word| is_loop(word) || (word.contains('/') && word.contains(['*', '?']))),
    };
    is_so.then(|| inner.words.join(" "))
}

#[cfg(test)]
#[path = "computed_tests.rs"]
mod tests;
