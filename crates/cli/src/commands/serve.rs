//! `ralph serve`: the server of tasks, loops and events.

use std::io::Write as _;
use std::path::Path;
use std::sync::Arc;

use ralph_host::{DatabaseChoice, Dirs, Host, database};
use ralph_mcp::{BoardAccess, HttpNames, Tools};
use ralph_server::{App, Limits, Server, ServerOptions, TlsFiles, first_token};
use ralph_store::RunEntry;
use ralph_text::sanitize;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tokio::signal::unix::{SignalKind, signal};

use crate::args::ServeArgs;
use crate::input::now;
use crate::screen::Screen;

/// Files and connections that a server has open besides those of its clients.
const OWN_DESCRIPTORS: u64 = 96;

/// Serves until it is asked to end.
pub(crate) async fn run(args: ServeArgs, around: &Host, screen: &mut Screen<'_>) -> anyhow::Result<u8> {
    let mut dirs = around.dirs.clone();
    if let Some(url) = args.database_url {
        dirs.database_choice = DatabaseChoice::Url(url);
    }
    // Before anything is opened, so that no start fails half-way.
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let caps = around.caps()?;
    let database = database::open_with_board(&dirs).await?;
    let tools = tools(around, &dirs, args.workspace.as_deref())?.on_board(BoardAccess {
        board: Arc::clone(&database.board),
        caps,
        now,
    });
    let names = (args.allow_host.clone(), args.allow_origin.clone());
    let host = around.clone();
    let app = App::new(ServerOptions {
        listed: Arc::new(move |entry: &RunEntry| host.listed(entry)),
        store: Arc::clone(&database.store),
        board: Arc::clone(&database.board),
        home: around.home(),
        git: around.git().ok(),
        caps,
        version: env!("CARGO_PKG_VERSION").to_owned(),
        now,
        allow_hosts: args.allow_host,
        allow_origins: args.allow_origin,
        limits: limits(),
        notifier: around.notifier(&around.user_settings()?.notify)?,
        log: Arc::new(log),
    });
    let tls = args.tls_cert.zip(args.tls_key).map(|(certificates, key)| TlsFiles { certificates, key });
    let server = Server::bind(app, args.listen, tls.as_ref(), args.insecure_listen).await?;
    let names = names_of(&server, names);
    let server = server.mount("/mcp", ralph_mcp::router(tools.clone(), names));
    // Only a server that runs makes a token: a second one on the same port does not.
    ralph_runtime::Home::make_private(&dirs.state)?;
    let is_new = first_token(&database.board, &dirs.token_file(), now()).await?;
    if is_new {
        screen.say(&format!("made the first token: `ralph token` prints it ({})", dirs.token_file().display()))?;
    }
    screen.say(&format!("listening on {}", server.url()))?;
    server
        .run(async {
            tokio::select! {
                _ = terminate.recv() => {}
                _ = interrupt.recv() => {}
            }
            tools.close().await;
        })
        .await;
    database.store.close().await?;
    Ok(0)
}

/// The tools of `/mcp`: loops work in one folder and are recorded where the server records everything.
fn tools(around: &Host, dirs: &Dirs, workspace: Option<&Path>) -> anyhow::Result<Tools> {
    let mut host = around.clone();
    host.current = ralph_host::workspace(workspace, &around.current)?;
    host.dirs = dirs.clone();
    Ok(Tools::new(host))
}

/// The names that `/mcp` answers to: those of the server.
fn names_of(server: &Server, (allow_host, allow_origin): (Vec<String>, Vec<String>)) -> HttpNames {
    let (address, url) = (server.address(), server.url());
    let scheme = url.split_once("://").map_or("http", |(scheme, _)| scheme);
    let own = [address.ip().to_string(), "localhost".to_owned(), "127.0.0.1".to_owned(), "::1".to_owned()];
    let origin = |host: &String| match host.contains(':') {
        true => format!("{scheme}://[{host}]:{}", address.port()),
        false => format!("{scheme}://{host}:{}", address.port()),
    };
    let origins = own.iter().map(origin).chain(allow_origin).collect();
    HttpNames { hosts: own.iter().cloned().chain(allow_host).collect(), origins }
}

/// As many connections as the system allows, up to the usual number.
fn limits() -> Limits {
    let usual = Limits::default();
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    let wanted = OWN_DESCRIPTORS + usual.connections as u64;
    let raised = maximum.unwrap_or(wanted).min(wanted).max(current.unwrap_or(wanted));
    let is_raised = setrlimit(Resource::Nofile, Rlimit { current: Some(raised), maximum }).is_ok();
    let available = if is_raised { raised } else { current.unwrap_or(wanted) };
    let available = usize::try_from(available.saturating_sub(OWN_DESCRIPTORS)).unwrap_or(usize::MAX);
    let connections = available.clamp(16, usual.connections);
    Limits { connections, streams: connections / 4 * 3, ..usual }
}

/// Messages of a server that runs have no screen to go to but standard error.
fn log(text: &str) {
    let _ = writeln!(std::io::stderr(), "{}", sanitize(text));
}
