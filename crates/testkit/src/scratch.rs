//! Where throwaway folders live. Holds nothing itself.

use std::path::Path;

use tempfile::TempDir;

/// A folder that is removed when the value is dropped, in memory where the machine has such a place.
#[track_caller]
pub fn scratch() -> TempDir {
    // Thousands of small files on a real disk cost seconds of kernel time when they are created and removed in bulk.
    let folder = |place: &Path| tempfile::Builder::new().prefix("ralph-test-").tempdir_in(place);
    let made = folder(Path::new("/dev/shm")).or_else(|_| folder(&std::env::temp_dir()));
    made.unwrap_or_else(|error| panic!("could not create a throwaway folder: {error}"))
}
