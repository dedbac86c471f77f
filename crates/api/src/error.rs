//! Why a call on a server failed.

use crate::problem::Problem;

pub type Result<T, E = Error> = std::result::Result<T, E>;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    #[error("`{server}` is not the address of a server: write it like http://127.0.0.1:3013")]
    Address { server: String },
    #[error("the token contains characters that no token has")]
    Token,
    #[error("no answer from {server}: {detail}; is `ralph serve` running there?")]
    Unreachable { server: String, detail: String },
    /// The address leads nowhere as long as nobody changes a setting.
    #[error("{server} cannot be called: {detail}")]
    NoWay { server: String, detail: String },
    #[error("{0}")]
    Refused(Problem),
    #[error("{server} sent an answer that this Ralph does not understand: {detail}")]
    Answer { server: String, detail: String },
}

impl Error {
    pub const fn status(&self) -> Option<u16> {
        match self {
            Self::Refused(problem) => Some(problem.status),
            _ => None,
        }
    }

    /// Whether another try may succeed: the server is not there, starts, ends, or a proxy before it says so.
    pub const fn is_passing(&self) -> bool {
        match self {
            // The names and the ways of a network change while it starts.
            Self::Unreachable { .. } | Self::NoWay { .. } => true,
            Self::Refused(problem) => matches!(problem.status, 408 | 429 | 502 | 503 | 504),
            Self::Address { .. } | Self::Token | Self::Answer { .. } => false,
        }
    }

    /// Whether the lease behind the call is stale, so that the work has to end.
    pub fn is_stale_lease(&self) -> bool {
        matches!(self, Self::Refused(problem) if problem.kind == "urn:ralph:stale-lease")
    }
}
