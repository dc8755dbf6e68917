use crate::{actor::ActorName, digest::Digest, error::Result, scope::Gate, store::View};
#[derive(Debug)]
pub struct ContextQuery;
#[derive(Debug)]
pub struct Bundle;
pub fn context(
    _: &View<'_>,
    _: &ActorName,
    _: Option<&dyn Gate>,
    _: &ContextQuery,
    _: (Digest, u64),
) -> Result<Bundle> {
    Ok(Bundle)
}
