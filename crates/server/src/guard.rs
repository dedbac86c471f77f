//! What holds for every request and every answer, whatever the route: Host, Origin, security headers.

use std::collections::BTreeSet;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, ACCESS_CONTROL_REQUEST_METHOD, CACHE_CONTROL,
    CONTENT_SECURITY_POLICY, HOST, HeaderName, ORIGIN, REFERRER_POLICY, STRICT_TRANSPORT_SECURITY, VARY,
    X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};
use axum::http::{HeaderMap, HeaderValue, Method};
use axum::middleware::Next;
use axum::response::Response;
use ralph_api::Problem;

use crate::app::App;
use crate::call::{Answer, no_content};
use crate::problem::Refusal;
use crate::route::settle;

/// Names and origins under which the server may be called.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Names {
    hosts: BTreeSet<String>,
    origins: BTreeSet<String>,
    is_secure: bool,
}

impl Names {
    /// For a server at this address. Names are compared as text: another spelling of an allowed address is another name.
    pub(crate) fn new(address: SocketAddr, is_secure: bool, hosts: &[String], origins: &[String]) -> Self {
        let (scheme, usual_port) = if is_secure { ("https", 443) } else { ("http", 80) };
        let port = address.port();
        let mut own = Vec::new();
        let ip = address.ip();
        if ip.is_loopback() || ip.is_unspecified() {
            own.extend(["localhost".to_owned(), "127.0.0.1".to_owned(), "[::1]".to_owned()]);
        }
        if !ip.is_unspecified() {
            own.push(match ip {
                IpAddr::V4(ip) => ip.to_string(),
                IpAddr::V6(ip) => format!("[{ip}]"),
            });
        }
        let mut names: BTreeSet<String> = own.iter().map(|name| format!("{name}:{port}")).collect();
        if port == usual_port {
            names.extend(own);
        }
        for host in hosts.iter().map(|host| host.trim().to_ascii_lowercase()).filter(|host| !host.is_empty()) {
            let has_port = host.rsplit_once(':').is_some_and(|(name, port)| {
                (!name.contains(':') || name.ends_with(']')) && port.parse::<u16>().is_ok()
            });
            if !has_port {
                names.insert(format!("{host}:{port}"));
            }
            names.insert(host);
        }
        let mut allowed: BTreeSet<String> = names.iter().map(|name| format!("{scheme}://{name}")).collect();
        // A server behind a proxy that speaks TLS is called by its own pages over https.
        allowed.extend(hosts.iter().map(|host| format!("https://{}", host.trim().to_ascii_lowercase())));
        allowed.extend(origins.iter().map(|origin| origin.trim().trim_end_matches('/').to_ascii_lowercase()));
        Self { hosts: names, origins: allowed, is_secure }
    }

    fn check_host(&self, request: &Request) -> Result<(), Problem> {
        let mut values = request.headers().get_all(HOST).iter();
        let (Some(host), None) = (values.next(), values.next()) else {
            return Err(Problem::new(400, "bad-host", "send exactly one Host header").in_field("Host"));
        };
        // A request line with a whole address has a host of its own.
        let line = request.uri().authority().map(|authority| authority.as_str().as_bytes());
        for name in [Some(host.as_bytes()), line].into_iter().flatten() {
            let is_allowed =
                std::str::from_utf8(name).is_ok_and(|name| self.hosts.contains(&name.to_ascii_lowercase()));
            if !is_allowed {
                let detail = "this server does not answer to that host; `ralph serve --allow-host` adds one";
                return Err(Problem::new(421, "wrong-host", detail).in_field("Host"));
            }
        }
        Ok(())
    }

    /// The origin of a page that calls, if one does and may.
    fn check_origin(&self, headers: &HeaderMap) -> Result<Option<HeaderValue>, Problem> {
        let mut values = headers.get_all(ORIGIN).iter();
        let origin = match (values.next(), values.next()) {
            (None, _) => return Ok(None),
            (Some(origin), None) => origin,
            (Some(_), Some(_)) => {
                return Err(Problem::new(403, "wrong-origin", "send one Origin header").in_field("Origin"));
            }
        };
        let is_allowed = origin.to_str().is_ok_and(|origin| self.origins.contains(&origin.to_ascii_lowercase()));
        if is_allowed {
            return Ok(Some(origin.clone()));
        }
        let detail = "pages of that origin may not call this server; `ralph serve --allow-origin` allows one";
        Err(Problem::new(403, "wrong-origin", detail).in_field("Origin"))
    }
}

pub(crate) async fn guard(State((app, names)): State<(App, Arc<Names>)>, request: Request, next: Next) -> Response {
    let checked = names.check_host(&request).and_then(|()| names.check_origin(request.headers()));
    let is_preflight =
        request.method() == Method::OPTIONS && request.headers().contains_key(ACCESS_CONTROL_REQUEST_METHOD);
    let mut response = match &checked {
        Err(problem) => crate::problem::answer(problem),
        Ok(Some(_)) if is_preflight => settle(&app, async { preflight() }).await,
        // A panic of what is mounted beside the table is caught here.
        Ok(_) => settle(&app, async { Ok::<_, Refusal>(next.run(request).await) }).await,
    };
    app.counters.answered(response.status().as_u16());
    secure(response.headers_mut(), names.is_secure);
    if let Ok(Some(origin)) = checked {
        let headers = response.headers_mut();
        headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin);
        headers.insert(ACCESS_CONTROL_EXPOSE_HEADERS, HeaderValue::from_static("Location, Link, Retry-After"));
        headers.append(VARY, HeaderValue::from_static("Origin"));
    }
    response
}

fn preflight() -> Answer {
    let mut response = no_content()?;
    let headers = response.headers_mut();
    headers.insert(ACCESS_CONTROL_ALLOW_METHODS, HeaderValue::from_static("GET, POST, PATCH, PUT, DELETE"));
    let allowed = "Authorization, Content-Type, Idempotency-Key, Last-Event-ID";
    headers.insert(ACCESS_CONTROL_ALLOW_HEADERS, HeaderValue::from_static(allowed));
    headers.insert(ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static("600"));
    Ok(response)
}

/// The headers of every answer. One that a page of ours set for itself stays.
fn secure(headers: &mut HeaderMap, is_secure: bool) {
    const NOTHING: &str = "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
    let usual = [
        (CONTENT_SECURITY_POLICY, NOTHING),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (X_FRAME_OPTIONS, "DENY"),
        (REFERRER_POLICY, "no-referrer"),
        (CACHE_CONTROL, "no-store"),
        (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
        (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
    ];
    for (name, value) in usual {
        headers.entry(name).or_insert(HeaderValue::from_static(value));
    }
    if is_secure {
        headers.entry(STRICT_TRANSPORT_SECURITY).or_insert(HeaderValue::from_static("max-age=31536000"));
    }
}

#[cfg(test)]
#[path = "guard_tests.rs"]
mod tests;
