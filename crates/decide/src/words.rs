//! Splits a request into words that can be compared: lower case, without accents.

pub(crate) fn words(text: &str) -> Vec<String> {
    let folded: String = text.chars().flat_map(fold).collect();
    folded.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).map(ToOwned::to_owned).collect()
}

/// A character in lower case, without its accent.
fn fold(c: char) -> impl Iterator<Item = char> {
    let plain = |c: char| match c {
        'à' | 'á' | 'â' | 'ã' | 'ä' | 'å' => 'a',
        'ç' => 'c',
        'è' | 'é' | 'ê' | 'ë' => 'e',
        'ì' | 'í' | 'î' | 'ï' => 'i',
        'ñ' => 'n',
        'ò' | 'ó' | 'ô' | 'õ' | 'ö' => 'o',
        'ù' | 'ú' | 'û' | 'ü' => 'u',
        'ý' | 'ÿ' => 'y',
        other => other,
    };
    let expanded: Vec<char> = match c {
        'ß' => vec!['s', 's'],
        'œ' | 'Œ' => vec!['o', 'e'],
        'æ' | 'Æ' => vec!['a', 'e'],
        other => other.to_lowercase().map(plain).collect(),
    };
    expanded.into_iter()
}

/// Whether `typed` could be a slip of the finger for `meant`: two neighbours swapped, a letter too few or too many, and in
/// long words a wrong letter.
pub(crate) fn is_slip(typed: &str, meant: &str) -> bool {
    let (typed, meant): (Vec<char>, Vec<char>) = (typed.chars().collect(), meant.chars().collect());
    let shared = typed.iter().zip(&meant).take_while(|(a, b)| a == b).count();
    let (typed_rest, meant_rest) = (&typed[shared..], &meant[shared..]);
    let (Some(a), Some(b)) = (typed_rest.first(), meant_rest.first()) else {
        // One is the beginning of the other, which a plural may be as well.
        let is_plural = typed.len() > meant.len() && typed.ends_with(&['s']);
        return typed.len().abs_diff(meant.len()) == 1 && typed.len() >= 6 && !is_plural;
    };
    let is_swapped = typed_rest.len() == meant_rest.len()
        && typed_rest.len() >= 2
        && (Some(a), Some(b)) == (meant_rest.get(1), typed_rest.get(1))
        && typed_rest[2..] == meant_rest[2..];
    let is_long = typed.len() >= 5 && shared > 0;
    let lacks = typed_rest == &meant_rest[1..];
    let has_more = &typed_rest[1..] == meant_rest && typed.len() >= 6;
    let differs = typed_rest[1..] == meant_rest[1..] && typed.len() >= 7;
    (is_swapped && typed.len() >= 3) || (is_long && (lacks || has_more || differs))
}

#[cfg(test)]
#[path = "words_tests.rs"]
mod tests;
