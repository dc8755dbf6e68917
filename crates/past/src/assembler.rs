//! From cleaned items to turns with numbers, and to segments.
//!
//! What must stay true: a number that was given stays; a turn that is met again (a resumed file, a fork, a source
//! that is read anew) is matched by its prompt and adds only what is new; segments close when they are full and never
//! because of how a source was read, so reading in steps gives what reading at once gives. What was forgotten does
//! not pass.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use crate::catalog::{Catalog, CatalogChange, SegmentRow, SessionKey, SessionRow, TurnCursor};
use crate::disk::PastDisk;
use crate::error::{Error, Result};
use crate::limits::SEGMENT_BYTES_MAX;
use crate::segment::{self, PromptRow};
use crate::slice::{SliceOutcome, load, packed};
use crate::tombstones::{TombstoneSet, identities, identity, identity_in_session, identity_of_id};
use transcripts::cleaner::{self, PastEvent, UndoPoint};
use transcripts::counts::ReadCounts;
use transcripts::limits::SPEECH_BYTES_MAX;
use transcripts::session::{ItemBody, PastItem, SessionInfo};

/// Hears of every segment that is made, with its items.
pub(crate) trait SegmentObserver {
    fn made(&mut self, row: &SegmentRow, info: &SessionInfo, items: &[PastItem]);
}

/// All that the assembler works on.
pub(crate) struct AssemblerParts<'a> {
    pub(crate) catalog: &'a mut Catalog,
    pub(crate) disk: &'a dyn PastDisk,
    pub(crate) tombstones: &'a TombstoneSet,
    pub(crate) is_excluded: &'a dyn Fn(&SessionInfo) -> bool,
    pub(crate) observer: &'a mut dyn SegmentObserver,
    pub(crate) slice: &'a mut SliceOutcome,
    pub(crate) counts: &'a mut ReadCounts,
}

/// Takes the events of one source.
pub(crate) struct Assembler<'a> {
    parts: AssemblerParts<'a>,
    source: String,
    /// Where the source stood; later sessions of it begin anew.
    cursor: TurnCursor,
    is_from_start: bool,
    /// The source held something else before: turns that it lacks now were taken back.
    is_replaced: bool,
    current: Option<OpenSession>,
    /// Sessions of this source that others came between, and where they stood.
    left: HashMap<SessionKey, (TurnCursor, Vec<u32>)>,
    failure: Option<Error>,
}

/// The session whose items come in.
#[derive(Debug)]
struct OpenSession {
    row: SessionRow,
    cursor: TurnCursor,
    /// Items of the last segment, once something is added to it.
    items: Vec<PastItem>,
    raw_bytes: usize,
    first_item: u64,
    is_loaded: bool,
    is_dirty: bool,
    /// The segment whose items were loaded.
    reopened: Option<SegmentRow>,
    /// Identities of the items of the turn that is met again.
    present: HashSet<u64>,
    new_prompts: Vec<PromptRow>,
    /// Turns in the order in which this source has them, without those that were taken back.
    live: Vec<u32>,
    is_closed_to_items: bool,
}

