//! All talents of a home, by name: those of the binary and the user's files before them.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;
use thiserror::Error;

use super::file::{FILE_BYTES_MAX, cut};
use super::problem::{TalentProblem, nearest};
use super::{Talent, TalentKind, TalentSchedule, TalentSource, builtin, keys, template};
use crate::names::TalentName;

/// Files of talents in one home; more is a folder of something else.
const FILES_MAX: usize = 1_000;
/// The user's own text in place of the shared one. No talent can have this name.
const SYSTEM_FILE: &str = "_system.md";

#[derive(Debug, Error)]
pub enum TalentError {
    #[error("there is no talent {name:?}{}", did_you_mean(hint.as_deref()))]
    Unknown { name: String, hint: Option<String> },
    #[error("talent {name:?} cannot be used: {problem}")]
    Broken { name: String, problem: TalentProblem },
}

/// The end of the message about an unknown name, if another name is close to it.
fn did_you_mean(name: Option<&str>) -> String {
    name.map(|name| format!("; did you mean {name:?}?")).unwrap_or_default()
}

impl TalentError {
    pub fn code(&self) -> &'static str {
        match self {
            TalentError::Unknown { .. } => "unknown_talent",
            TalentError::Broken { .. } => "broken_talent",
        }
    }
}

/// The talents as they were when the catalog was opened.
#[derive(Clone, Debug)]
pub struct TalentCatalog {
    talents: BTreeMap<TalentName, Result<Talent, TalentProblem>>,
    problems: Vec<TalentProblem>,
    system: String,
}

impl TalentCatalog {
    /// Reads the folder of the user's talents; a folder that is not there is an empty one.
    pub fn open(folder: &Path) -> TalentCatalog {
        let mut catalog = TalentCatalog::built_in();
        let mut files: Vec<PathBuf> = match fs::read_dir(folder) {
            Ok(entries) => entries
                .filter_map(Result::ok)
                .map(|entry| entry.path())
                .filter(|path| path.extension().is_some_and(|ending| ending == "md"))
                .collect(),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Vec::new(),
            Err(error) => {
                let reason = format!("the folder cannot be read: {error}");
                catalog.problems.push(TalentProblem {
                    file: folder.to_owned(),
                    ..TalentProblem::error(1, reason)
                });
                Vec::new()
            }
        };
        files.sort();
        if files.len() > FILES_MAX {
            let reason = format!("{} talents; only the first {FILES_MAX} are read", files.len());
            catalog
                .problems
                .push(TalentProblem { file: folder.to_owned(), ..TalentProblem::error(1, reason) });
            files.truncate(FILES_MAX);
        }
        for file in files {
            catalog.put_file(&file);
        }
        catalog
    }

    /// Only what is in the binary.
    pub fn built_in() -> TalentCatalog {
        let mut catalog = TalentCatalog {
            talents: BTreeMap::new(),
            problems: Vec::new(),
            system: builtin::SYSTEM.trim().to_owned(),
        };
        for (name, text) in builtin::TALENTS {
            let file = PathBuf::from(format!("(built in)/{name}.md"));
            catalog.put(name, &file, TalentSource::System, Ok((*text).to_owned()));
        }
        catalog
    }

    fn put_file(&mut self, file: &Path) {
        let text = read(file);
        if file.file_name().is_some_and(|name| name == SYSTEM_FILE) {
            match text {
                Ok(text) => text.trim().clone_into(&mut self.system),
                Err(reason) => self.problems.push(TalentProblem {
                    file: file.to_owned(),
                    ..TalentProblem::error(1, reason)
                }),
            }
            return;
        }
        let stem = file.file_stem().map(|stem| stem.to_string_lossy().into_owned());
        self.put(&stem.unwrap_or_default(), file, TalentSource::User, text);
    }

    fn put(&mut self, name: &str, file: &Path, source: TalentSource, text: Result<String, String>) {
        let at = |problem: TalentProblem| TalentProblem { file: file.to_owned(), ..problem };
        let name = match TalentName::parse(name) {
            Ok(name) => name,
            Err(error) => {
                self.problems.push(at(TalentProblem::error(1, error.to_string())));
                return;
            }
        };
        let (talent, problems) = match text {
            Ok(text) => parse(&name, source, file.parent(), &text),
            Err(reason) => (None, vec![TalentProblem::error(1, reason)]),
        };
        let problems: Vec<TalentProblem> = problems.into_iter().map(at).collect();
        let first_error = problems.iter().find(|problem| problem.is_error()).cloned();
        self.problems.extend(problems);
        let entry = match (first_error, talent) {
            (Some(problem), _) => Err(problem),
            (None, Some(talent)) => Ok(talent),
            (None, None) => return,
        };
        self.talents.insert(name, entry);
    }

