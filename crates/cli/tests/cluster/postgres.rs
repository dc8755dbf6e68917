//! PostgreSQL servers in temporary folders, on loopback.

use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use tempfile::TempDir;

/// The programs of the server, if they are installed.
fn programs() -> Option<PathBuf> {
    let packages = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let mut folders: Vec<PathBuf> = packages.map(|entry| entry.path().join("bin")).collect();
    folders.sort();
    folders.reverse();
    folders.extend(["/usr/bin".into(), "/usr/local/bin".into()]);
    let needed = ["initdb", "pg_ctl", "psql", "pg_dump", "pg_basebackup"];
    folders.into_iter().find(|folder| needed.iter().all(|name| folder.join(name).exists()))
}

/// True if it is installed. If not, that is said loudly.
pub(crate) fn is_installed() -> bool {
    let found = programs().is_some();
    if !found {
        eprintln!(
            "\n*** PostgreSQL is not installed: NOTHING of the cluster was tested. ***\n\
             *** `apt-get install postgresql`, then run this again.             ***\n"
        );
    }
    found
}

/// Ports that no system hands out by itself, and those of one process of tests.
const PORTS: std::ops::Range<u16> = 10_000..30_000;
const PORTS_OF_PROCESS: u32 = 128;

/// A port for something that is started later, or again. Whoever asks the system for any port does not get it.
pub(crate) fn free_port() -> u16 {
    static TAKEN: AtomicU32 = AtomicU32::new(0);
    let first = std::process::id().wrapping_mul(PORTS_OF_PROCESS);
    for _ in PORTS {
        let next = first.wrapping_add(TAKEN.fetch_add(1, Ordering::Relaxed));
        let port = PORTS.start + u16::try_from(next % u32::from(PORTS.end - PORTS.start)).unwrap();
        if TcpListener::bind(("127.0.0.1", port)).is_ok() {
            return port;
        }
    }
    panic!("every port from {} to {} is taken", PORTS.start, PORTS.end);
}

/// A server, and the folder it lives in.
#[derive(Debug)]
pub(crate) struct Server {
    bin: PathBuf,
    folder: TempDir,
    pub(crate) port: u16,
    is_running: bool,
}

/// The server does not run as root; then the user that the packages make is used.
fn as_user(program: &Path) -> Command {
    let is_root = Command::new("id").arg("-u").output().unwrap().stdout.trim_ascii() == b"0";
    if !is_root {
        return Command::new(program);
    }
    let mut command = Command::new("runuser");
    command.args(["-u", "postgres", "--"]).arg(program);
    command
}

fn done(output: &Output, what: &str) {
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{what}: {said}{}", String::from_utf8_lossy(&output.stdout));
}

impl Server {
    fn prepared() -> Server {
        let bin = programs().unwrap();
        let folder = TempDir::new().unwrap();
        // The server's user has to get at it.
        let open = std::os::unix::fs::PermissionsExt::from_mode(0o777);
        std::fs::set_permissions(folder.path(), open).unwrap();
        Server { bin, folder, port: free_port(), is_running: false }
    }

    fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    fn run(&self, program: &str) -> Command {
        let mut command = as_user(&self.bin.join(program));
        command.current_dir(self.folder.path()).stdin(Stdio::null());
        command
    }

    /// A new server.
    pub(crate) fn start() -> Server {
        let mut server = Server::prepared();
        let made = server
            .run("initdb")
            .args(["-U", "cortex", "-A", "trust", "-E", "UTF8", "--no-sync", "-D"])
            .arg(server.data())
            .output()
            .unwrap();
        done(&made, "initdb");
        server.append_settings("wal_level = replica\nmax_wal_senders = 8\nmax_connections = 200\n");
        server.resume();
        server.sql("CREATE DATABASE cortex");
        server
    }

    /// A copy of this server that follows it, and for which commits wait from now on.
    pub(crate) fn standby(&self) -> Server {
        let mut standby = Server::prepared();
        let copied = standby
            .run("pg_basebackup")
            .args(["-h", "127.0.0.1", "-U", "cortex", "-R", "-c", "fast", "-p"])
            .arg(self.port.to_string())
            .arg("-D")
            .arg(standby.data())
            .output()
            .unwrap();
        done(&copied, "pg_basebackup");
        standby.resume();
        self.sql("ALTER SYSTEM SET synchronous_standby_names = '*'");
        self.sql("SELECT pg_reload_conf()");
        let until = Instant::now() + Duration::from_mins(1);
        while self.sql("SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'sync'").trim()
            != "1"
        {
            assert!(Instant::now() < until, "the standby does not follow");
            std::thread::sleep(Duration::from_millis(50));
        }
        standby
    }

    fn append_settings(&self, text: &str) {
        use std::io::Write as _;
        let path = self.data().join("postgresql.conf");
        let mut file = std::fs::OpenOptions::new().append(true).open(path).unwrap();
        file.write_all(text.as_bytes()).unwrap();
    }

