//! The prompt of a run, read once and kept byte for byte.

use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};

use crate::perform::at;

pub(crate) struct Prompt {
    file: Option<PathBuf>,
    text: Option<Vec<u8>>,
}

impl Prompt {
    pub(crate) const fn new(file: Option<PathBuf>) -> Self {
        Self { file, text: None }
    }

    /// The prompt; the first call reads it.
    pub(crate) fn read(&mut self) -> Result<&[u8]> {
        let text = match self.text.take() {
            Some(text) => text,
            None => self.fetch()?,
        };
        Ok(self.text.insert(text))
    }

    pub(crate) fn save(&mut self, path: &Path) -> Result<()> {
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).with_context(|| at("could not create", folder))?;
        }
        fs::write(path, self.read()?).with_context(|| at("could not write", path))
    }

    fn fetch(&self) -> Result<Vec<u8>> {
        if let Some(file) = &self.file {
            return fs::read(file).with_context(|| at("could not read the prompt", file));
        }
        let mut text = Vec::new();
        io::stdin().lock().read_to_end(&mut text).context("could not read the prompt on standard input")?;
        Ok(text)
    }
}
