//! What is remembered of an output: where it is, what it says, and what it is about.
//!
//! The same output written anew is a new version of the same memory, found by its topic key.

use exec::think::Output;
use kernel::Digest;
use kernel::limits::CONTENT_BYTES_MAX;
use serde_json::{Value, json};

use crate::ops::save::SaveRequest;

/// The memory of an output with these words.
pub(crate) fn memory_of(output: &Output, text: &str) -> SaveRequest {
    let mut about = vec![output.title.clone(), output.day.to_string()];
    about.extend(output.segment.map(|segment| segment.to_string()));
    about.extend(output.facet.as_ref().map(|facet| format!("({facet})")));
    let place = [
        Some(output.day.to_string()),
        output.segment.map(|segment| segment.to_string()),
        output.facet.as_ref().map(ToString::to_string),
        Some(output.talent.to_string()),
    ];
    let place: Vec<String> = place.into_iter().flatten().collect();
    let json_output = output.path.ends_with(".json");
    let fields: [(&str, Value); 4] = [
        ("uri", json!(output.path)),
        ("digest", json!(Digest::of("cortex/output/1", &[text.as_bytes()]).to_string())),
        ("media_type", json!(if json_output { "application/json" } else { "text/markdown" })),
        ("size", json!(text.len())),
    ];
    SaveRequest {
        title: about.join(" "),
        content: bounded(text, &output.path),
        kind: Some("document".to_owned()),
        memory_type: Some("ArtifactRef".to_owned()),
        project: output.facet.as_ref().map(ToString::to_string),
        topic_key: Some(topic_key(&place)),
        source: Some("derived".to_owned()),
        origin: Some(format!("talent-run/{}", output.use_id)),
        tags: vec!["output".to_owned(), output.talent.to_string()],
        fields: fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect(),
        ..SaveRequest::default()
    }
}

/// A key may be shorter than a facet and a talent with long names together.
fn topic_key(place: &[String]) -> String {
    let key = format!("chronicle/{}", place.join("/"));
    if key.len() <= kernel::limits::TOPIC_KEY_BYTES_MAX {
        return key;
    }
    let digest = Digest::of("cortex/output-key/1", &[key.as_bytes()]).to_string();
    format!("chronicle/{}/{}", place[0], &digest[..32])
}

/// What fits, and where the rest is.
fn bounded(text: &str, path: &str) -> String {
    // Redaction may make a text a little longer.
    let room = CONTENT_BYTES_MAX - CONTENT_BYTES_MAX / 8;
    if text.len() <= room {
        return text.to_owned();
    }
    let mut end = room;
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    format!("{}\n\n(the first {end} of {} bytes; all of it is in {path})", &text[..end], text.len())
}

#[cfg(test)]
mod tests {
    use exec::{Day, Facet, TalentName};

    use super::*;

    // execution 9.15
    #[test]
    fn an_output_is_one_memory_however_often_it_is_written() {
        let output = |facet: &str| Output {
            path: "chronicle/20260102/talents/brief.md".into(),
            use_id: "17".into(),
            talent: TalentName::parse("brief").unwrap(),
            title: "Brief".into(),
            day: Day::parse("20260102").unwrap(),
            segment: None,
            facet: Facet::parse(facet).ok(),
        };
        let first = memory_of(&output("web"), "one");
        assert_eq!(first.title, "Brief 20260102 (web)");
        assert_eq!(first.topic_key.as_deref(), Some("chronicle/20260102/web/brief"));
        assert_eq!(first.topic_key, memory_of(&output("web"), "two").topic_key);
        assert_ne!(first.topic_key, memory_of(&output("other"), "one").topic_key);
        let long = memory_of(&output(&"w".repeat(64)), &"x".repeat(2 * CONTENT_BYTES_MAX));
        assert!(long.content.len() <= CONTENT_BYTES_MAX);
        assert!(long.content.ends_with("chronicle/20260102/talents/brief.md)"));
    }
}
