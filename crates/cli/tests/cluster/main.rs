//! Goal: nodes that share a PostgreSQL ledger are one service: no acknowledged write is lost, doubled or reordered,
//! whatever is killed, stopped or cut, and every actor is linearizable. Method: real servers and nodes on loopback, a
//! client that records when each request began and ended, and a checker that knows nothing of the program.
//!
//! Where PostgreSQL is not installed these tests say so and pass. By default they take seconds: one server, two nodes,
//! kills. `make test-cluster` runs `random_faults` for minutes (`CORTEX_CLUSTER_MINUTES`) with a synchronous standby,
//! three nodes, pauses, cut connections and promotions.

#![allow(clippy::unwrap_used)]

mod cold;
mod faults;
mod history;
mod node;
mod nodes;
mod postgres;
mod proxy;
mod service;
mod throughput;
mod tls;
