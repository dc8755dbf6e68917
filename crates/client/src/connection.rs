//! The client of the socket: sync, one request at a time, for the command line, hooks and MCP.
//!
//! What must stay true: a daemon that is not there, or went away before it said hello, is no error but `None`, because
//! the caller may start one or open the home itself. Not a byte is sent before the other end is known to be this
//! user's. Nobody waits without end: a daemon that is silent for as long as its caller's patience is asked, over a
//! second connection, whether it is still there; if it does not say so, the wait is over and says what it was for.

use std::borrow::Cow;
use std::io::{self, BufRead as _, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use serde_json::Value;
use serde_json::value::RawValue;

use crate::dial::{dial, is_late, late, process_of};
use crate::place::{DaemonPlace, STEP};
use crate::protocol;
use crate::protocol::{
    CHUNK_BYTES, CallBody, CommandLine, DaemonReply, DaemonRequest, Greeting, Hello,
    LINE_BYTES_MAX, ReplyBody, RequestBody, Welcome,
};
use api::{Call, CallerInfo, Error, ErrorCode, Fault, Operation, Result};

/// How long an answer may take.
#[derive(Clone, Copy, Debug)]
enum AnswerWait {
    /// As long as the daemon shows, every so often, that it is there.
    WhileThere(Duration),
    /// This long, whatever the daemon does.
    Limit(Duration),
}

/// A connection to the daemon of a home.
#[derive(Debug)]
pub struct DaemonClient {
    stream: BufReader<UnixStream>,
    place: DaemonPlace,
    next: u64,
    welcome: Welcome,
    wait: AnswerWait,
    /// What is being waited for, in words.
    awaited: Cow<'static, str>,
}

impl DaemonClient {
    /// Connects to the daemon; `None` if there is none.
    pub fn connect(place: &DaemonPlace) -> Result<Option<DaemonClient>> {
        let Some(stream) = dial(place)? else { return Ok(None) };
        let welcome =
            Welcome { cortex: 0, version: String::new(), pid: 0, home: place.home.clone() };
        let mut client = DaemonClient {
            stream: BufReader::new(stream),
            place: place.clone(),
            next: 0,
            welcome,
            wait: AnswerWait::Limit(place.patience),
            awaited: Cow::Borrowed("its greeting"),
        };
        let greeted = client.send(&Hello::ours()).and_then(|()| client.receive::<Greeting>());
        match greeted {
            Ok(Greeting::Welcome(welcome)) => {
                client.welcome = welcome;
                client.wait = AnswerWait::WhileThere(place.patience);
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

    /// How long an answer may take, whatever the daemon does; hooks have a budget.
    pub fn set_limit(&mut self, limit: Duration) -> Result<()> {
        let limit = limit.max(STEP);
        self.wait = AnswerWait::Limit(limit);
        self.stream.get_ref().set_read_timeout(Some(limit)).map_err(|error| self.failure(&error))
    }

    pub fn ask<R: Operation>(&mut self, from: &CallerInfo, request: R) -> Result<R::Answer> {
        let answer = self.answer(from, request.into_call())?;
        serde_json::from_str(answer.get()).map_err(|error| protocol::garbled(&error))
    }

    /// Answers any call, with the bytes that the operation wrote.
    pub(crate) fn answer(&mut self, from: &CallerInfo, call: Call) -> Result<Box<RawValue>> {
        self.awaited = Cow::Owned(format!("the answer to {:?}", call.name()));
        let body = CallBody { from: from.clone(), ask: call };
        self.request(RequestBody::Ask(Box::new(body)))
    }

    /// A link that opens the page as the owner, once.
    pub fn open_page(&mut self) -> Result<Value> {
        self.awaited = Cow::Borrowed("a link");
        let link = self.request(RequestBody::Open)?;
        serde_json::from_str(link.get()).map_err(|error| protocol::garbled(&error))
    }

    pub fn status(&mut self) -> Result<Value> {
        self.awaited = Cow::Borrowed("its status");
        let status = self.request(RequestBody::Status)?;
        serde_json::from_str(status.get()).map_err(|error| protocol::garbled(&error))
    }

    /// Asks the daemon to end and waits until it has.
    pub fn stop(mut self) -> Result<()> {
        self.awaited = Cow::Borrowed("its end");
        self.request(RequestBody::Stop)?;
        // Nothing more is sent; the connection ends when everything is on disk.
        let mut rest = Vec::new();
        match self.stream.read_to_end(&mut rest) {
            Ok(_) => Ok(()),
            Err(error) if error.kind() == io::ErrorKind::ConnectionReset => Ok(()),
            // It takes its time; whoever asked looks at the lock.
            Err(error) if is_late(&error) => Ok(()),
            Err(error) => Err(self.failure(&error)),
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
        self.awaited = Cow::Borrowed("the end of the command");
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
        let sent = self.stream.get_mut().write_all(&bytes);
        sent.map_err(|error| self.failure(&error))
    }

    fn receive<T: serde::de::DeserializeOwned>(&mut self) -> Result<T> {
        let mut bytes = Vec::new();
        loop {
            let limit = (LINE_BYTES_MAX + 1 - bytes.len()) as u64;
            // What came before a time-out is kept in `bytes`.
            match (&mut self.stream).take(limit).read_until(b'\n', &mut bytes) {
                Ok(_) => break,
                Err(error) if is_late(&error) && self.is_still_there() => {}
                Err(error) => return Err(self.failure(&error)),
            }
        }
        if bytes.last() != Some(&b'\n') {
            let cut = io::Error::from(io::ErrorKind::UnexpectedEof);
            return Err(if bytes.len() > LINE_BYTES_MAX {
                protocol::too_large()
            } else {
                self.failure(&cut)
            });
        }
        serde_json::from_slice(&bytes).map_err(|error| protocol::garbled(&error))
    }

    /// Asks the daemon over a second connection whether it is there. One that is too busy for it is there.
    fn is_still_there(&self) -> bool {
        match self.wait {
            AnswerWait::Limit(_) => false,
            AnswerWait::WhileThere(patience) => {
                let place = self.place.clone().waiting(patience);
                match DaemonClient::connect(&place) {
                    Ok(other) => other.is_none_or(|other| other.welcome.pid == self.welcome.pid),
                    Err(error) => error.code == ErrorCode::TooManyConnections,
                }
            }
        }
    }

    fn failure(&self, error: &io::Error) -> Error {
        if !is_late(error) {
            let message = format!("the daemon went away: {error}");
            return Error::new(ErrorCode::DaemonGone, Fault::Busy, message)
                .with_hint("try again; the next command starts it anew");
        }
        let (AnswerWait::WhileThere(wait) | AnswerWait::Limit(wait)) = self.wait;
        late(&self.awaited, wait, process_of(self.stream.get_ref()))
    }
}
