//! `web_fetch` and `web_search`. A page may name any address, so each is checked where the connection is made: after its name was
//! looked up, and again for every redirect.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;
use std::time::Duration;

use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use ralph_http::{Call, HeaderName, HeaderValue, Http, Method, Response, header, read};
use ralph_model::HostRule;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use url::Url;

use crate::Effect::Reads;
use crate::files::count;
use crate::registry::{Answer, Context, Registry};
use crate::{Outcome, page};

const TIMEOUT: Duration = Duration::from_secs(30);
const MAX_BODY: usize = 2 << 20;
const MAX_REDIRECTS: usize = 5;
const MAX_URL: usize = 4096;
const MAX_RESULTS: usize = 10;

/// The web, as the user allows it.
#[derive(Clone, Default)]
pub struct Web {
    /// Hosts that may be on a private network: `localhost:8080`, or `wiki.internal` for any port.
    pub allow_hosts: Vec<String>,
    pub search: Option<SearchService>,
    /// The only hosts that are reached, where the network of agents is restricted.
    pub only: Option<Vec<HostRule>>,
}

/// A search service that answers with JSON, as SearXNG and others do.
#[derive(Clone)]
pub struct SearchService {
    /// Its address, with `{query}` where the words go.
    pub url: String,
    /// Its key, which goes into the header `Authorization`.
    pub key: Option<String>,
}

impl std::fmt::Debug for Web {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Web").field("allow_hosts", &self.allow_hosts).finish_non_exhaustive()
    }
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Fetch {
    /// An address that begins with http:// or https://.
    url: String,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Search {
    /// What to search for.
    query: String,
}

pub(crate) fn register(registry: &mut Registry, web: Web) {
    let (service, web) = (web.search.clone(), Arc::new(web));
    registry.add(
        &web,
        "web_fetch",
        Reads,
        "Reads a page of the web as Markdown, or another text as it is.",
        Web::fetch,
    );
    if let Some(service) = service {
        registry.add(&(service, web), "web_search", Reads, "Searches the web: titles, addresses and excerpts.", search);
    }
}

impl Web {
    async fn fetch(self: Arc<Self>, Fetch { url: address }: Fetch, _: Context) -> Answer {
        let mut url = parse(&address)?;
        for _ in 0..=MAX_REDIRECTS {
            self.ensure_reachable(&url)?;
            let guard = if self.allows(&url) { anywhere } else { is_public };
            let accept = HeaderValue::from_static("text/html, text/*;q=0.9, application/json;q=0.9, */*;q=0.1");
            let answer = get(&url, vec![(header::ACCEPT, accept)], guard).await?;
            let target = answer.headers().get(header::LOCATION).and_then(|target| target.to_str().ok());
            if let Some(target) = target.filter(|_| answer.status().is_redirection()) {
                let next = url.join(target).map_err(|error| format!("{url} leads to no address: {error}"))?;
                url = parse(next.as_str())?;
                continue;
            }
            return self.page(&url, answer).await;
        }
        Err(format!("{address} redirects more than {MAX_REDIRECTS} times"))
    }

    async fn page(&self, url: &Url, answer: Response<ralph_http::Incoming>) -> Answer {
        let status = answer.status();
        let kind =
            answer.headers().get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or("text/plain");
        let kind = kind.to_ascii_lowercase();
        let media = kind.split(';').next().unwrap_or_default().trim().to_owned();
        let is_text = media.starts_with("text/")
            || ["json", "xml", "javascript", "yaml", "toml"].iter().any(|part| media.contains(part));
        if !is_text {
            return Err(format!("{url} is {media}, not text"));
        }
        let bytes = read(answer.into_body(), MAX_BODY, TIMEOUT).await.map_err(|error| match error {
            ralph_http::Error::TooLarge => format!("{url} has more than {MAX_BODY} bytes"),
            error => format!("{url}: {error}"),
        })?;
        let is_latin = ["iso-8859-1", "windows-1252", "latin1"].iter().any(|name| kind.contains(name));
        let text = match std::str::from_utf8(&bytes) {
            Ok(text) => text.to_owned(),
            Err(_) if is_latin => bytes.iter().map(|byte| char::from(*byte)).collect(),
            Err(_) => String::from_utf8_lossy(&bytes).into_owned(),
        };
        let is_page = media == "text/html" || media == "application/xhtml+xml";
        let text = if is_page { page::markdown(&text, url) } else { text };
        let summary = format!("read {url} ({}, {})", status.as_u16(), count(bytes.len(), "byte"));
        let text = format!("{url}\n\n{text}");
        Ok(Outcome { success: status.is_success(), ..Outcome::done(summary, text) })
    }

    fn ensure_reachable(&self, url: &Url) -> Result<(), String> {
        let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']);
        let port = url.port_or_known_default().unwrap_or_default();
        match &self.only {
            Some(rules) if !rules.iter().any(|rule| rule.permits(host, port)) => {
                Err(format!("{host} cannot be reached: the network is restricted (--agent-network, --allow-host)"))
            }
            _ => Ok(()),
        }
    }

    /// Whether the user allows a host by name, wherever it is.
    fn allows(&self, url: &Url) -> bool {
        let host = url.host_str().unwrap_or_default();
        let with_port = format!("{host}:{}", url.port_or_known_default().unwrap_or_default());
        self.allow_hosts
            .iter()
            .any(|allowed| allowed.eq_ignore_ascii_case(host) || allowed.eq_ignore_ascii_case(&with_port))
    }
}

async fn search((service, web): (SearchService, Arc<Web>), Search { query }: Search, _: Context) -> Answer {
    if query.trim().is_empty() {
        return Err("query is empty".to_owned());
    }
    let words = utf8_percent_encode(&query, NON_ALPHANUMERIC).to_string();
    let url = parse(&service.url.replace("{query}", &words))?;
    web.ensure_reachable(&url)?;
    let mut headers = vec![(header::ACCEPT, HeaderValue::from_static("application/json"))];
    if let Some(key) = &service.key {
        let key = HeaderValue::from_str(&format!("Bearer {key}"));
        headers
            .push((header::AUTHORIZATION, key.map_err(|_| "the key of the search service is no header".to_owned())?));
    }
    // The user chose this address.
    let answer = get(&url, headers, anywhere).await?;
    let status = answer.status();
    let bytes =
        read(answer.into_body(), MAX_BODY, TIMEOUT).await.map_err(|error| format!("the search failed: {error}"))?;
    if !status.is_success() {
        return Err(format!("the search service answered {status}"));
    }
    let found: Value =
        serde_json::from_slice(&bytes).map_err(|_| "the search service did not answer with JSON".to_owned())?;
    let lines: Vec<String> = results(&found).into_iter().flatten().take(MAX_RESULTS).filter_map(line).collect();
    let summary = format!("found {} for {query}", count(lines.len(), "page"));
    Ok(Outcome::done(summary, if lines.is_empty() { "nothing found".to_owned() } else { lines.join("\n\n") }))
}

/// The first list of objects with an address, wherever a service puts it.
fn results(value: &Value) -> Option<&Vec<Value>> {
    match value {
        Value::Array(list) if list.first().is_some_and(|first| field(first, &ADDRESSES).is_some()) => Some(list),
        Value::Array(list) => list.iter().find_map(results),
        Value::Object(object) => object.values().find_map(results),
        _ => None,
    }
}

const ADDRESSES: [&str; 3] = ["url", "link", "href"];

fn field<'a>(value: &'a Value, names: &[&str]) -> Option<&'a str> {
    names.iter().find_map(|name| value.get(name)?.as_str())
}

