//! Reads our own export, line by line. A newer version of the format than ours is refused, not guessed at.

use std::path::Path;

use kernel::memory::MemoryType;
use serde_json::Value;

use crate::dates;
use crate::export_line::{EndLine, ExportLine, FORMAT, MemoryLine, SYSTEM, VersionLine};
use crate::normalize::{Normalizer, Rest, Standing};
use crate::origin::origin;
use crate::record::{
    EdgeRecord, ForgottenRecord, HeadRecord, PromptRecord, SessionRecord, UsageRecord,
    VersionRecord,
};
use crate::server_memory::Lines;
use crate::{Error, Result};
use service::parse::ratio_of;

pub(super) fn read(path: &Path, normalizer: &mut Normalizer<'_>) -> Result<()> {
    let mut reader = Reader { store: String::new(), current: None, end: None };
    // A line that says something illegal is left out like one that is no line.
    let judged = |what: String, outcome: Result<()>, normalizer: &mut Normalizer<'_>| match outcome
    {
        Err(Error::Kernel(error)) => {
            normalizer.skip(what, error.to_string());
            Ok(())
        }
        outcome => outcome,
    };
    let mut lines = Lines::open(path)?;
    while let Some((n, text)) = lines.next(normalizer)? {
        let what = format!("line {n}");
        match serde_json::from_str::<ExportLine>(&text) {
            Ok(line) => {
                let outcome = reader.line(path, &what, line, normalizer);
                judged(what, outcome, normalizer)?;
            }
            Err(error) => normalizer.skip(what, format!("it is no line of an export: {error}")),
        }
    }
    reader.finish(normalizer)?;
    if reader.end.is_none() {
        normalizer.skip("the end of the file", "the export was cut off; what is there was taken");
        normalizer.breaks_off("the last line of the export is missing");
    }
    Ok(())
}

struct Reader {
    store: String,
    current: Option<Current>,
    end: Option<EndLine>,
}

/// The memory whose versions may follow on further lines.
struct Current {
    /// Its number at the origin.
    id: u64,
    origin: String,
    memory_type: MemoryType,
    what: String,
    rest: Rest,
}

impl Reader {
    fn line(
        &mut self,
        path: &Path,
        what: &str,
        line: ExportLine,
        normalizer: &mut Normalizer<'_>,
    ) -> Result<()> {
        if !matches!(line, ExportLine::Versions(_)) {
            self.finish(normalizer)?;
        }
        match line {
            ExportLine::Header(header) if header.cortex_export > FORMAT => {
                let reason = format!(
                    "the export has format {}; this program reads up to {FORMAT}",
                    header.cortex_export
                );
                Err(Error::source(path, reason))
            }
            ExportLine::Header(header) => {
                self.store = header.store;
                Ok(())
            }
            ExportLine::Session(line) => normalizer.session(
                what,
                SessionRecord {
                    session: line.session,
                    project: line.project,
                    directory: line.directory,
                    agent: line.agent,
                    started: line.started.as_deref().and_then(dates::parse),
                    ended: line.ended.as_deref().and_then(dates::parse),
                    summary: line.summary,
                },
            ),
            ExportLine::Memory(line) => self.memory(what, *line, normalizer),
            ExportLine::Versions(line) => {
                self.versions(what, line.memory, line.versions, normalizer)
            }
            ExportLine::Edge(line) => {
                let weight = ratio_of("weight", line.weight)?;
                normalizer.edge(
                    what,
                    EdgeRecord {
                        from: line.from.to_string(),
                        relation: line.relation,
                        to: line.to.to_string(),
                        weight,
                        by: Some(line.by),
                        at: dates::parse(&line.at),
                    },
                )
            }
            ExportLine::Prompt(line) => {
                let own = origin(SYSTEM, &format!("{}:{}", self.store, line.id));
                normalizer.prompt(
                    what,
                    PromptRecord {
                        origin: line.origin.unwrap_or(own),
                        session: line.session,
                        project: line.project,
                        text: line.text,
                        at: dates::parse(&line.at),
                    },
                )
            }
            ExportLine::End(end) => {
                self.end = Some(end);
                Ok(())
            }
        }
    }

