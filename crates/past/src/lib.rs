//! The past: what coding agents already wrote down on this disk, read, kept, searched and forgotten.
//!
//! - [`readers`]: one file per agent; `bounded_lines`, `json`, `tools`, `times`: what they share.
//! - `cleaner`: the gate every text passes once: `noise` of agents and `echo` of Cortex out, secrets masked, cuts
//!   noted.
//! - `assembler`: turns get their numbers, copies are known, items become `segment`s.
//! - `catalog`: how far each source was read; `words`: the index; both can be made again from segments (`rebuild`).
//! - `sweep`, `source_file`, `reading`: what changed, and reading on from there. `forget`: tombstones, then bytes.
//! - `browse`, `search`, `mine`: what can be asked. `drift`: whether agents write what we know.
//!   `transcript`: one file by itself, without a store. `store`: [`Past`], all of it open together, on a `disk`.
//!
//! What must stay true: no text is stored unmasked; a source is only ever read; a number of a turn that was given
//! stays; nothing needs a source that is gone; there is no clock, no network and no environment: they come in.

mod assembler;
mod bounded_lines;
mod browse;
mod catalog;
mod citation;
mod cleaner;
mod counts;
mod digests;
mod disk;
mod drift;
mod echo;
mod error;
mod exclusion;
mod forget;
mod json;
pub mod limits;
mod mine;
mod noise;
pub mod readers;
mod reading;
mod rebuild;
mod search;
mod segment;
mod session;
mod source_file;
mod store;
mod surroundings;
mod sweep;
mod times;
mod tombstones;
mod tools;
mod transcript;
mod words;

pub use browse::{
    AgentShare, PastContents, ResumeCommand, SessionList, SessionScope, SessionState, TurnList,
    TurnRecord, TurnScope,
};
pub use cleaner::{Cleaner, EventSink, PastEvent, ReaderMemory, RecordPlace, UndoPoint};
pub use counts::ReadCounts;
pub use disk::{FolderDisk, PastDisk};
pub use drift::AgentDrift;
pub use echo::frame;
pub use error::{Error, Result};
pub use exclusion::{Exclusion, MARKER_FILE};
pub use forget::{ForgetOutcome, ForgetScope};
pub use mine::{
    CommandFailure, CommandHabit, ErrorFix, ErrorRecurrence, FileQuestion, FileTrace, SessionBrief,
    SessionFacts, SessionSpan, ShapeCount, ShapeReport, SpanRemoval, TraceRole, TurnOutline,
    WorkScope, WorkSpan, facts, shapes,
};
pub use reading::{ReadOutcome, ReadPlan, ReadScope, ReadWorld};
pub use rebuild::PastCheck;
pub use search::{TurnArm, TurnHit, TurnHits, TurnQuestion};
pub use session::{ItemBody, PastAgent, PastItem, SessionInfo, SessionKind};
pub use store::Past;
pub use surroundings::{HostSystem, PastSurroundings, VARIABLES};
pub use tombstones::{MemoryTombstones, TombstoneGroup, Tombstones};
pub use transcript::{TranscriptPlace, TranscriptReading, agent_of, read_transcript};
