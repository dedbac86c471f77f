//! Which database Ralph uses: a file in its state folder, or the PostgreSQL server that the user named.

use ralph_config::read_user;
use ralph_runtime::Home;
use ralph_store::{Database, StoreHandle};

use crate::{DatabaseChoice, Dirs, Error};

/// The variable that names a PostgreSQL server; it goes before the user's configuration.
pub const VARIABLE: &str = "RALPH_DATABASE_URL";

/// The address of the PostgreSQL server, where there is one. It may hold a password: never print it.
pub fn url(dirs: &Dirs) -> Result<Option<String>, Error> {
    match &dirs.database_choice {
        DatabaseChoice::File => Ok(None),
        DatabaseChoice::Url(url) => Ok(Some(url.clone())),
        DatabaseChoice::Configured => Ok(read_user(&dirs.config_file())?.database_url.filter(|url| !url.is_empty())),
    }
}

/// Opens the database, and makes it where there is none.
pub async fn open(dirs: &Dirs) -> Result<StoreHandle, Error> {
    match url(dirs)? {
        Some(url) => Ok(ralph_store::open_postgres(&url).await?),
        None => {
            Home::make_private(&dirs.state)?;
            tracing::debug!(path = ?dirs.database(), "opening the database");
            Ok(ralph_store::open_sqlite(&dirs.database()).await?)
        }
    }
}

/// Opens the database with its tasks, and makes it where there is none.
pub async fn open_with_board(dirs: &Dirs) -> Result<Database, Error> {
    match url(dirs)? {
        Some(url) => Ok(Database::open_postgres(&url).await?),
        None => {
            Home::make_private(&dirs.state)?;
            Ok(Database::open_sqlite(&dirs.database()).await?)
        }
    }
}

/// Opens the database for a command that only looks; none where there is no file yet.
pub async fn open_existing(dirs: &Dirs) -> Result<Option<StoreHandle>, Error> {
    match url(dirs)? {
        Some(url) => Ok(Some(ralph_store::open_postgres(&url).await?)),
        None => Ok(ralph_store::open_existing_sqlite(&dirs.database()).await?),
    }
}

/// The password in an address, so that it can be redacted wherever it turns up.
pub(crate) fn password(url: &str) -> Option<String> {
    let (_, rest) = url.split_once("://")?;
    let authority = rest.split(['/', '?', '#']).next()?;
    let (login, _) = authority.rsplit_once('@')?;
    let (_, password) = login.split_once(':')?;
    Some(password.to_owned()).filter(|password| !password.is_empty())
}

#[cfg(test)]
#[path = "database_tests.rs"]
mod tests;
