//! Between a reader and the store: every text of every role passes here once.
//!
//! What must stay true: private blocks and secrets are taken out of the whole text before anything is cut; what Cortex
//! said itself, and what agents put into the mouth of a person, goes no further; every cut is noted with the length
//! before. Nothing here knows a store, so a reader can run on a thread of its own.

use std::borrow::Cow;
use std::collections::{BTreeMap, VecDeque};

use minicbor::{Decode, Encode};

use crate::counts::ReadCounts;
use crate::limits::{
    AWAITED_CALLS_MAX, COMMAND_BYTES_MAX, ERROR_BYTES_MAX, FILE_OUTPUT_BYTES_MAX, INPUT_BYTES_MAX,
    NAME_BYTES_MAX, OUTPUT_BYTES_MAX, SPAN_BYTES_MAX, SPEECH_BYTES_MAX,
};
use crate::session::{ItemBody, PastItem, SessionInfo};
use crate::{echo, noise, times};

/// What a reader found, cleaned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PastEvent {
    /// From here on the items are of this session; also what a later record says about it.
    Session(Box<SessionInfo>),
    Item(PastItem),
    /// Turns were taken back.
    Undo(UndoPoint),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UndoPoint {
    /// The turn whose prompt has this id, and all after it.
    Prompt(String),
    /// So many of the last turns.
    LastTurns(u32),
    /// This turn alone.
    Only(String),
}

/// Takes events in order.
pub trait EventSink {
    fn take(&mut self, event: PastEvent);
}

impl EventSink for Vec<PastEvent> {
    fn take(&mut self, event: PastEvent) {
        self.push(event);
    }
}

/// What a reader must remember between two readings of a source that grows.
#[derive(Clone, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub struct ReaderMemory {
    /// The session that the source is about.
    #[n(0)]
    pub session: Option<SessionInfo>,
    /// Which of an agent's forms the source has, as the reader numbers them.
    #[n(1)]
    pub form: u8,
    /// Calls of our own tools whose results are not there yet.
    #[n(2)]
    pub own_calls: VecDeque<String>,
    /// The time of the last record that had one.
    #[n(3)]
    pub at: i64,
    /// The ordinal at which the session's own records begin; before it stand copies of another's.
    #[n(4)]
    pub own_from: u64,
    /// Of a source with many sessions, what each looked like when it was read.
    #[n(5)]
    pub marks: BTreeMap<String, String>,
    /// Calls that read or edit a file, whose results are not there yet.
    #[n(6)]
    #[cbor(default)]
    pub file_calls: VecDeque<String>,
}

/// When and under which id something was recorded.
#[derive(Clone, Copy, Debug, Default)]
pub struct RecordPlace<'a> {
    pub native: Option<&'a str>,
    pub at: Option<i64>,
}

/// Cleans what a reader finds and hands it on.
pub struct Cleaner<'s> {
    sink: &'s mut dyn EventSink,
    pub memory: ReaderMemory,
    pub counts: ReadCounts,
    now: i64,
}

impl std::fmt::Debug for Cleaner<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Cleaner").field("memory", &self.memory).finish_non_exhaustive()
    }
}

