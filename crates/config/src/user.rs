//! The user's own configuration file.

use std::path::Path;

use crate::agents::unknown_in_order;
use crate::{Document, Error, Key, Layer, Links, parse, read};

/// The user's own configuration; empty when there is none.
pub fn read_user(path: &Path) -> Result<Layer, Error> {
    Ok(read_user_document(path)?.map(|document| document.layer).unwrap_or_default())
}

/// The same with the place of every key; none when there is no such file.
pub fn read_user_document(path: &Path) -> Result<Option<Document>, Error> {
    let Some(bytes) = read(path, Links::Follow)? else {
        tracing::debug!(?path, "there is no configuration of the user");
        return Ok(None);
    };
    let Ok(text) = String::from_utf8(bytes) else { return Err(Error::NotText { path: path.to_owned() }) };
    let document = parse(path, &text)?;
    let order = document.location(Key::AgentOrder).zip(unknown_in_order(&document.layer));
    if let Some((at, message)) = order {
        let (at, key) = (at.clone(), Key::AgentOrder);
        return Err(Error::Value { at, key: key.name().to_owned(), message, example: key.example() });
    }
    tracing::debug!(?path, keys = document.present.len(), "read the user's configuration");
    Ok(Some(document))
}
