//! The hands in this program. `live` is what the daemon runs.

pub(crate) mod live;
