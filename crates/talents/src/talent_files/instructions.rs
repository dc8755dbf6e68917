//! What a run is told, in three parts.
//!
//! The system text is the same for every run, so that a provider can keep it; the context holds what is true at
//! this moment; the rest is the talent's own body. The order of the parts is from the most stable to the least.

use jiff::Zoned;
use minijinja::{Value, context};

use super::template::{self, RenderError};
use super::{OutputFormat, Talent, TalentCatalog, TalentKind};
use crate::names::{Day, Facet, Segment, UseId};

/// What is told about a facet or a generator.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct InstructionNote {
    pub name: String,
    pub title: String,
    pub description: String,
}

/// Where and when a run takes place.
#[derive(Clone, Debug)]
pub struct Scene {
    pub now: Zoned,
    pub use_id: Option<UseId>,
    pub day: Option<Day>,
    pub segment: Option<Segment>,
    pub facet: Option<Facet>,
    /// The facets that are not muted.
    pub facets: Vec<InstructionNote>,
    pub prompt: Option<String>,
    pub output: Option<OutputFormat>,
    /// One line about what there is to read.
    pub input: Option<String>,
    /// What the memory says about the present, if the wiring gave it.
    pub bulletin: Option<String>,
}

#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Instructions {
    /// The shared text.
    pub system: String,
    /// Date and time, facets, generators, bulletin.
    pub context: String,
    /// The talent's body.
    pub user: String,
}

impl Instructions {
    pub fn build(
        catalog: &TalentCatalog,
        talent: &Talent,
        scene: &Scene,
    ) -> Result<Instructions, RenderError> {
        let generators: Vec<InstructionNote> = catalog
            .of_kind(TalentKind::Generator)
            .filter(|talent| !talent.front.disabled)
            .map(|talent| InstructionNote {
                name: talent.name.to_string(),
                title: talent.title().to_owned(),
                description: talent.front.description.clone().unwrap_or_default(),
            })
            .collect();
        let user =
            template::render(&talent.body, talent.body_line, &values(talent, scene, &generators))?;
        let context = extra_context(talent, scene, &generators);
        Ok(Instructions { system: catalog.system().to_owned(), context, user })
    }
}

fn values(talent: &Talent, scene: &Scene, generators: &[InstructionNote]) -> Value {
    let note = scene
        .facet
        .as_ref()
        .and_then(|facet| scene.facets.iter().find(|note| note.name == facet.as_str()));
    let facet = scene.facet.as_ref().map(Facet::as_str);
    context! {
        date => scene.now.strftime("%Y-%m-%d").to_string(),
        day => scene.day.map(|day| day.to_string()),
        day_long => scene.day.map(day_long),
        facet => facet,
        facet_description => note.map(|note| note.description.clone()).or(facet.map(|_| String::new())),
        facet_title => note.map(|note| note.title.clone()).or(facet.map(str::to_owned)),
        facets => notes(&scene.facets),
        generators => notes(generators),
        input => scene.input.clone(),
        now => now_long(&scene.now),
        output => scene.output.map(OutputFormat::as_str),
        prompt => scene.prompt.clone(),
        segment => scene.segment.map(|segment| segment.to_string()),
        segment_end => scene.segment.map(|segment| segment.end().strftime("%H:%M").to_string()),
        segment_start => scene.segment.map(|segment| segment.start().strftime("%H:%M").to_string()),
        talent => talent.name.as_str(),
        time => scene.now.strftime("%H:%M").to_string(),
        title => talent.title(),
        use_id => scene.use_id.as_ref().map(UseId::as_str),
        zone => zone(&scene.now),
    }
}

fn notes(notes: &[InstructionNote]) -> Vec<Value> {
    notes
        .iter()
        .map(|note| {
            Value::from_pairs([
                ("name", note.name.as_str()),
                ("title", note.title.as_str()),
                ("description", note.description.as_str()),
            ])
        })
        .collect()
}

