//! Python: pytest or unittest.

use super::{Findings, Folder, Quality, Stack, has_section};

pub(super) fn look(folder: Folder<'_>, findings: &mut Findings) {
    let pyproject = folder.read("pyproject.toml").unwrap_or_default();
    let manifests = ["pyproject.toml", "setup.py", "setup.cfg", "requirements.txt", "Pipfile", "tox.ini", "uv.lock"];
    let tests = test_files(folder);
    if folder.first_of(&manifests).is_none()
        && tests.is_none()
        && !folder.has("pytest.ini")
        && !folder.has("conftest.py")
    {
        return;
    }
    findings.stack(Stack::Python);
    let through = through(folder, &pyproject);
    if let Some(why) = pytest(folder, &pyproject) {
        findings.suggest(Quality::Tests, Stack::Python, format!("{through}pytest"), why);
    } else if let Some(tests) = tests {
        let python = if through.is_empty() { "python3" } else { "python" };
        // A folder that is no package is not found from above.
        let place = match tests.folder {
            "." => String::new(),
            folder => format!(" -s {folder}"),
        };
        findings.suggest(
            Quality::Tests,
            Stack::Python,
            format!("{through}{python} -m unittest discover{place}"),
            format!("{} looks like a test, and nothing names pytest", tests.file),
        );
    }
}

/// The tool whose environment holds the dependencies.
fn through(folder: Folder<'_>, pyproject: &str) -> &'static str {
    if folder.has("uv.lock") {
        "uv run "
    } else if folder.has("poetry.lock") || has_section(pyproject, "tool.poetry") {
        "poetry run "
    } else if folder.has("pdm.lock") {
        "pdm run "
    } else if folder.has("Pipfile") {
        "pipenv run "
    } else {
        ""
    }
}

fn pytest(folder: Folder<'_>, pyproject: &str) -> Option<String> {
    if let Some(file) =
        folder.first_of(&["pytest.ini", ".pytest.ini", "conftest.py", "tests/conftest.py", "test/conftest.py"])
    {
        return Some(format!("there is a {file}"));
    }
    if has_section(pyproject, "tool.pytest") {
        return Some("pyproject.toml configures pytest".to_owned());
    }
    for (file, section) in [("setup.cfg", "tool:pytest"), ("tox.ini", "pytest")] {
        if folder.read(file).is_some_and(|text| has_section(&text, section)) {
            return Some(format!("{file} configures pytest"));
        }
    }
    let mut lists =
        vec!["pyproject.toml".to_owned(), "Pipfile".to_owned(), "setup.cfg".to_owned(), "setup.py".to_owned()];
    lists.extend(
        folder.names(".").into_iter().filter(|name| name.starts_with("requirements") && name.ends_with(".txt")),
    );
    let names_it = |text: &str| {
        let words = text.lines().map(|line| line.split('#').next().unwrap_or(line));
        words
            .flat_map(|line| line.split(|c: char| !(c.is_alphanumeric() || "-_".contains(c))))
            .any(|word| word == "pytest")
    };
    lists
        .into_iter()
        .find(|file| folder.read(file).is_some_and(|text| names_it(&text)))
        .map(|file| format!("{file} names pytest"))
}

struct Tests {
    folder: &'static str,
    file: String,
}

fn test_files(folder: Folder<'_>) -> Option<Tests> {
    for place in [".", "tests", "test"] {
        let test = folder.names(place).into_iter().find(|name| name.starts_with("test") && name.ends_with(".py"));
        if let Some(name) = test {
            let file = if place == "." { name } else { format!("{place}/{name}") };
            let package = place != "." && folder.has(&format!("{place}/__init__.py"));
            return Some(Tests { folder: if package { "." } else { place }, file });
        }
    }
    None
}
