//! The client of the socket: sync, one request at a time, for the command line, hooks and MCP.

use std::io::{self, BufRead as _, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::place::{Place, STEP};
use super::protocol::{
    self, AskBody, Body, CHUNK_BYTES, From, Greeting, Hello, LINE_BYTES_MAX, Reply, ReplyBody,
    Request, RunBody, Welcome,
};
use crate::ops::error::{Error, Fault, Result};
use crate::ops::wire::Operation;

/// A connection to the daemon of a home.
#[derive(Debug)]
pub struct Client {
    stream: BufReader<UnixStream>,
    next: u64,
    welcome: Welcome,
}

/// The code of an error that says the connection is gone.
pub const GONE: &str = "daemon_gone";

impl Client {
    /// Connects to the daemon; `None` if there is none.
    pub fn connect(place: &Place) -> Result<Option<Client>> {
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
            Err(error) => return Err(super::place::failed(&place.socket, &error)),
        };
        let welcome =
            Welcome { cortex: 0, version: String::new(), pid: 0, home: place.home.clone() };
        let mut client = Client { stream: BufReader::new(stream), next: 0, welcome };
        let greeted = client.send(&Hello::ours()).and_then(|()| client.receive::<Greeting>());
        match greeted {
            Ok(Greeting::Welcome(welcome)) => {
                client.welcome = welcome;
                Ok(Some(client))
            }
            // It went away before it said anything: it was about to end.
            Err(error) if error.code == GONE => Ok(None),
            Ok(Greeting::Error(error)) | Err(error) => Err(error),
        }
    }

    /// Connects, waiting for a daemon that is about to be there.
    pub fn connect_soon(place: &Place, wait: Duration) -> Result<Option<Client>> {
        let until = Instant::now() + wait;
        loop {
            if let Some(client) = Client::connect(place)? {
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

    pub fn ask<R: Operation>(&mut self, from: &From, request: R) -> Result<R::Answer> {
        let body = AskBody { from: from.clone(), ask: request.into_ask() };
        let answer = self.request(Body::Ask(Box::new(body)))?;
        serde_json::from_value(answer).map_err(|error| protocol::garbled(&error))
    }

    pub fn status(&mut self) -> Result<Value> {
        self.request(Body::Status)
    }

    /// Asks the daemon to end and waits until it has.
    pub fn stop(mut self) -> Result<()> {
        self.request(Body::Stop)?;
        // Nothing more is sent; the connection ends when everything is on disk.
        let mut rest = Vec::new();
        match self.stream.read_to_end(&mut rest) {
            Ok(_) => Ok(()),
            Err(error) if error.kind() == io::ErrorKind::ConnectionReset => Ok(()),
            Err(error) => Err(gone(&error)),
        }
    }

    fn request(&mut self, body: Body) -> Result<Value> {
        self.next += 1;
        let id = self.next;
        self.send(&Request { id, body })?;
        loop {
            let reply: Reply = self.receive()?;
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
        body: RunBody,
        input: &mut dyn Read,
        out: &mut dyn Write,
        talk: &mut dyn Write,
    ) -> Result<u8> {
        self.next += 1;
        let id = self.next;
        self.send(&Request { id, body: Body::Run(body) })?;
        loop {
            let reply: Reply = self.receive()?;
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
                    let _unheard = talk.write_all(&bytes).and_then(|()| talk.flush());
                }
                ReplyBody::Read => {
                    let mut bytes = vec![0; CHUNK_BYTES];
                    let read = input.read(&mut bytes).unwrap_or(0);
                    let chunk = protocol::encode(&bytes[..read]);
                    self.send(&Request { id, body: Body::Input(chunk) })?;
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

/// True if a daemon owns the home now.
pub fn is_served(home: &Path) -> Result<bool> {
    Ok(Client::connect(&Place::new(home))?.is_some())
}

fn gone(error: &io::Error) -> Error {
    if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) {
        return Error::new("daemon_slow", Fault::Busy, "the daemon did not answer in time");
    }
    Error::new(GONE, Fault::Busy, format!("the daemon went away: {error}"))
        .with_hint("try again; the next command starts it anew")
}
