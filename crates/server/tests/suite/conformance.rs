//! What every store does, through a server: the cases of crate `store`, with calls over HTTP.

#[path = "../../../store/tests/suite/conformance/journal.rs"]
mod journal;
#[path = "../../../store/tests/suite/conformance/lease.rs"]
mod lease;
#[path = "../../../store/tests/suite/conformance/money.rs"]
mod money;
#[path = "../../../store/tests/suite/conformance/records.rs"]
mod records;
#[path = "../../../store/tests/suite/conformance/runs.rs"]
mod runs;

/// Runs every case of a module against a server on SQLite, each in a test of its own, and makes a function that runs all of them
/// against a server on PostgreSQL.
macro_rules! for_every_store {
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

        pub(super) async fn on_postgres(cluster: &ralph_testkit::postgres::Cluster) {
            $(
                // Where a case fails, this is the last line.
                println!("{}", stringify!($case));
                let database = Database::postgres(cluster, stringify!($case));
                $case(&database).await;
                database.close().await;
            )*
        }
    };
}
use for_every_store;

#[tokio::test]
async fn every_case_holds_on_postgres() {
    let cluster = ralph_testkit::postgres::Cluster::start();
    journal::on_postgres(&cluster).await;
    lease::on_postgres(&cluster).await;
    money::on_postgres(&cluster).await;
    records::on_postgres(&cluster).await;
    runs::on_postgres(&cluster).await;
}