fn line(result: &Value) -> Option<String> {
    let address = field(result, &ADDRESSES)?;
    let title = field(result, &["title", "name"]).unwrap_or(address);
    let excerpt: String =
        field(result, &["content", "snippet", "description"]).unwrap_or_default().chars().take(500).collect();
    Some(format!("{title}\n{address}\n{excerpt}"))
}

fn parse(address: &str) -> Result<Url, String> {
    if address.len() > MAX_URL {
        return Err(format!("the address has more than {MAX_URL} bytes"));
    }
    let mut url = Url::parse(address).map_err(|error| format!("`{address}` is no address: {error}"))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(format!("{address} is neither http nor https"));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err("an address with a password in it is not called".to_owned());
    }
    url.set_fragment(None);
    Ok(url)
}

async fn get(
    url: &Url,
    headers: Vec<(HeaderName, HeaderValue)>,
    guard: ralph_http::Guard,
) -> Result<Response<ralph_http::Incoming>, String> {
    let failed = |error: ralph_http::Error| format!("{url} could not be reached: {error}");
    // A client for each call: a connection that is kept was allowed for another host.
    let http = Http::guarded(url.scheme() == "https", guard).map_err(failed)?;
    let call = Call { method: Method::GET, url: url.to_string(), headers, body: ralph_http::Bytes::new() };
    http.send(call, TIMEOUT).await.map_err(failed)
}

fn anywhere(_: IpAddr) -> bool {
    true
}

/// Whether an address is on the public internet: no private, local, shared, reserved or translated one.
fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => is_public_v6(address),
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let [a, b, c, _] = address.octets();
    let is_special = matches!(
        (a, b, c),
        (0 | 10 | 127 | 224.., ..)
            | (100, 64..=127, _)
            | (169, 254, _)
            | (172, 16..=31, _)
            | (192, 168, _)
            | (192, 0, 0 | 2)
            | (192, 88, 99)
            | (198, 18 | 19, _)
            | (198, 51, 100)
            | (203, 0, 113)
    );
    !is_special
}

/// Of what is assigned, 2000::/3, what neither carries an IPv4 address nor is set apart. IPv4-mapped and NAT64 addresses are
/// outside of it.
fn is_public_v6(address: Ipv6Addr) -> bool {
    match address.segments() {
        [0x2001, 0..=0x1ff | 0xdb8, ..] | [0x2002, ..] | [0x3fff, 0..=0xfff, ..] => false,
        [first, ..] => first & 0xe000 == 0x2000,
    }
}

#[cfg(test)]
#[path = "web_tests.rs"]
mod tests;
