//! The words that hooks add to a conversation: short, and facts rather than orders.

use super::event::Start;

/// What memory is for, in the words of the plugin's skill.
const PROTOCOL: &str = "\
Cortex keeps a memory for this project that outlives this session. mem_search and mem_context find earlier decisions, fixes \
and preferences; mem_save keeps new ones (what, why, where, learned) as soon as they are made; mem_session_summary records \
goal, discoveries, results and next steps before the work ends. Sub-agents leave the session and its summary to the main agent.";

/// Said after the agent summarised its conversation.
const AFTER_COMPACTION: &str = "\
The conversation was just compacted. What the summary above holds is not in memory until mem_session_summary keeps it; what \
it leaves out may be found with mem_context and mem_search.";

/// The text for the start of a session: the protocol, and what memory found, if anything.
pub(crate) fn session_text(start: Start, found: Option<&str>) -> String {
    let mut parts = vec![PROTOCOL];
    if start == Start::Compacted {
        parts.push(AFTER_COMPACTION);
    }
    parts.extend(found.map(str::trim).filter(|found| !found.is_empty()));
    parts.join("\n\n")
}
