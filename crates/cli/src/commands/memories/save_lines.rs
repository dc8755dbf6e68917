//! `cortex save --lines`: a stream of memories, each acknowledged when it is on disk.
//!
//! One thread reads lines into a bounded queue; this one takes what is there, commits it together and answers in order.
//! A slow feed is answered line by line; a fast one shares commits. Nothing is answered before it is durable, so a
//! reader of the answers knows exactly what survives a crash.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Read};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::{Duration, Instant};

use api::save::{KeyedSave, SAVE_MANY_MAX, SaveManyRequest, SaveOutcome, SaveReceipt, SaveRequest};
use api::{Error, Fault};
use proof::memory::Scope;
use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::commands::memories::type_word;
use crate::failure::{CommandResult, Failure, FailureView};
use crate::invocation::Invocation;
use crate::output::Output;

/// Bytes of one line. Ten times the largest content, because JSON escapes grow.
const LINE_BYTES_MAX: usize = 16 * 1_048_576;
/// Lines read ahead.
const QUEUE_LINES_MAX: usize = 256;
/// Lines joined into one commit when no number is asked for.
const GROUP_LINES_MAX: usize = 256;
/// Bytes after which a group is full, whatever its lines.
const GROUP_BYTES_MAX: usize = 16 * 1_048_576;
const WORDS_OF_TYPES: &str = "type is your own word, memory_type one of the nine";
const PROGRESS_EVERY: Duration = Duration::from_secs(1);

/// One line of input.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    title: String,
    #[serde(default)]
    content: String,
    /// The caller's word for what it is.
    #[serde(rename = "type")]
    word: Option<String>,
    memory_type: Option<String>,
    project: Option<String>,
    scope: Option<String>,
    visibility: Option<String>,
    #[serde(default)]
    tags: Vec<String>,
    topic_key: Option<String>,
    session_id: Option<String>,
    channel: Option<String>,
    importance: Option<f64>,
    #[serde(default)]
    pinned: bool,
    confidence: Option<f64>,
    valid_from: Option<String>,
    valid_until: Option<String>,
    expires: Option<String>,
    source: Option<String>,
    #[serde(default)]
    derived_from: Vec<String>,
    #[serde(default)]
    fields: Map<String, Value>,
    #[serde(default)]
    participants: Vec<String>,
    happened_at: Option<String>,
    idempotency_key: Option<String>,
    /// What `type` and `session_id` were called once: known only to be refused.
    kind: Option<IgnoredAny>,
    session: Option<IgnoredAny>,
}

impl Line {
    /// Refuses what a word was called once, with the word it has now.
    fn check_words(&self) -> CommandResult {
        let old_words = [("kind", "type", self.kind), ("session", "session_id", self.session)];
        match old_words.into_iter().find(|(_, _, value)| value.is_some()) {
            None => Ok(()),
            Some((old, new, _)) => {
                let reason = format!("{old:?} is called {new:?}; {WORDS_OF_TYPES}");
                Err(Error::invalid("line", reason).into())
            }
        }
    }

    fn into_request(self) -> CommandResult<SaveRequest> {
        self.check_words()?;
        // Operations forgive what agents write; in a file a word that is none is an error.
        self.scope.as_deref().map(Scope::parse).transpose()?;
        let (memory_type, kind) =
            type_word::of_line(self.word.as_deref(), self.memory_type.as_deref())?;
        Ok(SaveRequest {
            title: self.title,
            content: self.content,
            memory_type,
            kind,
            project: self.project,
            scope: self.scope,
            visibility: self.visibility,
            tags: self.tags,
            topic_key: self.topic_key,
            session_id: self.session_id,
            channel: self.channel,
            importance: self.importance,
            pinned: self.pinned,
            confidence: self.confidence,
            valid_from: self.valid_from,
            valid_until: self.valid_until,
            expires: self.expires,
            source: self.source,
            derived_from: self.derived_from,
            fields: self.fields,
            participants: self.participants,
            happened_at: self.happened_at,
            ..SaveRequest::default()
        })
    }
}

#[derive(Debug, Serialize)]
#[serde(untagged)]
enum Answer {
    Saved {
        line: u64,
        #[serde(flatten)]
        receipt: SaveReceipt,
    },
    Refused {
        line: u64,
        error: FailureView,
    },
}

enum Incoming {
    Text(Vec<u8>),
    TooLong,
    Failed(std::io::Error),
}

pub(crate) fn run(bulk: Option<usize>, inv: &Invocation, out: &mut Output) -> CommandResult {
    if let Some(size) = bulk
        && !(1..=SAVE_MANY_MAX).contains(&size)
    {
        return Err(Error::invalid("bulk", format!("use 1 to {SAVE_MANY_MAX}")).into());
    }
    // Whoever cannot save at all learns it before anything is read.
    inv.ask(SaveManyRequest::default())?;
    let input = inv.take_input()?.reader;
    let (sender, lines) = sync_channel(bulk.unwrap_or(0).max(QUEUE_LINES_MAX));
    // The reader ends with its input, or when nobody takes its lines any more; it is not waited for, because a read
    // from an idle terminal or pipe cannot be interrupted.
    std::thread::Builder::new()
        .name("lines".into())
        .spawn(move || read_lines(input, &sender))
        .map_err(|error| Failure::Io { what: "a thread".into(), error })?;

    let mut stream = Stream { inv, line: 0, saved: 0, failed: 0 };
    let started = Instant::now();
    let mut reported = started;
    while let Some(group) = next_group(&lines, bulk) {
        stream.save(group?, out).map_err(unheard)?;
        if bulk.is_some() && reported.elapsed() >= PROGRESS_EVERY {
            reported = Instant::now();
            out.say(stream.progress(started));
        }
    }
    if bulk.is_some() {
        out.say(format_args!("done: {}", stream.progress(started)));
    }
    if stream.failed == 0 {
        return Ok(());
    }
    Err(Failure::Lines { failed: stream.failed, total: stream.saved + stream.failed })
}

