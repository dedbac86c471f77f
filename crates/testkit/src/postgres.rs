//! A PostgreSQL server of a test's own: data and socket in a throwaway folder, a free port, stopped when it is dropped.
#![expect(clippy::expect_used, reason = "a test has no caller to hand an error to")]

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

use crate::scratch;

/// How long the server may take to start or to stop.
const TIMEOUT: Duration = Duration::from_secs(60);

#[derive(Debug)]
pub struct Cluster {
    folder: TempDir,
    programs: PathBuf,
    /// Who the server runs as: it refuses to run as root.
    owner: Option<(u32, u32)>,
    port: u16,
    server: Option<Child>,
}

impl Cluster {
    /// Makes a cluster and starts its server.
    ///
    /// # Panics
    /// When PostgreSQL's server is not installed (Debian: `postgresql`), or does not start.
    pub fn start() -> Self {
        let programs = programs();
        let owner = rustix::process::geteuid().is_root().then(|| user("postgres"));
        let folder = scratch();
        let data = folder.path().join("data");
        fs::create_dir(&data).expect("a throwaway folder takes folders");
        if let Some((uid, gid)) = owner {
            fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o711)).expect("the folder is ours");
            chown(&data, Some(uid), Some(gid)).expect("root may give folders away");
        }
        let mut cluster = Self { folder, programs, owner, port: 0, server: None };
        let made = cluster
            .program("initdb")
            .args(["--auth=trust", "--username=ralph", "--encoding=UTF8", "--no-locale", "--no-sync", "-D"])
            .arg(&data)
            .output()
            .expect("initdb can be run");
        assert!(made.status.success(), "initdb failed: {}", String::from_utf8_lossy(&made.stderr));
        cluster.restart();
        cluster
    }

    pub fn url(&self, database: &str) -> String {
        format!("postgresql://ralph@127.0.0.1:{}/{database}", self.port)
    }

    /// Makes an empty database and gives its address.
    pub fn create_database(&self, name: &str) -> String {
        let made = self
            .program("createdb")
            .args(["-h", "127.0.0.1", "-U", "ralph", "-p", &self.port.to_string(), name])
            .output()
            .expect("createdb can be run");
        assert!(made.status.success(), "createdb failed: {}", String::from_utf8_lossy(&made.stderr));
        self.url(name)
    }

    /// Kills the server as a power cut would.
    pub fn kill(&mut self) {
        let mut server = self.server.take().expect("the server runs");
        server.kill().expect("the server is ours");
        server.wait().expect("the server is ours");
    }

    /// Starts a server that was killed, on the same port.
    pub fn restart(&mut self) {
        let begun = Instant::now();
        loop {
            if self.port == 0 || begun.elapsed() > TIMEOUT / 2 {
                self.port = free_port();
            }
            let mut server = self.serve();
            while server.try_wait().expect("the server is ours").is_none() {
                if self.answers() {
                    self.server = Some(server);
                    return;
                }
                std::thread::sleep(Duration::from_millis(20));
            }
            // Processes of a killed server may hold its memory for a moment, and another program may have taken the port.
            let log = fs::read_to_string(self.log()).unwrap_or_default();
            assert!(begun.elapsed() < TIMEOUT, "PostgreSQL does not start: {log}");
            std::thread::sleep(Duration::from_millis(100));
        }
    }

    fn serve(&self) -> Child {
        let log = fs::File::create(self.log()).expect("a throwaway folder takes files");
        let data = self.folder.path().join("data");
        let mut command = self.program("postgres");
        command.arg("-D").arg(&data).args(["-p", &self.port.to_string(), "-h", "127.0.0.1"]);
        // Small, because several may run at once; durable, because tests are about that.
        for setting in ["fsync=on", "shared_buffers=16MB", "max_connections=120", "log_min_messages=warning"] {
            command.args(["-c", setting]);
        }
        command.arg("-c").arg(format!("unix_socket_directories={}", data.display()));
        command.stdin(Stdio::null()).stdout(log.try_clone().expect("a file can be shared")).stderr(log);
        command.spawn().expect("the server's program can be run")
    }

    fn answers(&self) -> bool {
        let asked = self
            .program("pg_isready")
            .args(["-q", "-h", "127.0.0.1", "-U", "ralph", "-d", "postgres", "-p", &self.port.to_string()])
            .status();
        asked.is_ok_and(|status| status.success())
    }

    fn log(&self) -> PathBuf {
        self.folder.path().join("log")
    }

    fn program(&self, name: &str) -> Command {
        let mut command = Command::new(self.programs.join(name));
        // The user who runs the tests may have settings of their own for PostgreSQL.
        let own = std::env::vars_os().map(|(name, _)| name).filter(|name| name.to_string_lossy().starts_with("PG"));
        for name in own {
            command.env_remove(name);
        }
        command.current_dir("/");
        if let Some((uid, gid)) = self.owner {
            command.uid(uid).gid(gid);
        }
        command
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        let Some(mut server) = self.server.take() else { return };
        // At once, without waiting for clients.
        let pid = i32::try_from(server.id()).ok().and_then(Pid::from_raw);
        let _ = pid.map(|pid| kill_process(pid, Signal::QUIT));
        let begun = Instant::now();
        while matches!(server.try_wait(), Ok(None)) {
            if begun.elapsed() > TIMEOUT {
                let _ = server.kill();
            }
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

/// The folder of the newest server's programs.
fn programs() -> PathBuf {
    let versions = fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let folders = versions.map(|version| version.path().join("bin"));
    let number = |folder: &PathBuf| folder.parent().and_then(Path::file_name)?.to_str()?.parse::<u32>().ok();
    let newest = folders.filter(|folder| folder.join("initdb").is_file()).max_by_key(number);
    newest.unwrap_or_else(|| panic!("there is no PostgreSQL server in /usr/lib/postgresql: apt-get install postgresql"))
}

/// The numbers of a user and of their group.
fn user(name: &str) -> (u32, u32) {
    let users = fs::read_to_string("/etc/passwd").unwrap_or_default();
    let found = users.lines().find_map(|line| {
        let mut fields = line.split(':');
        let (own, _, uid, gid) = (fields.next()?, fields.next()?, fields.next()?, fields.next()?);
        (own == name).then_some((uid.parse().ok()?, gid.parse().ok()?))
    });
    found.unwrap_or_else(|| panic!("there is no user {name}, whom PostgreSQL's packages create"))
}

fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("this machine has free ports");
    listener.local_addr().expect("a listener has an address").port()
}
