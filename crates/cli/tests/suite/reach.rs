//! What agents and checks can reach and read: the network of agents, and files that are hidden from them.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::thread;

use ralph_testkit::Repo;
use ralph_testkit::ScriptedModel;
use ralph_testkit::model::{Reply, Script};

use crate::aid::extended;
use crate::harness::{Ended, User, run_words_with};

/// Tries everything that it is given, and says of each what came of it.
const AGENT: &str = r#"
import json, os, socket, sys, urllib.request
tried = {}
def attempt(name, what):
    try:
        tried[name] = what()
    except Exception as error:
        tried[name] = type(error).__name__
def model():
    body = {"model": "claude-sonnet-4-5", "max_tokens": 10, "messages": [{"role": "user", "content": "hello"}]}
    request = urllib.request.Request(os.environ["ANTHROPIC_BASE_URL"] + "/v1/messages", json.dumps(body).encode(), {
        "content-type": "application/json", "x-api-key": os.environ["ANTHROPIC_API_KEY"], "anthropic-version": "2023-06-01"})
    return urllib.request.urlopen(request).status
allowed, other, service = sys.argv[1:]
attempt("model", model)
os.environ.pop("no_proxy"); os.environ.pop("NO_PROXY")
proxied = urllib.request.build_opener(urllib.request.ProxyHandler({"http": os.environ.get("http_proxy", "")}))
attempt("allowed", lambda: proxied.open(f"http://localhost:{allowed}/").read().decode())
attempt("other", lambda: proxied.open(f"http://localhost:{other}/").read().decode())
def tunnel(port):
    proxy = os.environ["https_proxy"].removeprefix("http://").split(":")
    stream = socket.create_connection((proxy[0], int(proxy[1])))
    stream.sendall(f"CONNECT localhost:{port} HTTP/1.1\r\nhost: localhost\r\n\r\n".encode())
    return stream.recv(64).decode().split(" ")[1]
attempt("tunnel", lambda: tunnel(allowed))
attempt("other tunnel", lambda: tunnel(other))
attempt("direct", lambda: socket.create_connection(("127.0.0.1", int(other))) and "reached")
attempt("allowed direct", lambda: socket.create_connection(("127.0.0.1", int(allowed))) and "reached")
attempt("service direct", lambda: socket.create_connection(("127.0.0.1", int(service))) and "reached")
json.dump(tried, open("tried.json", "w"))
json.dump({"costUSD": 0.0}, open(os.environ["RALPH_RESULT_FILE"], "w"))
"#;

/// A server on loopback that answers every request with its name.
fn server(name: &'static str) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { return };
            thread::spawn(move || {
                let _ = stream.read(&mut [0; 1024]);
                let _ = write!(stream, "HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{name}", name.len());
            });
        }
    });
    port
}

#[test]
fn an_agent_reaches_its_gateway_and_the_hosts_that_are_named_and_nothing_else() {
    let (user, repo) = (User::new(), Repo::init());
    let agent = user.home().join("agent.py");
    std::fs::write(&agent, AGENT).unwrap();
    let model = ScriptedModel::start(Script::new().reply(Reply::say("done")));
    let (allowed, other) = (server("allowed"), server("other"));
    let service = model.url().rsplit(':').next().unwrap().trim_end_matches('/').to_owned();
    let line = format!("python3 {} {allowed} {other} {service}", agent.display());
    let host = format!("localhost:{allowed}");
    let run = |more: &[&str]| {
        let words = run_words_with(
            &line,
            1,
            &["--criteria", "false", "--env", "ANTHROPIC_API_KEY", "--env", "ANTHROPIC_BASE_URL", "--meter", "auto"],
        );
        let mut command = user.command(repo.path(), extended(words, more));
        command.env("ANTHROPIC_API_KEY", "sk-ant-canary").env("ANTHROPIC_BASE_URL", model.url());
        Ended::from(command.output().unwrap()).with_code(10)
    };
    let ended = run(&["--agent-network", "model", "--allow-host", &host]);
    let said = ended.stderr.clone();
    let tried: serde_json::Value = serde_json::from_str(&repo.read("tried.json")).unwrap();
    if said.contains("not enforced") {
        println!("SKIPPED: no network namespaces here: {said}");
        return;
    }
    let reached = serde_json::json!({
        "model": 200, "allowed": "allowed", "other": "HTTPError", "tunnel": "200", "other tunnel": "403",
        "direct": "ConnectionRefusedError", "allowed direct": "reached",
        "service direct": "ConnectionRefusedError",
    });
    assert_eq!(tried, reached, "{said}");
    assert!(said.contains(&format!("agents reach only their model services and {host}")), "{said}");
    assert_eq!(model.requests().len(), 1);
}

#[test]
fn a_restricted_network_needs_what_restricts_it() {
    let (user, repo) = (User::new(), Repo::init());
    for (more, expected) in [
        (&["--agent-network", "model", "--meter", "stream"][..], "--meter auto"),
        (&["--agent-network", "model", "--meter", "auto", "--sandbox", "off"], "--sandbox on"),
        (&["--allow-host", "example.com"], "--agent-network model"),
        (&["--agent-network", "model", "--allow-host", "https://example.com"], "is not a host"),
    ] {
        let command = user.command(repo.path(), extended(run_words_with("true", 1, &[]), more)).output().unwrap();
        let ended = Ended::from(command).with_code(2);
        assert!(ended.stderr.contains(expected), "{more:?}: {}", ended.stderr);
    }
}

