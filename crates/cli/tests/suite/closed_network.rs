//! A company's network: model services and other hosts are reached through a proxy, and answer with certificates of an authority that
//! only the company knows.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use ralph_testkit::model::{Reply, Script, Usage};
use ralph_testkit::network::{ConnectProxy, Tunnelling, with_tls};
use ralph_testkit::{Repo, ScriptedModel};
use serde_json::Value;

use crate::aid::{finish, micros};
use crate::harness::{Ended, User, run_words_with};

/// Asks once, with what Ralph gave it, and says what came of it.
const AGENT: &str = r#"
import json, os, urllib.request
body = {"model": "claude-sonnet-4-5", "max_tokens": 1000, "messages": [{"role": "user", "content": "hello"}]}
request = urllib.request.Request(os.environ["ANTHROPIC_BASE_URL"] + "/v1/messages", json.dumps(body).encode(), {
    "content-type": "application/json", "x-api-key": os.environ["ANTHROPIC_API_KEY"], "anthropic-version": "2023-06-01"})
try:
    print(urllib.request.urlopen(request).status)
except OSError as error:
    exit(f"no answer: {error}")
"#;

/// The names of the hosts that only the proxy knows.
const MODEL: &str = "model.test";
const NAMES: [&str; 4] = [MODEL, "registry.test", "other.test", "localhost"];

/// A certificate for these hosts by an authority, and the certificate of the authority.
pub struct Certificates {
    certificate: String,
    key: String,
    pub authority: PathBuf,
}

impl Certificates {
    pub fn new(folder: &Path) -> Self {
        use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair};
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.distinguished_name.push(DnType::CommonName, "An authority of our own");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let authority_key = KeyPair::generate().unwrap();
        let authority = params.self_signed(&authority_key).unwrap();
        let issuer = Issuer::new(params, authority_key);
        let key = KeyPair::generate().unwrap();
        let certificate = CertificateParams::new(NAMES.map(str::to_owned)).unwrap().signed_by(&key, &issuer).unwrap();
        let path = folder.join("authority.pem");
        std::fs::write(&path, authority.pem()).unwrap();
        Self { certificate: certificate.pem(), key: key.serialize_pem(), authority: path }
    }

    /// A server with this certificate before one that has none.
    pub fn in_front_of(&self, target: SocketAddr) -> SocketAddr {
        with_tls(&self.certificate, &self.key, target)
    }
}

struct Scene {
    user: User,
    repo: Repo,
    model: ScriptedModel,
    certificates: Certificates,
    /// The model service, with TLS.
    service: SocketAddr,
}

impl Scene {
    fn new() -> Self {
        let usage = Usage { input: 10_000, ..Usage::ZERO };
        let replies = (0..4).map(|_| Reply::say("done").usage(usage));
        let model = ScriptedModel::start(replies.fold(Script::new(), Script::reply));
        let user = User::new();
        std::fs::write(user.home().join("agent.py"), AGENT).unwrap();
        let certificates = Certificates::new(&user.home());
        let service = certificates.in_front_of(SocketAddr::from(([127, 0, 0, 1], model.port())));
        Self { user, repo: Repo::init(), model, certificates, service }
    }

    /// A loop with an agent that asks once, and these variables of the user's.
    fn run(&self, variables: &[(&str, &str)]) -> Ended {
        let line = format!("python3 {}", self.user.home().join("agent.py").display());
        let words = ["--criteria", "false", "--env", "ANTHROPIC_API_KEY", "--max-wait", "1s"];
        self.ralph(&run_words_with(&line, 1, &words), variables)
    }

    fn ralph(&self, words: &[String], variables: &[(&str, &str)]) -> Ended {
        let mut command = self.user.command(self.repo.path(), words);
        command.env("ANTHROPIC_API_KEY", "sk-ant-1").env("ANTHROPIC_BASE_URL", format!("https://{MODEL}"));
        command.envs(variables.iter().copied());
        finish(command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap())
    }
}

