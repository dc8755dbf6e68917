//! What a save is near to: memories that say nearly the same, and those that it may replace.
//!
//! What must stay true: the answer to a save waits for this, so its cost is fixed (`recall::search::near`); a likeness
//! of form alone is none. docs/decisions.md has the figures.

use api::save::{SaveAnswer, SimilarView};
use kernel::Cortex;
use kernel::memory::Body;

use crate::error::{Error, Result};
use crate::shared_words::{in_common, shares_word};
use crate::{Service, parse};

/// Similar memories that an answer names.
const SIMILAR_MAX: usize = 3;

/// How near they must be, in parts per million, and by how much nearer than the tenth: where everything is about one
/// thing, nearness alone says little.
const SIMILAR_PPM: u64 = 600_000;
const STANDS_OUT_PPM: u64 = 200_000;
const TENTH: usize = 10;

/// So near that it counts among any number of copies.
const COPY_PPM: u64 = 900_000;

/// How near they must be where their titles name the same thing: one may take the place of the other.
const SAME_SUBJECT_PPM: u64 = 500_000;
/// Words that such titles have in common, at least, and at least two thirds of those of the shorter.
const SUBJECT_WORDS_MIN: usize = 2;

impl Service {
    /// What is near a memory that was just saved, in its project or across all if it has none.
    pub(crate) fn near(&self, cortex: &Cortex, saved: &SaveAnswer) -> Result<Vec<SimilarView>> {
        let project = Some(saved.project.as_str()).filter(|name| !name.is_empty());
        let id = crate::read::memory_id(saved.id)?;
        let reading = cortex.read()?;
        let found = recall::search::near(&reading, id, project)?;
        let tenth = found.get(TENTH - 1).map_or(0, |(_, nearness)| *nearness);
        let body = |id| Ok::<_, Error>(reading.resolve_version(id, None)?.body);
        let Some(own) = body(id)? else { return Ok(Vec::new()) };
        let mut near = Vec::new();
        for (head, nearness) in found {
            if near.len() == SIMILAR_MAX || nearness < SAME_SUBJECT_PPM {
                break;
            }
            let is_alike = |other: &Body| {
                is_about(&own, other) && says_nearly_the_same(nearness, tenth)
                    || same_subject(&own.title, &other.title)
            };
            let Some(body) = body(head.id)?.filter(is_alike) else { continue };
            near.push(SimilarView {
                id: head.id.get(),
                title: body.title,
                memory_type: head.memory_type.name().to_owned(),
                created_at: head.created.rfc3339(),
                kind: head.kind,
                nearness: parse::from_ppm(u32::try_from(nearness).unwrap_or(u32::MAX)),
            });
        }
        Ok(near)
    }
}

/// Both in parts per million; `tenth` is 0 where there are fewer.
fn says_nearly_the_same(nearness: u64, tenth: u64) -> bool {
    nearness >= COPY_PPM
        || nearness >= SIMILAR_PPM && nearness.saturating_sub(tenth) >= STANDS_OUT_PPM
}

/// Whether what one is called stands in the other. Texts of one form, and those with the same reasons, are near each
/// other whatever they are about.
fn is_about(one: &Body, other: &Body) -> bool {
    let text = |body: &Body| format!("{} {}", body.title, body.content);
    shares_word(&one.title, &text(other)) || shares_word(&other.title, &text(one))
}

/// Whether two titles name the same thing.
fn same_subject(one: &str, other: &str) -> bool {
    let (shared, of_other) = in_common(one, other);
    let (_, of_one) = in_common(other, one);
    shared >= SUBJECT_WORDS_MIN && shared * 3 >= of_one.min(of_other) * 2
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn titles_name_the_same_thing_by_most_of_their_words() {
        let back = "Passwords are back besides magic links";
        assert!(same_subject(back, "Customers log in with magic links"));
        assert!(same_subject("Return window is sixty days", "Return window is thirty days"));
        let pinned = "The mobile client uses certificate pinning";
        assert!(!same_subject(pinned, "The mobile client must support iOS 15"));
        assert!(!same_subject("", ""));
    }
}
