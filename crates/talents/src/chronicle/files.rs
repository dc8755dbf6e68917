//! Where outputs go, that they stay inside of the home, and that a file is whole or not there.

use std::fs;
use std::path::{Component, Path, PathBuf};

use super::ChronicleError;
use crate::digests::TextDigest;
use crate::layout::Layout;
use crate::names::{Day, Facet, Segment, TalentName};
use crate::talent_files::OutputFormat;

/// Where a talent writes: `<day>/talents/{name}.{ext}` for a day, `<day>/{segment}/{name}.{ext}` for a segment,
/// each facet in a folder of its own.
pub fn output_path(
    layout: &Layout,
    day: Day,
    segment: Option<Segment>,
    facet: Option<&Facet>,
    talent: &TalentName,
    format: OutputFormat,
) -> PathBuf {
    let mut folder = match segment {
        Some(segment) => layout.segment(day, segment),
        None => layout.day(day).join("talents"),
    };
    if let Some(facet) = facet {
        folder = folder.join(facet.as_str());
    }
    folder.join(format!("{talent}.{}", format.as_str()))
}

/// Where a talent writes about several segments: `<day>/spans/{first}-{last}-{digest}/{name}.{ext}`. The digest is over
/// all of them, so that spans with the same ends are still two.
pub fn span_path(
    layout: &Layout,
    day: Day,
    span: &[Segment],
    facet: Option<&Facet>,
    talent: &TalentName,
    format: OutputFormat,
) -> PathBuf {
    let keys: Vec<String> = span.iter().map(ToString::to_string).collect();
    let mut digest = TextDigest::default();
    for key in &keys {
        digest.add(key);
    }
    let digest = digest.hex(4);
    let (first, last) = (keys.first().map_or("", |key| key), keys.last().map_or("", |key| key));
    let mut folder = layout.spans(day).join(format!("{first}-{last}-{digest}"));
    if let Some(facet) = facet {
        folder = folder.join(facet.as_str());
    }
    folder.join(format!("{talent}.{}", format.as_str()))
}

/// A path from a request, if it is in a folder that outputs may be in, whatever links are on the way: the chronicle,
/// the facets, and the folders that the talent's own file lets it write to.
pub fn confined(
    layout: &Layout,
    granted: &[PathBuf],
    given: &str,
) -> Result<PathBuf, ChronicleError> {
    let outside = || ChronicleError::Outside { path: given.to_owned() };
    if given.is_empty() || given.contains('\0') {
        return Err(outside());
    }
    let path = layout.home().join(given);
    if path.components().any(|part| matches!(part, Component::ParentDir))
        || path.file_name().is_none()
    {
        return Err(outside());
    }
    let home = fs::canonicalize(layout.home()).map_err(ChronicleError::io(layout.home()))?;
    // The part of the way that exists decides; what does not exist yet cannot be a link.
    let mut there = path.as_path();
    while let Err(error) = fs::symlink_metadata(there) {
        if error.kind() != std::io::ErrorKind::NotFound {
            return Err(ChronicleError::Io { path: there.to_owned(), source: error });
        }
        there = there.parent().ok_or_else(outside)?;
    }
    let real = fs::canonicalize(there).map_err(|_| outside())?;
    let rest = path.strip_prefix(there).unwrap_or(Path::new(""));
    let real = if rest.as_os_str().is_empty() { real } else { real.join(rest) };
    // Only what talents write about; not the settings, stores, run logs or talents themselves.
    let is_granted = |folder: &PathBuf| {
        let folder = fs::canonicalize(folder).unwrap_or_else(|_| folder.clone());
        folder.is_absolute() && real.starts_with(&folder) && real != folder
    };
    if granted.iter().any(is_granted) {
        return Ok(real);
    }
    let inner = real.strip_prefix(&home).map_err(|_| outside())?;
    let first =
        inner.components().next().map(|part| part.as_os_str().to_string_lossy().into_owned());
    match first.as_deref() {
        Some("chronicle" | "facets") => Ok(real),
        _ => Err(outside()),
    }
}

