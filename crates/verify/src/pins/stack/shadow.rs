//! Names that would stand for something else if they appeared: modules where Python looks first, programs where the shell
//! does.

use std::collections::BTreeMap;

use ralph_model::PinKind;

use super::{any_of, grouped, is_managed};
use crate::pins::path;
use crate::pins::question::{Layers, Project, add};

/// Modules that test runners and assertions import, and after which nobody names a module of their own at the top of a
/// project. `queue`, `calendar`, `statistics` and the like are left out: people write those.
const MODULES: &str = "
    _pytest abc argparse ast asyncio atexit attr attrs base64 bdb builtins cProfile codecs codeop collections
    concurrent configparser contextlib contextvars copy copyreg coverage csv ctypes dataclasses datetime decimal
    difflib dis django doctest encodings enum errno exceptiongroup execnet faulthandler fnmatch functools gc
    genericpath getopt getpass gettext glob hamcrest hashlib hypothesis importlib iniconfig inspect io itertools
    json keyword linecache locale logging marshal math mock multiprocessing nose nox ntpath numbers numpy opcode
    operator os packaging pandas pathlib pdb pickle pkg_resources pkgutil platform pluggy posixpath pprint
    pstats py pygments pytest pytest_asyncio pytest_cov pytest_mock pytest_timeout random re reprlib runpy
    setuptools shlex shutil signal site socket sre_compile sre_parse stat string struct subprocess sys sysconfig
    tempfile textwrap threading time timeit tokenize tomllib tomli tox traceback types typing unittest warnings
    weakref
";

