//! A save as programs make it: over HTTP, through a daemon that has everything on, beside a raw append in the same moment.
//!
//! The daemon is the finished program, in a process of its own; its disk and processor time are those that the system counts
//! for it.

use std::fs::OpenOptions;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};

use crate::Outcome;
use crate::corpus::Corpus;
use crate::measure::{Samples, ratio, row, say, timed};

/// Saves that are measured: more than twice what is made durable at a time.
const SAVES: u64 = 1_200;
/// Clock ticks of the system in a second, in which it counts processor time.
const TICKS: f64 = 100.0;

/// Measures with a thousand memories and with `memories`.
pub fn run(scratch: &Path, program: &Path, memories: usize) -> Outcome<()> {
    let corpus = Corpus::new();
    for count in [1_000, memories as u64] {
        let home = scratch.join(format!("home-{count}"));
        say(format_args!("importing {count} memories for a daemon"));
        import(&corpus, program, &home, count)?;
        measure(&corpus, scratch, &Daemon::start(program, &home)?, count)?;
        std::fs::remove_dir_all(&home)?;
    }
    Ok(())
}

fn import(corpus: &Corpus, program: &Path, home: &Path, count: u64) -> Outcome<()> {
    std::fs::create_dir_all(home)?;
    let file = home.with_extension("jsonl");
    let mut lines = std::io::BufWriter::new(std::fs::File::create(&file)?);
    for number in 0..count {
        let memory = corpus.memory(number);
        // Titles must differ: a name stands for one memory there.
        let name = format!("{} {number}", memory.title);
        let line = json!({"type": "entity", "name": name, "entityType": "note", "observations": [memory.content]});
        writeln!(lines, "{line}")?;
    }
    lines.flush()?;
    drop(lines);
    let done = command(program, home)
        .args(["import", "--from", "server-memory"])
        .arg(&file)
        .stdout(Stdio::null())
        .status()?;
    std::fs::remove_file(&file)?;
    if done.success() { Ok(()) } else { Err(format!("import: {done}").into()) }
}

fn command(program: &Path, home: &Path) -> Command {
    let mut command = Command::new(program);
    command.env("CORTEX_HOME", home).env("HOME", home).env("CORTEX_PORT", "0").stdin(Stdio::null());
    command
}

struct Daemon {
    child: Child,
    address: String,
    token: String,
}

impl Drop for Daemon {
    fn drop(&mut self) {
        // It may have ended already, which is what is wanted.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Daemon {
    fn start(program: &Path, home: &Path) -> Outcome<Daemon> {
        let mut child = command(program, home)
            .args(["serve", "--json"])
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        let out = child.stdout.take().ok_or("no pipe")?;
        let mut daemon = Daemon { child, address: String::new(), token: String::new() };
        let mut line = String::new();
        BufReader::new(out).read_line(&mut line)?;
        let said: Value = serde_json::from_str(&line)?;
        let address = said["http"].as_str().and_then(|url| url.strip_prefix("http://"));
        daemon.address = address.ok_or("it serves no HTTP")?.to_owned();
        daemon.token = std::fs::read_to_string(home.join("token"))?.trim().to_owned();
        Ok(daemon)
    }

    fn proc(&self, file: &str) -> String {
        let path: PathBuf = format!("/proc/{}/{file}", self.child.id()).into();
        std::fs::read_to_string(path).unwrap_or_default()
    }

    /// Bytes it has written, to files and sockets; nothing where the system does not say.
    fn disk_bytes(&self) -> u64 {
        let io = self.proc("io");
        let line = io.lines().find_map(|line| line.strip_prefix("wchar: "));
        line.and_then(|bytes| bytes.parse().ok()).unwrap_or(0)
    }

    /// Processor time of all its threads.
    fn cpu(&self) -> Duration {
        let stat = self.proc("stat");
        // The name may hold spaces; user and system time are the twelfth and thirteenth field behind it.
        let fields = stat.rsplit(") ").next().unwrap_or_default().split(' ').skip(11).take(2);
        let ticks: f64 = fields.filter_map(|field| field.parse::<f64>().ok()).sum();
        Duration::from_secs_f64(ticks / TICKS)
    }
}

fn measure(corpus: &Corpus, scratch: &Path, daemon: &Daemon, count: u64) -> Outcome<()> {
    let mut line = BufReader::new(TcpStream::connect(&daemon.address)?);
    line.get_ref().set_nodelay(true)?;
    let mut save = |number: u64| {
        let memory = corpus.memory(number);
        let body = json!({"title": memory.title, "content": memory.content, "project": memory.project}).to_string();
        let request = format!(
            "POST /api/observations HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {}\r\nContent-Type: application/json\r\n\
             Content-Length: {}\r\n\r\n{body}",
            daemon.address,
            daemon.token,
            body.len()
        );
        timed(|| ask(&mut line, &request))
    };
    // The first ones open the actor.
    for number in 0..50 {
        save(count + number).0?;
    }
    let mut file = OpenOptions::new().create(true).append(true).open(scratch.join("raw"))?;
    let (bytes_before, cpu_before) = (daemon.disk_bytes(), daemon.cpu());
    let mut times = [const { Vec::new() }; 2];
    for number in 0..SAVES {
        let (appended, took) = timed(|| file.write_all(&[7; 1_024]).and_then(|()| file.sync_data()));
        appended?;
        times[0].push(took);
        let (saved, took) = save(count + 50 + number);
        saved?;
        times[1].push(took);
    }
    let [raw, own] = times.map(Samples::new);
    row(
        &format!("save over HTTP, at {count}: p50"),
        format!("{:.0?} = {:.1}x", own.p50(), ratio(own.p50(), raw.p50())),
        format!("raw append {:.0?}; p99 {:.1?}", raw.p50(), own.p99()),
        "<= 3x raw",
        ratio(own.p50(), raw.p50()) <= 3.0,
    );
    let each = |total: f64| total / SAVES as f64;
    let kilobytes = each(daemon.disk_bytes().saturating_sub(bytes_before) as f64 / 1_000.0);
    let milliseconds = each(daemon.cpu().saturating_sub(cpu_before).as_secs_f64() * 1_000.0);
    row(
        "  written and computed by the daemon",
        format!("{kilobytes:.1} kB, {milliseconds:.2} ms"),
        format!("over {SAVES} saves, what tends the memory included"),
        "<= 40 kB, <= 2 ms",
        kilobytes <= 40.0 && milliseconds <= 2.0,
    );
    Ok(())
}

/// Sends a request and reads its answer; anything but success is an error.
fn ask(line: &mut BufReader<TcpStream>, request: &str) -> Outcome<()> {
    line.get_mut().write_all(request.as_bytes())?;
    let (mut status, mut length) = (String::new(), 0);
    line.read_line(&mut status)?;
    loop {
        let mut header = String::new();
        line.read_line(&mut header)?;
        match header.trim_end().split_once(": ") {
            Some((name, value)) if name.eq_ignore_ascii_case("content-length") => length = value.parse()?,
            Some(_) => {}
            None => break,
        }
    }
    let mut body = vec![0; length];
    line.read_exact(&mut body)?;
    match status.split(' ').nth(1) {
        Some("200" | "201") => Ok(()),
        _ => Err(format!("{}: {}", status.trim_end(), String::from_utf8_lossy(&body)).into()),
    }
}
