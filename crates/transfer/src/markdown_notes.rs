//! Reads folders of Markdown notes: Obsidian vaults, basic-memory projects, our own Markdown export.
//!
//! A note is one memory: its text stays whole. Front matter gives title, kind, tags and dates; observations
//! (`- [category] text #tag (context)`) give their categories and tags; relations (`- relation [[Target]]`) and wiki
//! links give edges. Links are found by title, permalink, path or file name, in any case. Hidden files and links are
//! not followed.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use serde_json::Map;

use crate::clean;
use crate::dates;
use crate::markdown::{Front, split};
use crate::normalize::Normalizer;
use crate::origin::origin;
use crate::record::{EdgeRecord, HeadRecord, MemoryRecord, VersionRecord};
use crate::server_memory::relation;
use crate::{Error, Result};

pub(super) const SYSTEM: &str = "markdown";
/// Bytes of a file that is read at all.
const FILE_BYTES_MAX: u64 = 4 * 1_048_576;
/// Edges from one note; an index of everything relates to nothing.
const LINKS_MAX: usize = 500;

pub(super) fn read(path: &Path, normalizer: &mut Normalizer<'_>) -> Result<()> {
    let single = path.is_file();
    let root = if single { path.parent().unwrap_or(path) } else { path };
    let root = fs::canonicalize(root).map_err(|error| Error::file(root, error))?;
    let files = if single {
        vec![fs::canonicalize(path).map_err(|error| Error::file(path, error))?]
    } else {
        notes(&root, normalizer)?
    };
    let vault =
        root.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let total = files.len() as u64;
    for (n, file) in files.iter().enumerate() {
        let place = file.strip_prefix(&root).unwrap_or(file);
        let what = place.display().to_string();
        match text_of(file)? {
            Ok(text) => note(&vault, place, file, &text, &what, normalizer)?,
            Err(reason) => normalizer.skip(what, reason),
        }
        (normalizer.progress)(n as u64 + 1, total);
    }
    Ok(())
}

/// Markdown files below a folder, in the order of their paths.
fn notes(root: &Path, normalizer: &mut Normalizer<'_>) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        let entries = match fs::read_dir(&folder) {
            Ok(entries) => entries,
            Err(error) if folder == root => return Err(Error::file(&folder, error)),
            Err(error) => {
                normalizer.skip(folder.display().to_string(), error.to_string());
                continue;
            }
        };
        for entry in entries {
            let entry = entry.map_err(|error| Error::file(&folder, error))?;
            let kind = entry.file_type().map_err(|error| Error::file(&entry.path(), error))?;
            let hidden = entry.file_name().to_string_lossy().starts_with('.');
            let path = entry.path();
            if hidden {
                continue;
            }
            if kind.is_dir() {
                folders.push(path);
            } else if kind.is_file()
                && path.extension().is_some_and(|end| end.eq_ignore_ascii_case("md"))
            {
                found.push(path);
            }
        }
    }
    found.sort();
    Ok(found)
}

fn text_of(file: &Path) -> Result<std::result::Result<String, String>> {
    let failed = |error| Error::file(file, error);
    let size = fs::metadata(file).map_err(failed)?.len();
    if size > FILE_BYTES_MAX {
        return Ok(Err(format!("the file has {size} bytes")));
    }
    match fs::read(file).map(String::from_utf8) {
        Ok(Ok(text)) => Ok(Ok(text)),
        Ok(Err(_)) => Ok(Err("the file is not UTF-8".into())),
        Err(error) => Ok(Err(error.to_string())),
    }
}

