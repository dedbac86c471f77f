//! Paths as text, relative to the workspace and separated by `/`. Touches no file.

/// Joins two relative paths and resolves `.` and `..`; `None` where that leads out of the workspace or is absolute.
pub(crate) fn join(folder: &str, path: &str) -> Option<String> {
    if path.starts_with(['/', '~']) {
        return None;
    }
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !matches!(*part, "" | ".")).collect();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop()?;
            }
            name => parts.push(name),
        }
    }
    Some(parts.join("/"))
}

/// The folder of a path; empty for what is at the top.
pub(crate) fn parent(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(folder, _)| folder)
}

/// The last part of a path.
pub(crate) fn name(path: &str) -> &str {
    path.rsplit_once('/').map_or(path, |(_, name)| name)
}

/// What follows the last dot of the name; empty without one.
pub(crate) fn extension(path: &str) -> &str {
    match name(path).rsplit_once('.') {
        Some((stem, extension)) if !stem.is_empty() => extension,
        _ => "",
    }
}

/// A glob that matches exactly this path below the workspace's root.
pub(crate) fn exact(path: &str) -> String {
    let mut glob = String::with_capacity(path.len() + 1);
    glob.push('/');
    for c in path.chars() {
        if matches!(c, '*' | '?' | '[' | ']' | '{' | '}' | '\\') {
            glob.push('\\');
        }
        glob.push(c);
    }
    // A line of a `.gitignore` loses its trailing blanks unless they are escaped.
    if glob.ends_with(' ') {
        glob.pop();
        glob.push_str("\\ ");
    }
    glob
}

/// A glob for something in a folder: `below("web", "*.ts")` is `/web/*.ts`.
pub(crate) fn below(folder: &str, glob: &str) -> String {
    if folder.is_empty() { format!("/{glob}") } else { format!("{}/{glob}", exact(folder)) }
}
