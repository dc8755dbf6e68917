//! What of the gathered memories fits the budget, and the text made of it.

use std::cmp::Reverse;

use proof::Digest;
use proof::actor::ActorName;
use proof::memory::MemoryId;

use super::gather::Candidate;
use super::{Bundle, BundleItem, ContextQuery, OVERFLOW_MAX, Tier};
use crate::error::{Error, Result};
use crate::render::{self, Form};
use crate::rows::{MemoryReader, Standing};
use crate::uri::Uri;

/// Percent of the budget that each tier may fill before the others.
const SHARES: [usize; 3] = [30, 50, 20];
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
    let budget = query.budget_tokens as usize * BYTES_PER_TOKEN;
    // The tokens of the headings and of the longest footer are set aside first.
    let frame = Tier::ALL.iter().map(|tier| tier.heading().len() + 1).sum::<usize>()
        + footer(bundle, u32::MAX, u32::MAX).len();
    let mut items = Vec::with_capacity(candidates.len());
    for candidate in candidates {
        items.push(item(memories, actor, query.form, candidate)?);
    }
    let sizes: Vec<usize> = items.iter().map(|item| bullet(item).len()).collect();
    let musts: usize = (0..items.len()).filter(|i| candidates[*i].must).map(|i| sizes[i]).sum();
    if frame + musts > budget {
        return Err(Error::BudgetUnreachable {
            needed: ((frame + musts).div_ceil(BYTES_PER_TOKEN)) as u64,
            budget: query.budget_tokens.into(),
        });
    }
    let room = budget - frame;
    let mut left = room - musts;
    let mut chosen: Vec<bool> = candidates.iter().map(|candidate| candidate.must).collect();
    for (tier, share) in Tier::ALL.into_iter().zip(SHARES) {
        let mut own = room * share / 100;
        if tier == Tier::Pinned {
            own = own.saturating_sub(musts);
        }
        own = own.min(left);
        for i in (0..items.len()).filter(|i| candidates[*i].tier == tier) {
            let size = sizes[i];
            if !chosen[i] && size <= own {
                (own, left, chosen[i]) = (own - size, left - size, true);
            }
        }
    }
    // What is left over goes to the best of the rest; what still does not fit is listed in the same order.
    let mut rest: Vec<usize> = (0..items.len()).filter(|i| !chosen[*i]).collect();
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
    rest.retain(|i| {
        let size = sizes[*i];
        if size <= left {
            (left, chosen[*i]) = (left - size, true);
        }
        !chosen[*i]
    });
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
        text: labels.concat() + &text,
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

/// Writes the sections that hold something, in their order, then the footer.
fn write(bundle: &mut Bundle, mut left: usize) {
    let mut text = String::new();
    let tiers = [&bundle.pinned, &bundle.relevant, &bundle.outcomes];
    for (tier, items) in Tier::ALL.into_iter().zip(tiers) {
        if items.is_empty() {
            // The tier is empty, so the tokens set aside for its heading are free again.
            left += tier.heading().len() + 1;
            continue;
        }
        text.push_str(tier.heading());
        text.extend(items.iter().map(bullet));
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
