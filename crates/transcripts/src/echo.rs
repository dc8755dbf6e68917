//! Cortex never reads back what it said itself.
//!
//! Whatever Cortex gives to an agent stands between two marker lines with the digest of the text; [`unframe`] takes
//! it out again wherever an agent stored it. What must stay true: text cannot end its own frame, because the closing
//! line has the digest of the text.

use std::borrow::Cow;
use std::sync::LazyLock;

use memchr::memmem::Finder;

use crate::digests;

const OPEN: &str = "[cortex recalls ";
const CLOSE: &str = "[cortex recalled ";

/// Every text is asked for it, and hardly one has it.
static FIND_OPEN: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(OPEN));

/// The text between its marker lines.
pub fn frame(text: &str) -> String {
    let digest = digests::hex(&digests::of(&[b"frame", text.as_bytes()])[..8]);
    format!("{OPEN}{digest}]\n{text}\n{CLOSE}{digest}]")
}

/// The text without everything that [`frame`] framed; a frame that is not closed reaches to the end.
pub(crate) fn unframe(text: &str) -> Option<Cow<'_, str>> {
    let mut at = FIND_OPEN.find(text.as_bytes())?;
    let (mut kept, mut from) = (String::new(), 0);
    loop {
        kept.push_str(&text[from..at]);
        let inside = &text[at + OPEN.len()..];
        let Some((digest, _)) = inside.split_once(']') else { break };
        let close = format!("{CLOSE}{digest}]");
        let Some(end) = inside.find(&close) else { break };
        from = at + OPEN.len() + end + close.len();
        match text[from..].find(OPEN) {
            Some(next) => at = from + next,
            None => {
                kept.push_str(&text[from..]);
                break;
            }
        }
    }
    Some(Cow::Owned(kept))
}

/// Whether a tool is one of ours, by the names that agents give to tools of servers.
pub(crate) fn is_own_tool(name: &str) -> bool {
    let bare = name.rsplit("__").next().unwrap_or(name);
    let bare = bare.rsplit(['.', '/', ':']).next().unwrap_or(bare);
    let of_server = name.starts_with("mcp__cortex")
        || name.starts_with("cortex_")
        || name.starts_with("cortex__");
    of_server || bare.starts_with("mem_") || bare.starts_with("past_")
}

/// Whether a command line asks Cortex something, so that its output is ours.
pub(crate) fn is_own_command(line: &str) -> bool {
    line.split(['|', ';', '&', '\n']).any(|part| {
        let mut words =
            part.split_whitespace().skip_while(|word| word.contains('=') || *word == "sudo");
        words.next().is_some_and(|word| word == "cortex" || word.ends_with("/cortex"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    // past 40
    #[test]
    fn framed_text_is_taken_out_and_cannot_end_its_frame() {
        let framed = frame("We chose redb.");
        assert_eq!(unframe("nothing"), None);
        assert_eq!(unframe(&format!("a {framed} b")).unwrap(), "a  b");
        let inner = frame(&framed);
        assert_eq!(unframe(&format!("{inner}{framed}c")).unwrap(), "c");
        assert_eq!(unframe(&framed[..framed.len() - 3]).unwrap(), "");
    }

    #[test]
    fn our_tools_and_commands_are_known() {
        for name in [
            "mem_search",
            "mcp__cortex__mem_save",
            "past_show",
            "cortex.mem_get",
            "mcp__memory__mem_find",
        ] {
            assert!(is_own_tool(name), "{name}");
        }
        for name in ["Bash", "memory", "shell", "mcp__github__search"] {
            assert!(!is_own_tool(name), "{name}");
        }
        assert!(is_own_command("A=1 cortex search x"));
        assert!(is_own_command("cd a && /usr/bin/cortex past"));
        assert!(!is_own_command("cargo test -p cortex"));
    }
}