#[test]
fn an_agent_reaches_its_model_through_the_companys_proxy() {
    let scene = Scene::new();
    let authority = scene.certificates.authority.to_str().unwrap();
    let open = ConnectProxy::start(Tunnelling::To(scene.service));
    // `user:p@ss`, which has to be encoded in an address.
    let closed = ConnectProxy::start(Tunnelling::ForLogin("dXNlcjpwQHNz".to_owned(), scene.service));
    let direct = format!("https://localhost:{}", scene.service.port());
    for (proxy, address, trust) in [
        (&open, format!("http://{}", open.address()), "NODE_EXTRA_CA_CERTS"),
        (&closed, format!("http://user:p%40ss@{}", closed.address()), "SSL_CERT_FILE"),
    ] {
        let result = scene.run(&[("HTTPS_PROXY", &address), (trust, authority)]).with_code(10).json();
        assert_eq!(micros(&result["costUSD"]), 30_000, "{result}");
        assert_eq!(proxy.asked(), [format!("CONNECT {MODEL}:443 HTTP/1.1")]);
    }
    // A host that is excepted is reached without it.
    let address = format!("http://{}", open.address());
    let variables = [("HTTPS_PROXY", address.as_str()), ("NO_PROXY", "localhost"), ("ANTHROPIC_BASE_URL", &direct)];
    let result = scene.run(&[&variables[..], &[("NODE_EXTRA_CA_CERTS", authority)]].concat()).with_code(10).json();
    assert_eq!(micros(&result["costUSD"]), 30_000, "{result}");
    assert_eq!((open.asked().len(), scene.model.requests().len()), (1, 3));
}

#[test]
fn what_the_proxy_refuses_is_said_with_what_to_do() {
    let scene = Scene::new();
    let authority = scene.certificates.authority.to_str().unwrap();
    let wants_login = ConnectProxy::start(Tunnelling::ForLogin("x".to_owned(), scene.service));
    let forbids = ConnectProxy::start(Tunnelling::Refused("403 Forbidden"));
    let broken = ConnectProxy::start(Tunnelling::Refused("502 Bad Gateway"));
    let open = ConnectProxy::start(Tunnelling::To(scene.service));
    for (proxy, trust, words) in [
        (&wants_login, authority, &["not set up", "HTTPS_PROXY", "(407)", "USER:PASSWORD@HOST:PORT"][..]),
        (&forbids, authority, &["not set up", "403 Forbidden", "NO_PROXY"]),
        (&broken, authority, &["cannot be reached", "502 Bad Gateway"]),
        (&open, "", &["not set up", "authority", "NODE_EXTRA_CA_CERTS", "SSL_CERT_FILE"]),
    ] {
        let address = format!("http://{}", proxy.address());
        let ended = scene.run(&[("HTTPS_PROXY", &address), ("NODE_EXTRA_CA_CERTS", trust)]).with_code(1);
        assert!(words.iter().all(|word| ended.stderr.contains(word)), "{words:?}: {}", ended.stderr);
        assert_eq!(proxy.asked().len(), 1, "asked once: {}", ended.stderr);
    }
    assert_eq!(scene.model.requests().len(), 0);
    // A proxy of a kind that Ralph does not speak, and a file that is not there: the agent is on its own, and the user knows.
    for (name, value, word) in [
        ("HTTPS_PROXY", "socks5://127.0.0.1:1", "HTTPS_PROXY: socks5://127.0.0.1:1"),
        ("NODE_EXTRA_CA_CERTS", "/nowhere/ca.pem", "NODE_EXTRA_CA_CERTS: /nowhere/ca.pem"),
    ] {
        let ended = scene.run(&[(name, value)]);
        assert!(ended.stderr.contains("no gateway could be opened") && ended.stderr.contains(word), "{}", ended.stderr);
    }
}

