//! What agents take for structure, and the smallest change after which they do not.
//!
//! Inside a line the bracket is written as what it stands for (`&lt;system>`), and at the start of a line a `> ` says
//! that the line is quoted. Both leave the words as they are, and neither can be changed again: `&` and `>` begin
//! nothing that is looked for here.
//!
//! What must stay true: names are compared whole, so `<systemd>`, `<div>`, `Vec<T>` and `a < system` stay; what is
//! looked at behind a bracket is bounded, so the work is proportional to the text.

use std::ops::Range;

/// Characters of a name between brackets that are looked at; none that counts is longer.
const NAME_CHARS_MAX: usize = 40;
/// Spaces between a bracket and the name.
const GAP_CHARS_MAX: usize = 8;

/// Elements in which agents keep what is not the user's: the words of the system, tools and their results, thoughts,
/// turns, what hooks said. In lower case, with `_` for `-`.
const ELEMENTS: &[&str] = &[
    "additional_context",
    "antthinking",
    "assistant",
    "available_tools",
    "bash_input",
    "bash_stderr",
    "bash_stdout",
    "bos",
    "collaboration_mode",
    "command_args",
    "command_contents",
    "command_message",
    "command_name",
    "developer",
    "developer_instructions",
    "developer_message",
    "end_of_turn",
    "endoftext",
    "environment_context",
    "environment_details",
    "eos",
    "eot",
    "function",
    "function_call",
    "function_calls",
    "function_output",
    "function_response",
    "function_result",
    "function_results",
    "functions",
    "human",
    "ide_diagnostics",
    "ide_opened_file",
    "ide_selection",
    "im_end",
    "im_start",
    "inst",
    "instructions",
    "invoke",
    "local_command_caveat",
    "local_command_stderr",
    "local_command_stdout",
    "new_diagnostics",
    "permissions_instructions",
    "persisted_output",
    "scratchpad",
    "session_start_hook",
    "skill",
    "start_of_turn",
    "subagent_notification",
    "sys",
    "system",
    "system_instruction",
    "system_instructions",
    "system_message",
    "system_notification",
    "system_prompt",
    "system_reminder",
    "system_warning",
    "task_notification",
    "think",
    "thinking",
    "token_budget",
    "tool_call",
    "tool_calls",
    "tool_output",
    "tool_response",
    "tool_result",
    "tool_results",
    "tool_use",
    "tool_use_error",
    "tool_uses",
    "turn_aborted",
    "user_instructions",
    "user_message",
    "user_prompt_submit_hook",
    "user_query",
];

/// Elements that only matter where they end: `<user>` is also what people write for a name that is to be filled in.
const ENDS: &[&str] = &["conversation", "memories", "transcript", "user"];

/// Words between square brackets that some models were trained to read as turns. They are these letters exactly.
const BRACKETED: &[&str] =
    &["AVAILABLE_TOOLS", "INST", "SYSTEM_PROMPT", "TOOL_CALLS", "TOOL_CONTENT", "TOOL_RESULTS"];

/// Who speaks, where a line begins with it and a colon. `system:` and `user:` are keys of many settings and stay.
const ROLES: &[&str] = &[
    "ASSISTANT",
    "Assistant",
    "DEVELOPER",
    "Developer",
    "HUMAN",
    "Human",
    "SYSTEM",
    "System",
    "USER",
    "User",
    "assistant",
    "human",
];

/// Headings of our own texts, in lower case.
const HEADINGS: &[&str] = &[
    "active goals",
    "decisions",
    "identity",
    "memory bulletin",
    "more",
    "outcomes",
    "patterns",
    "pinned",
    "preferences",
    "proposed rules",
    "proposed rules (not confirmed by a person)",
    "recent activity",
    "recent observations",
    "recent prompts",
    "recent sessions",
    "relevant",
    "rules",
    "worth knowing",
];