/// Programs that checks start, by themselves or through a script.
const PROGRAMS: &str = "
    [ ash awk basename bash bun bunx cargo cargo-nextest cat cc chmod cmp cp cut date dash diff dirname echo env
    expr false find gcc git go grep head id jest jq just ls make mkdir mktemp mocha node nodejs npm npx pnpm
    printf pytest python python3 rm rustc sed sh sleep sort tail tee test timeout tr true uname vitest xargs
";

/// Modules that run and judge tests themselves.
const RUNNERS: [&str; 9] =
    ["_pytest", "doctest", "hypothesis", "iniconfig", "mock", "pluggy", "pytest", "pytest_mock", "unittest"];

/// Every public module of the standard library. One that a test imports cannot honestly become a file of the project.
pub(super) const STANDARD: &str = "\
    abc aifc argparse array ast asynchat asyncio asyncore atexit audioop base64 bdb binascii bisect builtins bz2 \
    cProfile calendar cgi cgitb chunk cmath cmd code codecs codeop collections colorsys compileall concurrent \
    configparser contextlib contextvars copy copyreg crypt csv ctypes curses dataclasses datetime dbm decimal \
    difflib dis distutils doctest email encodings ensurepip enum errno faulthandler fcntl filecmp fileinput \
    fnmatch fractions ftplib functools gc genericpath getopt getpass gettext glob graphlib grp gzip hashlib heapq \
    hmac html http imaplib imghdr imp importlib inspect io ipaddress itertools json keyword lib2to3 linecache \
    locale logging lzma mailbox mailcap marshal math mimetypes mmap modulefinder msilib msvcrt multiprocessing \
    netrc nis nntplib nt ntpath nturl2path numbers opcode operator optparse os ossaudiodev pathlib pdb pickle \
    pickletools pipes pkgutil platform plistlib poplib posix posixpath pprint profile pstats pty pwd py_compile \
    pyclbr pydoc pydoc_data pyexpat queue quopri random re readline reprlib resource rlcompleter runpy sched \
    secrets select selectors shelve shlex shutil signal site smtpd smtplib sndhdr socket socketserver spwd sqlite3 \
    sre_compile sre_constants sre_parse ssl stat statistics string stringprep struct subprocess sunau symtable sys \
    sysconfig syslog tabnanny tarfile telnetlib tempfile termios textwrap threading time timeit tkinter token \
    tokenize tomllib trace traceback tracemalloc tty turtle types typing unicodedata unittest urllib uu uuid venv \
    warnings wave weakref webbrowser winreg winsound wsgiref xdrlib xml xmlrpc zipapp zipfile zipimport zlib \
    zoneinfo";

/// Modules that may not appear where Python looks first: in the folders given.
pub(super) fn modules(project: &Project<'_>, folders: &[String], imported: &[String], layers: &mut Layers) {
    let standard: Vec<&str> =
        STANDARD.split_whitespace().filter(|name| imported.iter().any(|known| known == name)).collect();
    let own = own_modules(project, imported);
    // Folders in which the same names are free share a line.
    let mut by_names: BTreeMap<Vec<&str>, Vec<&str>> = BTreeMap::new();
    for folder in folders {
        let mut names: Vec<&str> =
            if is_package(project, folder) { RUNNERS.to_vec() } else { MODULES.split_whitespace().collect() };
        if !is_package(project, folder) {
            names.extend(standard.iter().filter(|name| !names.contains(name)).copied().collect::<Vec<_>>());
        }
        // A module that lies elsewhere would be found here first.
        if !is_package(project, folder) && !project.has(&format!("{folder}/__init__.py")) {
            let elsewhere = own.iter().filter(|(_, places)| places.iter().any(|place| place != folder));
            let elsewhere: Vec<&str> = elsewhere.map(|(name, _)| *name).filter(|name| !names.contains(name)).collect();
            names.extend(elsewhere);
        }
        // What is there already is ordinary source, or pinned by another rule that this one must not undo.
        let is_free = |name: &&str| {
            let at = |suffix: &&str| path::join(folder, &format!("{name}{suffix}"));
            !["", ".py", ".pyc", ".so"].iter().filter_map(at).any(|file| project.sources.has(&file))
        };
        by_names.entry(names.into_iter().filter(is_free).collect()).or_default().push(folder);
    }
    for (names, folders) in by_names {
        let names = any_of(&names);
        let why = "would shadow a module that the tests import";
        for what in [format!("{names}.{{py,pyc,so,*.so}}"), format!("{names}/__init__.*")] {
            for glob in grouped(&folders, &what) {
                add(&mut layers.absent, PinKind::Absent, why, glob);
            }
        }
    }
}

/// Modules of the project that tests import, each with the folders in which Python finds it.
fn own_modules<'a>(project: &Project<'_>, imported: &'a [String]) -> Vec<(&'a str, Vec<&'static str>)> {
    let places = |name: &str| -> Vec<&'static str> {
        let is_in = |place: &&str| {
            let at = |end: &str| path::join(place, &format!("{name}{end}")).is_some_and(|file| project.has(&file));
            at(".py") || at("/__init__.py")
        };
        ["", "src", "lib", "python"].into_iter().filter(is_in).collect()
    };
    imported.iter().map(|name| (name.as_str(), places(name))).collect()
}

/// Whether `src` is imported by its name, as in `from src.types import …`: then what is in it shadows nothing.
fn is_package(project: &Project<'_>, folder: &str) -> bool {
    folder == "src" && project.files.iter().any(|file| path::parent(file) == "src" && file.ends_with(".py"))
}

/// Globs for programs that are not in a folder of the workspace and may not appear in it.
pub(crate) fn program_names(project: &Project<'_>, folder: &str) -> Vec<String> {
    let mut names: Vec<String> = PROGRAMS.split_whitespace().map(str::to_owned).collect();
    for word in project.starts.iter().filter_map(|simple| simple.words.first()) {
        let plain = word.chars().all(|c| c.is_ascii_alphanumeric() || "-_.+".contains(c));
        if plain && !word.is_empty() && !names.contains(word) {
            names.push(word.clone());
        }
    }
    names.retain(|name| path::join(folder, name).is_none_or(|file| !project.sources.has(&file)));
    if is_managed(project.sources, folder) {
        // To install what a command needs and nobody has is honest work; to put something before what is there is not.
        names.retain(|name| project.sources.outside(name).is_some());
    }
    // A bracket is a class in a glob.
    let names: Vec<String> =
        names.iter().map(|name| if name == "[" { "[[]".to_owned() } else { name.clone() }).collect();
    if names.is_empty() { Vec::new() } else { vec![path::below(folder, &any_of(&names))] }
}
