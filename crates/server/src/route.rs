//! A row of the table of routes: what the router needs and what the OpenAPI document says, in one place.

use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use axum::Router;
use axum::extract::{FromRequestParts as _, RawPathParams, Request};
use axum::http::Method;
use axum::response::Response;
use axum::routing::{MethodFilter, MethodRouter};
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use ralph_api::Problem;
use schemars::{JsonSchema, Schema, SchemaGenerator};

use crate::app::App;
use crate::auth::{Access, authenticate};
use crate::call::{Answer, Call, read_body};
use crate::problem::{Refusal, answer};
use crate::upload::read_file;

pub(crate) type SchemaOf = fn(&mut SchemaGenerator) -> Schema;
type Handler = Arc<dyn Fn(Call) -> BoxFuture<'static, Answer> + Send + Sync>;

#[derive(Clone, Copy)]
pub(crate) enum Body {
    None,
    Json(SchemaOf),
    /// The same, longer: a call on the store.
    LongJson(SchemaOf),
    File,
}

impl Body {
    pub(crate) const fn is_some(self) -> bool {
        !matches!(self, Self::None)
    }
}

#[derive(Clone, Copy)]
pub(crate) enum Content {
    Empty,
    Json(SchemaOf),
    Text(&'static str),
}

/// An answer that a route can give.
#[derive(Clone, Copy)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) description: &'static str,
    pub(crate) content: Content,
}

#[derive(Clone)]
pub(crate) struct Route {
    pub(crate) method: Method,
    pub(crate) path: &'static str,
    pub(crate) id: &'static str,
    pub(crate) summary: &'static str,
    pub(crate) access: Access,
    pub(crate) query: Option<SchemaOf>,
    pub(crate) headers: Vec<(&'static str, &'static str)>,
    pub(crate) body: Body,
    pub(crate) replies: Vec<Reply>,
    /// Statuses of refusals besides those that follow from the row itself.
    pub(crate) refusals: Vec<u16>,
    handler: Handler,
}

fn schema_of<T: JsonSchema>(generator: &mut SchemaGenerator) -> Schema {
    generator.subschema_for::<T>()
}

