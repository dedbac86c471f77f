//! Honest work, which a sandbox must not disturb.

use std::fs;
use std::process::Command;

use ralph_model::Ended;
use ralph_process::Network;

use super::{Cell, levels, program, python};

#[tokio::test]
async fn everyday_shell_works() {
    for level in levels() {
        let cell = Cell::new(&level);
        fs::create_dir(cell.path("work/tmp")).unwrap();
        for (line, expected) in [
            ("echo out > /dev/stdout; echo err > /dev/stderr; echo fd > /dev/fd/1", "out\nfd\n"),
            ("echo x > /dev/null; cat /dev/null; head -c 2 /dev/zero | wc -c", "2\n"),
            ("export TMPDIR=$PWD/tmp; file=$(mktemp); echo x > $file; seq 3 | sort -r | tail -n 1", "1\n"),
            ("bash -c 'set -m; sleep 1000 & sleep 1000 & kill %2 %1; wait; echo jobs'", "jobs\n"),
            ("ps -o pid= -p $$ | tr -d ' \\n' | grep -qx $$ && echo listed", "listed\n"),
            ("mkdir a b; echo 1 > a/x; mv a/x b/y; ln b/y a/z; cp -r b c; rm -r a b; cat c/y", "1\n"),
            ("mkdir from; echo 1 > from/x; mv from to; mv to/x .; rmdir to; cat x", "1\n"),
            ("mkfifo pipe; echo through > pipe & cat pipe", "through\n"),
            ("echo body > script; chmod 700 script; touch -d @1000 script; stat -c '%a %Y' script", "700 1000\n"),
            ("echo x > /dev/shm/ralph-test-$$ && rm /dev/shm/ralph-test-$$ && echo shared", "shared\n"),
            ("cat << END\nhere\nEND\n", "here\n"),
        ] {
            let output = cell.output_of(line).await;
            assert_eq!(output, expected, "{level}: {line}");
        }
    }
}

#[tokio::test]
async fn a_terminal_can_be_opened() {
    if program(&["script"], "--version").is_none() {
        return;
    }
    for level in levels() {
        let cell = Cell::new(&level);
        let output = cell.output_of("script -qec 'tty; echo typed' /dev/null < /dev/null").await;
        assert!(output.contains("/dev/pts/") && output.contains("typed"), "{level}: {output}");
    }
}

#[tokio::test]
async fn git_commits() {
    if program(&["git"], "--version").is_none() {
        return;
    }
    for level in levels() {
        let cell = Cell::new(&level);
        let line = "export HOME=$PWD GIT_CONFIG_NOSYSTEM=1
            git init -q . && git config user.email a@b && git config user.name a
            echo one > file && git add . && git commit -qm one && git checkout -qb other && echo two > file
            git commit -qam two && git gc -q && git stash list && git log --format=%s";
        assert_eq!(cell.output_of(line).await, "two\none\n", "{level}");
    }
}

#[tokio::test]
async fn python_tests_run() {
    let Some(python) = python() else { return };
    for level in levels() {
        let cell = Cell::new(&level);
        fs::write(
            cell.path("work/test_it.py"),
            "import unittest, multiprocessing, tempfile, threading\n\
             from http.server import HTTPServer, BaseHTTPRequestHandler\n\
             from urllib.request import urlopen\n\
             class Hello(BaseHTTPRequestHandler):\n    def do_GET(self):\n        self.send_response(200); self.end_headers(); self.wfile.write(b'hello')\n\
             class T(unittest.TestCase):\n\
             \x20   def test_processes(self):\n        with multiprocessing.Pool(2) as pool: self.assertEqual(pool.map(abs, [-1, -2]), [1, 2])\n\
             \x20   def test_server(self):\n        server = HTTPServer(('127.0.0.1', 0), Hello)\n        threading.Thread(target=server.serve_forever, daemon=True).start()\n        self.assertEqual(urlopen('http://127.0.0.1:%d' % server.server_port).read(), b'hello')\n\
             \x20   def test_files(self):\n        with tempfile.TemporaryFile(dir='.') as file: file.write(b'x')\n",
        )
        .unwrap();
        let finished = cell.run_alone(&format!("{python} -m unittest")).await;
        assert_eq!(finished.ended, Ended::Exited { code: 0 }, "{level}: {}", finished.stderr);
        assert!(finished.stderr.contains("Ran 3 tests"), "{level}: {}", finished.stderr);
    }
}

#[tokio::test]
async fn node_tests_run() {
    let Some(node) = program(&["node"], "--test") else { return };
    for level in levels() {
        let cell = Cell::new(&level);
        fs::write(
            cell.path("work/it.test.js"),
            "const { test } = require('node:test'); const http = require('node:http');\n\
             test('server', async () => {\n  const server = http.createServer((q, s) => s.end('hello'));\n\
             \x20 await new Promise(done => server.listen(0, '127.0.0.1', done));\n\
             \x20 const answer = await fetch(`http://127.0.0.1:${server.address().port}`);\n\
             \x20 if (await answer.text() !== 'hello') throw new Error('wrong');\n  server.close(); });\n",
        )
        .unwrap();
        let finished = cell.run_alone(&format!("{node} --test")).await;
        assert_eq!(finished.ended, Ended::Exited { code: 0 }, "{level}: {} {}", finished.stdout, finished.stderr);
        assert!(finished.stdout.contains("pass 1"), "{level}: {}", finished.stdout);
    }
}

#[tokio::test]
async fn cargo_builds_and_tests() {
    if program(&["cargo"], "--version").is_none() {
        return;
    }
    let sysroot = Command::new("rustc").args(["--print", "sysroot"]).output().unwrap();
    let tools = format!("{}/bin", String::from_utf8(sysroot.stdout).unwrap().trim());
    let Some(level) = levels().into_iter().next_back() else { return };
    let cell = Cell::new(&level);
    fs::create_dir(cell.path("work/tmp")).unwrap();
    let line = format!(
        "export PATH={tools}:$PATH CARGO_HOME=$PWD/home TMPDIR=$PWD/tmp CARGO_NET_OFFLINE=true
        cargo init -q --vcs none --lib --name it . && cargo test -q"
    );
    let mut spec = cell.spec(&line);
    spec.sandbox = Some(cell.sandbox(Network::Loopback));
    let finished = cell.lab.run_spec(spec).await.unwrap();
    assert_eq!(finished.ended, Ended::Exited { code: 0 }, "{level}: {}", finished.stderr);
    assert!(finished.stdout.contains("1 passed"), "{level}: {}", finished.stdout);
}
