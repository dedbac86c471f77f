//! Whether a file is another only in its format. When in doubt it is not.

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

#[cfg(test)]
#[path = "format_tests.rs"]
mod tests;
