//! x
#[derive(Debug)] pub struct Walk { pub from: crate::memory::MemoryId }
#[derive(Debug)] pub struct Walked;
pub fn walk(_: &crate::store::View<'_>, _: Option<&dyn crate::scope::Gate>, _: &Walk) -> crate::Result<Walked> { Ok(Walked) }