/// The agent and the check leave behind what they could read.
#[test]
fn keys_and_logins_of_others_are_hidden_and_the_own_login_is_not() {
    let (user, repo) = (User::new(), Repo::init());
    let files = [
        (".ssh/id_ed25519", "key"),
        (".aws/credentials", "cloud"),
        (".mozilla/profile/cookies", "browser"),
        (".codex/auth.json", "codex"),
        (".claude/.credentials.json", "claude"),
        (".gitconfig", "git"),
        ("private/diary", "diary"),
    ];
    for (path, content) in files {
        let path = user.home().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }
    let list = files.map(|(path, _)| user.home().join(path).display().to_string()).join(" ");
    let look = format!(
        "for file in {list} {}/ralph.db; do cat $file 2>/dev/null | head -c 8; echo; done",
        user.state().display()
    );
    let script = user.home().join("claude");
    // What Claude Code would print at its end, as far as Ralph needs it.
    let result = r#"{"type":"result","subtype":"success","is_error":false,"result":"done","total_cost_usd":0.0,"usage":{"input_tokens":1,"output_tokens":1}}"#;
    std::fs::write(&script, format!("#!/bin/sh\n({look}) > by-agent.txt\necho '{result}'\n")).unwrap();
    make_executable(&script);
    let criteria = format!("({look}) > by-check.txt; false");
    user.configure(&format!(
        "[agents.mine]\nkind = \"claude\"\nprogram = {:?}\nunmetered = true\n",
        script.display().to_string()
    ));
    let run = |more: &[&str]| {
        let words = ["run", "see what you can read", "--agent", "mine", "--max", "1", "--max-cost", "1"];
        let words = extended(words.map(str::to_owned).to_vec(), &["--criteria", &criteria, "--pause", "0"]);
        let ended = Ended::from(user.command(repo.path(), extended(words, more)).output().unwrap()).with_code(10);
        let read = |name: &str| repo.read(name).lines().map(str::to_owned).collect::<Vec<_>>();
        (read("by-agent.txt"), read("by-check.txt"), ended.stderr)
    };
    let (by_agent, by_check, said) = run(&[]);
    if said.contains("files cannot be hidden") {
        println!("SKIPPED: {said}");
        return;
    }
    assert_eq!(by_agent, ["", "", "", "", "claude", "git", "diary", ""], "{said}");
    assert_eq!(by_check, ["", "", "", "", "", "git", "diary", ""], "{said}");
    let (by_agent, by_check, said) = run(&["--hide", "~/private", "--allow-read", "~/.ssh"]);
    assert_eq!(by_agent, ["key", "", "", "", "claude", "git", "", ""], "{said}");
    assert_eq!(by_check, ["key", "", "", "", "", "git", "", ""], "{said}");
    let workspace = repo.path().display().to_string();
    let words = extended(run_words_with("true", 1, &[]), &["--hide", &workspace]);
    let refused = Ended::from(user.command(repo.path(), words).output().unwrap()).with_code(2);
    assert!(refused.stderr.contains("--hide"), "{}", refused.stderr);
}

#[test]
fn hiding_without_a_sandbox_is_said_to_hide_nothing() {
    let (user, repo) = (User::new(), Repo::init());
    let hidden = user.home().display().to_string();
    let words =
        run_words_with("true", 1, &["--criteria", "false", "--unmetered", "--sandbox", "off", "--hide", &hidden]);
    let said = Ended::from(user.command(repo.path(), words).output().unwrap()).with_code(10).stderr;
    assert!(said.contains("warning: --hide: without a sandbox nothing is hidden"), "{said}");
}

fn make_executable(path: &std::path::Path) {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
}

/// Works when it is tried out, and is gone when the checks need it.
#[test]
fn a_sandbox_that_disappears_ends_the_loop_and_burns_no_iterations() {
    let (user, repo) = (User::new(), Repo::init());
    let programs = user.home().join("programs");
    std::fs::create_dir_all(&programs).unwrap();
    let bubblewrap = programs.join("bwrap");
    // Makes no mounts: only that it is there, and then is not, matters.
    std::fs::write(&bubblewrap, "#!/bin/sh\nwhile [ \"$1\" != -- ]; do shift; done\nshift\n\"$@\"\nexit $?\n").unwrap();
    make_executable(&bubblewrap);
    let agent = format!("echo run >> runs.txt; rm -f {}", bubblewrap.display());
    let words = run_words_with(&agent, 5, &["--criteria", "test -e never", "--unmetered"]);
    let mut command = user.command(repo.path(), words);
    let path = std::env::var("PATH").unwrap();
    command.env("PATH", format!("{}:{path}", programs.display()));
    let ended = Ended::from(command.output().unwrap()).with_code(1);
    assert!(ended.stderr.contains("the sandbox could not be set up"), "{}", ended.stderr);
    assert_eq!(repo.read("runs.txt"), "run\n", "{}", ended.stderr);
}
