//! What of the gathered memories fits the budget, and the text made of it.

use std::cmp::Reverse;

use proof::Digest;
use proof::actor::ActorName;
use proof::memory::MemoryId;

use super::gather::Candidate;
use super::{Bundle, BundleItem, ContextQuery, OVERFLOW_MAX, Section, Tier};
use crate::error::{Error, Result};
use crate::render::{self, Form};
use crate::rows::{MemoryReader, Standing};
use crate::uri::Uri;

/// Percent of the budget that each tier may fill before the others.
const SHARES: [usize; 3] = [30, 50, 20];
/// Percent of the budget that rules may fill before all tiers.
const RULES_SHARE: usize = 40;
/// What is said of rules that did not fit, at its longest.
const RULES_NOTE_BYTES_MAX: usize = 88;
const BYTES_PER_TOKEN: usize = 4;
const MORE_HEADING: &str = "## More\n";

/// Chooses within the budget and writes the text.
pub(super) fn fill(
    memories: &MemoryReader<'_>,
    actor: &ActorName,
    query: &ContextQuery,
    candidates: &[Candidate],
    dropped: usize,
    bundle: &mut Bundle,
) -> Result<()> {
    let mut items = Vec::with_capacity(candidates.len());
    for candidate in candidates {
        items.push(item(memories, actor, query, query.form, candidate)?);
    }
    let budget = query.budget_tokens as usize * BYTES_PER_TOKEN;
    // The tokens of the headings and of the longest footer are set aside first.
    let needed = |section: &Section| {
        matches!(section, Section::Tier(_)) || items.iter().any(|item| item.section == *section)
    };
    let headings = Section::ALL.iter().filter(|section| needed(section));
    let frame = headings.map(|section| section.heading().len() + 1).sum::<usize>()
        + footer(bundle, u32::MAX, u32::MAX).len();
    let Some(mut room) = budget.checked_sub(frame) else {
        return Err(Error::BudgetUnreachable {
            needed: frame.div_ceil(BYTES_PER_TOKEN) as u64,
            budget: query.budget_tokens.into(),
        });
    };
    let rules: Vec<usize> = (0..items.len()).filter(|i| candidates[*i].is_rule()).collect();
    let size_of = |items: &[BundleItem]| rules.iter().map(|i| bullet(&items[*i]).len()).sum();
    let in_full: usize = size_of(&items);
    if in_full > room * RULES_SHARE / 100 || bundle.rules_missing > 0 {
        room = room.saturating_sub(RULES_NOTE_BYTES_MAX);
        // All rules in short say more than some of them in full.
        for i in &rules {
            items[*i] = item(memories, actor, query, Form::Short, &candidates[*i])?;
        }
    }
    let sizes: Vec<usize> = items.iter().map(|item| bullet(item).len()).collect();
    let mut left = room;
    let mut chosen = vec![false; items.len()];
    let mut take = |among: &mut dyn Iterator<Item = usize>, mut own: usize, left: &mut usize| {
        let before = *left;
        for i in among {
            let size = sizes[i];
            if !chosen[i] && size <= own.min(*left) {
                (own, *left, chosen[i]) = (own - size, *left - size, true);
            }
        }
        before - *left
    };
    let of_rules = take(&mut rules.iter().copied(), room * RULES_SHARE / 100, &mut left);
    for (tier, share) in Tier::ALL.into_iter().zip(SHARES) {
        let mut own = room * share / 100;
        if tier == Tier::Pinned {
            own = own.saturating_sub(of_rules);
        }
        let among = |i: &usize| candidates[*i].tier == tier && !candidates[*i].is_rule();
        take(&mut (0..items.len()).filter(among), own, &mut left);
    }
    // What is left over goes to the best of the rest, to rules only if nobody else needs it.
    let mut rest: Vec<usize> = (0..items.len()).collect();
    rest.sort_by_key(|i| {
        let candidate = &candidates[*i];
        let superseded = candidate.row.standing == Standing::Superseded;
        (
            candidate.tier != Tier::Pinned,
            superseded,
            Reverse(candidate.score),
            candidate.row.head.id,
        )
    });
    rest.sort_by_key(|i| candidates[*i].is_rule());
    take(&mut rest.iter().copied(), left, &mut left);
    // What still does not fit is listed in the same order, but rules first.
    rest.sort_by_key(|i| !candidates[*i].is_rule());
    rest.retain(|i| !chosen[*i]);
    let missing = rest.iter().filter(|i| candidates[**i].is_rule()).count();
    let missing = u32::try_from(missing).unwrap_or(u32::MAX);
    bundle.rules_missing = bundle.rules_missing.saturating_add(missing);
    bundle.trimmed = u32::try_from(rest.len() + dropped).unwrap_or(u32::MAX);
    bundle.overflow = rest.iter().take(OVERFLOW_MAX).map(|i| items[*i].uri.clone()).collect();
    for ((candidate, item), chosen) in candidates.iter().zip(items).zip(chosen) {
        match candidate.tier {
            _ if !chosen => {}
            Tier::Pinned => bundle.pinned.push(item),
            Tier::Relevant => bundle.relevant.push(item),
            Tier::Outcomes => bundle.outcomes.push(item),
        }
    }
    write(bundle, left);
    Ok(())
}