fn note(
    vault: &str,
    place: &Path,
    file: &Path,
    text: &str,
    what: &str,
    normalizer: &mut Normalizer<'_>,
) -> Result<()> {
    let (front, body) = split(text);
    let path = place.with_extension("").to_string_lossy().replace('\\', "/");
    let stem =
        place.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    let title = front.text(&["title"]).unwrap_or_else(|| stem.clone());
    let permalink = front.text(&["permalink"]);
    let id = permalink.clone().unwrap_or_else(|| path.clone());
    // A note that we exported ourselves knows where it is from.
    let from =
        front.text(&["cortex_origin"]).unwrap_or_else(|| origin(SYSTEM, &format!("{vault}/{id}")));
    let body = without_heading(body, &title);
    let marks = marks(body);
    let is_ours = front.text(&["cortex_origin"]).is_some();
    // The links that an export puts below a text are edges, and no part of it.
    let body = if is_ours { without_relations(body) } else { body };
    let head = head(&front, &marks, is_ours);
    let mut fields = if is_ours { front.json_below("field_") } else { Map::new() };
    // It names memories by their numbers, which mean others elsewhere.
    fields.remove("evidence");
    let version = VersionRecord {
        title: title.clone(),
        content: body.trim().to_owned(),
        fields,
        valid_from: date(&front, &["valid_from"]).filter(|_| is_ours),
        valid_until: date(&front, &["valid_until"]).filter(|_| is_ours),
        created: date(&front, &["created", "created_at", "date"]).or_else(|| modified(file)),
        expires: date(&front, &["expires"]),
        ..VersionRecord::default()
    };
    let updated = date(&front, &["modified", "updated", "updated_at", "last_modified"]);
    let record = MemoryRecord {
        origin: from.clone(),
        head,
        version,
        updated,
        is_copy: is_ours,
        ..MemoryRecord::default()
    };
    if !normalizer.memory(what, record)? {
        return Ok(());
    }
    for name in [Some(path), permalink, Some(title), Some(stem)].into_iter().flatten() {
        normalizer.staging.alias(&link_name(&name), &from)?;
    }
    for name in front.list("aliases") {
        normalizer.staging.alias(&link_name(&name), &from)?;
    }
    for (word, target) in marks.links {
        let edge = EdgeRecord {
            from: from.clone(),
            relation: word,
            to: link_name(&target),
            weight: 1_000_000,
            by: None,
            at: None,
        };
        normalizer.edge(&format!("{what}, link to {:?}", clean::cut(&target, 64)), edge)?;
    }
    Ok(())
}

fn head(front: &Front, marks: &Marks, is_ours: bool) -> HeadRecord {
    let yes = |key: &str| front.text(&[key]).is_some_and(|text| text == "true");
    HeadRecord {
        kind: Some(front.text(&["kind", "type"]).unwrap_or_else(|| "note".into())),
        memory_type: front.text(&["type"]).filter(|_| is_ours),
        project: front.text(&["project"]),
        scope: front.text(&["scope"]).filter(|scope| scope == "personal"),
        pinned: yes("pinned"),
        archived: yes("archived"),
        tags: front.list("tags").into_iter().chain(marks.tags.iter().cloned()).collect(),
        topic_key: front.text(&["topic_key"]),
        session: front.text(&["session"]),
        ..HeadRecord::default()
    }
}

/// The heading that only repeats the title is no text.
fn without_heading<'t>(body: &'t str, title: &str) -> &'t str {
    let body = body.trim_start();
    let (first, rest) = body.split_once('\n').unwrap_or((body, ""));
    let same = first.strip_prefix("# ").is_some_and(|heading| heading.trim() == title.trim());
    if same { rest } else { body }
}

/// The text above the list of relations that an export ends with.
fn without_relations(body: &str) -> &str {
    let Some((text, relations)) = body.rsplit_once("\n## Relations\n") else { return body };
    let is_link = |line: &str| {
        line.strip_prefix("- ").is_some_and(|rest| rest.contains(" [[") && rest.ends_with("]]"))
    };
    let ours = relations.lines().map(str::trim).all(|line| line.is_empty() || is_link(line));
    if ours { text } else { body }
}

fn date(front: &Front, keys: &[&str]) -> Option<i64> {
    front.text(keys).as_deref().and_then(dates::parse)
}

fn modified(file: &Path) -> Option<i64> {
    let time = fs::metadata(file).ok()?.modified().ok()?;
    i64::try_from(time.duration_since(UNIX_EPOCH).ok()?.as_millis()).ok()
}

/// How a link names a note: without case, heading, block, shown text or ending.
fn link_name(target: &str) -> String {
    let target = target.split(['|', '#', '^']).next().unwrap_or_default().trim();
    let target = target.strip_prefix("memory://").unwrap_or(target);
    let target = target.strip_suffix(".md").unwrap_or(target);
    format!("note {}", target.to_lowercase())
}

/// What a text says in the marks of basic-memory and Obsidian.
#[derive(Debug, Default, PartialEq, Eq)]
struct Marks {
    tags: BTreeSet<String>,
    /// Our relation, and the name of the other note.
    links: BTreeSet<(String, String)>,
}

