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
    let refused = |detail: &str| Refusal::from(Problem::new(401, "unauthorized", detail));
    let mut values = headers.get_all(AUTHORIZATION).iter();
    let (Some(value), None) = (values.next(), values.next()) else {
        return Err(refused("send the header `Authorization: Bearer TOKEN`; `ralph token` prints a token"));
    };
    let secret = value.to_str().ok().and_then(|value| value.split_once(' '));
    let Some((_, secret)) = secret.filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer")) else {
        return Err(refused("only bearer tokens are accepted: `Authorization: Bearer TOKEN`"));
    };
    let hash = hash(secret.trim());
    let token = match app.tokens.get(&hash) {
        Some(token) => token,
        None => {
            let token = app.board().token(&hash).await?;
            let token = token.ok_or_else(|| refused("this token is not known: it was revoked or mistyped"))?;
            app.tokens.put(hash, token.clone());
            token
        }
    };
    Ok(Caller { name: token.name, role: token.role })
}