#[test]
fn the_crews_own_models_use_the_proxy_too() {
    let scene = Scene::new();
    let authority = scene.certificates.authority.to_str().unwrap();
    let proxy = ConnectProxy::start(Tunnelling::To(scene.service));
    let address = format!("http://{}", proxy.address());
    let words =
        ["run", "look", "--agent", "native", "--model", "anthropic:claude-sonnet-4-5", "--max", "1", "--max-cost", "2"];
    let words = [&words[..], &["--criteria", "false", "--json", "--quiet"]].concat();
    let words: Vec<String> = words.into_iter().map(str::to_owned).collect();
    let variables = [("HTTPS_PROXY", address.as_str()), ("NODE_EXTRA_CA_CERTS", authority)];
    let result = scene.ralph(&words, &variables).with_code(10).json();
    assert_eq!(micros(&result["costUSD"]), 30_000, "{result}");
    assert_eq!(proxy.asked(), [format!("CONNECT {MODEL}:443 HTTP/1.1")]);
    let refused = scene.ralph(&words, &variables[..1]);
    let said = format!("{}{}", refused.stdout, refused.stderr);
    assert!(said.contains("NODE_EXTRA_CA_CERTS"), "{said}");
}

/// What clients fetch: a file, a repository, a package of npm and one of Python.
const SHELF: &str = r#"
import hashlib, io, json, os, subprocess, tarfile, zipfile
os.makedirs("npm"); os.makedirs("simple/demo")
open("hello.txt", "w").write("hello")
made = io.BytesIO()
with tarfile.open(fileobj=made, mode="w:gz") as archive:
    text = json.dumps({"name": "demo", "version": "1.0.0"}).encode()
    entry = tarfile.TarInfo("package/package.json"); entry.size = len(text)
    archive.addfile(entry, io.BytesIO(text))
open("npm/demo-1.0.0.tgz", "wb").write(made.getvalue())
dist = {"tarball": "https://registry.test/npm/demo-1.0.0.tgz", "shasum": hashlib.sha1(made.getvalue()).hexdigest()}
version = {"name": "demo", "version": "1.0.0", "dist": dist}
json.dump({"name": "demo", "dist-tags": {"latest": "1.0.0"}, "versions": {"1.0.0": version}}, open("npm/demo", "w"))
wheel = "demo-1.0.0-py3-none-any.whl"
with zipfile.ZipFile("simple/demo/" + wheel, "w") as archive:
    archive.writestr("demo.py", "")
    archive.writestr("demo-1.0.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: demo\nVersion: 1.0.0\n")
    archive.writestr("demo-1.0.0.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
    archive.writestr("demo-1.0.0.dist-info/RECORD", "")
open("simple/demo/index.html", "w").write(f"<a href={wheel}>{wheel}</a>")
git = ["git", "-c", "user.name=x", "-c", "user.email=x@localhost", "-c", "init.defaultBranch=main"]
subprocess.run([*git, "init", "-q", "work"], check=True)
subprocess.run([*git, "-C", "work", "commit", "-q", "--allow-empty", "-m", "one"], check=True)
subprocess.run([*git, "clone", "-q", "--bare", "work", "demo.git"], check=True)
subprocess.run([*git, "-C", "demo.git", "update-server-info"], check=True)
"#;

/// Fetches with every client from a host, and says which of them got what they wanted.
const FETCH: &str = r#"
attempt() { name=$1; shift; if "$@" > "$name.log" 2>&1; then echo "$name yes"; else echo "$name no"; fi >> tried.txt; }
export GIT_TERMINAL_PROMPT=0
for host in registry other; do
  at=https://$host.test
  attempt $host-curl curl -sSf --max-time 30 --cacert "$CA" $at/hello.txt
  attempt $host-git git -c http.sslCAInfo="$CA" clone $at/demo.git cloned-$host
  attempt $host-npm npm install --prefix npm-$host --cafile "$CA" --registry $at/npm/ --cache npm-cache-$host \
    --fetch-retries 0 --no-audit --no-fund --no-update-notifier demo
  # Some ways to have several versions of Python fail after pip succeeded, where they cannot write their own folder.
  attempt $host-pip sh -c "python3 -m pip install --target pip-$host --cert '$CA' --index-url $at/simple --retries 0 --timeout 15 \
    --no-cache-dir --disable-pip-version-check demo; test -e pip-$host/demo.py"
done
attempt plain-allowed curl -sSf --max-time 30 http://localhost:$ALLOWED/hello.txt
attempt plain-proxied curl -sSf --max-time 30 --noproxy '' -x "$http_proxy" http://localhost:$ALLOWED/hello.txt
attempt plain-other curl -sSf --max-time 30 --noproxy '' -x "$http_proxy" http://localhost:$OTHER/hello.txt
attempt direct-other curl -sSf --max-time 30 --noproxy '*' http://localhost:$OTHER/hello.txt
"#;

/// Serves the files of a folder.
fn shelf(folder: PathBuf) -> SocketAddr {
    use std::io::{BufRead as _, Write as _};
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().map_while(Result::ok) {
            let folder = folder.clone();
            std::thread::spawn(move || {
                let mut lines = std::io::BufReader::new(stream.try_clone().unwrap()).lines().map_while(Result::ok);
                let line = lines.next().unwrap_or_default();
                lines.take_while(|line| !line.is_empty()).for_each(drop);
                let path = line.split(' ').nth(1).unwrap_or("/").split('?').next().unwrap_or_default().to_owned();
                let path = if path.ends_with('/') { format!("{path}index.html") } else { path };
                let (status, body) = match std::fs::read(folder.join(path.trim_start_matches('/'))) {
                    Ok(body) => ("200 OK", body),
                    Err(_) => ("404 Not Found", Vec::new()),
                };
                let kind = if path.ends_with(".html") { "text/html" } else { "application/octet-stream" };
                let head = format!("HTTP/1.1 {status}\r\ncontent-type: {kind}\r\ncontent-length: {}\r\n", body.len());
                let _ = stream.write_all(format!("{head}connection: close\r\n\r\n").as_bytes());
                let _ = stream.write_all(&body);
            });
        }
    });
    address
}

