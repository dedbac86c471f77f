//! Whether a file is another only in its format. When in doubt it is not.

use crate::pattern::pattern;
use crate::pins::json::Json;
use crate::pins::path;
use crate::syntax::{Source, readable};

/// Whether two contents of a file differ in nothing but blanks, comments that no tool obeys, and punctuation that means
/// nothing.
pub fn same_but_for_format(path: &str, before: &[u8], now: &[u8]) -> bool {
    if before == now {
        return true;
    }
    let (Some(before), Some(now)) = (readable(before), readable(now)) else { return false };
    if path::extension(path) == "json" {
        return matches!((Json::parse(&before), Json::parse(&now)), (Some(a), Some(b)) if a.same(&b));
    }
    let shape = |text: &str| Source::parse(path, text).map(|source| source.shape(Source::ROOT));
    matches!((shape(&before), shape(&now)), (Some(before), Some(now)) if before == now)
}

/// What a manifest may say otherwise than before: which packages and sources the work is made of. The second pattern takes
/// out again what is about tests.
const MANIFESTS: [(&str, &str, &str); 7] = [
    ("pom.xml", r"^(?:</?dependenc(?:y|ies)>|<(?:groupId|artifactId|version|scope|optional)>[\w.${}-]+</\w+>)$", "^$"),
    (".gradle", r#"^(?:implementation|api|compileOnly|runtimeOnly)[ (]+['"][\w.:${}-]+['"]\)?$"#, "^$"),
    (".kts", r#"^(?:implementation|api|compileOnly|runtimeOnly)\("[\w.:${}-]+"\)$"#, "^$"),
    ("Gemfile", r#"^gem ['"][\w-]+['"](?:, ?['"][~><=. \d]+['"])*$"#, "test|spec"),
    ("composer.json", r#"^"[\w.-]+/[\w.-]+": "[\w^~><=|.* -]+"$"#, "phpunit|pest"),
    (".csproj", r#"^<PackageReference Include="[\w.]+" Version="[\w.-]+" ?/>$"#, "(?i-u:test|unit)"),
    (
        "CMakeLists.txt",
        r"^(?:add_(?:library|executable)|target_(?:sources|link_libraries|include_directories)|include_directories|find_package|install|message|set)\b",
        "(?i-u:test)|CMAKE_|FLAGS|NDEBUG|[|<>]",
    ),
];

/// Whether a manifest differs in nothing but the packages and sources that the work is made of.
#[must_use]
pub fn same_but_for_packages(path: &str, before: &[u8], now: &[u8]) -> bool {
    let Some((_, free, fixed)) = MANIFESTS.iter().find(|(name, _, _)| path.ends_with(name)) else { return false };
    let (free, fixed) = (pattern(free), pattern(fixed));
    let rest = |text: &str| -> Vec<String> {
        // A command of CMake ends where its parentheses do.
        let (mut units, mut open) = (vec![String::new()], 0);
        for line in text.lines().map(|line| line.trim().trim_end_matches(',')) {
            let unit = units.last_mut().filter(|unit| open > 0 && !unit.is_empty());
            match unit {
                Some(unit) => unit.extend([" ", line]),
                None => units.push(line.to_owned()),
            }
            if path.ends_with(".txt") {
                let code = line.split('#').next().unwrap_or_default();
                let count = |mark: char| i64::try_from(code.matches(mark).count()).unwrap_or(0);
                open += count('(') - count(')');
            }
        }
        units.retain(|unit| !unit.is_empty() && (!free.is_match(unit) || fixed.is_match(unit)));
        units
    };
    matches!((readable(before), readable(now)), (Some(before), Some(now)) if rest(&before) == rest(&now))
}

#[cfg(test)]
#[path = "format_tests.rs"]
mod tests;
