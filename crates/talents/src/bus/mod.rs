//! Callosum, the bus: one JSON object per line over a Unix socket, and the same messages inside the daemon.
//!
//! `hub` is the bus itself: it numbers what is published, keeps the newest in a ring, and gives every listener a
//! bounded queue of its own. `bus_server` lets other processes take part over the socket, `client` is their side of
//! it. Messages to a part that serves them (a request for a run) go to that part alone, which answers; everything
//! else goes to everybody.
//!
//! What must stay true: publishing never waits for a listener; whoever falls behind loses its own messages, is told how
//! many, and delays nobody; a bad line costs that line; values of `env` are on no line that leaves.
//!
//! The protocol is in `docs/callosum.md`.

mod backoff;
mod client;
mod connection;
mod filter;
mod hub;
mod link;
mod message;
mod queue;

pub use backoff::Backoff;
pub use client::{BusClient, BusClientError, BusClientEvent, BusClientSettings, BusClientStatus};
pub use connection::{AcceptedRun, BusConnection, ask_once};
pub use filter::{BusFilter, FilterClause};
pub use hub::{
    BusEvent, BusRefusal, BusService, EventId, Hub, HubStatus, ResumedSubscription, ServiceRequest,
};
pub use llm::line_codec;
pub use message::{BadLine, BusMessage};
pub use queue::{Delivery, Gauge, Subscription};

use serde::{Deserialize, Serialize};

/// The topic of the bus itself: what clients ask of it, and what it answers.
pub const BUS_TOPIC: &str = "callosum";
/// The topic of talent runs.
pub const RUN_TOPIC: &str = "cortex";
/// The topic of services and schedules.
pub const SUPERVISOR_TOPIC: &str = "supervisor";
/// The topic of what happens to memories.
pub const MEMORY_TOPIC: &str = "memory";

/// Longest line a peer may send. Events of runs are cut far below it.
pub const LINE_BYTES_MAX: usize = 1 << 20;

/// The bounds of the bus.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct BusSettings {
    /// Messages that wait for one listener at most; what comes on top is dropped for that listener and counted.
    pub queue_messages_max: usize,
    /// Bytes that wait for one listener at most.
    pub queue_bytes_max: usize,
    /// Messages kept for listeners that come back with the id of the last one they saw.
    pub ring_messages_max: usize,
    /// Bytes kept for them.
    pub ring_bytes_max: usize,
    /// Processes connected at once.
    pub clients_max: usize,
    /// Runs that one client follows at once.
    pub replays_per_client_max: usize,
    /// How long a client may take nothing at all before it is cut.
    pub stall_ms_max: u64,
    /// Requests that wait for the part that serves them.
    pub service_queue_max: usize,
}

impl Default for BusSettings {
    fn default() -> BusSettings {
        BusSettings {
            queue_messages_max: 2_000,
            queue_bytes_max: 16 << 20,
            ring_messages_max: 4_000,
            ring_bytes_max: 16 << 20,
            clients_max: 256,
            replays_per_client_max: 64,
            stall_ms_max: 30_000,
            service_queue_max: 1_024,
        }
    }
}