/// What our own rules between memories begin with.
const DIVIDERS: &[&str] = &["--- after", "--- before", "--- end of memory", "--- memory", ">>> #"];

/// A text of many lines.
pub(super) fn neutral_lines(text: &str) -> String {
    let mut result = String::with_capacity(text.len() + text.len() / 16);
    let mut start = 0;
    for line in text.split('\n') {
        if start > 0 {
            result.push('\n');
        }
        if begins_structure(line) {
            result.push_str("> ");
        }
        let end = start + line.len();
        inside(text, start..end, &mut result);
        start = end + 1;
    }
    result
}

/// A text inside a line of ours.
pub(super) fn neutral_line(text: &str) -> String {
    let mut result = String::with_capacity(text.len() + text.len() / 16);
    inside(text, 0..text.len(), &mut result);
    result
}

/// One line of a text. A name may stand on the line after its bracket: where lines are joined it is an element.
fn inside(text: &str, line: Range<usize>, result: &mut String) {
    let mut from = line.start;
    for (place, c) in text[line.clone()].char_indices() {
        let at = line.start + place;
        let behind = &text[at + c.len_utf8()..];
        let escaped = match c {
            '<' | '＜' | '﹤' if opens_element(behind) => "&lt;",
            '[' | '［' if opens_bracketed(behind) => "&#91;",
            _ => continue,
        };
        result.push_str(&text[from..at]);
        result.push_str(escaped);
        from = at + c.len_utf8();
    }
    result.push_str(&text[from..line.end]);
}

/// Letters that look like those of names: a model reads both as the same word.
const LOOKALIKES: &[(&str, &str)] = &[
    ("асеһіјкӏморԛѕтѵԝухԁь", "acehijklmopqstvwyxdb"),
    ("АВСЕНІЈКМОРЅТХУԜ", "ABCEHIJKMOPSTXYW"),
    ("αεικνορτυ", "aeiknoptu"),
    ("ΑΒΕΖΗΙΚΜΝΟΡΤΥΧ", "ABEZHIKMNOPTYX"),
    ("ıſ", "is"),
];

/// What is compared: signs above and below letters are left out, and look-alikes are the letter they look like.
fn read_as(text: &str) -> impl Iterator<Item = char> {
    text.chars()
        .filter(|c| !matches!(c, '\u{300}'..='\u{36f}' | '\u{20d0}'..='\u{20ef}'))
        .map(letter)
}

fn letter(c: char) -> char {
    let code = u32::from(c);
    let of = |first: char, n: u32| char::from_u32(u32::from(first) + n).unwrap_or(c);
    match c {
        _ if c.is_ascii() => c,
        // Of full width.
        '\u{ff01}'..='\u{ff5e}' => of('!', code - 0xff01),
        '﹥' => '>',
        '꞉' | '∶' | '︰' | '﹕' => ':',
        // Bold, italic, script and other faces of mathematics: 26 large ones, then 26 small ones.
        '\u{1d400}'..='\u{1d6a3}' => match (code - 0x1_d400) % 52 {
            n @ ..26 => of('A', n),
            n => of('a', n - 26),
        },
        'ⓐ'..='ⓩ' => of('a', code - u32::from('ⓐ')),
        'Ⓐ'..='Ⓩ' => of('A', code - u32::from('Ⓐ')),
        _ => {
            let found = LOOKALIKES.iter().find_map(|(theirs, ours)| {
                theirs.chars().zip(ours.chars()).find(|(theirs, _)| *theirs == c)
            });
            found.map_or(c, |(_, ours)| ours)
        }
    }
}