impl<'s> Cleaner<'s> {
    pub fn new(sink: &'s mut dyn EventSink, memory: ReaderMemory, now: i64) -> Cleaner<'s> {
        Cleaner { sink, memory, counts: ReadCounts::default(), now }
    }

    /// The session that the following items belong to, or more about it.
    pub fn session(&mut self, info: SessionInfo) {
        let mut info = info;
        for text in [&mut info.folder, &mut info.branch, &mut info.title, &mut info.version]
            .into_iter()
            .flatten()
        {
            *text = self.name(text);
        }
        info.started = times::clamp(info.started, self.now);
        info.updated = times::clamp(info.updated, self.now);
        match &mut self.memory.session {
            Some(known) if known.agent == info.agent && known.id == info.id => {
                let before = known.clone();
                known.learn(info);
                // Most records repeat what is known.
                let is_news = SessionInfo { started: 0, updated: 0, ..before }
                    != SessionInfo { started: 0, updated: 0, ..known.clone() };
                if is_news {
                    self.sink.take(PastEvent::Session(Box::new(known.clone())));
                }
            }
            other => {
                *other = Some(info.clone());
                self.memory.at = 0;
                self.sink.take(PastEvent::Session(Box::new(info)));
            }
        }
    }

    pub fn session_id(&self) -> Option<&str> {
        self.memory.session.as_ref().map(|session| session.id.as_str())
    }

    /// Words of a person.
    pub fn prompt(&mut self, place: RecordPlace<'_>, text: &str) {
        let spoken = noise::strip(text);
        self.counts.noise += spoken.dropped;
        if let Some(command) = spoken.command {
            self.note(place, command);
        }
        if let Some((text, bytes)) = self.speech(spoken.text) {
            self.counts.prompts += 1;
            self.push(place, ItemBody::Prompt { text, bytes });
        }
    }

    pub fn answer(&mut self, place: RecordPlace<'_>, text: &str) {
        if let Some((text, bytes)) = self.speech(text) {
            self.push(place, ItemBody::Answer { text, bytes });
        }
    }

    pub fn summary(&mut self, place: RecordPlace<'_>, text: &str) {
        if let Some((text, bytes)) = self.speech(text) {
            self.push(place, ItemBody::Summary { text, bytes });
        }
    }

    pub fn note(&mut self, place: RecordPlace<'_>, text: &str) {
        let text = self.name(text);
        if !text.is_empty() {
            self.push(place, ItemBody::Note { text });
        }
    }

    pub fn command(&mut self, place: RecordPlace<'_>, line: &str) {
        if echo::is_own_command(line) {
            await_call(&mut self.memory.own_calls, place.native);
        }
        let line = cut(&self.masked(line), COMMAND_BYTES_MAX).to_owned();
        self.push(place, ItemBody::Command { line });
    }

    pub fn read(&mut self, place: RecordPlace<'_>, path: &str) {
        let path = self.name(path);
        await_call(&mut self.memory.file_calls, place.native);
        self.push(place, ItemBody::Read { path });
    }

    pub fn edit(&mut self, place: RecordPlace<'_>, path: &str, removed: &str, added: &str) {
        let path = self.name(path);
        let removed = cut(&self.masked(removed), SPAN_BYTES_MAX).to_owned();
        let added = cut(&self.masked(added), SPAN_BYTES_MAX).to_owned();
        await_call(&mut self.memory.file_calls, place.native);
        self.push(place, ItemBody::Edit { path, removed, added });
    }

    /// The call of any other tool. Calls of our own are left out, and so will be their results.
    pub fn tool(&mut self, place: RecordPlace<'_>, name: &str, input: &str) {
        if echo::is_own_tool(name) {
            self.counts.echoes += 1;
            await_call(&mut self.memory.own_calls, place.native);
            return;
        }
        let name = self.name(name);
        let input = cut(&self.masked(input), INPUT_BYTES_MAX).to_owned();
        self.push(place, ItemBody::Tool { name, input });
    }

    /// What a tool answered; `place.native` is the id of its call.
    pub fn output(
        &mut self,
        place: RecordPlace<'_>,
        text: &str,
        is_error: bool,
        exit: Option<i32>,
    ) {
        if came(&mut self.memory.own_calls, place.native) {
            self.counts.echoes += 1;
            return;
        }
        let is_of_file = came(&mut self.memory.file_calls, place.native);
        let error = is_error || exit.is_some_and(|exit| exit != 0);
        let most = match (error, is_of_file) {
            (true, _) => ERROR_BYTES_MAX,
            (false, true) => FILE_OUTPUT_BYTES_MAX,
            (false, false) => OUTPUT_BYTES_MAX,
        };
        let masked = self.masked(text);
        let (head, tail) = ends(&masked, most);
        let (head, tail) = (head.to_owned(), tail.to_owned());
        let bytes = text.len() as u64;
        self.push(place, ItemBody::Output { head, tail, error, bytes, exit });
    }

    pub fn undo(&mut self, point: UndoPoint) {
        self.sink.take(PastEvent::Undo(point));
    }

    fn push(&mut self, place: RecordPlace<'_>, body: ItemBody) {
        let known = place.at.map(|at| times::clamp(at, self.now));
        if let Some(at) = known {
            self.memory.at = at;
        }
        let started = self.memory.session.as_ref().map_or(0, |session| session.started);
        let at = known.unwrap_or(if self.memory.at == 0 { started } else { self.memory.at });
        let native = place.native.map(|native| cut(native, NAME_BYTES_MAX).to_owned());
        self.counts.items += 1;
        self.sink.take(PastEvent::Item(PastItem {
            turn: 0,
            at,
            about: known.is_none(),
            native,
            body,
        }));
    }

    /// Text of a person or an agent, masked and cut; none if nothing is left.
    fn speech(&mut self, text: &str) -> Option<(String, u64)> {
        let text = text.trim();
        let masked = self.masked(text);
        let masked = masked.trim();
        (!masked.is_empty()).then(|| (cut(masked, SPEECH_BYTES_MAX).to_owned(), text.len() as u64))
    }

    /// A short text: one line, masked.
    fn name(&mut self, text: &str) -> String {
        cut(&self.masked(text.trim()), NAME_BYTES_MAX).to_owned()
    }

    fn masked<'t>(&mut self, text: &'t str) -> Cow<'t, str> {
        let unframed = echo::unframe(text);
        self.counts.echoes += u64::from(unframed.is_some());
        match unframed {
            None => screen(text, &mut self.counts),
            Some(text) => Cow::Owned(screen(&text, &mut self.counts).into_owned()),
        }
    }
}

