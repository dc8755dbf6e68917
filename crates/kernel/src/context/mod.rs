//! x
use crate::{digest::Digest, actor::ActorName, error::Result, scope::Gate, store::View};
#[derive(Debug)] pub struct ContextQuery { pub now: crate::memory::Millis }
#[derive(Debug)] pub struct Bundle;
pub fn context(_: &View<'_>, _: &ActorName, _: Option<&dyn Gate>, _: &ContextQuery, _: (Digest, u64)) -> Result<Bundle> { Ok(Bundle) }
