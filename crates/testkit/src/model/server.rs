//! The server: a thread with a port on loopback, for as long as somebody holds it. It answers by the script alone.

use std::convert::Infallible;
use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use http_body_util::BodyExt;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use jiff::Timestamp;
use tokio::sync::oneshot;

use super::delivery::{Closed, Delivery};
use super::plan::{Plan, Planner};
use super::{Ending, Logged, Script, Usage};

/// A model service on loopback that answers by a script. It stops when it is dropped.
#[derive(Debug)]
pub struct ScriptedModel {
    shared: Arc<Shared>,
    address: SocketAddr,
    stop: Option<oneshot::Sender<Infallible>>,
    thread: Option<JoinHandle<()>>,
}

/// What the connections and the holder of the server share.
#[derive(Debug)]
pub(super) struct Shared {
    planner: Planner,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    log: Vec<Logged>,
    life: Life,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Life {
    #[default]
    Serving,
    /// Connections that close now are closed by the server.
    Stopping,
}

/// The line of a request in the log, while its answer is sent.
#[derive(Debug)]
pub(super) struct Record {
    shared: Arc<Shared>,
    at: usize,
    /// What counts as answered once the answer has reached its end.
    usage: Usage,
}

impl ScriptedModel {
    /// Starts a server on a free port.
    ///
    /// # Panics
    /// When the script has a status or header that cannot be sent, or the system gives it no port or no thread.
    #[track_caller]
    pub fn start(script: Script) -> Self {
        Self::listen(script).unwrap_or_else(|error| panic!("could not start a scripted model: {error}"))
    }

    /// The same for callers that do not panic.
    ///
    /// # Errors
    /// When the script has a status or header that cannot be sent, or the system gives it no port or no thread.
    pub fn listen(script: Script) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let planner = Planner::new(script, address.port())?;
        let shared = Arc::new(Shared { planner, state: Mutex::default(), changed: Condvar::new() });
        let runtime = tokio::runtime::Builder::new_current_thread().enable_io().enable_time().build()?;
        let (stop, stopped) = oneshot::channel();
        let serving = Arc::clone(&shared);
        let thread = thread::Builder::new().name("scripted-model".to_owned()).spawn(move || {
            runtime.block_on(async {
                tokio::select! {
                    _ = stopped => {}
                    () = accept(listener, serving) => {}
                }
            });
            // The connections are tasks of the runtime and end with it.
        })?;
        Ok(Self { shared, address, stop: Some(stop), thread: Some(thread) })
    }

    /// Its address: `http://127.0.0.1:PORT`.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    pub const fn port(&self) -> u16 {
        self.address.port()
    }

    pub fn requests(&self) -> Vec<Logged> {
        self.shared.state().log.clone()
    }

    pub fn main_requests(&self) -> Vec<Logged> {
        self.requests().into_iter().filter(Logged::is_main).collect()
    }

    /// Waits until the requests so far are as wanted, and gives them.
    #[track_caller]
    pub fn wait_until(&self, limit: Duration, wanted: impl Fn(&[Logged]) -> bool) -> Vec<Logged> {
        let start = Instant::now();
        let mut state = self.shared.state();
        while !wanted(&state.log) {
            let Some(left) = limit.checked_sub(start.elapsed()) else {
                panic!("the model did not get the requests that were waited for in {limit:?}; it got {:#?}", state.log)
            };
            state = self.shared.changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        state.log.clone()
    }

    /// The tokens that were answered to the main conversation.
    pub fn usage(&self) -> Usage {
        self.sum(Logged::is_main)
    }

    /// The tokens that were answered beside the main conversation.
    pub fn side_usage(&self) -> Usage {
        self.sum(|request| !request.is_main())
    }

    fn sum(&self, counts: impl Fn(&Logged) -> bool) -> Usage {
        let state = self.shared.state();
        let counted = state.log.iter().filter(|request| counts(request));
        counted.fold(Usage::ZERO, |sum, request| sum + request.usage)
    }
}

impl Drop for ScriptedModel {
    fn drop(&mut self) {
        self.shared.state().life = Life::Stopping;
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // A panic of the server has been printed; another one here would end the test without its own message.
            let _ = thread.join();
        }
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Record {
    /// Says how far the answer got. Only the first word counts.
    pub(super) fn end(&self, ending: Ending) {
        let mut state = self.shared.state();
        if state.life == Life::Stopping {
            return;
        }
        let Some(request) = state.log.get_mut(self.at).filter(|request| request.ending == Ending::Open) else { return };
        request.ending = ending;
        if ending == Ending::Sent {
            request.usage = self.usage;
        }
        self.shared.changed.notify_all();
    }
}

async fn accept(listener: TcpListener, shared: Arc<Shared>) {
    let listener = match tokio::net::TcpListener::from_std(listener) {
        Ok(listener) => listener,
        Err(error) => panic!("could not listen: {error}"),
    };
    loop {
        let stream = match listener.accept().await {
            Ok((stream, _)) => stream,
            // The client is gone already, or too many files are open: the next one may be luckier.
            Err(_) => {
                tokio::time::sleep(Duration::from_millis(10)).await;
                continue;
            }
        };
        // Events are small and wanted at once.
        let _ = stream.set_nodelay(true);
        let shared = Arc::clone(&shared);
        tokio::spawn(async move {
            let service = service_fn(move |request| respond(Arc::clone(&shared), request));
            // A connection ends with an error whenever a client leaves or the script has it cut.
            let _ = http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
        });
    }
}

async fn respond(shared: Arc<Shared>, request: Request<Incoming>) -> Result<Response<Delivery>, Closed> {
    let (head, body) = request.into_parts();
    let body = body.collect().await.map_err(|_| Closed::ByClient)?.to_bytes();
    let (record, plan) = {
        let mut state = shared.state();
        let at = state.log.len();
        let (logged, plan) = shared.planner.plan(at + 1, &head, &body, Timestamp::now());
        let usage = logged.usage;
        state.log.push(Logged { usage: Usage::ZERO, ..logged });
        shared.changed.notify_all();
        (Record { shared: Arc::clone(&shared), at, usage }, plan)
    };
    match plan {
        Plan::Respond(response) => Ok(response.with(record)),
        Plan::Drop => {
            record.end(Ending::CutByScript);
            Err(Closed::ByScript)
        }
        Plan::Hang => {
            let _silence = Silence(record);
            std::future::pending().await
        }
    }
}

/// An answer of which not even the head is sent. It is dropped with the connection.
struct Silence(Record);

impl Drop for Silence {
    fn drop(&mut self) {
        self.0.end(Ending::ClosedByClient);
    }
}
