//! The past: what coding agents already wrote down on this disk, kept, searched and forgotten.
//!
//! The files of the agents are read by the crate [`transcripts`]; here is what becomes of what it reads.
//!
//! - `assembler`: turns get their numbers, copies are known, items become `segment`s; `slice`: what waits for the disk.
//! - `catalog`: how far each source was read; `words`: the index; both can be made again from segments (`rebuild`).
//!   `packing`: how segments and index are compressed.
//! - `sweep`, `source_file`, `reading`: what changed, and reading on from there. `forget`: tombstones, then bytes.
//! - `browse`, `search`, `mine`: what can be asked. `ranking`: the order of turns; `turn_reader`: those it reads.
//!   `drift`: whether agents write what we know. `transcript`: one file by itself, without a store. `store`: [`Past`],
//!   all of it open together, on a `disk`.
//!
//! What must stay true: no text is stored unmasked; a source is only ever read; a number of a turn that was given
//! stays; nothing needs a source that is gone; there is no clock, no network and no environment: they come in.

mod assembler;
mod browse;
mod catalog;
mod citation;
mod disk;
mod drift;
mod error;
mod exclusion;
mod forget;
pub mod limits;
mod mine;
mod packing;
mod ranking;
mod reading;
mod rebuild;
mod search;
mod segment;
mod slice;
mod source_file;
mod store;
mod sweep;
mod tombstones;
mod transcript;
mod turn_reader;
mod words;

pub use browse::{
    AgentShare, PastContents, ResumeCommand, SessionList, SessionScope, SessionState, TurnList,
    TurnRecord, TurnScope,
};
pub use disk::{FolderDisk, PastDisk};
pub use drift::AgentDrift;
pub use error::{Error, Result};
pub use exclusion::{Exclusion, MARKER_FILE};
pub use forget::{ForgetOutcome, ForgetScope};
pub use mine::{
    CommandFailure, CommandHabit, ErrorFix, ErrorRecurrence, FileQuestion, FileTrace, SessionBrief,
    SessionFacts, ShapeCount, ShapeReport, SpanRemoval, TraceRole, WorkScope, facts, shapes,
};
pub use ranking::TurnArm;
pub use reading::{ReadOutcome, ReadPlan, ReadScope, ReadWorld};
pub use rebuild::PastCheck;
pub use search::{TurnHit, TurnHits, TurnQuestion};
pub use store::Past;
pub use tombstones::{MemoryTombstones, TombstoneGroup, Tombstones};
pub use transcript::{TranscriptPlace, TranscriptReading, agent_of, read_transcript};
