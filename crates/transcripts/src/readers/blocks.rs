//! Messages of blocks, as several agents keep them in the form of their provider: texts, calls of tools, results.

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::cleaner::{Cleaner, RecordPlace};
use crate::json::{JsonContent, JsonFlag, JsonText};
use crate::tools;

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct MessageBlock<'a> {
    #[serde(borrow, rename = "type")]
    pub(super) kind: JsonText<'a>,
    #[serde(borrow)]
    pub(super) text: JsonText<'a>,
    #[serde(borrow)]
    pub(super) id: JsonText<'a>,
    #[serde(borrow)]
    pub(super) name: JsonText<'a>,
    #[serde(borrow, alias = "arguments")]
    pub(super) input: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) tool_use_id: JsonText<'a>,
    #[serde(borrow)]
    pub(super) content: JsonContent<'a, TextPart<'a>>,
    pub(super) is_error: JsonFlag,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct TextPart<'a> {
    #[serde(borrow)]
    pub(super) text: JsonText<'a>,
}

/// The texts of some parts, one after the other.
pub(super) fn joined(content: &JsonContent<'_, TextPart<'_>>) -> String {
    match content {
        JsonContent::Text(text) => text.to_string(),
        JsonContent::Blocks(parts) => {
            let texts = parts.iter().map(|part| part.text.as_str()).filter(|text| !text.is_empty());
            texts.collect::<Vec<_>>().join("\n")
        }
    }
}

/// The texts of the blocks of a message; none if it has none.
pub(super) fn spoken(content: &JsonContent<'_, MessageBlock<'_>>) -> Option<String> {
    let text = match content {
        JsonContent::Text(text) => text.to_string(),
        JsonContent::Blocks(blocks) => {
            let texts = blocks.iter().filter(|block| block.kind.as_str() == "text");
            texts.map(|block| block.text.as_str()).collect::<Vec<_>>().join("\n")
        }
    };
    Some(text).filter(|text| !text.trim().is_empty())
}

/// The calls and results among the blocks of a message, in order.
pub(super) fn deeds(
    content: &JsonContent<'_, MessageBlock<'_>>,
    at: Option<i64>,
    out: &mut Cleaner<'_>,
) {
    let JsonContent::Blocks(blocks) = content else { return };
    for block in blocks {
        match block.kind.as_str() {
            "tool_use" | "toolCall" | "server_tool_use" => {
                let place = RecordPlace { native: block.id.some(), at };
                let input = block.input.map_or("", RawValue::get);
                tools::call(out, place, block.name.as_str(), input);
            }
            "tool_result" => {
                let place = RecordPlace { native: block.tool_use_id.some(), at };
                out.output(place, &joined(&block.content), block.is_error.0, None);
            }
            _ => {}
        }
    }
}
