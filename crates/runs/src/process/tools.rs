//! The tools that read facets and the chronicle. `hand_over` stands here too, and is answered by the loop of the run.

use std::fs;
use std::sync::Arc;

use serde_json::{Value, json};

use super::handover::HAND_OVER;
use super::toolbox::{ToolAnswer, ToolError, ToolScene, Toolbox};
use llm::providers::{BoxFuture, ToolSpec};
use talents::chronicle::{
    ChronicleEntryKind, RenderScope, entries, output_path, read_facet, render, segment_facets,
    segments,
};
use talents::layout::Layout;
use talents::names::{Day, Facet, Segment, TalentName};
use talents::talent_files::{Load, OutputFormat, TalentCatalog, Want};

/// What one call gives back; the rest can be asked for.
const TEXT_BYTES_MAX: usize = 60_000;

#[derive(Clone)]
pub struct ChronicleTools {
    layout: Layout,
    catalog: Arc<TalentCatalog>,
}

impl std::fmt::Debug for ChronicleTools {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ChronicleTools").field("layout", &self.layout).finish_non_exhaustive()
    }
}

type AnsweredCall = Result<Value, ToolError>;

impl ChronicleTools {
    pub fn new(layout: Layout, catalog: Arc<TalentCatalog>) -> ChronicleTools {
        ChronicleTools { layout, catalog }
    }

    fn answer(&self, scene: &ToolScene, name: &str, args: &Value) -> AnsweredCall {
        match name {
            "get_facet" => self.get_facet(scene, args),
            "list_segments" => self.list_segments(scene, args),
            "read_segment" => self.read_segment(scene, args),
            "read_output" => self.read_output(scene, args),
            _ => Err(ToolError::new(format!("there is no tool {name:?}"))),
        }
    }

    fn get_facet(&self, scene: &ToolScene, args: &Value) -> AnsweredCall {
        let given = args["name"].as_str().or(args["facet_name"].as_str());
        let facet = match (given, &scene.facet) {
            (Some(text), _) => Facet::parse(text).map_err(told)?,
            (None, Some(facet)) => facet.clone(),
            (None, None) => return Err(ToolError::new("\"name\" is missing")),
        };
        let file = read_facet(&self.layout, &facet).map_err(told)?;
        Ok(json!({
            "facet": facet.as_str(),
            "title": file.title,
            "description": file.description,
            "muted": file.muted,
            "summary": format!("{}: {}", file.title, file.description),
            "more": file.rest,
        }))
    }

    fn list_segments(&self, scene: &ToolScene, args: &Value) -> AnsweredCall {
        let day = day_of(scene, args)?;
        let mut list = Vec::new();
        for segment in segments(&self.layout, day).map_err(told)? {
            let files = self.files(day, Some(segment))?;
            let facets: Vec<Value> = segment_facets(&self.layout, day, segment)
                .0
                .into_iter()
                .map(|activity| json!({"facet": activity.facet, "activity": activity.activity}))
                .collect();
            list.push(json!({
                "segment": segment.to_string(),
                "from": segment.start().strftime("%H:%M").to_string(),
                "to": segment.end().strftime("%H:%M").to_string(),
                "files": files,
                "facets": facets,
            }));
        }
        Ok(json!({"day": day.to_string(), "segments": list, "day_outputs": self.files(day, None)?}))
    }

    fn files(&self, day: Day, segment: Option<Segment>) -> Result<Vec<String>, ToolError> {
        let is_talent = |name: &TalentName| self.catalog.all().any(|talent| talent.name == *name);
        let found = entries(&self.layout, day, segment, &is_talent).map_err(told)?;
        let name = |kind: ChronicleEntryKind, path: &std::path::Path| match kind {
            ChronicleEntryKind::Output { talent, facet: Some(facet) } => {
                format!("{talent} (facet {facet})")
            }
            ChronicleEntryKind::Output { talent, facet: None } => talent.to_string(),
            _ => path.file_name().unwrap_or_default().to_string_lossy().into_owned(),
        };
        Ok(found.into_iter().map(|entry| name(entry.kind, &entry.path)).collect())
    }