    pub fn find(&self, name: &TalentName) -> Result<Talent, TalentError> {
        match self.talents.get(name) {
            Some(Ok(talent)) => Ok(talent.clone()),
            Some(Err(problem)) => {
                Err(TalentError::Broken { name: name.to_string(), problem: problem.clone() })
            }
            None => {
                let known: Vec<&str> = self.talents.keys().map(TalentName::as_str).collect();
                let hint = nearest(name.as_str(), &known).map(str::to_owned);
                Err(TalentError::Unknown { name: name.to_string(), hint })
            }
        }
    }

    /// All that can be used, by name. Disabled ones are among them.
    pub fn all(&self) -> impl Iterator<Item = &Talent> {
        self.talents.values().filter_map(|entry| entry.as_ref().ok())
    }

    pub fn of_kind(&self, kind: TalentKind) -> impl Iterator<Item = &Talent> {
        self.all().filter(move |talent| talent.kind() == kind)
    }

    pub fn scheduled(&self, schedule: TalentSchedule) -> impl Iterator<Item = &Talent> {
        self.all().filter(move |talent| talent.front.schedule == Some(schedule))
    }

    /// All problems of all files, file by file.
    pub fn problems(&self) -> &[TalentProblem] {
        &self.problems
    }

    /// The text that every run begins with.
    pub fn system(&self) -> &str {
        &self.system
    }
}

pub(super) fn read(file: &Path) -> Result<String, String> {
    let size = fs::metadata(file).map_err(|error| format!("cannot be read: {error}"))?.len();
    if size > FILE_BYTES_MAX as u64 {
        return Err(format!("larger than {FILE_BYTES_MAX} bytes"));
    }
    let bytes = fs::read(file).map_err(|error| format!("cannot be read: {error}"))?;
    String::from_utf8(bytes).map_err(|_| "is not text (UTF-8)".to_owned())
}

pub(super) fn parse(
    name: &TalentName,
    source: TalentSource,
    folder: Option<&Path>,
    text: &str,
) -> (Option<Talent>, Vec<TalentProblem>) {
    let parts = match cut(text) {
        Ok(parts) => parts,
        Err(problem) => return (None, vec![problem]),
    };
    let (mut front, mut problems) = keys::read(&parts);
    if let Some(Value::String(schema)) = &front.schema
        && problems.iter().all(|problem| !problem.is_error())
    {
        match schema_file(folder, schema) {
            Ok(schema) => front.schema = Some(schema),
            Err(reason) => problems.push(TalentProblem::error(parts.line_of("schema"), reason)),
        }
    }
    if parts.body.is_empty() {
        problems.push(TalentProblem::error(
            parts.body_line,
            "there are no instructions below the frontmatter",
        ));
    }
    if parts.front.is_empty() && looks_like_frontmatter(&parts.body) {
        problems.push(TalentProblem::warning(
            parts.body_line,
            "this looks like frontmatter, but is read as instructions: it begins with a first line that is exactly { \
             and ends with one that is exactly }",
        ));
    }
    problems.extend(template::check(&parts.body, parts.body_line));
    let talent =
        Talent { name: name.clone(), source, front, body: parts.body, body_line: parts.body_line };
    (Some(talent), problems)
}

/// Metadata on one line or in another notation; a template may begin with a brace too.
fn looks_like_frontmatter(body: &str) -> bool {
    let template = ["{{", "{%", "{#"].iter().any(|mark| body.starts_with(mark));
    (body.starts_with('{') && !template) || body.starts_with("---\n")
}

