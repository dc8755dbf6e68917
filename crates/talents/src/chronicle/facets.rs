//! Facets, and which of them a segment or a day was about.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::segments::names;
use super::{ChronicleError, segments, write_atomic};
use crate::layout::Layout;
use crate::names::{Day, Facet, Segment};

/// A `facets.json` is a few lines.
const FILE_BYTES_MAX: u64 = 1024 * 1024;

#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(default)]
pub struct FacetFile {
    pub title: String,
    pub description: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub color: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub emoji: String,
    pub muted: bool,
    /// What others wrote into the file stays in it.
    #[serde(flatten)]
    pub rest: BTreeMap<String, Value>,
}

/// One line of a segment's `facets.json`.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct Activity {
    pub facet: String,
    pub activity: String,
    pub level: String,
}

/// All facets by name, and what is wrong with those that cannot be read.
pub fn list_facets(
    layout: &Layout,
) -> Result<(BTreeMap<Facet, FacetFile>, Vec<String>), ChronicleError> {
    let (mut facets, mut problems) = (BTreeMap::new(), Vec::new());
    for (name, is_dir) in names(&layout.facets())? {
        let Ok(facet) = Facet::parse(&name) else { continue };
        if !is_dir || !layout.facet(&facet).exists() {
            continue;
        }
        match load(&layout.facet(&facet)) {
            Ok(file) => {
                facets.insert(facet, titled(&name, file));
            }
            Err(error) => problems.push(error.to_string()),
        }
    }
    Ok((facets, problems))
}

fn titled(name: &str, mut file: FacetFile) -> FacetFile {
    if file.title.is_empty() {
        name.clone_into(&mut file.title);
    }
    file
}

pub fn read_facet(layout: &Layout, facet: &Facet) -> Result<FacetFile, ChronicleError> {
    let path = layout.facet(facet);
    if !path.exists() {
        let (known, _) = list_facets(layout)?;
        let words: Vec<&str> = known.keys().map(Facet::as_str).collect();
        let hint = if words.is_empty() {
            "; no facets have been set up".to_owned()
        } else {
            format!("; there are {}", words.join(", "))
        };
        return Err(ChronicleError::NoFacet { name: facet.to_string(), hint });
    }
    load(&path).map(|file| titled(facet.as_str(), file))
}

pub fn add_facet(layout: &Layout, facet: &Facet, file: &FacetFile) -> Result<(), ChronicleError> {
    if layout.facet(facet).exists() {
        return Err(ChronicleError::FacetExists(facet.to_string()));
    }
    save(layout, facet, file)
}

/// A muted facet stays, but nothing is started for it.
pub fn mute_facet(
    layout: &Layout,
    facet: &Facet,
    muted: bool,
) -> Result<FacetFile, ChronicleError> {
    let file = FacetFile { muted, ..read_facet(layout, facet)? };
    save(layout, facet, &file)?;
    Ok(file)
}

fn save(layout: &Layout, facet: &Facet, file: &FacetFile) -> Result<(), ChronicleError> {
    let path = layout.facet(facet);
    let mut text = serde_json::to_string_pretty(file).map_err(|error| {
        ChronicleError::Unreadable { path: path.clone(), reason: error.to_string() }
    })?;
    text.push('\n');
    write_atomic(&path, text.as_bytes())
}

fn load(path: &Path) -> Result<FacetFile, ChronicleError> {
    let text = read_small(path)?;
    serde_json::from_str(&text).map_err(|error| ChronicleError::Unreadable {
        path: path.to_owned(),
        reason: error.to_string(),
    })
}

fn read_small(path: &Path) -> Result<String, ChronicleError> {
    let size = fs::metadata(path).map_err(ChronicleError::io(path))?.len();
    if size > FILE_BYTES_MAX {
        let reason = format!("larger than {FILE_BYTES_MAX} bytes");
        return Err(ChronicleError::Unreadable { path: path.to_owned(), reason });
    }
    fs::read_to_string(path).map_err(ChronicleError::io(path))
}

