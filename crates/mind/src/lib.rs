//! The mind tends the memory. Every part is a state machine: what happened and what time it is go in, what to do comes out.
//!
//! Nothing in here reads a clock, opens a file, talks to a network or calls a model. The daemon runs the effects and brings
//! their answers back as events, so a year of ticks can be tried in seconds and gives the same result every time.
