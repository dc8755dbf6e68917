//! The words that hooks add to a conversation: short, and facts rather than orders.

use proof::memory::Millis;

use crate::hooks::event::Start;

/// What memory is for, in the words of the plugin's skill.
const PROTOCOL: &str = "\
Cortex keeps a memory for this project that outlives this session. mem_search and mem_context find earlier decisions, \
fixes \
and preferences; mem_save keeps new ones (what, why, where, learned) as soon as they are made; mem_session_summary \
records \
goal, discoveries, results and next steps before the work ends. Sub-agents leave the session and its summary to the \
main agent.";

/// Said after the agent summarised its conversation.
const AFTER_COMPACTION: &str = "\
The conversation was just compacted. What the summary above holds is not in memory until mem_session_summary keeps it; \
what \
it leaves out may be found with mem_context and mem_search.";

/// How long a session may go on without a save before its agent hears of it.
const UNSAVED_MS: i64 = 15 * 60_000;
/// After so long it was left alone rather than worked in.
const LEFT_MS: i64 = 4 * 60 * 60_000;

/// A reminder for an agent that has kept nothing for long; none if it did, or has only begun.
pub fn reminder(now: Millis, started: Millis, last_saved: Option<Millis>) -> Option<String> {
    let since = last_saved.unwrap_or(started);
    let unsaved = now.get().saturating_sub(since.get());
    (UNSAVED_MS..LEFT_MS).contains(&unsaved).then(|| {
        let minutes = unsaved / 60_000;
        format!(
            "Nothing was saved to memory in the last {minutes} minutes of this session. mem_save keeps decisions, \
             fixes and \
             discoveries made since then."
        )
    })
}

/// The text for the start of a session: the protocol, and what memory found, if anything.
pub fn session_text(start: Start, found: Option<&str>) -> String {
    let mut parts = vec![PROTOCOL];
    if start == Start::Compacted {
        parts.push(AFTER_COMPACTION);
    }
    parts.extend(found.map(str::trim).filter(|found| !found.is_empty()));
    parts.join("\n\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_agent_hears_of_a_quarter_of_an_hour_without_a_save() {
        let minute = |n: i64| Millis(n * 60_000);
        assert_eq!(reminder(minute(14), minute(0), None), None);
        assert!(reminder(minute(15), minute(0), None).unwrap().contains("last 15 minutes"));
        assert_eq!(reminder(minute(20), minute(0), Some(minute(6))), None);
        assert!(reminder(minute(21), minute(0), Some(minute(6))).is_some());
        assert_eq!(reminder(minute(1_000), minute(0), Some(minute(6))), None, "after a night");
    }
}