fn extra_context(talent: &Talent, scene: &Scene, generators: &[InstructionNote]) -> String {
    let mut parts =
        vec![format!("Current date and time: {} ({})", now_long(&scene.now), zone(&scene.now))];
    match (scene.day, scene.segment) {
        (Some(day), Some(segment)) => parts.push(format!(
            "This run is about the segment {segment} of {}, from {} to {}.",
            day_long(day),
            segment.start().strftime("%H:%M"),
            segment.end().strftime("%H:%M"),
        )),
        (Some(day), None) => parts.push(format!("This run is about {} ({day}).", day_long(day))),
        (None, _) => {}
    }
    if let Some(facet) = &scene.facet {
        parts.push(match scene.facets.iter().find(|note| note.name == facet.as_str()) {
            Some(note) => format!("This run is about one facet only:\n{}", line(note)),
            None => format!("This run is about one facet only: {facet}"),
        });
    } else if !scene.facets.is_empty() {
        let lines: Vec<String> = scene.facets.iter().map(line).collect();
        parts.push(format!("Facets:\n{}", lines.join("\n")));
    }
    if talent.kind() == TalentKind::Agent && !generators.is_empty() {
        let lines: Vec<String> = generators
            .iter()
            .map(|note| {
                format!("- {}: {} {}", note.name, note.title, note.description).trim().to_owned()
            })
            .collect();
        parts.push(format!("Outputs that are written on schedule:\n{}", lines.join("\n")));
    }
    // What was remembered must not colour what is only to be read off the record.
    if talent.kind() == TalentKind::Agent
        && let Some(bulletin) = &scene.bulletin
    {
        parts.push(format!("What the memory says today:\n{}", bulletin.trim()));
    }
    parts.join("\n\n")
}

fn line(note: &InstructionNote) -> String {
    let mut line = format!("- {}", note.name);
    if note.title != note.name {
        line = format!("{line} ({})", note.title);
    }
    if note.description.is_empty() { line } else { format!("{line}: {}", note.description) }
}

fn day_long(day: Day) -> String {
    day.date().strftime("%A, %-d %B %Y").to_string()
}

fn now_long(now: &Zoned) -> String {
    now.strftime("%A, %-d %B %Y, %H:%M").to_string()
}

fn zone(now: &Zoned) -> String {
    now.time_zone().iana_name().map_or_else(|| now.strftime("UTC%:z").to_string(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::names::TalentName;

    fn scene() -> Scene {
        let zone = jiff::tz::TimeZone::fixed(jiff::tz::offset(1));
        Scene {
            now: jiff::civil::datetime(2025, 1, 10, 7, 5, 0, 0).to_zoned(zone).unwrap(),
            use_id: None,
            day: Some(Day::parse("20250109").unwrap()),
            segment: None,
            facet: None,
            facets: vec![InstructionNote {
                name: "work".into(),
                title: "Work".into(),
                description: "The day job".into(),
            }],
            prompt: None,
            output: None,
            input: None,
            bulletin: Some("Ada likes tea.".into()),
        }
    }

    fn build(name: &str, scene: &Scene) -> Instructions {
        let catalog = TalentCatalog::built_in();
        let talent = catalog.find(&TalentName::parse(name).unwrap()).unwrap();
        Instructions::build(&catalog, &talent, scene).unwrap()
    }

    #[test]
    fn the_system_text_never_varies() {
        // execution R89
        let mut other = scene();
        other.now = other.now.checked_add(jiff::Span::new().hours(30)).unwrap();
        other.facets.clear();
        assert_eq!(build("default", &scene()).system, build("facets", &other).system);
    }

    #[test]
    fn the_context_holds_the_moment() {
        // execution R90
        let told = build("default", &scene()).context;
        assert!(
            told.starts_with("Current date and time: Friday, 10 January 2025, 07:05 (UTC+01:00)"),
            "{told}"
        );
        assert!(told.contains("- work (Work): The day job"));
        assert!(told.contains("- activity:"), "{told}");
        assert!(told.contains("Ada likes tea."));
        assert!(
            !build("facets", &scene()).context.contains("Ada"),
            "generators read the record only"
        );
    }

    #[test]
    fn every_built_in_renders_with_little_and_with_much() {
        // execution R91, R98
        let mut full = scene();
        full.segment = Some(Segment::parse("120000_300").unwrap());
        full.facet = Some(Facet::parse("work").unwrap());
        full.prompt = Some("Hello".into());
        full.input = Some("3 segments, 15 minutes".into());
        let mut bare = scene();
        bare.facets.clear();
        bare.day = None;
        bare.bulletin = None;
        let catalog = TalentCatalog::built_in();
        for talent in catalog.all() {
            for scene in [&full, &bare, &scene()] {
                let told = Instructions::build(&catalog, talent, scene).unwrap();
                assert!(told.user.len() > 100, "{}", talent.name);
            }
        }
        assert!(build("followups", &full).context.contains("one facet only"));
    }
}
