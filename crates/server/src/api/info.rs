//! What a server says about itself.

use axum::http::StatusCode;

use crate::call::{Answer, Call, json, text};

/// Open, so that a supervisor can see whether the server runs.
pub(crate) async fn health(_: Call) -> Answer {
    text("text/plain; charset=utf-8", "ok\n")
}

pub(crate) async fn index(_: Call) -> Answer {
    let page = "This is a Ralph server. Its API is described at /api/openapi.json; calls need the header \
                `Authorization: Bearer TOKEN`, and `ralph token` prints a token.\n";
    text("text/plain; charset=utf-8", page)
}

pub(crate) async fn document(call: Call) -> Answer {
    json(StatusCode::OK, &call.app.document)
}
