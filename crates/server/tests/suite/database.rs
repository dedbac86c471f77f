//! Databases that are reached through a server.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use ralph_server::Limits;
use ralph_store::StoreHandle;
use ralph_testkit::postgres::Cluster;
use ralph_testkit::scratch;

use crate::direct;
use crate::harness::Running;

/// One empty database. It is meddled with directly, and used through a server.
pub(crate) struct Database {
    direct: direct::Database,
    servers: Mutex<Vec<Running>>,
}

impl std::ops::Deref for Database {
    type Target = direct::Database;

    fn deref(&self) -> &direct::Database {
        &self.direct
    }
}

impl Database {
    pub fn sqlite() -> Self {
        Self { direct: direct::Database::sqlite(), servers: Mutex::default() }
    }

    pub fn postgres(cluster: &Cluster, name: &str) -> Self {
        Self { direct: direct::Database::postgres(cluster, name), servers: Mutex::default() }
    }

    /// Starts one more server on the database, and opens its store.
    pub async fn open(&self) -> StoreHandle {
        let server = Running::on(self.direct.open_all().await, Arc::new(scratch()), Limits::default()).await;
        let store = server.client().store(None, Duration::from_secs(20));
        self.servers.lock().unwrap().push(server);
        store
    }

    /// Ends the servers, and with them their connections: a cluster has few.
    pub async fn close(self) {
        for mut server in self.servers.into_inner().unwrap() {
            server.stop();
            server.ended.await.unwrap();
            server.database.store.close().await.unwrap();
        }
    }
}