fn item(
    memories: &MemoryReader<'_>,
    actor: &ActorName,
    query: &ContextQuery,
    form: Form,
    candidate: &Candidate,
) -> Result<BundleItem> {
    let row = &candidate.row;
    let mut labels = Vec::new();
    let list =
        |ids: &[MemoryId]| ids.iter().map(|id| format!("#{id}")).collect::<Vec<_>>().join(", ");
    if !row.superseded_by.is_empty() {
        labels.push(format!("[superseded by {}] ", list(&row.superseded_by)));
    }
    let contradicting = memories.contradicted_by(row.head.id)?;
    if !contradicting.is_empty() {
        labels.push(format!("[contradicted by {}] ", list(&contradicting)));
    }
    let body = memories.body(row)?;
    let text = render::one_line(&render::render(&row.head, &row.version, body.as_ref(), form));
    let mut item = BundleItem {
        uri: Uri {
            actor: actor.clone(),
            memory_type: row.head.memory_type,
            id: row.head.id,
            version: row.version.n,
        },
        score: candidate.score,
        standing: row.standing,
        section: candidate.section,
        text: labels.concat() + &query.screen.0(&text),
        tokens: 0,
    };
    item.tokens = render::tokens(&bullet(&item));
    Ok(item)
}

fn bullet(item: &BundleItem) -> String {
    format!("- {} — {}\n", item.uri, item.text)
}

fn footer(bundle: &Bundle, tokens: u32, trimmed: u32) -> String {
    format!("root {} size {}; {tokens} tokens; {trimmed} left out\n", bundle.root, bundle.size)
}

/// What is said where rules are missing.
fn rules_note(missing: u32) -> String {
    let them = if missing == 1 { "rule" } else { "rules" };
    format!("({missing} more {them} did not fit; `cortex find --type constraint` lists them)\n")
}

/// Writes the sections that hold something, in their order, then the footer.
fn write(bundle: &mut Bundle, mut left: usize) {
    let mut text = String::new();
    for section in Section::ALL {
        let bullets: String =
            bundle.items().filter(|item| item.section == section).map(bullet).collect();
        let missing = if section == Section::Rules { bundle.rules_missing } else { 0 };
        if bullets.is_empty() && missing == 0 {
            // The tier is empty, so the tokens set aside for its heading are free again.
            if matches!(section, Section::Tier(_)) {
                left += section.heading().len() + 1;
            }
            continue;
        }
        text.push_str(section.heading());
        text.push_str(&bullets);
        if missing > 0 {
            text.push_str(&rules_note(missing));
        }
        text.push('\n');
    }
    let mut more = String::new();
    for uri in &bundle.overflow {
        let line = format!("- {uri}\n");
        if MORE_HEADING.len() + more.len() + line.len() + 1 > left {
            break;
        }
        more.push_str(&line);
    }
    if !more.is_empty() {
        text.push_str(MORE_HEADING);
        text.push_str(&more);
        text.push('\n');
    }
    bundle.tokens = render::tokens(&text);
    text.push_str(&footer(bundle, bundle.tokens, bundle.trimmed));
    bundle.digest = Digest::of("cortex/bundle/1", &[text.as_bytes()]);
    bundle.text = text;
}