fn schema_file(folder: Option<&Path>, name: &str) -> Result<Value, String> {
    let folder = folder.ok_or("a talent of the binary has its schema inside")?;
    let text = read(&folder.join(name)).map_err(|reason| format!("schema {name:?} {reason}"))?;
    let schema: Value =
        serde_json::from_str(&text).map_err(|error| format!("schema {name:?}: {error}"))?;
    if schema.is_object() { Ok(schema) } else { Err(format!("schema {name:?} is no object")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(text: &str) -> TalentName {
        TalentName::parse(text).unwrap()
    }

    fn home(files: &[(&str, &str)]) -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        for (name, text) in files {
            fs::write(dir.path().join(name), text).unwrap();
        }
        dir
    }

    #[test]
    fn what_is_in_the_binary_is_sound() {
        let catalog = TalentCatalog::built_in();
        assert_eq!(catalog.problems(), []);
        assert_eq!(catalog.all().count(), builtin::TALENTS.len());
        let facets = catalog.find(&name("facets")).unwrap();
        // execution R126, R127
        assert_eq!(facets.front.priority, Some(90));
        assert_eq!(facets.front.schedule, Some(TalentSchedule::Segment));
        assert_eq!(facets.kind(), TalentKind::Generator);
        assert_eq!(facets.front.schema.as_ref().unwrap()["type"], "array");
        // execution R104
        assert_eq!(catalog.find(&name("default")).unwrap().context(), "talent.system.default");
        assert!(catalog.of_kind(TalentKind::Agent).any(|talent| talent.name.as_str() == "default"));
        assert!(!catalog.system().is_empty());
    }

    #[test]
    fn a_users_file_stands_before_the_built_in() {
        // execution R83
        let dir = home(&[("default.md", "Be brief."), ("mine.md", "{\n\"title\": \"Mine\"\n}\nX")]);
        let catalog = TalentCatalog::open(dir.path());
        let talent = catalog.find(&name("default")).unwrap();
        assert_eq!(talent.body, "Be brief.");
        assert_eq!(talent.context(), "talent.user.default");
        assert_eq!(catalog.find(&name("mine")).unwrap().title(), "Mine");
        assert_eq!(catalog.find(&name("facets")).unwrap().source, TalentSource::System);
    }

    #[test]
    fn one_bad_file_costs_only_itself() {
        // execution, section 9, 24
        let dir = home(&[
            ("activity.md", "{\n  \"disabled\": true,\n}\nX"),
            ("good.md", "Fine."),
            ("Bad Name.md", "Fine."),
            ("wrong.md", "{\n  \"schedule\": \"daily\",\n  \"tier\": 9\n}\n{{ nobody }}"),
        ]);
        fs::write(dir.path().join("latin.md"), b"caf\xe9").unwrap();
        let catalog = TalentCatalog::open(dir.path());
        assert!(catalog.find(&name("good")).is_ok());
        let broken = catalog.find(&name("activity")).unwrap_err();
        assert_eq!(broken.code(), "broken_talent", "the built-in does not run in its place");
        assert!(broken.to_string().contains("activity.md:3:"), "{broken}");
        let of = |file: &str| {
            catalog.problems().iter().filter(|problem| problem.file.ends_with(file)).count()
        };
        assert_eq!((of("wrong.md"), of("latin.md"), of("Bad Name.md")), (3, 1, 1));
        assert!(
            catalog.scheduled(TalentSchedule::Daily).all(|talent| talent.name.as_str() != "wrong")
        );
    }

    #[test]
    fn metadata_that_is_read_as_instructions_is_told() {
        let dir = home(&[
            ("one.md", "{\"tier\": 1}\nHello."),
            ("yaml.md", "---\ntier: 1\n---\nHello."),
            ("template.md", "{{ facets }}\nHello."),
            ("plain.md", "Hello."),
        ]);
        let catalog = TalentCatalog::open(dir.path());
        let told = |file: &str| {
            let mut of = catalog.problems().iter().filter(|problem| problem.file.ends_with(file));
            of.any(|problem| problem.reason.contains("looks like frontmatter"))
        };
        assert!(told("one.md") && told("yaml.md") && !told("template.md") && !told("plain.md"));
        assert!(catalog.find(&name("one")).is_ok(), "it is a warning");
    }

    #[test]
    fn a_name_that_nobody_has_comes_with_a_hint() {
        let error = TalentCatalog::built_in().find(&name("decision")).unwrap_err();
        assert_eq!(
            error.to_string(),
            "there is no talent \"decision\"; did you mean \"decisions\"?"
        );
    }

    #[test]
    fn a_schema_may_be_a_file_beside_the_talent() {
        let talent = "{\n\"output\": \"json\",\n\"schema\": \"s.json\"\n}\nX";
        let dir = home(&[("a.md", talent), ("s.json", "{\"type\": \"array\"}"), ("b.md", "B")]);
        let catalog = TalentCatalog::open(dir.path());
        assert_eq!(catalog.find(&name("a")).unwrap().front.schema.unwrap()["type"], "array");
        fs::write(dir.path().join("s.json"), "[]").unwrap();
        assert!(TalentCatalog::open(dir.path()).find(&name("a")).is_err());
    }

    #[test]
    fn the_shared_text_can_be_the_users() {
        let dir = home(&[("_system.md", "You are Ada's memory.\n")]);
        let catalog = TalentCatalog::open(dir.path());
        assert_eq!(catalog.system(), "You are Ada's memory.");
        assert_eq!(catalog.problems(), []);
    }
}