/// Writes a file so that it is whole or not there.
pub fn write_atomic(path: &Path, bytes: &[u8]) -> Result<(), ChronicleError> {
    llm::files::write_atomic(path, bytes).map_err(ChronicleError::io(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outputs_have_the_paths_of_the_seed() {
        let layout = Layout::new("/h");
        let day = Day::parse("20250109").unwrap();
        let segment = Segment::parse("120000_300").unwrap();
        let talent = TalentName::parse("activity").unwrap();
        let facet = Facet::parse("work").unwrap();
        let path = |segment, facet, format| {
            output_path(&layout, day, segment, facet, &talent, format).display().to_string()
        };
        // execution R77, R78, R79, R121
        assert_eq!(path(None, None, OutputFormat::Md), "/h/chronicle/20250109/talents/activity.md");
        assert_eq!(
            path(Some(segment), None, OutputFormat::Json),
            "/h/chronicle/20250109/120000_300/activity.json"
        );
        assert_eq!(
            path(None, Some(&facet), OutputFormat::Md),
            "/h/chronicle/20250109/talents/work/activity.md"
        );
        assert_eq!(
            path(Some(segment), Some(&facet), OutputFormat::Md),
            "/h/chronicle/20250109/120000_300/work/activity.md"
        );
    }

    #[test]
    fn each_span_has_a_file_of_its_own() {
        // T17, execution R42
        let layout = Layout::new("/h");
        let day = Day::parse("20250109").unwrap();
        let talent = TalentName::parse("activity").unwrap();
        let span = |keys: &[&str]| -> String {
            let span: Vec<Segment> = keys.iter().map(|key| Segment::parse(key).unwrap()).collect();
            span_path(&layout, day, &span, None, &talent, OutputFormat::Md).display().to_string()
        };
        let (a, b) =
            (["090000_60", "100000_60", "110000_60"], ["090000_60", "103000_60", "110000_60"]);
        assert!(span(&a).starts_with("/h/chronicle/20250109/spans/090000_60-110000_60-"));
        assert!(span(&a).ends_with("/activity.md"));
        assert_ne!(span(&a), span(&b));
        let single = output_path(
            &layout,
            day,
            Some(Segment::parse(a[0]).unwrap()),
            None,
            &talent,
            OutputFormat::Md,
        );
        assert_ne!(span(&a[..1]), single.display().to_string());
    }

    #[test]
    fn no_path_leads_out_of_the_home() {
        // execution, section 9, 7
        let dir = tempfile::tempdir().unwrap();
        let outside = tempfile::tempdir().unwrap();
        let layout = Layout::new(dir.path());
        fs::create_dir_all(layout.chronicle()).unwrap();
        std::os::unix::fs::symlink(outside.path(), layout.chronicle().join("link")).unwrap();
        std::os::unix::fs::symlink("/nowhere/at/all", layout.chronicle().join("dangling")).unwrap();
        for bad in [
            "",
            "../x.md",
            "/etc/passwd",
            "chronicle/../../x",
            "chronicle/link/x.md",
            "chronicle/dangling",
            "chronicle/dangling/x.md",
            "cortex.toml",
            "talent/default.md",
            "chronicle/a\0b",
        ] {
            assert!(confined(&layout, &[], bad).is_err(), "{bad:?}");
        }
        let good = confined(&layout, &[], "chronicle/20250109/deep/er/x.md").unwrap();
        assert!(good.ends_with("chronicle/20250109/deep/er/x.md"));
        let absolute = dir.path().join("chronicle/x.md");
        assert!(confined(&layout, &[], absolute.to_str().unwrap()).is_ok());
        // T17, execution R43: where the talent's own file lets it write, and nowhere beside
        let granted = [outside.path().to_owned()];
        let there = outside.path().join("x.md");
        assert!(confined(&layout, &granted, there.to_str().unwrap()).is_ok());
        assert!(confined(&layout, &granted, "/etc/passwd").is_err());
        let said = confined(&layout, &[], "cortex.toml").unwrap_err().to_string();
        assert!(said.contains("chronicle/") && said.contains("files.write"), "{said}");
    }

    #[test]
    fn a_file_is_whole_or_not_there() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a/b/c.md");
        write_atomic(&path, b"one").unwrap();
        write_atomic(&path, b"two").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"two");
        assert_eq!(
            fs::read_dir(path.parent().unwrap()).unwrap().count(),
            1,
            "nothing is left beside it"
        );
        fs::create_dir(dir.path().join("folder")).unwrap();
        assert!(write_atomic(&dir.path().join("folder"), b"x").is_err());
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 2);
    }
}
