//! What every store does, whichever database it is in.

mod journal;
mod lease;
mod money;
mod runs;

/// Runs every case of a module against each database: one test per case for SQLite.
macro_rules! for_every_database {
    ($($case:ident),* $(,)?) => {
        mod sqlite {
            use crate::database::Database;
            $(
                #[tokio::test]
                async fn $case() {
                    super::$case(&Database::sqlite()).await;
                }
            )*
        }
    };
}
use for_every_database;