    fn memory(
        &mut self,
        what: &str,
        mut line: MemoryLine,
        normalizer: &mut Normalizer<'_>,
    ) -> Result<()> {
        let Some(memory_type) = MemoryType::from_name(&line.memory_type) else {
            normalizer.skip(what, format!("{:?} is no type", line.memory_type));
            return Ok(());
        };
        let what = format!("{what}, memory {}", line.id);
        let own = origin(SYSTEM, &format!("{}:{}", self.store, line.id));
        let origin = line.origin.take().unwrap_or(own);
        // Edges and references use the number it had.
        normalizer.staging.alias(&line.id.to_string(), &origin)?;
        let mut head = head_of(&line)?;
        head.project = head.project.or_else(|| normalizer.project.clone());
        let last = dates::parse(&line.revised);
        let updated = dates::parse(&line.updated).filter(|updated| Some(*updated) > last);
        let forgotten = line.forgotten.take().map(|forgotten| ForgottenRecord {
            reason: forgotten.reason,
            by: Some(forgotten.by),
            at: dates::parse(&forgotten.at),
        });
        let usage = Some(UsageRecord {
            accesses: line.accesses,
            last_access: line.last_access.as_deref().and_then(dates::parse),
        });
        let rest = Rest { head: head.clone(), last, updated, forgotten, usage };
        let mut versions = line.versions.into_iter();
        let Some(first) = versions.next() else {
            normalizer.skip(what, "it has no version");
            return Ok(());
        };
        let standing = Standing { early: updated.is_some(), frozen: true, is_copy: false };
        if !normalizer.first(&what, &origin, head, standing, version_of(first)?)? {
            return Ok(());
        }
        self.current = Some(Current { id: line.id, origin, memory_type, what: what.clone(), rest });
        self.versions(&what, line.id, versions.collect(), normalizer)
    }

    fn versions(
        &self,
        what: &str,
        memory: u64,
        versions: Vec<VersionLine>,
        normalizer: &mut Normalizer<'_>,
    ) -> Result<()> {
        let Some(current) = self.current.as_ref().filter(|current| current.id == memory) else {
            normalizer.skip(what, format!("the memory {memory} it belongs to is not before it"));
            return Ok(());
        };
        for version in versions {
            let n = version.version;
            let what = format!("{what}, version {n}");
            normalizer.later(
                &what,
                &current.origin,
                current.memory_type,
                n,
                version_of(version)?,
            )?;
        }
        Ok(())
    }

    /// All versions of the current memory are staged; what came after them is next.
    fn finish(&mut self, normalizer: &mut Normalizer<'_>) -> Result<()> {
        match self.current.take() {
            Some(Current { origin, what, rest, .. }) => normalizer.rest(&what, &origin, rest),
            None => Ok(()),
        }
    }
}

fn head_of(line: &MemoryLine) -> Result<HeadRecord> {
    Ok(HeadRecord {
        kind: Some(line.kind.clone()),
        memory_type: Some(line.memory_type.clone()),
        project: line.project.clone(),
        scope: Some(line.scope.clone()),
        visibility: Some(line.visibility.clone()),
        pinned: line.pinned,
        archived: line.archived,
        tags: line.tags.clone(),
        topic_key: line.topic_key.clone(),
        session: line.session.clone(),
        channel: line.channel.clone(),
        importance: Some(ratio_of("importance", line.importance)?),
        duplicates: line.duplicates,
    })
}

fn version_of(line: VersionLine) -> Result<VersionRecord> {
    let mut fields = line.fields;
    // Evidence names memories by number; as texts they are names like those of derived_from.
    if let Some(Value::Array(evidence)) = fields.get_mut("evidence") {
        for id in evidence.iter_mut() {
            *id = Value::String(id.to_string());
        }
    }
    let time = |text: Option<String>| text.as_deref().and_then(dates::parse);
    Ok(VersionRecord {
        title: line.title,
        content: line.content,
        fields,
        by: Some(line.by),
        created: dates::parse(&line.created),
        confidence: Some(ratio_of("confidence", line.confidence)?),
        source: Some(line.source),
        derived_from: line.derived_from,
        model: line.model,
        origin: line.origin,
        valid_from: time(line.valid_from),
        valid_until: time(line.valid_until),
        expires: time(line.expires),
    })
}
