//! x
use crate::{error::Result, memory::*, scope::Gate, store::View};
#[derive(Debug, Clone)] pub struct Query { pub budget_tokens: Option<u32> }
impl Query { pub fn to_bytes(&self) -> Vec<u8> { vec![] } }
#[derive(Debug)] pub struct FoundItem { pub head: Head, pub version: Version, pub score: u32 }
#[derive(Debug)] pub struct Found { pub items: Vec<FoundItem> }
pub fn find(_: &View<'_>, _: Option<&dyn Gate>, _: &Query, _: Millis) -> Result<Found> { Ok(Found { items: vec![] }) }
