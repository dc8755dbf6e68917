//! What talents wrote, put into the memory: one memory per output, which a refresh updates.
//!
//! The file stays where it is; the memory holds its text as it was, its digest and where it is. Its topic key says what
//! it is an output of, so the same output is never there twice.

use std::path::Path;

use api::save::{SaveAnswer, SaveRequest};
use api::session::SessionEndRequest;
use api::{Error, ErrorCode, Fault, Result};
use serde_json::{Map, Value, json};
use sha2::{Digest as _, Sha256};
use talents::think::UnitOutput;

use crate::talents_host::memory::MemoryHandle;

/// What is kept of an output; the rest stays in the file, and the memory says so.
const TEXT_BYTES_MAX: usize = 256 * 1024;
/// An output is text; what is larger is something else.
const FILE_BYTES_MAX: u64 = 16 * 1024 * 1024;

pub async fn index(memory: &MemoryHandle, home: &Path, output: &UnitOutput) -> Result<SaveAnswer> {
    let path = Path::new(&output.path);
    let request = request(home, path, output)?;
    let by = output.talent.as_str();
    let session = request.session_id.clone().unwrap_or_default();
    let saved = memory.ask(by, request).await?;
    // A session that stays open would take in what others save later.
    match memory.ask(by, SessionEndRequest { id: session, summary: None }).await {
        Ok(_) => Ok(saved),
        Err(error) if matches!(error.fault, Fault::Missing | Fault::Conflict) => Ok(saved),
        Err(error) => Err(error),
    }
}

fn request(home: &Path, path: &Path, output: &UnitOutput) -> Result<SaveRequest> {
    let failed = |error: std::io::Error| {
        Error::new(ErrorCode::Io, Fault::Server, format!("{}: {error}", path.display()))
    };
    let size = std::fs::metadata(path).map_err(failed)?.len();
    if size > FILE_BYTES_MAX {
        let message = format!("{}: larger than {FILE_BYTES_MAX} bytes", path.display());
        return Err(Error::new(ErrorCode::TooLarge, Fault::Caller, message));
    }
    let bytes = std::fs::read(path).map_err(failed)?;
    let digest = Sha256::digest(&bytes).iter().fold(String::new(), |mut hex, byte| {
        use std::fmt::Write as _;
        // Writing to a text does not fail.
        // Writing to a text cannot fail.
        let _ = write!(hex, "{byte:02x}");
        hex
    });
    let text = String::from_utf8_lossy(&bytes);
    let mut content = text.trim().to_owned();
    let place = path.strip_prefix(home).unwrap_or(path).display().to_string();
    if content.len() > TEXT_BYTES_MAX {
        content.truncate(content.floor_char_boundary(TEXT_BYTES_MAX));
        content.push_str("\n\n(The rest is in ");
        content.push_str(&place);
        content.push(')');
    }
    let is_json = path.extension().is_some_and(|ending| ending == "json");
    let fields: Map<String, Value> = [
        ("uri", json!(place)),
        ("digest", json!(format!("sha256:{digest}"))),
        ("media_type", json!(if is_json { "application/json" } else { "text/markdown" })),
        ("size", json!(bytes.len())),
    ]
    .map(|(key, value)| (key.to_owned(), value))
    .into_iter()
    .collect();
    Ok(SaveRequest {
        title: title(output),
        content,
        kind: Some("document".to_owned()),
        project: output.facet.as_ref().map(ToString::to_string),
        topic_key: Some(topic_key(output)),
        // One for the day: what was written about a day belongs together.
        session_id: Some(format!("chronicle-{}", output.day)),
        channel: Some("chronicle".to_owned()),
        tags: vec!["chronicle".to_owned(), output.talent.to_string()],
        source: Some("derived".to_owned()),
        origin: Some(format!("talent-run/{}", output.use_id)),
        fields,
        ..SaveRequest::default()
    })
}

/// Day, segment, facet, talent, as far as there are; the save shortens what is too long.
fn topic_key(output: &UnitOutput) -> String {
    let parts = [
        Some(output.day.to_string()),
        output.segment.map(|segment| segment.to_string()),
        output.facet.as_ref().map(ToString::to_string),
        Some(output.talent.to_string()),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    format!("chronicle/{}", parts.join("/"))
}

/// `Daily brief, 2025-01-09`, with the time of a segment and the facet.
fn title(output: &UnitOutput) -> String {
    let mut title = format!("{}, {}", output.title, output.day.date());
    if let Some(segment) = output.segment {
        let (from, to) = (segment.start(), segment.end());
        title = format!("{title} {}-{}", from.strftime("%H:%M"), to.strftime("%H:%M"));
    }
    match &output.facet {
        Some(facet) => format!("{title} ({facet})"),
        None => title,
    }
}

#[cfg(test)]
mod tests {
    use talents::{Day, Facet, Layout, Segment, TalentName};

    use super::*;
    use api::DEFAULT_ACTOR;
    use api::save::SaveStatus;
    use client::place::DaemonPlace;
    use service::Caller;

    // execution R117, R121
    #[tokio::test]
    async fn an_output_is_one_memory_however_often_it_is_written() {
        let dir = tempfile::tempdir().unwrap();
        let actor = kernel::actor::ActorName::parse(DEFAULT_ACTOR).unwrap();
        let memory = MemoryHandle::new(
            DaemonPlace::new(dir.path()),
            Caller::new(actor, "test"),
            std::collections::BTreeMap::default(),
            std::collections::BTreeMap::default(),
            std::time::Duration::from_secs(5),
        );
        let (day, segment) =
            (Day::parse("20250109").unwrap(), Segment::parse("120000_300").unwrap());
        let path = Layout::new(dir.path()).segment(day, segment).join("work").join("activity.md");
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        let output = UnitOutput {
            path: path.display().to_string(),
            use_id: "1".into(),
            talent: TalentName::parse("activity").unwrap(),
            title: "Activity".into(),
            day,
            segment: Some(segment),
            facet: Some(Facet::parse("work").unwrap()),
        };
        assert_eq!(index(&memory, dir.path(), &output).await.unwrap_err().code, api::ErrorCode::Io);
        std::fs::write(&path, "# Morning\n\nWe chose redb.\n").unwrap();
        let first = index(&memory, dir.path(), &output).await.unwrap();
        assert_eq!(
            (first.status, first.memory_type.as_str()),
            (SaveStatus::Created, "ArtifactRef")
        );
        assert_eq!(first.title, "Activity, 2025-01-09 12:00-12:05 (work)");
        assert_eq!(first.topic_key, "chronicle/20250109/120000_300/work/activity");
        assert_eq!(
            (first.project.as_str(), first.session_id.as_str()),
            ("work", "chronicle-20250109")
        );
        std::fs::write(&path, "# Morning\n\nWe chose redb, and why.\n").unwrap();
        let second = index(&memory, dir.path(), &output).await.unwrap();
        assert_eq!((second.id, second.version, second.status), (first.id, 2, SaveStatus::Updated));
    }
}
