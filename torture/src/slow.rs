//! Clients that begin and never go on: half requests over HTTP and half lines on the socket, while others work.

use std::io::Write;
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use crate::home::{COMMAND, Home};
use crate::{Outcome, Row, Trial, Verdict, times};

const HALF_REQUESTS: usize = 300;
const HALF_LINES: usize = 50;

pub(crate) fn run(trial: &mut Trial) -> Outcome {
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    let home = Home::new(folder.path(), &trial.program);
    let daemon = home.serve()?;
    let address = daemon.said["http"]
        .as_str()
        .and_then(|text| text.strip_prefix("http://"))
        .map(str::to_owned);
    let socket = daemon.said["socket"].as_str().map(str::to_owned);
    let (address, socket) = address.zip(socket).ok_or("the daemon does not say where it is")?;
    let save = |n: usize| {
        let begun = Instant::now();
        let output = home.run(&["save", &format!("slow {n}"), "words"], COMMAND)?;
        if output.status.success() { Ok(begun.elapsed()) } else { Err("a save failed".to_owned()) }
    };
    let mut alone: Vec<Duration> = (0..20).map(save).collect::<Result<_, String>>()?;
    let mut held: (Vec<TcpStream>, Vec<UnixStream>) = (Vec::new(), Vec::new());
    for _ in 0..HALF_REQUESTS {
        // A server that refuses at some number is within its rights; what counts is what others notice.
        if let Ok(mut stream) = TcpStream::connect(&address)
            && stream
                .write_all(
                    b"POST /api/save HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n{",
                )
                .is_ok()
        {
            held.0.push(stream);
        }
    }
    for _ in 0..HALF_LINES {
        if let Ok(mut stream) = UnixStream::connect(&socket)
            && stream.write_all(b"{\"cortex\":1,\"ver").is_ok()
        {
            held.1.push(stream);
        }
    }
    let mut beside = Vec::new();
    while trial.goes_on() || beside.len() < 20 {
        beside.push(save(20 + beside.len())?);
    }
    let done = format!(
        "{} half requests and {} half lines held open, {} saves beside them",
        held.0.len(),
        held.1.len(),
        beside.len()
    );
    let seen =
        format!("a save took {} before, {} beside them", times(&mut alone), times(&mut beside));
    drop(held);
    drop(daemon);
    home.ok(&["verify"])?;
    Ok(Row { what: "clients begin a request and never go on", done, seen, held: Verdict::Held })
}