/// Takes private blocks and secrets out of a text, and counts them.
pub fn screen<'t>(text: &'t str, counts: &mut ReadCounts) -> Cow<'t, str> {
    let public = redact::private::redact(text);
    if public.blocks > 0 {
        *counts.masked.entry("private").or_default() += public.blocks as u64;
    }
    match public.text {
        Cow::Borrowed(text) => mask(text, counts),
        Cow::Owned(text) => Cow::Owned(mask(&text, counts).into_owned()),
    }
}

fn mask<'t>(text: &'t str, counts: &mut ReadCounts) -> Cow<'t, str> {
    let masked = redact::secrets::mask(text);
    for (kind, count) in &masked.counts {
        *counts.masked.entry(kind).or_default() += *count as u64;
    }
    masked.text
}

/// Notes a call whose result will come.
fn await_call(calls: &mut VecDeque<String>, call: Option<&str>) {
    let Some(call) = call else { return };
    // A call with several edits is one call.
    if calls.back().is_some_and(|last| last == call) {
        return;
    }
    if calls.len() == AWAITED_CALLS_MAX {
        calls.pop_front();
    }
    calls.push_back(call.to_owned());
}

/// Whether a result is that of a call that was awaited; it is not any more.
fn came(calls: &mut VecDeque<String>, call: Option<&str>) -> bool {
    let place = call.and_then(|call| calls.iter().position(|awaited| awaited == call));
    place.and_then(|place| calls.remove(place)).is_some()
}

/// The beginning of a text, cut between two characters.
pub fn cut(text: &str, max: usize) -> &str {
    &text[..text.floor_char_boundary(max)]
}

