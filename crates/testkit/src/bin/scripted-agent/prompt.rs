//! The prompt of a run, read once and kept byte for byte.

use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use crate::failure::Failure;

pub(crate) struct Prompt {
    file: Option<PathBuf>,
    text: Option<Vec<u8>>,
}

impl Prompt {
    pub(crate) const fn new(file: Option<PathBuf>) -> Self {
        Self { file, text: None }
    }

    /// The prompt; the first call reads it.
    pub(crate) fn read(&mut self) -> Result<&[u8], Failure> {
        let text = match self.text.take() {
            Some(text) => text,
            None => self.fetch()?,
        };
        Ok(self.text.insert(text))
    }

    pub(crate) fn save(&mut self, path: &Path) -> Result<(), Failure> {
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).map_err(Failure::file("could not create", folder))?;
        }
        fs::write(path, self.read()?).map_err(Failure::file("could not write", path))
    }

    fn fetch(&self) -> Result<Vec<u8>, Failure> {
        if let Some(file) = &self.file {
            return fs::read(file).map_err(Failure::file("could not read the prompt", file));
        }
        let mut text = Vec::new();
        io::stdin()
            .lock()
            .read_to_end(&mut text)
            .map_err(Failure::system("could not read the prompt on standard input"))?;
        Ok(text)
    }
}
