//! `go.mod`: where modules come from. Versions are free.

use super::{Parts, verdict};

/// A line that replaces a module, wherever it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Replacement {
    module: String,
    line: String,
}

#[derive(Debug, Default)]
struct Modules {
    required: Vec<String>,
    replaced: Vec<Replacement>,
    name: Option<String>,
    /// Every line that replaces nothing.
    rest: Vec<String>,
}

fn read(text: &str) -> Modules {
    let mut modules = Modules::default();
    let mut block = String::new();
    for line in text.lines() {
        let code = line.split("//").next().unwrap_or_default();
        let words: Vec<&str> = code.split_whitespace().collect();
        let (verb, words) = match words.as_slice() {
            [")"] => {
                let ended = std::mem::take(&mut block);
                if ended != "replace" {
                    modules.rest.push(line.to_owned());
                }
                continue;
            }
            [verb, "("] => {
                block = (*verb).to_owned();
                if *verb != "replace" {
                    modules.rest.push(line.to_owned());
                }
                continue;
            }
            words if !block.is_empty() => (block.as_str(), words),
            [verb, words @ ..] => (*verb, words),
            [] => ("", &[][..]),
        };
        match (verb, words) {
            ("replace", [module, ..]) => {
                modules
                    .replaced
                    .push(Replacement { module: module.trim_matches('"').to_owned(), line: words.join(" ") });
                continue;
            }
            ("require", [module, ..]) => modules.required.push(module.trim_matches('"').to_owned()),
            ("module", [name]) => modules.name = Some((*name).to_owned()),
            _ => {}
        }
        modules.rest.push(line.to_owned());
    }
    modules
}

pub(super) fn compare(before: &str, now: Option<&str>) -> Parts {
    let Some(now) = now else { return Parts::Gone { restored: before.as_bytes().to_vec() } };
    let (old, new) = (read(before), read(now));
    let mut what: Vec<String> = Vec::new();
    if old.name != new.name {
        what.push("module".to_owned());
    }
    for replacement in &old.replaced {
        if !new.replaced.contains(replacement) && new.required.contains(&replacement.module) {
            what.push(format!("replace {}", replacement.module));
        }
    }
    let known = |replacement: &&Replacement| {
        old.required.contains(&replacement.module)
            || old.replaced.iter().any(|other| other.module == replacement.module)
    };
    let fresh: Vec<&Replacement> =
        new.replaced.iter().filter(|replacement| !old.replaced.contains(replacement)).filter(known).collect();
    what.extend(fresh.iter().map(|replacement| format!("replace {}", replacement.module)));
    what.sort();
    what.dedup();
    verdict(what, || {
        if old.name != new.name {
            return before.to_owned();
        }
        let mut lines = new.rest.clone();
        let kept = new
            .replaced
            .iter()
            .filter(|replacement| !fresh.contains(replacement) && !old.replaced.contains(replacement));
        lines.extend(old.replaced.iter().chain(kept).map(|replacement| format!("replace {}", replacement.line)));
        lines.join("\n") + "\n"
    })
}