/// Two thirds of `max` from the beginning and a third from the end; all of it, and nothing, if it fits.
fn ends(text: &str, max: usize) -> (&str, &str) {
    if text.len() <= max {
        return (text, "");
    }
    let head = text.floor_char_boundary(max / 3 * 2);
    let tail = text.ceil_char_boundary(text.len() - max / 3);
    (&text[..head], &text[tail.max(head)..])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::PastAgent;

    fn token() -> String {
        format!("{}_{}", "ghp", "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8")
    }

    fn cleaned(work: impl FnOnce(&mut Cleaner<'_>)) -> (Vec<PastEvent>, ReadCounts) {
        let mut events = Vec::new();
        let mut cleaner = Cleaner::new(&mut events, ReaderMemory::default(), 1_000);
        work(&mut cleaner);
        let counts = cleaner.counts;
        (events, counts)
    }

    // past 29
    #[test]
    fn no_role_title_or_path_keeps_a_secret_also_across_a_cut() {
        let secret = token();
        let around = |pad: usize| format!("{} {secret} {}", "x".repeat(pad), "y".repeat(pad));
        let place = RecordPlace::default();
        let (events, counts) = cleaned(|out| {
            let mut info = SessionInfo::new(PastAgent::Codex, "s");
            info.title = Some(around(1));
            info.folder = Some(around(1));
            out.session(info);
            for pad in
                [1, OUTPUT_BYTES_MAX / 3 * 2 - 20, SPEECH_BYTES_MAX - 20, NAME_BYTES_MAX - 20]
            {
                let text = around(pad);
                out.prompt(place, &text);
                out.answer(place, &text);
                out.summary(place, &text);
                out.note(place, &text);
                out.command(place, &text);
                out.read(place, &text);
                out.edit(place, &text, &text, &text);
                out.tool(place, &text, &text);
                out.output(place, &text, false, None);
                out.output(place, &text, true, None);
            }
        });
        let all = format!("{events:?}");
        assert!(!all.contains(&secret[4..16]), "a part of the secret is left");
        assert!(counts.masked["github-token"] >= 2 + 4 * 13);
    }

    // past 40
    #[test]
    fn results_of_our_own_tools_and_commands_are_left_out() {
        let place = |native| RecordPlace { native: Some(native), at: None };
        let (events, counts) = cleaned(|out| {
            out.tool(place("c1"), "mcp__cortex__mem_search", "{}");
            out.command(place("c2"), "cortex search x");
            out.output(place("c1"), "canary", false, None);
            out.output(place("c2"), "canary", false, None);
            out.output(place("c3"), "kept", false, None);
            out.answer(place("a"), &format!("before {} after", echo::frame("canary")));
        });
        let all = format!("{events:?}");
        assert!(!all.contains("canary") && all.contains("kept") && all.contains("before  after"));
        assert_eq!(counts.echoes, 4);
    }

    #[test]
    fn outputs_keep_both_ends_and_their_length() {
        let text = format!("begin{}end", "é".repeat(5_000));
        let (events, _) = cleaned(|out| out.output(RecordPlace::default(), &text, false, Some(0)));
        let PastEvent::Item(PastItem {
            body: ItemBody::Output { head, tail, error, bytes, exit },
            ..
        }) = &events[0]
        else {
            panic!("{events:?}")
        };
        assert!(
            head.starts_with("begin")
                && tail.ends_with("end")
                && head.len() + tail.len() <= OUTPUT_BYTES_MAX
        );
        assert_eq!((*error, *bytes, *exit), (false, text.len() as u64, Some(0)));
    }

    // past 50
    #[test]
    fn of_what_a_file_holds_less_is_kept_than_of_what_a_command_said() {
        let place = |native| RecordPlace { native: Some(native), at: None };
        let text = "x".repeat(5_000);
        let (events, _) = cleaned(|out| {
            out.read(place("r"), "/a");
            out.edit(place("e"), "/a", "1", "2");
            out.edit(place("e"), "/a", "3", "4");
            out.read(place("f"), "/b");
            out.command(place("c"), "make");
            for call in ["c", "r", "e"] {
                out.output(place(call), &text, false, None);
            }
            out.output(place("f"), &text, true, None);
            out.output(place("r"), &text, false, None);
        });
        let kept = events.iter().filter_map(|event| match event {
            PastEvent::Item(PastItem {
                body: ItemBody::Output { head, tail, bytes, .. }, ..
            }) => {
                assert_eq!(*bytes, 5_000);
                Some(head.len() + tail.len())
            }
            _ => None,
        });
        let kept: Vec<usize> = kept.collect();
        let near = |most: usize| most - 2..=most;
        assert!(near(OUTPUT_BYTES_MAX).contains(&kept[0]), "{kept:?}");
        assert!(kept[1..3].iter().all(|kept| near(FILE_OUTPUT_BYTES_MAX).contains(kept)));
        assert!(near(ERROR_BYTES_MAX).contains(&kept[3]), "an error is kept as any other");
        assert!(near(OUTPUT_BYTES_MAX).contains(&kept[4]), "a call has one result");
    }

    // past 17
    #[test]
    fn times_ahead_are_taken_back_and_missing_ones_are_marked() {
        let (events, _) = cleaned(|out| {
            out.answer(RecordPlace { native: None, at: Some(5_000) }, "a");
            out.answer(RecordPlace::default(), "b");
        });
        let times: Vec<_> = events
            .iter()
            .map(|event| match event {
                PastEvent::Item(item) => (item.at, item.about),
                other => panic!("{other:?}"),
            })
            .collect();
        assert_eq!(times, [(1_000, false), (1_000, true)]);
    }
}
