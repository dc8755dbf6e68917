//! Goal: what the mind does for a home, seen from outside.
//! Method: the real program on a port of its own, a real model's protocol on a socket of the test.

#![allow(clippy::unwrap_used)]

mod channels;
mod pages;
mod support;
mod tending;
