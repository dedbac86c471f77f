//! Python: tests and what they need, what steers pytest and the interpreter, names that shadow a module.

use std::collections::BTreeSet;

use ralph_model::PinKind::{Frozen, Installed, Modules, Parts, Steering};

use super::{any_of, grouped, shadow};
use crate::pattern::Pattern;
use crate::pins::path;
use crate::pins::question::{Layers, Project, add as pin};
use crate::pins::runner::is_python;
use ralph_model::{Runner, TestLanguage};

/// Files that steer, whether they exist or not.
const STEERING: [(&str, &str); 16] = [
    ("conftest.py", "steers pytest"),
    ("pytest.ini", "steers pytest"),
    (".pytest.ini", "steers pytest"),
    ("pytest.toml", "steers pytest"),
    (".pytest.toml", "steers pytest"),
    ("tox.ini", "configures pytest and tox"),
    ("tox.toml", "configures tox"),
    ("uv.toml", "configures uv"),
    ("hatch.toml", "configures hatch"),
    ("noxfile.py", "steers nox"),
    // Python reads these names in any case.
    ("*[eE][gG][gG]-[iI][nN][fF][oO]/[eE][nN][tT][rR][yY]_[pP]*", "registers pytest plugins"),
    ("*.[dD][iI][sS][tT]-[iI][nN][fF][oO]/[eE][nN][tT][rR][yY]_[pP]*", "registers pytest plugins"),
    (".coveragerc", "configures coverage, which can execute code"),
    ("sitecustomize.py", "executed when Python starts"),
    ("usercustomize.py", "executed when Python starts"),
    ("*.pth", "executed when Python starts"),
];
/// Packages that run and judge tests.
const PACKAGES: [&str; 14] = [
    "pytest",
    "_pytest",
    "pluggy",
    "iniconfig",
    "hypothesis",
    "xdist",
    "pytest_*",
    "py.py",
    "nose2",
    "mock",
    "coverage",
    "execnet",
    "exceptiongroup",
    "unittest2",
];

pub(super) fn add(project: &Project<'_>, layers: &mut Layers) {
    let used = project.runs(TestLanguage::Python)
        || project.starts.iter().any(|simple| is_python(simple.program()))
        || project.uses(&["tox", "nox", "hatch", "uv", "poetry"]);
    let sources = project.has_extension(&["py"]);
    if !used && !sources {
        return;
    }
    for glob in ["test_*.py", "*_test.py", "/tests.py", "tests/", "test/"] {
        pin(&mut layers.tests, Frozen, "Python tests and their support files", glob);
    }
    let measures = measures_coverage(project);
    for (name, why) in STEERING.into_iter().filter(|(name, _)| measures || *name != ".coveragerc") {
        pin(&mut layers.steering, Steering, why, name);
    }
    manifests(project, layers);
    modules(project, layers);
    let mut folders: BTreeSet<String> = BTreeSet::from([String::new()]);
    if project.files.iter().any(|file| file.starts_with("src/")) {
        folders.insert("src".to_owned());
    }
    folders.extend(project.files.iter().filter(|file| is_test(file)).map(|file| path::parent(file).to_owned()));
    let imported = imported(project);
    shadow::modules(project, &folders.into_iter().collect::<Vec<_>>(), &imported, layers);
    environments(project, &imported, layers);
}

/// Settings of test tools in manifests. pytest looks for them from the folders of its tests upwards.
fn manifests(project: &Project<'_>, layers: &mut Layers) {
    let why = "configuration of Python test tools";
    let mut folders: BTreeSet<&str> = BTreeSet::from([""]);
    for file in project.files.iter().filter(|file| is_test(file)) {
        let mut folder = path::parent(file);
        while folders.insert(folder) {
            folder = path::parent(folder);
        }
    }
    for glob in grouped(&folders.into_iter().collect::<Vec<_>>(), "{pyproject.toml,setup.cfg}") {
        pin(&mut layers.parts, Steering, why, glob);
    }
    for file in project.files.iter().filter(|file| matches!(path::name(file), "pyproject.toml" | "setup.cfg")) {
        pin(&mut layers.parts, Parts, why, path::exact(file));
    }
}