impl<'a> Assembler<'a> {
    pub(crate) fn new(
        parts: AssemblerParts<'a>,
        source: &str,
        cursor: TurnCursor,
        session: Option<&SessionInfo>,
        is_from_start: bool,
    ) -> Assembler<'a> {
        let mut assembler = Assembler {
            parts,
            source: source.to_owned(),
            cursor,
            is_from_start,
            is_replaced: false,
            current: None,
            left: HashMap::new(),
            failure: None,
        };
        if let Some(info) = session.filter(|_| !is_from_start) {
            assembler.open(info.clone());
        }
        assembler
    }

    pub(crate) fn of_replaced(self, is_replaced: bool) -> Assembler<'a> {
        Assembler { is_replaced, ..self }
    }

    pub(crate) fn take(&mut self, event: PastEvent) {
        if self.failure.is_some() {
            return;
        }
        if let Err(error) = self.try_take(event) {
            self.failure = Some(error);
        }
    }

    fn try_take(&mut self, event: PastEvent) -> Result<()> {
        match event {
            PastEvent::Session(info) => {
                let is_same = self.current.as_ref().is_some_and(|open| {
                    open.row.info.agent == info.agent && open.row.info.id == info.id
                });
                if is_same {
                    self.learn(*info);
                } else {
                    self.close()?;
                    self.open(*info);
                }
                Ok(())
            }
            PastEvent::Item(item) => self.item(item),
            PastEvent::Undo(point) => {
                self.undo(&point);
                Ok(())
            }
        }
    }

    /// Ends the source: what is left, and where it stands.
    pub(crate) fn finish(mut self) -> Result<TurnCursor> {
        if let Some(failure) = self.failure.take() {
            return Err(failure);
        }
        let cursor = self.current.as_ref().map_or(TurnCursor::Before, |open| open.cursor.clone());
        self.close()?;
        Ok(cursor)
    }

    fn learn(&mut self, info: SessionInfo) {
        let Some(open) = &mut self.current else { return };
        let before = open.row.info.clone();
        open.row.info.learn(info);
        open.row.hide_title();
        open.is_dirty |= before != open.row.info;
        open.is_closed_to_items |= (self.parts.is_excluded)(&open.row.info);
    }

    fn open(&mut self, info: SessionInfo) {
        let is_first = self.current.is_none();
        let key = (info.agent, info.id.clone());
        let known = self.parts.catalog.sessions.get(&key).cloned();
        let is_new = known.is_none();
        let mut row = known.unwrap_or_else(|| SessionRow {
            info: info.clone(),
            segments: Vec::new(),
            undone: Vec::new(),
            turns: 0,
            source: self.source.clone(),
            is_untitled: false,
        });
        let before = row.info.clone();
        row.info.learn(info);
        row.hide_title();
        // A log that was moved or compressed is the same source under another name.
        let is_moved = row.source != self.source && !Path::new(&row.source).exists();
        if is_moved {
            row.source.clone_from(&self.source);
        }
        let goes_on = is_first && !self.is_from_start;
        let left = self.left.remove(&key);
        let cursor = match &left {
            Some((cursor, _)) => cursor.clone(),
            None if goes_on => std::mem::take(&mut self.cursor),
            None => TurnCursor::Before,
        };
        // What follows in a turn that was forgotten meanwhile is a part of it.
        let is_forgotten = match &cursor {
            TurnCursor::Turn(turn) => self.parts.tombstones.has_turn(&row.info.key(), *turn),
            TurnCursor::Copy(agent, id, turn) => {
                self.parts.tombstones.has_turn(&format!("{}:{id}", agent.name()), *turn)
            }
            TurnCursor::Before | TurnCursor::Nowhere => false,
        };
        let cursor = if is_forgotten { TurnCursor::Nowhere } else { cursor };
        let left_in = match &left {
            Some((TurnCursor::Turn(turn), _)) => Some(*turn),
            _ => None,
        };
        let is_met_again = left.is_none() && !goes_on && !is_new;
        let live = if let Some((_, live)) = left {
            live
        } else if goes_on {
            (1..=row.turns).filter(|turn| !row.undone.contains(turn)).collect()
        } else {
            Vec::new()
        };
        let is_closed_to_items = self.parts.tombstones.has_session(&row.info.key())
            || (self.parts.is_excluded)(&row.info);
        let first_item = row.segments.last().map_or(0, |last| last.first_item + last.items);
        self.current = Some(OpenSession {
            is_dirty: !is_new && (before != row.info || is_moved),
            row,
            cursor,
            items: Vec::new(),
            raw_bytes: 0,
            first_item,
            is_loaded: false,
            reopened: None,
            present: HashSet::new(),
            new_prompts: Vec::new(),
            live,
            is_closed_to_items,
        });
        if let Some(turn) = left_in {
            self.meet_again(&key, turn);
        } else if is_met_again {
            // What stands before the first prompt may be there already.
            self.meet_again(&key, 0);
        }
    }

    /// Notes the items of a turn that is met again. A segment that cannot be read is found by `verify`, not here.
    fn meet_again(&mut self, key: &SessionKey, turn: u32) {
        let identities = self.identities_of(key, turn);
        if let Some(open) = &mut self.current {
            open.present = identities;
        }
    }

    fn identities_of(&self, key: &SessionKey, turn: u32) -> HashSet<u64> {
        let mut found = HashSet::new();
        let own = self
            .current
            .as_ref()
            .filter(|open| (open.row.info.agent, &open.row.info.id) == (key.0, &key.1));
        let row = match own {
            Some(open) => &open.row,
            None => match self.parts.catalog.sessions.get(key) {
                Some(row) => row,
                None => return found,
            },
        };
        let mut note = |item: &PastItem| found.extend(identities(item));
        for segment in
            row.segments.iter().filter(|row| row.first_turn <= turn && turn <= row.last_turn)
        {
            if let Ok((_, items)) = load(self.parts.disk, self.parts.slice, segment, Some(turn)) {
                items.iter().for_each(&mut note);
            }
        }
        if let Some(open) = own {
            open.items.iter().filter(|item| item.turn == turn).for_each(note);
        }
        found
    }

    fn item(&mut self, item: PastItem) -> Result<()> {
        let Some(open) = &self.current else {
            // Records before any session: nobody could cite them.
            self.parts.counts.malformed += 1;
            return Ok(());
        };
        if open.is_closed_to_items {
            self.parts.counts.forgotten += 1;
            return Ok(());
        }
        if matches!(item.body, ItemBody::Prompt { .. }) {
            self.prompt(item)
        } else {
            self.deed(item)
        }
    }

    fn prompt(&mut self, item: PastItem) -> Result<()> {
        let Some(open) = &mut self.current else { return Ok(()) };
        open.present.clear();
        if self.parts.tombstones.has_prompt(&open.row.info.key(), &item) {
            open.cursor = TurnCursor::Nowhere;
            open.row.is_untitled = true;
            open.row.hide_title();
            self.parts.counts.forgotten += 1;
            return Ok(());
        }
        let identity = identity(&item);
        let key = (open.row.info.agent, open.row.info.id.clone());
        // A short id means a prompt only in its own session.
        let own = identity_in_session(&item).filter(|own| *own != identity);
        let is_it = |row: &&PromptRow| row.identity == identity || Some(row.identity) == own;
        let known = self.parts.catalog.prompts_of(&key).iter().filter(|_| own.is_some());
        let here = open.new_prompts.iter().chain(known).find(is_it);
        let here = here.map(|row| (key.clone(), row.turn));
        let place = here.or_else(|| self.parts.catalog.place(identity));
        match place {
            Some((owner, turn)) if owner == key => {
                open.cursor = TurnCursor::Turn(turn);
                open.live.push(turn);
                // It was taken back and stands there again; should it be taken back once more, that follows.
                let undone = open.row.undone.len();
                open.row.undone.retain(|known| *known != turn);
                open.is_dirty |= open.row.undone.len() != undone;
                self.parts.counts.copies += 1;
                self.meet_again(&key, turn);
                Ok(())
            }
            Some((owner, turn)) => {
                // Its title may be made of words of that turn, which is forgotten where it is stored.
                open.is_dirty |= open.row.info.title.is_some();
                open.row.is_untitled = true;
                open.row.hide_title();
                open.cursor = TurnCursor::Copy(owner.0, owner.1.clone(), turn);
                self.parts.counts.copies += 1;
                self.meet_again(&owner, turn);
                Ok(())
            }
            None => {
                let turn = self.number();
                self.note_prompt(PromptRow { turn, identity });
                if let Some(identity) = own {
                    self.note_prompt(PromptRow { turn, identity });
                }
                self.push(PastItem { turn, ..item })
            }
        }
    }

    /// Gives the next number.
    fn number(&mut self) -> u32 {
        let Some(open) = &mut self.current else { return 0 };
        open.row.turns += 1;
        open.cursor = TurnCursor::Turn(open.row.turns);
        open.live.push(open.row.turns);
        open.row.turns
    }

    fn note_prompt(&mut self, row: PromptRow) {
        if let Some(open) = &mut self.current {
            open.new_prompts.push(row);
        }
    }

    fn deed(&mut self, item: PastItem) -> Result<()> {
        let Some(open) = &mut self.current else { return Ok(()) };
        if matches!(open.cursor, TurnCursor::Nowhere) {
            self.parts.counts.forgotten += 1;
            return Ok(());
        }
        // A source that goes on inside a turn that it had met again.
        if open.present.is_empty()
            && let TurnCursor::Copy(agent, id, turn) = open.cursor.clone()
        {
            self.meet_again(&(agent, id), turn);
        }
        let Some(open) = &mut self.current else { return Ok(()) };
        if !open.present.is_empty()
            && identities(&item).iter().any(|identity| open.present.contains(identity))
        {
            self.parts.counts.copies += 1;
            return Ok(());
        }
        let turn = match &open.cursor {
            TurnCursor::Before | TurnCursor::Nowhere => 0,
            TurnCursor::Turn(turn) => *turn,
            // It goes on where the other session did not: that is a turn of its own.
            TurnCursor::Copy(..) => self.number(),
        };
        self.push(PastItem { turn, ..item })
    }

    fn undo(&mut self, point: &UndoPoint) {
        let Some(open) = &mut self.current else { return };
        let gone: Vec<u32> = match point {
            UndoPoint::LastTurns(count) => {
                let from = open.live.len().saturating_sub(*count as usize);
                open.live.split_off(from)
            }
            UndoPoint::Prompt(native) | UndoPoint::Only(native) => {
                let identity = identity_of_id("prompt", native, "");
                let key = (open.row.info.agent, open.row.info.id.clone());
                let known = self.parts.catalog.prompts_of(&key).iter().chain(&open.new_prompts);
                let turn = known.filter(|row| row.identity == identity).map(|row| row.turn).next();
                let place = turn.and_then(|turn| open.live.iter().position(|live| *live == turn));
                match (point, place) {
                    (UndoPoint::Only(_), Some(place)) => vec![open.live.remove(place)],
                    (UndoPoint::Only(_), None) => Vec::new(),
                    (_, place) => open.live.split_off(place.unwrap_or(0)),
                }
            }
        };
        for turn in gone {
            if !open.row.undone.contains(&turn) {
                open.row.undone.push(turn);
                open.is_dirty = true;
            }
        }
    }

    /// Loads the last segment if there is still room in it.
    fn reopen(&mut self) -> Result<()> {
        let Some(open) = &mut self.current else { return Ok(()) };
        if open.is_loaded {
            return Ok(());
        }
        open.is_loaded = true;
        let has_room =
            open.row.segments.last().is_some_and(|last| last.raw_bytes < SEGMENT_BYTES_MAX as u64);
        if let Some(last) = open.row.segments.pop_if(|_| has_room) {
            open.items = load(self.parts.disk, self.parts.slice, &last, None)?.1;
            open.raw_bytes = usize::try_from(last.raw_bytes).unwrap_or(usize::MAX);
            open.first_item = last.first_item;
            open.reopened = Some(last);
        }
        Ok(())
    }

    fn push(&mut self, item: PastItem) -> Result<()> {
        self.reopen()?;
        let Some(open) = &mut self.current else { return Ok(()) };
        open.is_dirty = true;
        open.row.info.meet(item.at);
        if let Some(at) = same_answer(&open.items, &item) {
            let before = segment::encoded_bytes(&open.items[at]);
            join(&mut open.items[at], &item, self.parts.counts);
            open.raw_bytes = open.raw_bytes + segment::encoded_bytes(&open.items[at]) - before;
            return Ok(());
        }
        if open.raw_bytes >= SEGMENT_BYTES_MAX {
            self.seal();
        }
        if let Some(open) = &mut self.current {
            open.raw_bytes += segment::encoded_bytes(&item);
            open.items.push(item);
        }
        Ok(())
    }

    /// Makes a segment of the items that wait.
    fn seal(&mut self) {
        let Some(open) = &mut self.current else { return };
        let items = std::mem::take(&mut open.items);
        if items.is_empty() {
            return;
        }
        let key = (open.row.info.agent, open.row.info.id.clone());
        let known = self.parts.catalog.prompts_of(&key).iter().chain(&open.new_prompts);
        let prompts: Vec<PromptRow> = known.copied().collect();
        let before = open.reopened.iter().chain(&open.row.segments);
        let revision = before.map(|row| row.revision).max().unwrap_or(0);
        let (row, bytes) = packed(&open.row, &prompts, open.first_item, revision, &items);
        let digest = row.digest;
        let name = segment::name_of(&digest);
        if let Some(old) = open.reopened.take()
            && old.digest != digest
        {
            // A segment of this very slice was never on disk.
            if self.parts.slice.segments.remove(&segment::name_of(&old.digest)).is_none() {
                self.parts.slice.replaced.push(old.digest);
            }
        }
        self.parts.observer.made(&row, &open.row.info, &items);
        self.parts.slice.segments.insert(name, bytes);
        open.row.segments.push(row);
        open.first_item += items.len() as u64;
        open.raw_bytes = 0;
    }

    /// Marks the turns that a replaced log lacks, if no other source can have them.
    fn undo_missing(&mut self) {
        let Some(open) = self.current.as_mut().filter(|_| self.is_replaced) else { return };
        let info = &open.row.info;
        let is_elsewhere = self.parts.catalog.sources.values().any(|row| {
            let session = row.memory.session.as_ref();
            row.path != self.source
                && session.is_some_and(|other| (other.agent, &other.id) == (info.agent, &info.id))
        });
        if is_elsewhere || open.row.source != self.source {
            return;
        }
        let live: HashSet<u32> = open.live.iter().copied().collect();
        let missing: Vec<u32> = (1..=open.row.turns).filter(|turn| !live.contains(turn)).collect();
        if open.row.undone != missing {
            open.row.undone = missing;
            open.is_dirty = true;
        }
    }

    fn close(&mut self) -> Result<()> {
        self.undo_missing();
        let needs_footer = self
            .current
            .as_ref()
            .is_some_and(|open| open.is_dirty && !open.row.segments.is_empty());
        if needs_footer {
            // What is new about the session stands in its last segment, too.
            self.reopen()?;
        }
        self.seal();
        let Some(open) = self.current.take() else { return Ok(()) };
        let key = (open.row.info.agent, open.row.info.id.clone());
        self.left.insert(key.clone(), (open.cursor, open.live));
        // A session of which nothing is kept is none.
        if open.row.segments.is_empty() || !open.is_dirty {
            return Ok(());
        }
        let mut changes = vec![CatalogChange::Session(Box::new(open.row))];
        if !open.new_prompts.is_empty() {
            changes.push(CatalogChange::Prompts(key.0, key.1, open.new_prompts));
        }
        for change in changes {
            self.parts.catalog.apply(change.clone());
            self.parts.slice.changes.push(change);
        }
        Ok(())
    }
}

/// The place of the answer that a block belongs to: a message has one id, however many lines it is spread over.
fn same_answer(items: &[PastItem], item: &PastItem) -> Option<usize> {
    let ItemBody::Answer { .. } = item.body else { return None };
    item.native.as_ref()?;
    let of_message = |known: &PastItem| {
        known.turn == item.turn
            && known.native == item.native
            && matches!(known.body, ItemBody::Answer { .. })
    };
    items.iter().rposition(of_message)
}

fn join(known: &mut PastItem, item: &PastItem, counts: &mut ReadCounts) {
    if let (ItemBody::Answer { text, bytes }, ItemBody::Answer { text: more, bytes: more_bytes }) =
        (&mut known.body, &item.body)
    {
        if text.len() < SPEECH_BYTES_MAX {
            let joined = format!("{text}\n\n{more}");
            // What was split over two blocks may be a secret now.
            let screened = cleaner::screen(&joined, counts).into_owned();
            cleaner::cut(&screened, SPEECH_BYTES_MAX).clone_into(text);
        }
        *bytes += more_bytes + 2;
    }
}
