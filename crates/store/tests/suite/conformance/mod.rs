//! What every store does, whichever database it is in.

mod board;
mod changes;
mod journal;
mod lease;
mod local;
mod money;
mod records;
mod runs;

/// Runs every case of a module against each database: for SQLite and for a remote store each in a test of its own, for PostgreSQL
/// all in one test, because making a cluster takes longer than all cases together.
macro_rules! for_every_store {
    ($($case:ident),* $(,)?) => {
        mod remote {
            use crate::database::Database;
            $(
                #[tokio::test]
                async fn $case() {
                    super::$case(&Database::remote()).await;
                }
            )*
        }

        crate::conformance::for_every_database!($($case),*);
    };
}
use for_every_store;

/// The same for what a remote store does not do.
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

        #[tokio::test]
        async fn postgres() {
            let cluster = ralph_testkit::postgres::Cluster::start();
            $(
                // Where a case fails, this is the last line.
                println!("{}", stringify!($case));
                $case(&Database::postgres(&cluster, stringify!($case))).await;
            )*
        }
    };
}
use for_every_database;
