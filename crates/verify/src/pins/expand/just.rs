//! The recipes of a `justfile`.

use super::Expanded;
use crate::pins::Sources;
use crate::pins::path;
use crate::pins::words::Simple;

/// Files that just looks for.
pub(crate) const NAMES: [&str; 3] = ["justfile", "Justfile", ".justfile"];

/// The recipes that a command names, and those that they depend on.
pub(super) fn behind(sources: &dyn Sources, simple: &Simple) -> Vec<Expanded> {
    let Some(file) =
        NAMES.iter().filter_map(|name| path::join(&simple.folder, name)).find(|file| sources.has_file(file))
    else {
        return Vec::new();
    };
    let text = sources.read(&file).unwrap_or_default();
    let recipes = recipes(&text);
    let mut wanted: Vec<String> = simple.arguments().filter(|word| !word.starts_with('-')).map(str::to_owned).collect();
    if wanted.is_empty() {
        wanted.extend(recipes.first().map(|recipe| recipe.0.clone()));
    }
    let mut texts: Vec<Expanded> = Vec::new();
    let mut seen: Vec<String> = Vec::new();
    while let Some(name) = wanted.pop() {
        if seen.contains(&name) {
            continue;
        }
        for (_, needs, lines) in recipes.iter().filter(|recipe| recipe.0 == name) {
            wanted.extend(needs.iter().cloned());
            texts.push(Expanded { text: lines.clone(), from: Some(file.clone()), folder: simple.folder.clone() });
        }
        seen.push(name);
    }
    texts
}

/// Name, what it depends on, and lines of each recipe.
fn recipes(text: &str) -> Vec<(String, Vec<String>, String)> {
    let mut recipes: Vec<(String, Vec<String>, String)> = Vec::new();
    for line in text.lines() {
        if line.starts_with([' ', '\t']) {
            if let Some((_, _, lines)) = recipes.last_mut() {
                lines.push_str(line.trim_start().trim_start_matches(['@', '-']));
                lines.push('\n');
            }
            continue;
        }
        let Some((head, rest)) = line.split_once(':') else { continue };
        if rest.starts_with('=') || line.starts_with('#') {
            continue;
        }
        let Some(name) = head.split_whitespace().next() else { continue };
        let needs = rest.split(|c: char| c.is_whitespace() || "()".contains(c)).filter(|word| !word.is_empty());
        let needs = needs.take_while(|word| !word.starts_with('#')).filter(|word| *word != "&&").map(str::to_owned);
        recipes.push((name.trim_start_matches('@').to_owned(), needs.collect(), String::new()));
    }
    recipes
}