    /// Starts it, the first time or after it was killed.
    pub(crate) fn resume(&mut self) {
        let options = format!("-p {} -c listen_addresses=127.0.0.1 -k ''", self.port)
            .replace("-k ''", &format!("-k {}", self.folder.path().display()));
        let started = self
            .run("pg_ctl")
            .args(["start", "-w", "-t", "120", "-s", "-D"])
            .arg(self.data())
            .arg("-l")
            .arg(self.folder.path().join("log"))
            .arg("-o")
            .arg(options)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .unwrap();
        let log = std::fs::read_to_string(self.folder.path().join("log")).unwrap_or_default();
        assert!(started.success(), "the server does not start: {log}");
        self.is_running = true;
    }

    /// Ends every process of the server at once.
    pub(crate) fn kill(&mut self) {
        let path = self.data().join("postmaster.pid");
        let pid = std::fs::read_to_string(path).unwrap().lines().next().unwrap().to_owned();
        let children = Command::new("pgrep").args(["-P", &pid]).output().unwrap();
        let children = String::from_utf8(children.stdout).unwrap();
        let all = std::iter::once(&*pid).chain(children.lines());
        assert!(Command::new("kill").arg("-9").args(all).status().is_ok());
        self.is_running = false;
        // The next start wants the port.
        let until = Instant::now() + Duration::from_secs(20);
        while Path::new(&format!("/proc/{pid}")).exists() && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Makes a standby the primary.
    pub(crate) fn promote(&self) {
        let promoted =
            self.run("pg_ctl").args(["promote", "-w", "-t", "60", "-D"]).arg(self.data()).output();
        done(&promoted.unwrap(), "promote");
        // It has no standby of its own to wait for.
        self.sql("ALTER SYSTEM RESET synchronous_standby_names");
        self.sql("SELECT pg_reload_conf()");
    }

    pub(crate) fn sql(&self, sql: &str) -> String {
        self.sql_in("postgres", sql)
    }

    pub(crate) fn sql_in(&self, database: &str, sql: &str) -> String {
        let asked = self
            .run("psql")
            .args(["-h", "127.0.0.1", "-U", "cortex", "-v", "ON_ERROR_STOP=1", "-At", "-p"])
            .arg(self.port.to_string())
            .args(["-d", database, "-c", sql])
            .output()
            .unwrap();
        done(&asked, sql);
        String::from_utf8(asked.stdout).unwrap()
    }

    /// Rows of about the size of an entry and its body, inserted by so many sessions: how many a second.
    pub(crate) fn plain_inserts(&self, sessions: usize, life: Duration) -> f64 {
        self.sql("CREATE TABLE IF NOT EXISTS plain (actor int, seq int8, entry text, PRIMARY KEY (actor, seq))");
        let script = self.folder.path().join("insert.sql");
        let row = "x".repeat(600);
        let text = format!(
            "\\set seq random(1, 1000000000000)\nINSERT INTO plain VALUES (:client_id, :seq, '{row}') \
             ON CONFLICT DO NOTHING;\n"
        );
        std::fs::write(&script, text).unwrap();
        let ran = self
            .run("pgbench")
            .args(["-h", "127.0.0.1", "-U", "cortex", "-n", "-M", "prepared", "-j", "2", "-p"])
            .arg(self.port.to_string())
            .args(["-c", &sessions.to_string(), "-T", &life.as_secs().max(1).to_string(), "-f"])
            .arg(&script)
            .arg("postgres")
            .output()
            .unwrap();
        done(&ran, "pgbench");
        let said = String::from_utf8(ran.stdout).unwrap();
        let line = said.lines().find(|line| line.starts_with("tps")).unwrap();
        line.split_whitespace().nth(2).unwrap().parse().unwrap()
    }

    /// All rows of the ledger, as text.
    pub(crate) fn dump(&self) -> Vec<u8> {
        let dumped = self
            .run("pg_dump")
            .args(["-h", "127.0.0.1", "-U", "cortex", "-p"])
            .arg(self.port.to_string())
            .arg("cortex")
            .output()
            .unwrap();
        done(&dumped, "pg_dump");
        dumped.stdout
    }

    pub(crate) fn url(&self) -> String {
        format!("postgres://cortex@127.0.0.1:{}/cortex", self.port)
    }
}

/// A client of servers that come and go.
#[derive(Debug)]
pub(crate) struct Psql(PathBuf);

impl Psql {
    pub(crate) fn found() -> Psql {
        Psql(programs().unwrap().join("psql"))
    }

    /// Inserts a row as any program would, into the server at a port. False: it was not acknowledged.
    pub(crate) fn insert_at(&self, port: u16) -> bool {
        let mut command = Command::new(&self.0);
        command.args(["-h", "127.0.0.1", "-U", "cortex", "-d", "postgres", "-p"]);
        command.arg(port.to_string()).args(["-qc", "INSERT INTO probe VALUES (1)"]);
        command.env("PGCONNECT_TIMEOUT", "2").stdin(Stdio::null());
        command.output().is_ok_and(|output| output.status.success())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if self.is_running {
            let mut stop = self.run("pg_ctl");
            // What cannot be stopped ends with the machine; the folder is temporary.
            let _ = stop.args(["stop", "-m", "immediate", "-s", "-D"]).arg(self.data()).output();
        }
        // Files of the server's user, which the folder's own removal may not get at.
        let _ = as_user(Path::new("rm")).arg("-rf").arg(self.data()).output();
    }
}
