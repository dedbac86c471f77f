//! The JSON schema of a configuration file, made from the table of keys, so that editors complete and check it.

use ralph_agents::Kind;
use serde_json::{Map, Value, json};

use crate::keys::ValueKind;
use crate::{Class, Key};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Owner {
    /// A repository's `ralph.toml`: keys that only users may set are named and refused.
    Repository,
    User,
}

pub fn schema(owner: Owner) -> Value {
    let mut root = table();
    for key in Key::ALL {
        insert(&mut root, &key.segments().collect::<Vec<_>>(), property(*key, owner));
    }
    let (title, description) = match owner {
        Owner::Repository => ("ralph.toml", "Configuration of Ralph for a repository."),
        Owner::User => ("config.toml", "Configuration of Ralph for a user."),
    };
    root["$schema"] = json!("http://json-schema.org/draft-07/schema#");
    root["title"] = json!(title);
    root["description"] = json!(description);
    root
}

fn table() -> Value {
    json!({ "type": "object", "additionalProperties": false, "properties": {} })
}

/// Puts a property where its name says; below a name that the user chooses, every name has the same properties.
fn insert(table: &mut Value, segments: &[&str], property: Value) {
    match segments {
        [] => {}
        [name] => table["properties"][*name] = property,
        ["*", rest @ ..] => {
            if !table["additionalProperties"].is_object() {
                table["additionalProperties"] = self::table();
            }
            insert(&mut table["additionalProperties"], rest, property);
        }
        [name, rest @ ..] => {
            if table["properties"].get(*name).is_none() {
                table["properties"][*name] = self::table();
            }
            insert(&mut table["properties"][*name], rest, property);
        }
    }
}

fn property(key: Key, owner: Owner) -> Value {
    let kind = match (owner, key.class()) {
        (Owner::Repository, Class::UserOnly) => json!({ "not": {} }),
        // `!GLOB` would allow what others prohibit.
        (Owner::Repository, Class::NarrowsOnly) => {
            json!({ "type": "array", "items": { "type": "string", "pattern": "^[^!]" } })
        }
        _ => kind(key.kind()),
    };
    let Value::Object(kind) = kind else { return Value::Null };
    let effect = key.effect();
    let mut description: String =
        effect.chars().take(1).flat_map(char::to_uppercase).chain(effect.chars().skip(1)).collect();
    description += match key.class() {
        Class::UserOnly => ". Only in your own configuration, ~/.config/ralph/config.toml.",
        Class::NarrowsOnly => ". Takes effect in a repository without approval.",
        Class::NeedsApproval => ".",
    };
    if let Some(flag) = key.flag() {
        description += &format!(" On the command line: {flag}.");
    }
    let mut property = Map::from_iter([("description".to_owned(), Value::String(description))]);
    property.extend(kind);
    Value::Object(property)
}

fn kind(kind: ValueKind) -> Value {
    let text = || json!({ "type": "string" });
    let texts = || json!({ "type": "array", "items": { "type": "string" } });
    let count = |least: u64| json!({ "type": "integer", "minimum": least });
    let span = || json!({ "type": "string", "pattern": "^[0-9]" });
    match kind {
        ValueKind::Bool => json!({ "type": "boolean" }),
        ValueKind::Count(least) => count(least),
        ValueKind::Between(least, most) => json!({ "type": "integer", "minimum": least, "maximum": most }),
        ValueKind::Text => text(),
        ValueKind::Texts => texts(),
        ValueKind::OneOrMore => json!({ "anyOf": [text(), texts()] }),
        ValueKind::Dollars => {
            json!({ "anyOf": [{ "type": "number", "minimum": 0 }, { "type": "string", "pattern": r"^\$?[0-9]" }] })
        }
        ValueKind::Span => span(),
        ValueKind::Pause => json!({ "anyOf": [count(0), span()] }),
        ValueKind::OneOf(names) => json!({ "enum": names }),
        ValueKind::AgentKind => json!({ "enum": Kind::all().map(|kind| kind.name).collect::<Vec<_>>() }),
    }
}

#[cfg(test)]
#[path = "schema_tests.rs"]
mod tests;