    fn read_segment(&self, scene: &ToolScene, args: &Value) -> AnsweredCall {
        let day = day_of(scene, args)?;
        let segment = Segment::parse(text(args, "segment")?).map_err(told)?;
        let load = Load { transcripts: Want::Yes, percepts: Want::Yes, ..Load::default() };
        let scope = RenderScope::Segment(segment);
        let page = render(&self.layout, day, &scope, None, &load, &self.catalog, &scene.talent)
            .map_err(told)?;
        Ok(paged(&page.text, args))
    }

    fn read_output(&self, scene: &ToolScene, args: &Value) -> AnsweredCall {
        let day = day_of(scene, args)?;
        let talent = TalentName::parse(text(args, "talent")?).map_err(told)?;
        let segment = args["segment"].as_str().map(Segment::parse).transpose().map_err(told)?;
        let facet = args["facet"].as_str().map(Facet::parse).transpose().map_err(told)?;
        for format in [OutputFormat::Md, OutputFormat::Json] {
            let path = output_path(&self.layout, day, segment, facet.as_ref(), &talent, format);
            match fs::read_to_string(&path) {
                Ok(found) => return Ok(paged(&found, args)),
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
                Err(error) => return Err(told(error)),
            }
        }
        let there = self.files(day, segment)?;
        Err(ToolError::new(format!(
            "{talent} has written nothing there; there is: {}",
            there.join(", ")
        )))
    }
}

/// A part of a text, and where the next one begins.
fn paged(whole: &str, args: &Value) -> Value {
    let from = usize::try_from(args["from"].as_u64().unwrap_or_default()).unwrap_or(usize::MAX);
    let from = whole.floor_char_boundary(from.min(whole.len()));
    let to = whole.floor_char_boundary((from + TEXT_BYTES_MAX).min(whole.len()));
    let next = (to < whole.len()).then_some(to);
    json!({"text": whole[from..to], "bytes": whole.len(), "next_from": next})
}

fn day_of(scene: &ToolScene, args: &Value) -> Result<Day, ToolError> {
    args["day"].as_str().map_or(Ok(scene.day), |text| Day::parse(text).map_err(told))
}

fn text<'a>(args: &'a Value, key: &str) -> Result<&'a str, ToolError> {
    args[key].as_str().ok_or_else(|| ToolError::new(format!("{key:?} is missing")))
}

fn told(error: impl std::fmt::Display) -> ToolError {
    ToolError::new(error.to_string())
}

fn spec(name: &str, description: &str, properties: &Value, required: &[&str]) -> ToolSpec {
    ToolSpec {
        name: name.to_owned(),
        description: description.to_owned(),
        schema: json!({"type": "object", "properties": properties, "required": required}),
        writes: false,
    }
}

impl Toolbox for ChronicleTools {
    fn tools(&self) -> Vec<ToolSpec> {
        let day =
            json!({"type": "string", "description": "YYYYMMDD; without it the day of this run"});
        let segment =
            json!({"type": "string", "description": "HHMMSS_SECONDS, as list_segments gives it"});
        let from = json!({"type": "integer", "description": "where to read on, from next_from"});
        vec![
            spec(
                "get_facet",
                "What the owner wrote about a facet.",
                &json!({"name": {"type": "string"}}),
                &[],
            ),
            spec(
                "list_segments",
                "The segments of a day with their files and facets, and what was written about the whole day.",
                &json!({"day": day}),
                &[],
            ),
            spec(
                "read_segment",
                "The transcripts of one segment.",
                &json!({"day": day, "segment": segment, "from": from}),
                &["segment"],
            ),
            spec(
                "read_output",
                "What a talent wrote about a day, or about one segment of it.",
                &json!({"talent": {"type": "string"}, "day": day, "segment": segment,
                        "facet": {"type": "string"}, "from": from}),
                &["talent"],
            ),
            spec(
                HAND_OVER,
                "Gives this run to another talent, which answers in your place and knows only what you tell it.",
                &json!({"talent": {"type": "string"}, "prompt": {"type": "string", "description": "the task, whole"}}),
                &["talent", "prompt"],
            ),
        ]
    }

    fn call<'a>(
        &'a self,
        scene: &'a ToolScene,
        name: &'a str,
        args: Value,
    ) -> BoxFuture<'a, Result<ToolAnswer, ToolError>> {
        Box::pin(async move {
            self.answer(scene, name, &args).map(|value| ToolAnswer { value, cited: Vec::new() })
        })
    }
}