/// What a segment was about, item by item: an item that makes no sense is left out and named. No file, no array,
/// nothing in it: nothing, and no error.
pub fn segment_facets(layout: &Layout, day: Day, segment: Segment) -> (Vec<Activity>, Vec<String>) {
    let folder = layout.segment(day, segment);
    // Older chronicles have it one folder deeper.
    let path = [folder.join("facets.json"), folder.join("talents").join("facets.json")]
        .into_iter()
        .find(|path| path.exists());
    let Some(path) = path else { return (Vec::new(), Vec::new()) };
    let told = |reason: String| (Vec::new(), vec![format!("{}: {reason}", path.display())]);
    let text = match read_small(&path) {
        Ok(text) => text,
        Err(error) => return told(error.to_string()),
    };
    let items = match serde_json::from_str::<Value>(&text) {
        Ok(Value::Array(items)) => items,
        Ok(_) => return told("is no array".into()),
        Err(error) => return told(error.to_string()),
    };
    let (mut found, mut problems): (Vec<Activity>, Vec<String>) = (Vec::new(), Vec::new());
    for (place, item) in items.iter().enumerate() {
        let text = |key: &str| item[key].as_str().unwrap_or_default().trim().to_owned();
        match Facet::parse(&text("facet")) {
            Ok(facet) if found.iter().all(|other| other.facet != facet.as_str()) => {
                found.push(Activity {
                    facet: facet.to_string(),
                    activity: text("activity"),
                    level: text("level"),
                });
            }
            Ok(_) => {}
            Err(error) => problems.push(format!("{}: item {place}: {error}", path.display())),
        }
    }
    (found, problems)
}

/// The facets that the segments of a day were about.
pub fn active_facets(
    layout: &Layout,
    day: Day,
) -> Result<(BTreeSet<String>, Vec<String>), ChronicleError> {
    let (mut active, mut problems) = (BTreeSet::new(), Vec::new());
    for segment in segments(layout, day)? {
        let (found, bad) = segment_facets(layout, day, segment);
        active.extend(found.into_iter().map(|activity| activity.facet));
        problems.extend(bad);
    }
    Ok((active, problems))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facet(name: &str) -> Facet {
        Facet::parse(name).unwrap()
    }

    #[test]
    fn facets_are_added_listed_and_muted() {
        let dir = tempfile::tempdir().unwrap();
        let layout = Layout::new(dir.path());
        let file =
            FacetFile { title: "Work".into(), description: "The job".into(), ..Default::default() };
        add_facet(&layout, &facet("work"), &file).unwrap();
        assert_eq!(add_facet(&layout, &facet("work"), &file).unwrap_err().code(), "facet_exists");
        fs::create_dir_all(dir.path().join("facets/broken")).unwrap();
        fs::write(dir.path().join("facets/broken/facet.json"), "{").unwrap();
        fs::create_dir_all(dir.path().join("facets/Not A Name")).unwrap();
        let (all, problems) = list_facets(&layout).unwrap();
        assert_eq!((all.len(), problems.len()), (1, 1), "one bad file costs only itself");
        fs::write(layout.facet(&facet("work")), r#"{"title":"Work","own":{"a":1}}"#).unwrap();
        assert!(mute_facet(&layout, &facet("work"), true).unwrap().muted);
        let text = fs::read_to_string(layout.facet(&facet("work"))).unwrap();
        assert!(text.contains("\"own\""), "what others wrote stays: {text}");
        let missing = read_facet(&layout, &facet("play")).unwrap_err();
        assert!(
            missing.to_string().contains("there are broken, work")
                || missing.to_string().contains("there are work"),
            "{missing}"
        );
    }

    #[test]
    fn a_segments_facets_are_read_item_by_item() {
        // execution R123, R127, R129; section 9, 16
        let dir = tempfile::tempdir().unwrap();
        let layout = Layout::new(dir.path());
        let (day, segment) =
            (Day::parse("20250109").unwrap(), Segment::parse("120000_300").unwrap());
        let folder = layout.segment(day, segment);
        fs::create_dir_all(&folder).unwrap();
        let file = folder.join("facets.json");
        let read = |text: &str| {
            fs::write(&file, text).unwrap();
            segment_facets(&layout, day, segment)
        };
        let (found, problems) = read(concat!(
            r#"[{"facet":"work","activity":"Code","level":"high"}, 7, {"facet":"../x"}, {"facet":"home"},"#,
            r#" {"facet":"work"}]"#,
        ));
        assert_eq!(
            found.iter().map(|item| item.facet.as_str()).collect::<Vec<_>>(),
            ["work", "home"]
        );
        assert_eq!(problems.len(), 2);
        for nothing in ["[]", "{}", "nonsense", "null"] {
            assert!(read(nothing).0.is_empty());
        }
        fs::remove_file(&file).unwrap();
        assert_eq!(segment_facets(&layout, day, segment), (Vec::new(), Vec::new()));
        fs::create_dir_all(folder.join("talents")).unwrap();
        fs::write(folder.join("talents/facets.json"), r#"[{"facet":"old"}]"#).unwrap();
        assert!(active_facets(&layout, day).unwrap().0.contains("old"));
    }
}
