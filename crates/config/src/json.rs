//! A layer from a JSON object: an HTTP body or the arguments of an MCP call. Its names are those of a file in camelCase.
//!
//! Such a caller may be anybody who has a token, so it may say what a repository may say after approval, and nothing that is the
//! user's alone: caps, prices, environment variables, the sandbox and where metrics go.

use serde::Deserialize as _;
use serde_json::{Map, Value};

use crate::keys::NEVER_IN_A_FILE;
use crate::spelling::camel_case;
use crate::{Class, Error, Key, Layer, Places};

impl Layer {
    /// What a request says. `null` says nothing.
    ///
    /// # Errors
    /// When a name is not known or not for requests, or a value is of the wrong kind.
    pub fn from_json(object: &Map<String, Value>) -> Result<Self, Error> {
        let mut values = Map::new();
        for (name, value) in object.iter().filter(|(_, value)| !value.is_null()) {
            let key = known(name)?;
            if key.class() == Class::UserOnly {
                return Err(Error::NotForRequests { name: name.clone(), key });
            }
            let one = Map::from_iter([(key.name().to_owned(), value.clone())]);
            if let Err(error) = Self::deserialize(Value::Object(one.clone())) {
                return Err(Error::RequestValue { name: name.clone(), message: error.to_string() });
            }
            values.extend(one);
        }
        let mut layer = Self::deserialize(Value::Object(values))
            .map_err(|error| Error::RequestValue { name: String::new(), message: error.to_string() })?;
        let globs = [&layer.prohibited_paths, &layer.protected_paths];
        if let Some(glob) = globs.into_iter().flatten().flatten().find(|glob| glob.trim_start().starts_with('!')) {
            let name = camel_case(Key::ProhibitedPaths.name());
            let message = format!("`{glob}` would allow what is prohibited");
            return Err(Error::RequestValue { name, message });
        }
        layer.places = Places::Request;
        Ok(layer)
    }
}

/// The key of a name; tables of agents and prices are not for requests.
fn known(name: &str) -> Result<Key, Error> {
    let plain = Key::ALL.iter().copied().filter(|key| !key.name().contains('.'));
    if let Some(key) = plain.clone().find(|key| camel_case(key.name()) == name) {
        return Ok(key);
    }
    if NEVER_IN_A_FILE.iter().any(|(never, _)| *never == name) {
        return Err(Error::RequestValue { name: name.to_owned(), message: "belongs next to the settings".to_owned() });
    }
    let nearest = camel_case(Key::nearest(&[], name));
    Err(Error::UnknownName { name: name.to_owned(), nearest })
}

#[cfg(test)]
#[path = "json_tests.rs"]
mod tests;
