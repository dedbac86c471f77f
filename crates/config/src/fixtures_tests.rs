//! Layers for tests.

use std::path::Path;

use super::{Key, Layer, parse};

/// A layer as a file says it.
pub(crate) fn layer(text: &str) -> Layer {
    parse(Path::new("config.toml"), text).unwrap_or_else(|error| panic!("{error}")).layer
}

/// The same in the words of the flags, which are shorter to read.
pub(crate) fn flags(words: &[&str]) -> Layer {
    let mut lines: Vec<(Key, Vec<String>)> = Vec::new();
    let mut words = words.iter().peekable();
    while let Some(flag) = words.next() {
        let key = Key::ALL.iter().copied().find(|key| key.flag() == Some(*flag)).unwrap_or_else(|| panic!("{flag}"));
        let (_, example) = key.example().split_once(" = ").unwrap();
        let bare = words.peek().is_none_or(|next| next.starts_with("--"));
        let value = match words.next_if(|_| !bare) {
            None => example.to_owned(),
            Some(number) if example.parse::<f64>().is_ok() && number.parse::<f64>().is_ok() => (*number).to_owned(),
            Some(text) => format!("{text:?}"),
        };
        match lines.iter_mut().find(|(known, _)| *known == key) {
            Some((_, values)) => values.push(value),
            None => lines.push((key, vec![value])),
        }
    }
    let line = |(key, values): &(Key, Vec<String>)| match values.as_slice() {
        [one] if !key.example().contains('[') => format!("{} = {one}\n", key.name()),
        several => format!("{} = [{}]\n", key.name(), several.join(", ")),
    };
    layer(&lines.iter().map(line).collect::<String>())
}
