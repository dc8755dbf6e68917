//! The client of the socket: sync, one request at a time, for the command line, hooks and MCP.
//!
//! What must stay true: a daemon that is not there, or went away before it said hello, is no error but `None`, because
//! the caller may start one or open the home itself.

use std::io::{self, BufRead as _, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use serde_json::Value;
use serde_json::value::RawValue;

use crate::place::{DaemonPlace, STEP};
use crate::protocol;
use crate::protocol::{
    CHUNK_BYTES, CallBody, CommandLine, DaemonReply, DaemonRequest, Greeting, Hello,
    LINE_BYTES_MAX, ReplyBody, RequestBody, Welcome,
};
use api::{Call, CallerInfo, Error, ErrorCode, Fault, Operation, Result};

/// A connection to the daemon of a home.
#[derive(Debug)]
pub struct DaemonClient {
    stream: BufReader<UnixStream>,
    next: u64,
    welcome: Welcome,
}

impl DaemonClient {
    /// Connects to the daemon; `None` if there is none.
    pub fn connect(place: &DaemonPlace) -> Result<Option<DaemonClient>> {
        let stream = match UnixStream::connect(&place.socket) {
            Ok(stream) => stream,
            // Nobody there, or only the file that a killed daemon left behind.
            Err(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::NotFound
                        | io::ErrorKind::ConnectionRefused
                        | io::ErrorKind::NotADirectory
                ) =>
            {
                return Ok(None);
            }
            Err(error) => return Err(crate::place::failed(&place.socket, &error)),
        };
        let welcome =
            Welcome { cortex: 0, version: String::new(), pid: 0, home: place.home.clone() };
        let mut client = DaemonClient { stream: BufReader::new(stream), next: 0, welcome };
        let greeted = client.send(&Hello::ours()).and_then(|()| client.receive::<Greeting>());
        match greeted {
            Ok(Greeting::Welcome(welcome)) => {
                client.welcome = welcome;
                Ok(Some(client))
            }
            // It went away before it said anything: it was about to end.
            Err(error) if error.code == ErrorCode::DaemonGone => Ok(None),
            Ok(Greeting::Error(error)) | Err(error) => Err(error),
        }
    }

    /// Connects, waiting for a daemon that is about to be there.
    pub fn connect_soon(place: &DaemonPlace, wait: Duration) -> Result<Option<DaemonClient>> {
        let until = Instant::now() + wait;
        loop {
            if let Some(client) = DaemonClient::connect(place)? {
                return Ok(Some(client));
            }
            if Instant::now() >= until {
                return Ok(None);
            }
            std::thread::sleep(STEP);
        }
    }

    pub fn welcome(&self) -> &Welcome {
        &self.welcome
    }

    /// How long an answer may take; hooks have a budget.
    pub fn set_patience(&self, patience: Option<Duration>) -> Result<()> {
        self.stream.get_ref().set_read_timeout(patience).map_err(|error| gone(&error))
    }

    pub fn ask<R: Operation>(&mut self, from: &CallerInfo, request: R) -> Result<R::Answer> {
        let answer = self.answer(from, request.into_call())?;
        serde_json::from_str(answer.get()).map_err(|error| protocol::garbled(&error))
    }

    /// Answers any call, with the bytes that the operation wrote.
    pub(crate) fn answer(&mut self, from: &CallerInfo, call: Call) -> Result<Box<RawValue>> {
        let body = CallBody { from: from.clone(), ask: call };
        self.request(RequestBody::Ask(Box::new(body)))
    }

    pub fn status(&mut self) -> Result<Value> {
        let status = self.request(RequestBody::Status)?;
        serde_json::from_str(status.get()).map_err(|error| protocol::garbled(&error))
    }

    /// Asks the daemon to end and waits until it has.
    pub fn stop(mut self) -> Result<()> {
        self.request(RequestBody::Stop)?;
        // Nothing more is sent; the connection ends when everything is on disk.
        let mut rest = Vec::new();
        match self.stream.read_to_end(&mut rest) {
            Ok(_) => Ok(()),
            Err(error) if error.kind() == io::ErrorKind::ConnectionReset => Ok(()),
            Err(error) => Err(gone(&error)),
        }
    }

    fn request(&mut self, body: RequestBody) -> Result<Box<RawValue>> {
        self.next += 1;
        let id = self.next;
        self.send(&DaemonRequest { id, body })?;
        loop {
            let reply: DaemonReply = self.receive()?;
            match (reply.id, reply.body) {
                (None, ReplyBody::Error(error)) => return Err(error),
                (Some(found), ReplyBody::Ok(value)) if found == id => return Ok(value),
                (Some(found), ReplyBody::Error(error)) if found == id => return Err(error),
                // What belongs to an earlier request that nobody waits for any more.
                _ => {}
            }
        }
    }

    /// Has a command line run by the daemon, with the streams of this process. Returns its exit code.
    pub fn run(
        &mut self,
        body: CommandLine,
        input: &mut dyn Read,
        out: &mut dyn Write,
        talk: &mut dyn Write,
    ) -> Result<u8> {
        self.next += 1;
        let id = self.next;
        self.send(&DaemonRequest { id, body: RequestBody::Run(body) })?;
        loop {
            let reply: DaemonReply = self.receive()?;
            match reply.body {
                ReplyBody::Out(chunk) => {
                    let bytes = protocol::decode(&chunk)?;
                    if out.write_all(&bytes).and_then(|()| out.flush()).is_err() {
                        // Whoever read our output has seen enough; the command learns it by the closed socket.
                        return Ok(0);
                    }
                }
                ReplyBody::Err(chunk) => {
                    let bytes = protocol::decode(&chunk)?;
                    // Nobody reads the talk of this command any more; its data still counts.
                    let _ = talk.write_all(&bytes).and_then(|()| talk.flush());
                }
                ReplyBody::Read => {
                    let mut bytes = vec![0; CHUNK_BYTES];
                    let read = input.read(&mut bytes).unwrap_or(0);
                    let chunk = protocol::encode(&bytes[..read]);
                    self.send(&DaemonRequest { id, body: RequestBody::Input(chunk) })?;
                }
                ReplyBody::Exit(code) => return Ok(code),
                ReplyBody::Error(error) => return Err(error),
                ReplyBody::Ok(_) => {}
            }
        }
    }

    fn send(&mut self, value: &impl serde::Serialize) -> Result<()> {
        let bytes = protocol::line(value)?;
        self.stream.get_mut().write_all(&bytes).map_err(|error| gone(&error))
    }

    fn receive<T: serde::de::DeserializeOwned>(&mut self) -> Result<T> {
        let mut bytes = Vec::new();
        let limit = LINE_BYTES_MAX as u64 + 1;
        (&mut self.stream).take(limit).read_until(b'\n', &mut bytes).map_err(|e| gone(&e))?;
        if bytes.last() != Some(&b'\n') {
            let cut = io::Error::from(io::ErrorKind::UnexpectedEof);
            return Err(if bytes.len() > LINE_BYTES_MAX {
                protocol::too_large()
            } else {
                gone(&cut)
            });
        }
        serde_json::from_slice(&bytes).map_err(|error| protocol::garbled(&error))
    }
}

fn gone(error: &io::Error) -> Error {
    if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) {
        return Error::new(ErrorCode::DaemonSlow, Fault::Busy, "the daemon did not answer in time");
    }
    Error::new(ErrorCode::DaemonGone, Fault::Busy, format!("the daemon went away: {error}"))
        .with_hint("try again; the next command starts it anew")
}
