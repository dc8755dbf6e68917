//! Run logs: one file per run, one JSON object per line.

pub mod read;