impl Route {
    /// A route for a method and a path, as in `GET /api/tasks`.
    #[expect(clippy::expect_used, reason = "constants of the table, which every start and every test makes")]
    pub(crate) fn new<F: Future<Output = Answer> + Send + 'static>(
        address: &'static str,
        id: &'static str,
        access: Access,
        summary: &'static str,
        handler: impl Fn(Call) -> F + Send + Sync + 'static,
    ) -> Self {
        let (method, path) = address.split_once(' ').expect("a route has a method and a path");
        Self {
            method: method.parse().expect("a route has a known method"),
            path,
            id,
            summary,
            access,
            query: None,
            headers: Vec::new(),
            body: Body::None,
            replies: Vec::new(),
            refusals: Vec::new(),
            handler: Arc::new(move |call| handler(call).boxed()),
        }
    }

    pub(crate) fn query<T: JsonSchema>(mut self) -> Self {
        self.query = Some(schema_of::<T>);
        self
    }

    pub(crate) fn header(mut self, name: &'static str, description: &'static str) -> Self {
        self.headers.push((name, description));
        self
    }

    pub(crate) fn body<T: JsonSchema>(mut self) -> Self {
        self.body = Body::Json(schema_of::<T>);
        self
    }

    /// Its body is this type, and may be long.
    pub(crate) fn long_body<T: JsonSchema>(mut self) -> Self {
        self.body = Body::LongJson(schema_of::<T>);
        self
    }

    pub(crate) fn file(mut self) -> Self {
        self.body = Body::File;
        self
    }

    pub(crate) fn json<T: JsonSchema>(mut self, status: u16, description: &'static str) -> Self {
        self.replies.push(Reply { status, description, content: Content::Json(schema_of::<T>) });
        self
    }

    pub(crate) fn text(mut self, media: &'static str, description: &'static str) -> Self {
        self.replies.push(Reply { status: 200, description, content: Content::Text(media) });
        self
    }

    pub(crate) fn empty(mut self, status: u16, description: &'static str) -> Self {
        self.replies.push(Reply { status, description, content: Content::Empty });
        self
    }

    pub(crate) fn refuses(mut self, status: u16) -> Self {
        self.refusals.push(status);
        self
    }

    pub(crate) fn refused(&self) -> Vec<u16> {
        // Host and Origin are checked for every request, and every request can find the server in trouble.
        let mut statuses = vec![400, 403, 421, 500];
        if self.access != Access::Open {
            statuses.extend([401, 503]);
        }
        if self.path.contains('{') {
            statuses.push(404);
        }
        if self.query.is_some() || !self.headers.is_empty() {
            statuses.push(422);
        }
        if self.body.is_some() {
            statuses.extend([408, 413, 415, 422]);
        }
        statuses.extend(&self.refusals);
        statuses.sort_unstable();
        statuses.dedup();
        statuses
    }

    async fn run(&self, app: App, request: Request) -> Answer {
        let (mut parts, body) = request.into_parts();
        let path = match RawPathParams::from_request_parts(&mut parts, &()).await {
            Ok(path) => path.iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect(),
            Err(_) => Vec::new(),
        };
        let mut call = Call {
            caller: None,
            path,
            query: parts.uri.query().unwrap_or_default().to_owned(),
            headers: parts.headers,
            body: axum::body::Bytes::new(),
            file: None,
            app,
        };
        if self.access != Access::Open {
            let caller = authenticate(&call.app, &call.headers).await?;
            if !self.access.admits(&caller.role, call.task_id().ok()) {
                let detail = format!("the token `{}` does not allow this. {}", caller.name, self.access.sentence());
                return Err(Problem::new(403, "forbidden", detail).into());
            }
            call.caller = Some(caller);
        }
        let limits = &call.app.options.limits;
        match self.body {
            Body::None => {}
            Body::Json(_) => call.body = read_body(&call.headers, body, limits.body_bytes, limits.body_timeout).await?,
            Body::LongJson(_) => {
                call.body = read_body(&call.headers, body, limits.store_bytes, limits.upload_timeout).await?;
            }
            Body::File => call.file = Some(read_file(&call.app, &call.headers, body).await?),
        }
        (self.handler)(call).await
    }
}

/// Answers a request, whatever happens.
pub(crate) async fn settle(app: &App, answered: impl Future<Output = Answer>) -> Response {
    let refusal = match AssertUnwindSafe(answered).catch_unwind().await {
        Ok(Ok(response)) => return response,
        Ok(Err(refusal)) => refusal,
        Err(panic) => {
            let text = panic.downcast_ref::<String>().map(String::as_str);
            let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no message");
            Refusal::internal(format!("a request panicked: {text}"))
        }
    };
    if let Some(cause) = &refusal.cause {
        app.log(cause);
    }
    answer(&refusal.problem)
}

pub(crate) fn router(app: &App, table: Vec<Route>) -> Router {
    let mut paths: Vec<(&'static str, MethodRouter)> = Vec::new();
    for route in table {
        let Ok(filter) = MethodFilter::try_from(route.method.clone()) else { continue };
        let (app, path) = (app.clone(), route.path);
        let route = Arc::new(route);
        let handler = move |request: Request| {
            let (app, route) = (app.clone(), Arc::clone(&route));
            async move { settle(&app, route.run(app.clone(), request)).await }
        };
        match paths.iter_mut().find(|(known, _)| *known == path) {
            Some((_, methods)) => *methods = std::mem::take(methods).on(filter, handler),
            None => paths.push((path, axum::routing::on(filter, handler))),
        }
    }
    paths.into_iter().fold(Router::new(), |router, (path, methods)| router.route(path, methods))
}
