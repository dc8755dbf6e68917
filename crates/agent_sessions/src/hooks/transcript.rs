//! What becomes of a session: the new part of the agent's own record is read, and kept as one Event per session, what
//! the person stated as a rule, and commands that failed and were mended.
//!
//! How far a record was read lies in `capture/` of the home. What must stay true: memories are written before that
//! file, and each under a topic key of its own, so that a stop in between writes the same again and doubles nothing;
//! everything belongs to one run per session, by which `cortex mind` lists and undoes it; what was undone stays so.

use std::fs;
use std::path::{Path, PathBuf};

use api::hook::{HookMoment, HookRequest};
use api::save::SaveRequest;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use kernel::Digest;
use kernel::command::{Command, MindRunDraft};
use kernel::journal::MindRunPhase;
use mind::maintenance::run_record;
use past::{TranscriptPlace, read_transcript};
use serde::{Deserialize, Serialize};
use serde_json::json;
use transcripts::cleaner::PastEvent;
use transcripts::session::{ItemBody, PastAgent, SessionInfo, SessionKind};

use super::HookSubject;
use super::session_digest::SessionDigest;
use super::stated::{self, StatedRule, StatedType};
use crate::AgentSessions;
use crate::agent_past::refused;
use service::asked_before::SESSION_KIND;
use service::caller::Caller;
use service::error::{Error, Result};

/// The job that the runs belong to.
const JOB: &str = "capture";
/// The folder in the home.
const FOLDER: &str = "capture";
/// Bytes that one hook reads; a larger rest is read by the next ones.
const BYTES_MAX: u64 = 32 << 20;
/// Bytes of a state.
const STATE_BYTES_MAX: u64 = 1 << 20;
/// Sessions whose state is kept.
const STATES_MAX: usize = 500;
/// Rules of one session.
const RULES_MAX: usize = 40;

/// How far a session was read, and what is known of it.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
struct CaptureState {
    place: String,
    digest: SessionDigest,
    /// The folder that the session began in.
    folder: Option<String>,
    rules: Vec<StatedRule>,
    is_child: bool,
    /// The run was announced in the journal.
    announced: bool,
}

impl AgentSessions {
    /// Reads on in the record of a session and keeps what it says. Returns the memories that were made or changed.
    pub(super) fn capture_session(
        &self,
        caller: &Caller,
        request: &HookRequest,
        subject: &HookSubject<'_>,
    ) -> Result<Vec<u64>> {
        let (Some(key), Some(session)) = (&subject.key, subject.session) else {
            return Ok(Vec::new());
        };
        let Some(path) = request.transcript.as_deref().map(Path::new) else {
            return Ok(Vec::new());
        };
        let Some(agent) = PastAgent::parse(subject.agent) else { return Ok(Vec::new()) };
        // An agent that writes nothing down yet has no file, which is no error.
        if !path.is_file() {
            return Ok(Vec::new());
        }
        let mut info = SessionInfo::new(agent, session);
        info.folder = caller.cwd.as_ref().map(|folder| folder.display().to_string());
        if self.exclusion(caller)?.covers(&info, &|path: &Path| path.is_file()) {
            return Ok(Vec::new());
        }
        let run = format!("{JOB}-{key}");
        let (_, reading) = self.service.reading(caller)?;
        let is_undone = match run_record(&reading.view(), &run) {
            Ok(record) => record.undone,
            Err(mind::error::MindError::UnknownRun(_)) => false,
            Err(error) => return Err(error.into()),
        };
        drop(reading);
        if is_undone {
            return Ok(Vec::new());
        }
        let folder = self.service.folder().join(FOLDER);
        let file = folder.join(format!("{key}.json"));
        let mut state = load(&file);
        let before = BASE64.decode(&state.place).ok();
        let before = before.as_deref().and_then(TranscriptPlace::from_bytes);
        let now = caller.now()?;
        let reading =
            read_transcript(agent, path, before.as_ref(), now.get(), BYTES_MAX).map_err(refused)?;
        if reading.is_anew {
            state = CaptureState { announced: state.announced, ..CaptureState::default() };
        }
        if state.folder.is_none() {
            state.folder.clone_from(&info.folder);
        }
        state.take(&reading.events);
        state.place = BASE64.encode(reading.place.to_bytes());
        let by = Caller {
            by: mind::proposal::BY.to_owned(),
            run: Some(run.clone()),
            idempotency_key: None,
            ..caller.clone()
        };
        let kept =
            if state.is_child { Ok(Vec::new()) } else { self.keep(&by, &mut state, session) };
        let made = kept?;
        if request.moment == HookMoment::SessionEnd && state.announced {
            self.say_phase(&by, &run, MindRunPhase::Finished, "the session ended")?;
        }
        store(&folder, &file, &state)?;
        Ok(made)
    }

