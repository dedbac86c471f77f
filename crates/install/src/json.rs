//! Edits of JSON that keep comments, order, indentation and line ends.

use jsonc_parser::ParseOptions;
use jsonc_parser::cst::{CstArray, CstInputValue, CstObject, CstRootNode};
use serde_json::Value;

use crate::settings::{JsonEdit, Refusal};

pub(crate) fn add(text: &str, edits: &[JsonEdit]) -> Result<String, Refusal> {
    let (mark, body) = without_mark(text);
    let root = parse(body)?;
    let before = root.to_serde_value();
    let object = match root.value() {
        None => root.object_value_or_set(),
        Some(_) => root.object_value().ok_or_else(|| Refusal::Broken("is no JSON object".to_owned()))?,
    };
    for edit in edits {
        match edit {
            JsonEdit::Member { path, value } => {
                let Some((name, parents)) = path.split_last() else { continue };
                let parent = descend(&object, parents)?;
                match parent.get(name).and_then(|member| member.value()).and_then(|value| value.to_serde_value()) {
                    Some(there) if there == *value => {}
                    Some(_) => return Err(Refusal::Taken(path.join("."))),
                    None => {
                        parent.append(name, input(value));
                    }
                }
            }
            JsonEdit::Element { path, value } => {
                let list = list(&object, path)?;
                if !elements(&list).any(|element| element == *value) {
                    list.append(input(value));
                }
            }
        }
    }
    if before == root.to_serde_value() {
        return Ok(text.to_owned());
    }
    let mut after = format!("{mark}{root}");
    if body.trim().is_empty() && !after.ends_with('\n') {
        after.push('\n');
    }
    Ok(after)
}

/// The text without the values. Containers that are empty then, and that `before` does not have, go with them.
pub(crate) fn remove(text: &str, edits: &[JsonEdit], before: Option<&str>) -> Result<String, Refusal> {
    let (mark, body) = without_mark(text);
    let root = parse(body)?;
    let original = before.and_then(|before| parse(without_mark(before).1).ok()?.to_serde_value());
    let Some(object) = root.object_value() else { return Ok(text.to_owned()) };
    for edit in edits {
        match edit {
            JsonEdit::Member { path, value } => {
                let Some((name, parents)) = path.split_last() else { continue };
                let member = find(&object, parents).and_then(|parent| parent.get(name));
                let there = member.as_ref().and_then(|member| member.value()).and_then(|value| value.to_serde_value());
                match (member, there) {
                    (Some(member), Some(there)) if there == *value => member.remove(),
                    (Some(_), _) => return Err(Refusal::Altered(path.join("."))),
                    (None, _) => continue,
                }
                prune(&object, parents, original.as_ref());
            }
            JsonEdit::Element { path, value } => {
                let list = path.split_last().and_then(|(name, parents)| find(&object, parents)?.array_value(name));
                let nodes = list.iter().flat_map(CstArray::elements);
                let ours = nodes.into_iter().find(|node| node.to_serde_value().as_ref() == Some(value));
                match (ours, &list) {
                    (Some(node), _) => node.remove(),
                    (None, Some(list)) if elements(list).any(|element| is_like(&element, value)) => {
                        return Err(Refusal::Altered(path.join(".")));
                    }
                    (None, _) => continue,
                }
                prune(&object, path, original.as_ref());
            }
        }
    }
    Ok(format!("{mark}{root}"))
}

/// Whether an element runs the same command: then somebody changed what is ours.
fn is_like(element: &Value, ours: &Value) -> bool {
    let command = |value: &Value| value["hooks"][0]["command"].as_str().map(ToOwned::to_owned);
    command(element).is_some() && command(element) == command(ours)
}

/// Removes what is empty along a path, from its end.
fn prune(object: &CstObject, path: &[String], original: Option<&Value>) {
    let had = |path: &[String]| {
        let found = path.iter().try_fold(original?, |value, name| value.get(name));
        found.map(|_| ())
    };
    for length in (1..=path.len()).rev() {
        let Some((name, parents)) = path[..length].split_last() else { return };
        let Some(member) = find(object, parents).and_then(|parent| parent.get(name)) else { return };
        let is_empty = match (member.object_value(), member.array_value()) {
            (Some(object), _) => object.properties().is_empty(),
            (None, Some(list)) => list.elements().is_empty(),
            (None, None) => false,
        };
        if !is_empty || had(&path[..length]).is_some() {
            return;
        }
        member.remove();
    }
}

fn parse(text: &str) -> Result<CstRootNode, Refusal> {
    let options = ParseOptions {
        allow_comments: true,
        allow_trailing_commas: true,
        allow_loose_object_property_names: false,
        allow_missing_commas: false,
        allow_single_quoted_strings: false,
        allow_hexadecimal_numbers: false,
        allow_unary_plus_numbers: false,
        allow_bare_decimal_point_numbers: false,
        allow_non_finite_numbers: false,
        allow_extended_string_escapes: false,
    };
    CstRootNode::parse(text, &options).map_err(|error| Refusal::Broken(format!("is not valid JSON: {error}")))
}

/// A byte order mark is no JSON, and stays where it is.
fn without_mark(text: &str) -> (&str, &str) {
    text.strip_prefix('\u{feff}').map_or(("", text), |body| ("\u{feff}", body))
}

fn descend(object: &CstObject, path: &[String]) -> Result<CstObject, Refusal> {
    path.iter().try_fold(object.clone(), |object, name| {
        object.object_value_or_create(name).ok_or_else(|| Refusal::Broken(format!("`{name}` is no object")))
    })
}

fn list(object: &CstObject, path: &[String]) -> Result<CstArray, Refusal> {
    let Some((name, parents)) = path.split_last() else { return Err(Refusal::Broken("has no list".to_owned())) };
    let parent = descend(object, parents)?;
    parent.array_value_or_create(name).ok_or_else(|| Refusal::Broken(format!("`{name}` is no list")))
}

fn find(object: &CstObject, path: &[String]) -> Option<CstObject> {
    path.iter().try_fold(object.clone(), |object, name| object.object_value(name))
}

fn elements(list: &CstArray) -> impl Iterator<Item = Value> {
    list.elements().into_iter().filter_map(|node| node.to_serde_value())
}

fn input(value: &Value) -> CstInputValue {
    match value {
        Value::Null => CstInputValue::Null,
        Value::Bool(value) => CstInputValue::Bool(*value),
        Value::Number(number) => CstInputValue::Number(number.to_string()),
        Value::String(text) => CstInputValue::String(text.clone()),
        Value::Array(values) => CstInputValue::Array(values.iter().map(input).collect()),
        Value::Object(members) => {
            CstInputValue::Object(members.iter().map(|(name, value)| (name.clone(), input(value))).collect())
        }
    }
}