/// Elsewhere a broken pipe is a reader who has seen enough; here it means that lines which were sent are not being
/// saved.
fn unheard(failure: Failure) -> Failure {
    match failure {
        Failure::BrokenPipe => Failure::Io {
            what: "standard output".into(),
            error: std::io::ErrorKind::BrokenPipe.into(),
        },
        other => other,
    }
}

fn read_lines(input: Box<dyn Read + Send>, sender: &SyncSender<Incoming>) {
    let mut input = BufReader::new(input);
    loop {
        let mut bytes = Vec::new();
        let limit = LINE_BYTES_MAX as u64 + 1;
        let incoming = match (&mut input).take(limit).read_until(b'\n', &mut bytes) {
            Ok(0) => return,
            Ok(_) if bytes.last() != Some(&b'\n') && bytes.len() > LINE_BYTES_MAX => {
                match input.skip_until(b'\n') {
                    Ok(_) => Incoming::TooLong,
                    Err(error) => Incoming::Failed(error),
                }
            }
            Ok(_) => Incoming::Text(bytes),
            Err(error) => Incoming::Failed(error),
        };
        let ends = matches!(incoming, Incoming::Failed(_));
        if sender.send(incoming).is_err() || ends {
            return;
        }
    }
}

/// Waits for one line, then takes more: what is already there, or with `bulk` as many as asked for.
fn next_group(
    lines: &Receiver<Incoming>,
    bulk: Option<usize>,
) -> Option<CommandResult<VecDeque<Incoming>>> {
    let mut group = VecDeque::new();
    let mut bytes = 0;
    let max = bulk.unwrap_or(GROUP_LINES_MAX);
    while group.len() < max && bytes < GROUP_BYTES_MAX {
        let next = if group.is_empty() || bulk.is_some() {
            lines.recv().ok()
        } else {
            lines.try_recv().ok()
        };
        match next {
            Some(Incoming::Failed(error)) if group.is_empty() => {
                return Some(Err(Failure::Io { what: "standard input".into(), error }));
            }
            Some(incoming) => {
                bytes += if let Incoming::Text(text) = &incoming { text.len() } else { 0 };
                group.push_back(incoming);
            }
            None => break,
        }
    }
    if group.is_empty() { None } else { Some(Ok(group)) }
}

struct Stream<'a> {
    inv: &'a Invocation,
    line: u64,
    saved: u64,
    failed: u64,
}

impl Stream<'_> {
    /// Commits a group and answers each of its lines.
    fn save(&mut self, group: VecDeque<Incoming>, out: &mut Output) -> CommandResult {
        let mut saves = Vec::new();
        // Each line of the group with why it was refused, or nothing if it is among the saves.
        let mut judged: Vec<(u64, Option<Failure>)> = Vec::new();
        let mut broken = None;
        for incoming in group {
            let text = match incoming {
                Incoming::Failed(error) => {
                    broken = Some(Failure::Io { what: "standard input".into(), error });
                    break;
                }
                Incoming::TooLong => {
                    Err(Error::too_large("line", LINE_BYTES_MAX + 1, LINE_BYTES_MAX).into())
                }
                Incoming::Text(bytes) => Ok(bytes),
            };
            self.line += 1;
            // Blank lines are counted, so that numbers match the file, but not answered.
            if text.as_ref().is_ok_and(|bytes| bytes.trim_ascii().is_empty()) {
                continue;
            }
            match text.and_then(|bytes| request(&bytes)) {
                Ok(save) => {
                    saves.push(save);
                    judged.push((self.line, None));
                }
                Err(failure) => judged.push((self.line, Some(failure))),
            }
        }
        let outcomes = if saves.is_empty() {
            Vec::new()
        } else {
            self.inv.ask(SaveManyRequest { saves })?.outcomes
        };
        let mut outcomes = outcomes.into_iter();
        for (line, refused) in judged {
            let outcome = match refused {
                Some(failure) => Err(failure),
                None => match outcomes.next() {
                    Some(SaveOutcome::Saved(receipt)) => Ok(Answer::Saved { line, receipt }),
                    Some(SaveOutcome::Refused(error)) => Err(error.into()),
                    None => Err(Error::internal("a save was not answered").into()),
                },
            };
            out.object(&self.counted(line, outcome)?)?;
        }
        out.flush()?;
        broken.map_or(Ok(()), Err)
    }

    /// Refusals are answers; a failing store is not, it ends the stream.
    fn counted(&mut self, line: u64, answer: CommandResult<Answer>) -> CommandResult<Answer> {
        match answer {
            Ok(answer) => {
                self.saved += 1;
                Ok(answer)
            }
            Err(Failure::Operation(error)) if error.fault == Fault::Server => Err(error.into()),
            Err(failure) => {
                self.failed += 1;
                Ok(Answer::Refused { line, error: failure.view() })
            }
        }
    }

    fn progress(&self, started: Instant) -> String {
        let saved = self.saved;
        let millis = started.elapsed().as_millis().max(1);
        let rate = u128::from(saved) * 1_000 / millis;
        format!("{saved} saved, {} refused, {rate} per second", self.failed)
    }
}

fn request(bytes: &[u8]) -> CommandResult<KeyedSave> {
    let line: Line =
        serde_json::from_slice(bytes).map_err(|error| Error::invalid("line", error))?;
    let idempotency_key = line.idempotency_key.clone();
    Ok(KeyedSave { save: line.into_request()?, idempotency_key })
}
