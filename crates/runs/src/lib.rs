//! Talents run as supervised processes, and everything they do is on disk and on the bus.
//!
//! A run is asked for on the bus, owned by one task from its first line to its last (`runner`), and ends with exactly
//! one terminal event. `process` is the other side: what the started process does with its request. `bus_server` lets
//! other processes take part in the bus, and replays the logs of runs to them. This crate knows processes, files and
//! sockets; `talents` says what is to be run and what a run may reach, `llm` asks the models; it does not know the
//! memory: the tools a talent may use come in as a trait, and what a finished run teaches goes out as an event.

pub mod bus_server;
pub mod process;
pub mod runner;
