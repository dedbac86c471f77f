//! What a path is to be: the common word of pins, swaps and checkouts. Touches no file.

use crate::Error;
use crate::quote::unquote;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Placement {
    Absent,
    File { content: Vec<u8>, mode: u32 },
    Link { target: Vec<u8> },
}

/// The bytes of a path at which something can be placed.
pub(crate) fn path_of(text: &str) -> Result<Vec<u8>, Error> {
    let path = unquote(text).into_owned();
    let wrong = |why: &'static str| Err(Error::Placement { path: text.to_owned(), why });
    let names = || path.split(|byte| *byte == b'/');
    if names().any(|name| matches!(name, b"" | b"." | b"..") || name.contains(&0)) {
        return wrong("it is not a path relative to the workspace");
    }
    if names().any(|name| name == b".git") || names().next() == Some(b".ralph") {
        return wrong("it belongs to git or to Ralph");
    }
    Ok(path)
}
