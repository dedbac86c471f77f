//! What the gateway adds to the first byte of an answer, the processor time that it needs for a request and for a megabyte, and its
//! memory while 100 MB of an answer pass. Requests go directly and through it in turns, to a service on loopback in a process of its own.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a measurement")]

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use ralph_gateway::{Egress, Gateway, GatewayOptions, Upstream};
use ralph_model::{PriceList, Timestamp};

const ROUNDS: usize = 300;
const EVENTS: usize = 1600;
const SHORT: &str = "data: {\"type\":\"message_start\",\"message\":{\"model\":\"claude-sonnet-4-5\",\"usage\":{\"input_tokens\":9,\
                     \"output_tokens\":1}}}\n\ndata: {\"type\":\"message_stop\"}\n\n";

/// Answers each request: with a short stream, or with 100 MB where the path says so.
fn serve() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    println!("{}", listener.local_addr().unwrap());
    for stream in listener.incoming() {
        let mut stream = stream.unwrap();
        stream.set_nodelay(true).unwrap();
        let mut head = Vec::new();
        let mut buffer = [0; 4096];
        while !head.ends_with(b"[]}") {
            match stream.read(&mut buffer).unwrap() {
                0 => break,
                count => head.extend_from_slice(&buffer[..count]),
            }
        }
        let is_long = head.starts_with(b"POST /long/");
        let mut answer =
            "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n".to_owned() + SHORT;
        if is_long {
            answer += &format!("data: {{\"type\":\"content_block_delta\",\"x\":\"{}\"}}\n\n", "x".repeat(64 * 1024));
            for _ in 0..EVENTS {
                if stream.write_all(answer.as_bytes()).is_err() {
                    break;
                }
                answer.drain(..answer.find("data: {\"type\":\"content").unwrap_or(0));
            }
        } else {
            let _ = stream.write_all(answer.as_bytes());
        }
    }
}

/// The time until the first byte, and the length of the answer.
fn ask(address: SocketAddr, path: &str, token: &str) -> (Duration, usize) {
    let body = "{\"model\":\"claude-sonnet-4-5\",\"max_tokens\":100,\"messages\":[]}";
    let length = body.len();
    let request = format!(
        "POST {path} HTTP/1.1\r\nhost: localhost\r\nx-api-key: {token}\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n{body}"
    );
    let begun = Instant::now();
    let mut stream = TcpStream::connect(address).unwrap();
    stream.write_all(request.as_bytes()).unwrap();
    let mut buffer = vec![0; 256 * 1024];
    let mut count = stream.read(&mut buffer).unwrap();
    let first = begun.elapsed();
    let mut all = count;
    while count > 0 {
        count = stream.read(&mut buffer).unwrap_or(0);
        all += count;
    }
    (first, all)
}

/// A figure of a thread or of the process.
fn figure(file: &str, name: &str) -> u64 {
    let text = std::fs::read_to_string(format!("/proc/{file}/status")).unwrap();
    let line = text.lines().find_map(|line| line.strip_prefix(name)).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

/// Nanoseconds that a thread of this process has had a processor.
fn processor(thread: &str) -> u64 {
    let text = std::fs::read_to_string(format!("/proc/self/task/{thread}/schedstat")).unwrap();
    text.split_whitespace().next().unwrap().parse().unwrap()
}

fn median(mut times: Vec<Duration>) -> f64 {
    times.sort();
    times[times.len() / 2].as_secs_f64() * 1000.0
}

fn main() {
    if std::env::args().nth(1).is_some() {
        return serve();
    }
    let mut service =
        Command::new(std::env::current_exe().unwrap()).arg("serve").stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    std::io::BufRead::read_line(&mut std::io::BufReader::new(service.stdout.take().unwrap()), &mut line).unwrap();
    let direct: SocketAddr = line.trim().parse().unwrap();
    let (tell, told) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let gateway = Gateway::start(GatewayOptions {
                upstreams: vec![Upstream { base: format!("http://{direct}"), key: "key".to_owned() }],
                budget: None,
                prices: Arc::new(PriceList::default()),
                egress: Egress::default(),
                now: || Timestamp(0),
                sink: Arc::new(|_| {}),
                recorder: None,
            });
            let gateway = gateway.await.unwrap();
            let thread = std::fs::read_link("/proc/thread-self").unwrap();
            let thread = thread.file_name().unwrap().to_string_lossy().into_owned();
            let address = gateway.addresses()[0].strip_prefix("http://").unwrap().parse().unwrap();
            tell.send((address, gateway.token().to_owned(), thread)).unwrap();
            std::future::pending::<()>().await;
        });
    });
    let (through, token, thread): (SocketAddr, String, String) = told.recv().unwrap();
    let (mut without, mut with) = (Vec::new(), Vec::new());
    for _ in 0..20 {
        ask(through, "/v1/messages", &token);
    }
    let before = processor(&thread);
    for _ in 0..ROUNDS {
        without.push(ask(direct, "/v1/messages", &token).0);
        with.push(ask(through, "/v1/messages", &token).0);
    }
    let requests = Duration::from_nanos(processor(&thread) - before).as_secs_f64() * 1000.0 / f64::from(ROUNDS as u32);
    let (without, with) = (median(without), median(with));
    let (resident, before) = (figure("self", "VmRSS:"), processor(&thread));
    let (_, bytes) = ask(through, "/long/v1/messages", &token);
    let megabytes = bytes as f64 / 1e6;
    let each = Duration::from_nanos(processor(&thread) - before).as_secs_f64() * 1000.0 / megabytes;
    let grown = figure("self", "VmHWM:").saturating_sub(resident) as f64 / 1024.0;
    println!(
        "{:.2} ms more to the first byte ({without:.2} without it)\n{requests:.3} ms of processor time for a request, {each:.2} ms for a \
         megabyte\n{grown:.1} MB more memory while {megabytes:.0} MB passed",
        with - without
    );
    let _ = service.kill();
    let _ = service.wait();
}
