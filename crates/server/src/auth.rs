//! Who calls, and what they may do.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use axum::http::HeaderMap;
use axum::http::header::AUTHORIZATION;
use ralph_api::Problem;
use ralph_model::TaskId;
use ralph_store::{Role, Token};
use subtle::ConstantTimeEq as _;

use crate::app::App;
use crate::problem::Refusal;
use crate::token::hash;

/// The bearer of a token. Handlers that are mounted elsewhere find it in the extensions of the request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caller {
    pub name: String,
    pub role: Role,
    /// That of the token's secret.
    hash: String,
}

impl Caller {
    /// Refuses the rest of a request that takes long when its token was revoked meanwhile.
    pub(crate) async fn ensure_known(&self, app: &App) -> Result<(), Refusal> {
        find(app, &self.hash).await.map(drop)
    }

    /// Whether a stream may continue. The token of a task ends with it, and how it ended is still said.
    pub(crate) async fn may_follow(&self, app: &App) -> bool {
        match (self.ensure_known(app).await, &self.role) {
            (Err(refusal), Role::Task { task_id, .. }) if refusal.problem.status == 401 => {
                app.board().task(*task_id).await.is_ok_and(|task| task.status.is_final())
            }
            (Err(refusal), _) => refusal.problem.status != 401,
            (Ok(()), _) => true,
        }
    }
}

/// Who may use a route.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    /// Anyone, without a token.
    Open,
    Admin,
    Worker,
    /// Administrators, workers, and the token of the task in the path.
    Task,
    /// The bearer of any token; the handler looks closer.
    Any,
}

impl Access {
    /// Whether a role may use a route; the task is the one in the path.
    pub(crate) fn admits(self, role: &Role, task: Option<TaskId>) -> bool {
        match (self, role) {
            (Self::Open | Self::Any, _) | (_, Role::Admin) => true,
            (Self::Worker | Self::Task, Role::Agent) => true,
            (Self::Task, Role::Task { task_id, .. }) => task == Some(*task_id),
            (Self::Admin, Role::Agent | Role::Task { .. }) | (Self::Worker, Role::Task { .. }) => false,
        }
    }

    pub(crate) const fn sentence(self) -> &'static str {
        match self {
            Self::Open => "Needs no token.",
            Self::Admin => "Needs a token of role `admin`.",
            Self::Worker => "Needs a token of role `admin` or `agent`.",
            Self::Task => "Needs a token of role `admin` or `agent`, or the token of this task.",
            Self::Any => "Needs any token.",
        }
    }
}

/// Tokens that were looked up a moment ago, so that not every request asks the database.
#[derive(Debug, Default)]
pub(crate) struct TokenCache(Mutex<VecDeque<(Instant, String, Token)>>);

impl TokenCache {
    /// How long a revoked token may still work.
    const LIFETIME: Duration = Duration::from_secs(1);
    const ENTRIES: usize = 64;

    fn get(&self, hash: &str) -> Option<Token> {
        let mut entries = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        entries.retain(|(since, _, _)| since.elapsed() < Self::LIFETIME);
        let found = entries.iter().find(|(_, known, _)| known.as_bytes().ct_eq(hash.as_bytes()).into());
        found.map(|(_, _, token)| token.clone())
    }

    fn put(&self, hash: String, token: Token) {
        let mut entries = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if entries.len() >= Self::ENTRIES {
            entries.pop_front();
        }
        entries.push_back((Instant::now(), hash, token));
    }
}

/// Finds out who calls.
///
/// Secrets are compared by their hash only, here in constant time and in the database through its index: how long that takes
/// depends on the hash, which a client cannot steer towards that of a secret.
pub(crate) async fn authenticate(app: &App, headers: &HeaderMap) -> Result<Caller, Refusal> {
    let mut values = headers.get_all(AUTHORIZATION).iter();
    let (Some(value), None) = (values.next(), values.next()) else {
        return Err(refused("send the header `Authorization: Bearer TOKEN`; `ralph token` prints a token"));
    };
    let secret = value.to_str().ok().and_then(|value| value.split_once(' '));
    let Some((_, secret)) = secret.filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer")) else {
        return Err(refused("only bearer tokens are accepted: `Authorization: Bearer TOKEN`"));
    };
    let hash = hash(secret.trim());
    let Token { name, role, .. } = find(app, &hash).await?;
    Ok(Caller { name, role, hash })
}

async fn find(app: &App, hash: &str) -> Result<Token, Refusal> {
    if let Some(token) = app.tokens.get(hash) {
        return Ok(token);
    }
    let token = app.board().token(hash).await?;
    let token = token.ok_or_else(|| refused("this token is not known: it was revoked or mistyped"))?;
    app.tokens.put(hash.to_owned(), token.clone());
    Ok(token)
}

fn refused(detail: &str) -> Refusal {
    Problem::new(401, "unauthorized", detail).into()
}