fn marks(text: &str) -> Marks {
    let mut marks = Marks::default();
    let mut fenced = false;
    for line in text.lines() {
        let line = line.trim_start();
        if line.starts_with("```") || line.starts_with("~~~") {
            fenced = !fenced;
        }
        if fenced || line.starts_with('>') {
            continue;
        }
        let item = line.strip_prefix("- ").or_else(|| line.strip_prefix("* ")).map(str::trim);
        let links = links(line);
        match (item.and_then(explicit), links.as_slice()) {
            (Some(word), [target]) => {
                marks.links.insert((relation(word).to_owned(), target.clone()));
            }
            _ => marks
                .links
                .extend(links.into_iter().map(|target| ("references".to_owned(), target))),
        }
        if let Some(item) = item {
            marks.tags.extend(category(item).map(str::to_owned));
            marks.tags.extend(hashtags(item));
        }
    }
    while marks.links.len() > LINKS_MAX {
        marks.links.pop_last();
    }
    marks
}

/// Targets of the wiki links on a line. Embedded files are no relation.
fn links(line: &str) -> Vec<String> {
    let mut targets = Vec::new();
    let mut rest = line;
    while let Some(start) = rest.find("[[") {
        let embedded = rest[..start].ends_with('!');
        let after = &rest[start + 2..];
        let Some(end) = after.find("]]") else { break };
        let target = after[..end].trim();
        if !target.is_empty() && !embedded && target.len() <= 512 {
            targets.push(target.to_owned());
        }
        rest = &after[end + 2..];
    }
    targets
}

/// The word of `word [[Target]] (context)`: one word, or several in quotes. Anything else is prose with a link.
fn explicit(item: &str) -> Option<&str> {
    let (word, rest) = item.split_once("[[")?;
    let (_, tail) = rest.split_once("]]")?;
    let tail = tail.trim();
    let word = word.trim();
    let quoted =
        ['"', '\''].into_iter().find_map(|quote| word.strip_prefix(quote)?.strip_suffix(quote));
    let one = (!word.is_empty() && !word.contains(char::is_whitespace) && !word.starts_with('['))
        .then_some(word);
    let closed = tail.is_empty() || (tail.starts_with('(') && tail.ends_with(')'));
    quoted.or(one).filter(|_| closed)
}

/// The category of `[category] text`; check boxes, times and links are none.
fn category(item: &str) -> Option<&str> {
    let (inside, after) = item.strip_prefix('[')?.split_once(']')?;
    let inside = inside.trim();
    let word = inside.chars().count() > 1 && inside.chars().any(char::is_alphabetic);
    let plain = !inside.contains(['[', '(', ')']) && after.starts_with(char::is_whitespace);
    (word && plain && !after.trim().is_empty()).then_some(inside)
}

fn hashtags(item: &str) -> impl Iterator<Item = String> {
    let words = item.split_whitespace().filter_map(|word| word.strip_prefix('#'));
    let tag = |word: &str| word.trim_end_matches(['.', ',', ';', ')']).to_owned();
    let real = |tag: &String| tag.chars().any(char::is_alphabetic) && !tag.starts_with('#');
    words.flat_map(|word| word.split('#')).map(tag).filter(real).collect::<Vec<_>>().into_iter()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn observations_and_relations_are_read() {
        let text = "# T\n- [decision] Use redb #storage #db/one (2026)\n- [ ] task\n- [x] done\n- [00:01] said\n\
                    - supersedes [[Old Note]] (why)\n- \"works with\" [[B|shown]]\n- prose about [[C]] and [[D#part]]\n\
                    See [[E]] and ![[picture.png]].\n> [!info] [[F]]\n```\n- part_of [[G]]\n```\n- [link](url)\n";
        let marks = marks(text);
        let tags: Vec<&str> = marks.tags.iter().map(String::as_str).collect();
        assert_eq!(tags, ["db/one", "decision", "storage"]);
        let links: Vec<(&str, &str)> =
            marks.links.iter().map(|(word, to)| (word.as_str(), to.as_str())).collect();
        assert_eq!(
            links,
            [
                ("references", "C"),
                ("references", "D#part"),
                ("references", "E"),
                ("relates_to", "B|shown"),
                ("supersedes", "Old Note"),
            ]
        );
        assert_eq!(link_name("Folder/Note.md"), link_name("folder/note#Part|shown"));
    }

    proptest! {
        #[test]
        fn any_text_is_answered(text in "(\\PC|\n|\\[|\\]|#|- ){0,200}") {
            let _marks = marks(&text);
        }
    }
}
