//! Run logs: one file per run, one JSON object per line, and an index of them for each day.
//!
//! A log begins with the request and ends with exactly one terminal event. It exists under its active name from the
//! moment the run is accepted, and gets its other name when the run has ended. The index of a day is derived: it
//! can be deleted and rebuilt from the logs.

pub mod doctor;
pub(super) mod event;
pub mod index;
pub mod read;
pub mod retention;
pub(super) mod tally;
pub(super) mod write;
