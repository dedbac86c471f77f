//! Python: pytest, Django's runner or unittest.

use super::{Findings, Folder, Quality, Stack, has_section};

pub(super) fn look(folder: Folder<'_>, findings: &mut Findings) {
    let pyproject = folder.read("pyproject.toml").unwrap_or_default();
    let manifests =
        ["pyproject.toml", "setup.py", "setup.cfg", "requirements.txt", "Pipfile", "tox.ini", "uv.lock", "manage.py"];
    let tests = test_files(folder);
    if folder.first_of(&manifests).is_none()
        && tests.is_none()
        && !folder.has("pytest.ini")
        && !folder.has("conftest.py")
    {
        return;
    }
    findings.stack(Stack::Python);
    let programs = Programs::of(folder, &pyproject);
    let is_django = folder.read("manage.py").is_some_and(|text| text.contains("django"));
    if let Some(why) = pytest(folder, &pyproject).or_else(|| pytest_by_use(folder, &programs, tests.as_ref())) {
        findings.suggest(Quality::Tests, Stack::Python, programs.pytest(folder), why);
    } else if is_django {
        let command = format!("{} manage.py test", programs.python());
        findings.suggest(Quality::Tests, Stack::Python, command, "there is a manage.py of Django");
    } else if let Some(tests) = tests {
        // A folder that is no package is not found from above.
        let place = match tests.folder {
            "." => String::new(),
            folder => format!(" -s {folder}"),
        };
        findings.suggest(
            Quality::Tests,
            Stack::Python,
            format!("{} -m unittest discover{place}", programs.python()),
            format!("{} looks like a test, and nothing names pytest", tests.file),
        );
    }
}

/// Where the programs with the project's dependencies are.
enum Programs {
    /// A tool runs them: `uv run `.
    Through(&'static str),
    /// A virtual environment in the project.
    Environment(&'static str),
    Path,
}

impl Programs {
    fn of(folder: Folder<'_>, pyproject: &str) -> Self {
        if folder.has("uv.lock") {
            Self::Through("uv run ")
        } else if folder.has("poetry.lock") || has_section(pyproject, "tool.poetry") {
            Self::Through("poetry run ")
        } else if folder.has("pdm.lock") {
            Self::Through("pdm run ")
        } else if folder.has("Pipfile") {
            Self::Through("pipenv run ")
        } else if let Some(python) = folder.first_of(&[".venv/bin/python", "venv/bin/python"]) {
            Self::Environment(python.trim_end_matches("/bin/python"))
        } else {
            Self::Path
        }
    }

    fn python(&self) -> String {
        match self {
            Self::Through(tool) => format!("{tool}python"),
            Self::Environment(path) => format!("{path}/bin/python"),
            Self::Path => "python3".to_owned(),
        }
    }

    fn pytest(&self, folder: Folder<'_>) -> String {
        match self {
            Self::Through(tool) => format!("{tool}pytest"),
            Self::Environment(path) if folder.has(&format!("{path}/bin/pytest")) => format!("{path}/bin/pytest"),
            Self::Environment(_) | Self::Path => "pytest".to_owned(),
        }
    }
}

/// Pytest, where no file of the project names it: its environment has it, or the tests are functions, which only pytest finds.
fn pytest_by_use(folder: Folder<'_>, programs: &Programs, tests: Option<&Tests>) -> Option<String> {
    let tests = tests?;
    if let Programs::Environment(path) = programs
        && folder.has(&format!("{path}/bin/pytest"))
    {
        return Some(format!("{} looks like a test, and {path} has pytest", tests.file));
    }
    let text = folder.read(&tests.file)?;
    let is_function = |line: &str| line.starts_with("def test") || line.starts_with("async def test");
    (text.lines().any(is_function) && !text.contains("unittest"))
        .then(|| format!("{} has test functions, which unittest does not run", tests.file))
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
