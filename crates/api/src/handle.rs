//! Who answers calls, as interfaces see it: over a socket or in this process, they cannot tell.

use std::fmt::Debug;

use serde_json::value::RawValue;

use crate::error::{Error, Result};
use crate::operation::{Call, Operation};

/// Answers the calls of one caller. An answer may take as long as a disk or another process takes.
pub trait Handle: Debug + Send + Sync {
    /// Whose memory it is.
    fn actor(&self) -> &str;

    /// Answers any call, with the bytes that the operation wrote.
    fn answer(&self, call: Call) -> Result<Box<RawValue>>;
}

/// Asks one operation of whoever answers.
pub fn ask<R: Operation>(handle: &dyn Handle, request: R) -> Result<R::Answer> {
    let answer = handle.answer(request.into_call())?;
    serde_json::from_str(answer.get()).map_err(|error| Error::internal(error.to_string()))
}
