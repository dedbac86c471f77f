//! What kind of work a request asks for.

/// What kind of work a request asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TaskType {
    /// Something new.
    Feature,
    /// Something that is broken.
    Bug,
    /// Better code that does the same.
    Refactor,
    /// Tests alone.
    Test,
    /// Words for people.
    Docs,
    /// Versions, settings, builds, releases.
    Chore,
    /// An answer, and no change.
    Question,
}

impl TaskType {
    /// All of them.
    pub const ALL: [Self; 7] =
        [Self::Feature, Self::Bug, Self::Refactor, Self::Test, Self::Docs, Self::Chore, Self::Question];

    /// Its name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Feature => "feature",
            Self::Bug => "bug",
            Self::Refactor => "refactor",
            Self::Test => "test",
            Self::Docs => "docs",
            Self::Chore => "chore",
            Self::Question => "question",
        }
    }
}
