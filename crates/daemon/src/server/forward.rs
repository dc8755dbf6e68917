//! A command line run by the daemon for a caller: the same code, with the caller's folder, variables and streams.

use std::io::{self, Read, Write};
use std::sync::{Arc, mpsc as blocking};

use api::Result;
use client::protocol;
use client::protocol::{
    CHUNK_BYTES, CommandLine, DaemonReply, DaemonRequest, ReplyBody, RequestBody,
};
use tokio::net::unix::OwnedWriteHalf;
use tokio::sync::mpsc;

use crate::server::ServerState;
use crate::server::command::CommandContext;
use crate::server::connection::{ConnectionReader, Incoming, receive, send};
use host::pools::WorkKind;

/// Frames that wait for a slow reader.
const FRAMES_MAX: usize = 16;

/// Runs the command and carries its streams until it ends. An error means that the caller is gone.
pub(super) async fn run(
    id: u64,
    body: CommandLine,
    shared: &Arc<ServerState>,
    read: &mut ConnectionReader,
    write: &mut OwnedWriteHalf,
) -> Result<()> {
    let place = match shared.host.pools.enter(WorkKind::Command).await {
        Ok(place) => place,
        Err(busy) => {
            return send(write, &DaemonReply { id: Some(id), body: ReplyBody::Error(busy) }).await;
        }
    };
    let (frames, mut outgoing) = mpsc::channel::<ReplyBody>(FRAMES_MAX);
    let (give, input) = blocking::channel::<Vec<u8>>();
    let (host, run) = (Arc::clone(&shared.host), shared.run_command);
    let ended = frames.clone();
    let work = tokio::task::spawn_blocking(move || {
        let context = CommandContext {
            cwd: body.cwd,
            variables: body.variables,
            input: Box::new(CallerInput {
                frames: frames.clone(),
                input,
                chunk: Vec::new(),
                at: 0,
            }),
            input_is_terminal: body.input_is_terminal,
            out: Box::new(CallerOutput { frames: frames.clone(), frame: ReplyBody::Out }),
            talk: Box::new(CallerOutput { frames, frame: ReplyBody::Err }),
            talk_is_terminal: body.talk_is_terminal,
            host: Some(host),
        };
        let code = run(&body.arguments, context);
        drop(place);
        code
    });
    let watch = tokio::spawn(async move {
        let code = work.await.unwrap_or(api::error::exit::STORE);
        // A caller that is gone needs no exit code.
        let _ = ended.send(ReplyBody::Exit(code)).await;
    });
    let outcome = run_effects(id, &mut outgoing, &give, read, write).await;
    // Without its streams the command soon ends; what it began is finished first.
    drop((outgoing, give));
    // The watcher only ends; a panic of the command was its exit code.
    let _ = watch.await;
    outcome
}

async fn run_effects(
    id: u64,
    outgoing: &mut mpsc::Receiver<ReplyBody>,
    give: &blocking::Sender<Vec<u8>>,
    read: &mut ConnectionReader,
    write: &mut OwnedWriteHalf,
) -> Result<()> {
    let gone = || protocol::garbled(&"the caller went away");
    while let Some(frame) = outgoing.recv().await {
        let ended = matches!(frame, ReplyBody::Exit(_));
        let wanted = matches!(frame, ReplyBody::Read);
        send(write, &DaemonReply { id: Some(id), body: frame }).await?;
        if ended {
            return Ok(());
        }
        if wanted {
            match receive::<DaemonRequest>(read).await {
                Incoming::Message(DaemonRequest { body: RequestBody::Input(chunk), .. }) => {
                    // A command that no longer reads has ended.
                    let _ = give.send(protocol::decode(&chunk)?);
                }
                _ => return Err(gone()),
            }
        }
    }
    Err(gone())
}

/// The caller's standard input, asked for when it is read.
#[derive(Debug)]
struct CallerInput {
    frames: mpsc::Sender<ReplyBody>,
    input: blocking::Receiver<Vec<u8>>,
    chunk: Vec<u8>,
    at: usize,
}

impl Read for CallerInput {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.at == self.chunk.len() {
            let lost = |_| io::Error::from(io::ErrorKind::BrokenPipe);
            self.frames.blocking_send(ReplyBody::Read).map_err(lost)?;
            self.chunk = self.input.recv().map_err(|_| io::ErrorKind::BrokenPipe)?;
            self.at = 0;
        }
        let length = buffer.len().min(self.chunk.len() - self.at);
        buffer[..length].copy_from_slice(&self.chunk[self.at..self.at + length]);
        self.at += length;
        Ok(length)
    }
}

/// One of the caller's outputs.
struct CallerOutput {
    frames: mpsc::Sender<ReplyBody>,
    frame: fn(String) -> ReplyBody,
}

impl Write for CallerOutput {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let chunk = &bytes[..bytes.len().min(CHUNK_BYTES)];
        self.frames
            .blocking_send((self.frame)(protocol::encode(chunk)))
            .map_err(|_| io::Error::from(io::ErrorKind::BrokenPipe))?;
        Ok(chunk.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
