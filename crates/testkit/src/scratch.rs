//! Where throwaway folders live. Holds nothing itself.

use std::path::Path;

use tempfile::TempDir;

/// A folder that is removed when the value is dropped, in memory where the machine has such a place.
///
/// # Panics
/// When no folder can be created.
#[track_caller]
pub fn scratch() -> TempDir {
    // Thousands of small files on a real disk cost seconds of kernel time when they are created and removed in bulk.
    let memory = Path::new("/dev/shm");
    let builder = || {
        let mut builder = tempfile::Builder::new();
        builder.prefix("ralph-test-");
        builder
    };
    let made = if memory.is_dir() {
        builder().tempdir_in(memory).or_else(|_| builder().tempdir())
    } else {
        builder().tempdir()
    };
    match made {
        Ok(folder) => folder,
        Err(error) => panic!(
            "could not create a throwaway folder in {} or {}: {error}",
            memory.display(),
            std::env::temp_dir().display()
        ),
    }
}