/// What stands behind a `<`: an element that agents know, or a token such as `|im_start|`.
fn opens_element(behind: &str) -> bool {
    let mut rest = read_as(behind).peekable();
    if rest.next_if_eq(&'|').is_some() {
        return closes_token(rest);
    }
    let mut gap = 0;
    let mut is_end = false;
    while let Some(c) = rest.next_if(|c| c.is_whitespace() || *c == '/') {
        is_end |= c == '/';
        gap += usize::from(c != '/');
        if gap > GAP_CHARS_MAX {
            return false;
        }
    }
    let mut name = String::new();
    while let Some(c) = rest.next_if(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | ':'))
    {
        if name.len() >= NAME_CHARS_MAX {
            return false;
        }
        name.push(if c == '-' { '_' } else { c.to_ascii_lowercase() });
    }
    // A comparison has spaces, too: then only what is closed at once is an element.
    if gap > 0 && rest.find(|c| !c.is_whitespace() && *c != '/') != Some('>') {
        return false;
    }
    if name.starts_with("antml:") {
        return true;
    }
    let name = name.rsplit(':').next().unwrap_or_default();
    ELEMENTS.binary_search(&name).is_ok() || is_end && ENDS.binary_search(&name).is_ok()
}

/// A token of a chat format: one word between bars.
fn closes_token(rest: impl Iterator<Item = char>) -> bool {
    let mut letters = 0;
    for c in rest.take(NAME_CHARS_MAX + 1) {
        match c {
            '|' => return letters > 0,
            '_' | '-' | '/' | '▁' => letters += 1,
            _ if c.is_alphanumeric() => letters += 1,
            _ => return false,
        }
    }
    false
}

fn opens_bracketed(behind: &str) -> bool {
    let name: String = read_as(behind)
        .take(NAME_CHARS_MAX)
        .take_while(|c| c.is_ascii_uppercase() || matches!(c, '_' | '/'))
        .collect();
    let closed = read_as(behind).nth(name.len()) == Some(']');
    closed && BRACKETED.binary_search(&name.trim_start_matches('/')).is_ok()
}

/// A line that would begin a turn, a section or a quotation of ours.
fn begins_structure(line: &str) -> bool {
    let line = line.trim_start();
    match read_as(line).next() {
        Some('#') => is_own_heading(line),
        Some('-' | '>') => DIVIDERS.iter().any(|divider| begins_with(line, divider)),
        Some(_) => names_role(line),
        None => false,
    }
}

fn begins_with(line: &str, start: &str) -> bool {
    line.get(..start.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(start))
}

fn is_own_heading(line: &str) -> bool {
    let line: String = read_as(line).collect();
    let title = line.trim_start_matches('#');
    if !title.starts_with(char::is_whitespace) {
        return false;
    }
    let title = title.trim().to_ascii_lowercase();
    // Behind it may stand anything but another word: a text on one line goes on behind its heading.
    HEADINGS.iter().any(|own| {
        let rest = title.strip_prefix(own);
        rest.is_some_and(|rest| !rest.trim_start().starts_with(char::is_alphanumeric))
    })
}

/// `Human:`, `**System**:`, `[ASSISTANT]`: a turn of somebody else begins.
fn names_role(line: &str) -> bool {
    let is_mark = |c: char| matches!(c, '*' | '_');
    let line = line.trim_start_matches(is_mark);
    let bracketed = line.starts_with('[');
    let line = line.trim_start_matches('[');
    let word: String =
        read_as(line).take(NAME_CHARS_MAX).take_while(char::is_ascii_alphabetic).collect();
    if ROLES.binary_search(&word.as_str()).is_err() {
        return false;
    }
    let mut behind = read_as(line).skip(word.len());
    match behind.find(|c| !is_mark(*c) && !c.is_whitespace()) {
        Some(':') => true,
        Some(']') => bracketed,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lists_are_sorted_so_that_they_can_be_searched() {
        for list in [ELEMENTS, ENDS, BRACKETED, ROLES] {
            assert!(list.is_sorted(), "{list:?}");
        }
        assert!(ELEMENTS.iter().all(|name| name.len() < NAME_CHARS_MAX));
        assert!(LOOKALIKES.iter().all(|(a, b)| a.chars().count() == b.chars().count()));
    }
}
