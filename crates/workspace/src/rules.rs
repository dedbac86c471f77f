//! Which files git would ignore. Reads ignore files; decides nothing else about a file.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};
use sha1::{Digest, Sha1};

use crate::gitdir::{GitDir, read_bytes};
use crate::object::Id;

/// What rules say about a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Word {
    /// Nothing: others may.
    Silent,
    Ignored,
    /// It is wanted again.
    Wanted,
}

pub(crate) struct Rules(Gitignore);

impl Rules {
    /// Reads the content of an ignore file. A line that is no pattern is skipped, as git does.
    pub(crate) fn parse(content: &[u8]) -> Self {
        let text = String::from_utf8_lossy(content);
        let mut builder = GitignoreBuilder::new(".");
        for line in text.trim_start_matches('\u{feff}').lines() {
            let _ = builder.add_line(None, line);
        }
        // Each line compiled by itself; together they can only grow too large, and then no rule applies.
        Self(builder.build().unwrap_or_else(|_| Gitignore::empty()))
    }

    fn word(&self, path: &[u8], folder: Folder) -> Word {
        if self.0.is_empty() {
            return Word::Silent;
        }
        match self.0.matched(Path::new(OsStr::from_bytes(path)), folder == Folder::Yes) {
            Match::None => Word::Silent,
            Match::Ignore(_) => Word::Ignored,
            Match::Whitelist(_) => Word::Wanted,
        }
    }
}

/// Whether a path is a folder, for patterns that end with a slash.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Folder {
    Yes,
    /// It is a file or a link.
    No,
}

/// The rules of one folder on the way from the workspace's root.
#[derive(Clone)]
pub(crate) struct Link {
    pub(crate) rules: Arc<Rules>,
    /// How much of a path leads to that folder.
    pub(crate) base: usize,
}

/// Whether a path is ignored, by the nearest rules that say something. The chain begins at the workspace's root.
pub(crate) fn is_ignored(chain: &[Link], outside: &Outside, path: &[u8], folder: Folder) -> bool {
    for link in chain.iter().rev() {
        match link.rules.word(&path[link.base..], folder) {
            Word::Silent => {}
            word => return word == Word::Ignored,
        }
    }
    outside.word(path, folder) == Word::Ignored
}

/// Rules from outside the workspace: of folders above it, of `.git/info/exclude`, of the user. Read once, so that an agent
/// cannot hide files by editing them, nor uncover files by deleting `.git`.
#[derive(Clone, Default)]
pub(crate) struct Outside {
    rules: Vec<(Vec<u8>, Arc<Rules>)>,
    hash: Sha1,
}

/// Hashes a part so that two parts cannot be taken for two others.
pub(crate) fn update_part(hash: &mut Sha1, part: &[u8]) {
    hash.update((part.len() as u64).to_le_bytes());
    hash.update(part);
}

impl Outside {
    pub(crate) fn read(root: &Path, repository: Option<&GitDir>, global: Option<&Path>) -> Self {
        let (mut rules, mut hash) = (Vec::new(), Sha1::new());
        let mut add = |prefix: Vec<u8>, path: &Path| {
            if let Some(content) = read_bytes(path) {
                update_part(&mut hash, &prefix);
                update_part(&mut hash, &content);
                rules.push((prefix, Arc::new(Rules::parse(&content))));
            }
        };
        if let Some(repository) = repository {
            let above = root.ancestors().skip(1).take_while(|folder| folder.starts_with(&repository.top));
            for folder in above {
                let mut prefix = root.strip_prefix(folder).unwrap_or(root).as_os_str().as_bytes().to_vec();
                prefix.push(b'/');
                add(prefix, &folder.join(".gitignore"));
            }
            add(repository.prefix_of(root), &repository.common.join("info/exclude"));
        }
        if let Some(global) = global {
            add(repository.map(|found| found.prefix_of(root)).unwrap_or_default(), global);
        }
        Self { rules, hash }
    }

    /// Tells these rules from others.
    pub(crate) fn hash(&self) -> Id {
        Id(self.hash.clone().finalize().into())
    }

    fn word(&self, path: &[u8], folder: Folder) -> Word {
        let words = self.rules.iter().map(|(prefix, rules)| {
            if prefix.is_empty() { rules.word(path, folder) } else { rules.word(&[prefix, path].concat(), folder) }
        });
        words.into_iter().find(|word| *word != Word::Silent).unwrap_or(Word::Silent)
    }
}