/// Under `--agent-network model`, curl, git, npm and pip reach a host that is allowed, and no other, by CONNECT and by plain HTTP.
#[test]
fn real_clients_reach_the_hosts_that_are_allowed_and_no_others() {
    let scene = Scene::new();
    let folder = scene.user.home().join("shelf");
    std::fs::create_dir_all(&folder).unwrap();
    let made = std::process::Command::new("python3").args(["-c", SHELF]).current_dir(&folder).status().unwrap();
    assert!(made.success());
    let files = shelf(folder.clone());
    let other = shelf(folder);
    // Every name leads to the same files: only Ralph keeps the agent from one of them.
    let proxy = ConnectProxy::start(Tunnelling::To(scene.certificates.in_front_of(files)));
    let fetch = scene.user.home().join("fetch.sh");
    std::fs::write(&fetch, FETCH).unwrap();
    let (allowed, other) = (files.port(), other.port());
    let authority = scene.certificates.authority.display().to_string();
    let line = format!("CA={authority} ALLOWED={allowed} OTHER={other} sh {}", fetch.display());
    let plain = format!("localhost:{allowed}");
    let hosts = ["--agent-network", "model", "--allow-host", "registry.test", "--allow-host", &plain];
    let words = run_words_with(&line, 1, &[&hosts[..], &["--criteria", "false", "--unmetered"]].concat());
    let address = format!("http://{}", proxy.address());
    let ended = scene.ralph(&words, &[("HTTPS_PROXY", &address)]).with_code(10);
    if ended.stderr.contains("not enforced") {
        println!("SKIPPED: no network namespaces here: {}", ended.stderr);
        return;
    }
    let tried = scene.repo.read("tried.txt");
    let log = |name: &str| std::fs::read_to_string(scene.repo.path().join(format!("{name}.log"))).unwrap_or_default();
    for line in tried.lines() {
        let (name, got) = line.split_once(' ').unwrap();
        let is_allowed = name.starts_with("registry-") || ["plain-allowed", "plain-proxied"].contains(&name);
        assert_eq!(got == "yes", is_allowed, "{name}: {}\n{}", log(name), ended.stderr);
    }
    assert_eq!(tried.lines().count(), 12, "{tried}");
    let asked = proxy.asked();
    assert!(asked.iter().all(|line| line == "CONNECT registry.test:443 HTTP/1.1") && asked.len() >= 4, "{asked:?}");
    assert!(log("other-curl").contains("403"), "{}", log("other-curl"));
    let requests: Value = scene.user.show(ended.json()["loopId"].as_str().unwrap());
    assert_eq!(requests["config"]["allowHosts"][0], "registry.test", "{requests:#}");
}