/// Modules that are found by their names: by an import before another one, or by the runner itself.
fn modules(project: &Project<'_>, layers: &mut Layers) {
    let found = &mut layers.modules;
    if project.runners.contains(&Runner::Unittest) {
        pin(found, Modules, "imported by unittest", "test*.py");
    }
    if imports_all_modules(project) {
        pin(found, Modules, "imported by pytest for its doctests", "*.py");
    }
    // Runners import more of the standard library than tests do, and look in the workspace first.
    let names = any_of(&shadow::STANDARD.split_whitespace().collect::<Vec<_>>());
    for folder in ["", "src/"] {
        pin(found, Modules, "may be imported by the runner", format!("/{folder}{names}.py"));
        pin(found, Modules, "may be imported by the runner", format!("/{folder}{names}/__init__.py"));
    }
    pin(found, Modules, "imported before a module by the same name", "__init__.py");
    pin(found, Modules, "imported before a module by the same name", "*.{so,pyd,pyc}");
}

/// Whether pytest looks for doctests in every module.
fn imports_all_modules(project: &Project<'_>) -> bool {
    has_option(project, "--doctest-modules")
}

/// Whether the checks measure coverage.
fn measures_coverage(project: &Project<'_>) -> bool {
    project.uses(&["coverage"]) || has_option(project, "--cov")
}

/// Whether a command or the settings of pytest have an option that starts so.
fn has_option(project: &Project<'_>, option: &str) -> bool {
    let says = |file: &&str| project.sources.read(file).is_some_and(|text| text.contains(option));
    ["pytest.ini", ".pytest.ini", "pytest.toml", "tox.ini", "setup.cfg", "pyproject.toml"].iter().any(says)
        || project.starts.iter().any(|simple| simple.words.iter().any(|word| word.starts_with(option)))
}

/// Modules that test files import: what a test compares with is as good as the test.
fn imported(project: &Project<'_>) -> Vec<String> {
    static IMPORT: Pattern = Pattern::new(r"(?m)^[ \t]*(?:from|import)[ \t]+([A-Za-z_]\w*)");
    let mut names: Vec<String> = Vec::new();
    for text in
        project.files.iter().filter(|file| is_test(file)).take(MAX_TESTS).filter_map(|file| project.sources.read(file))
    {
        names.extend(IMPORT.captures_iter(&text).filter_map(|found| found.get(1)).map(|name| name.as_str().to_owned()));
    }
    names.sort();
    names.dedup();
    names.truncate(MAX_IMPORTS);
    names
}

/// Test files that are read for what they import.
const MAX_TESTS: usize = 300;
/// Modules that are watched for their sake.
const MAX_IMPORTS: usize = 60;

fn is_test(file: &str) -> bool {
    let name = path::name(file);
    name.ends_with(".py") && (name.starts_with("test") || name.ends_with("_test.py") || name == "conftest.py")
}

/// Virtual environments in the workspace.
fn environments(project: &Project<'_>, imported: &[String], layers: &mut Layers) {
    let mut names: Vec<&str> = PACKAGES.to_vec();
    let is_standard = |name: &&str| shadow::STANDARD.split_whitespace().any(|known| known == *name);
    names.extend(imported.iter().map(String::as_str).filter(|name| !is_standard(name)));
    names.sort_unstable();
    names.dedup();
    for place in project.sources.names("") {
        if !project.sources.has_file(&format!("{place}/pyvenv.cfg")) {
            continue;
        }
        let why = "installed Python test runner";
        pin(&mut layers.installed, Installed, why, path::below(&place, "bin/**"));
        let packages = format!("lib/python*/site-packages/{}", any_of(&names));
        pin(&mut layers.installed, Installed, why, path::below(&place, &packages));
        pin(&mut layers.installed, Installed, why, path::below(&place, &format!("{packages}/**")));
        for name in ["*.pth", "{sitecustomize,usercustomize}.py"] {
            let glob = path::below(&place, &format!("lib/python*/site-packages/{name}"));
            pin(&mut layers.installed, Steering, "executed when Python starts", glob);
        }
        pin(&mut layers.installed, Steering, "configures the virtual environment", path::below(&place, "pyvenv.cfg"));
    }
}