    /// Writes what the state says, each part under a key of its own.
    fn keep(&self, by: &Caller, state: &mut CaptureState, session: &str) -> Result<Vec<u64>> {
        let mut saves = Vec::new();
        let folder = state.folder.as_deref();
        if state.digest.says_something() {
            saves.push(SaveRequest {
                title: state.digest.title(),
                content: state.digest.content(folder),
                kind: Some(SESSION_KIND.to_owned()),
                memory_type: Some("Event".to_owned()),
                topic_key: Some(topic("session", session)),
                ..SaveRequest::default()
            });
            saves.extend(state.digest.fixes.iter().map(|fix| SaveRequest {
                title: fix.title(),
                content: fix.content(folder),
                kind: Some("bugfix".to_owned()),
                topic_key: Some(topic("fix", &fix.command)),
                ..SaveRequest::default()
            }));
        }
        saves.extend(state.rules.iter().map(rule_save));
        let mut made = Vec::new();
        for save in saves {
            let save = SaveRequest {
                session_id: Some(session.to_owned()),
                source: Some("observed".to_owned()),
                channel: Some("hook".to_owned()),
                ..save
            };
            if self.is_kept(by, &save)? {
                continue;
            }
            if !state.announced {
                let run = by.run.as_deref().unwrap_or_default();
                self.say_phase(by, run, MindRunPhase::Started, "what a session's record says")?;
                state.announced = true;
            }
            made.push(self.service.save(by, save)?.id);
        }
        Ok(made)
    }

    /// Whether the memory of a topic says just this already, so that a Stop without news writes nothing. What a person
    /// forgot or rewrote is theirs: it is not written again.
    fn is_kept(&self, caller: &Caller, save: &SaveRequest) -> Result<bool> {
        let (_, reading) = self.service.reading(caller)?;
        let view = reading.view();
        let project = self.service.project(caller, None);
        let key = save.topic_key.as_deref().unwrap_or_default();
        let mut kept = false;
        let scope = kernel::memory::Scope::Project;
        let index = kernel::keys::by_topic_key(project.as_deref(), scope, key);
        view.scan_index(&index, None, true, &mut |id| {
            let head = view.required_head(id)?;
            let version = view.required_version(id, head.version)?;
            let body = view.body(&version)?;
            let same = body.as_ref().is_some_and(|body| body.content == save.content);
            let theirs =
                head.tombstone.is_some() || head.erased || version.by != mind::proposal::BY;
            kept = same || theirs;
            Ok(std::ops::ControlFlow::Break(()))
        })?;
        Ok(kept)
    }

    fn say_phase(&self, by: &Caller, run: &str, phase: MindRunPhase, reason: &str) -> Result<()> {
        let cortex = self.service.cortex(by)?;
        let draft = MindRunDraft {
            run: run.to_owned(),
            job: JOB.to_owned(),
            phase,
            reason: Some(reason.to_owned()),
        };
        self.service.submit(&cortex, by.stamp()?, Command::MindRun(draft))?;
        Ok(())
    }
}

impl CaptureState {
    fn take(&mut self, events: &[PastEvent]) {
        for event in events {
            match event {
                PastEvent::Session(info) => self.is_child |= info.kind == SessionKind::Child,
                PastEvent::Item(item) => {
                    self.digest.take(item);
                    if let ItemBody::Prompt { text, .. } = &item.body {
                        for rule in stated::stated(text) {
                            if !self.rules.contains(&rule) && self.rules.len() < RULES_MAX {
                                self.rules.push(rule);
                            }
                        }
                    }
                }
                // What was taken back stays in the digest: it happened.
                PastEvent::Undo(_) => {}
            }
        }
    }
}

fn rule_save(rule: &StatedRule) -> SaveRequest {
    let kind = match rule.kind {
        StatedType::Rule => "rule",
        StatedType::Preference => "preference",
    };
    let mut save = SaveRequest {
        title: service::wording::shortened(&rule.sentence, 90),
        content: format!("The user said: \"{}\"", rule.sentence),
        kind: Some(kind.to_owned()),
        topic_key: Some(topic("stated", &rule.sentence.to_lowercase())),
        ..SaveRequest::default()
    };
    if rule.kind == StatedType::Rule {
        save.fields.insert("strength".to_owned(), json!("firm"));
    }
    save
}

/// A topic key that is short and holds none of the words.
fn topic(what: &str, words: &str) -> String {
    let digest = Digest::of("cortex/capture/1", &[words.as_bytes()]).to_string();
    format!("{what}-{}", &digest[..16.min(digest.len())])
}

/// A state that is missing, torn or too large is none: the record is read anew, which writes nothing twice.
fn load(file: &Path) -> CaptureState {
    let small = fs::metadata(file).is_ok_and(|about| about.len() <= STATE_BYTES_MAX);
    let text = small.then(|| fs::read_to_string(file).ok()).flatten();
    text.and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default()
}

fn store(folder: &Path, file: &Path, state: &CaptureState) -> Result<()> {
    let failed = |error: std::io::Error| {
        Error::new(api::ErrorCode::Io, api::Fault::Server, format!("{}: {error}", file.display()))
    };
    let is_new = !file.exists();
    fs::create_dir_all(folder).map_err(failed)?;
    let bytes = serde_json::to_vec(state).map_err(|error| Error::internal(error.to_string()))?;
    service::files::replace_private_file(file, &bytes).map_err(failed)?;
    if is_new {
        // What cannot be tidied up now is when the next session begins.
        let _ = forget_oldest(folder);
    }
    Ok(())
}

/// Removes the states of sessions that were read longest ago.
fn forget_oldest(folder: &Path) -> std::io::Result<()> {
    let mut states: Vec<(std::time::SystemTime, PathBuf)> = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        states.push((entry.metadata()?.modified()?, entry.path()));
    }
    if states.len() > STATES_MAX {
        states.sort();
        for (_, path) in states.iter().take(states.len() - STATES_MAX) {
            fs::remove_file(path)?;
        }
    }
    Ok(())
}
