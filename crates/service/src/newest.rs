//! What a question without words gets: the newest memories that pass its filters. `*`, a blank or signs alone are what
//! people and hooks send to see what there is, so they are neither an error nor an empty answer.

use std::cmp::Reverse;
use std::ops::ControlFlow;

use kernel::find::{MemoryReader, MemoryRow};
use kernel::keys::{self, Index};
use kernel::limits::ROWS_EXAMINED_MAX;
use kernel::memory::{Head, MemoryId, MemoryType, Millis};
use kernel::render::{self, Form};
use kernel::store::View;
use recall::search::{Hit, LIMIT_MAX, LinkedMemory, SearchOutcome, SearchQuery};

use crate::access::ActorAccess;
use crate::error::Result;
use crate::wording;

/// Said with such an answer.
const NOTE: &str = "the question has no words to search by; these are the newest";
/// Characters of a preview.
const PREVIEW_CHARS: usize = 300;

/// True if there is nothing in a question to search by. What must not be there finds nothing by itself.
pub(super) fn is_wordless(view: &View<'_>, question: &str) -> Result<bool> {
    Ok(recall::language::analyzer(view)?.question(question).is_empty())
}

/// The newest memories that pass the filters of a query, newest first, and what is to be said about them.
pub(super) fn newest(
    access: &ActorAccess,
    query: &SearchQuery,
    now: Millis,
) -> Result<(SearchOutcome, Option<String>)> {
    let view = access.reading.view();
    let reader = MemoryReader::new(&view, access.gate(), query.as_of, now)?;
    let limit = query.limit.min(LIMIT_MAX);
    let mut rows: Vec<MemoryRow> = Vec::new();
    let (mut seen, mut capped) = (0, false);
    for index in indexes(query) {
        let (mut left, mut rest) = (limit, ROWS_EXAMINED_MAX);
        view.scan_index(&index, None, true, &mut |id| {
            let head = view.required_head(id)?;
            // What a delegate may not see is in no number.
            seen += usize::from(reader.sees(&head));
            if passes(&head, query)
                && let Some(row) = reader.row_of(head)?
                && row.standing.is_shown_to(query.include_forgotten, query.include_archived)
            {
                rows.push(row);
                left -= 1;
            }
            rest -= 1;
            capped |= rest == 0 && left > 0;
            let over = left == 0 || rest == 0;
            Ok(if over { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
        })?;
    }
    rows.sort_by_key(|row| Reverse((row.head.created, row.head.id)));
    rows.dedup_by_key(|row| row.head.id);
    rows.truncate(limit);
    let hits: Vec<Hit> = rows.into_iter().map(|row| hit(&reader, row)).collect::<Result<_>>()?;
    let note = match (hits.is_empty(), capped) {
        (_, true) => Some(format!("{NOTE} of {seen} that were looked at; there are more")),
        (false, false) => Some(NOTE.to_owned()),
        (true, false) => None,
    };
    Ok((SearchOutcome { hits, candidates: seen, ..SearchOutcome::default() }, note))
}

/// The fewest rows that hold what a query may find, each index newest first.
fn indexes(query: &SearchQuery) -> Vec<Index> {
    let of_types = |types: &[MemoryType]| types.iter().map(|t| keys::by_type(*t)).collect();
    match (&query.session, query.tags.first(), &query.project) {
        (Some(session), _, _) => vec![keys::by_session(session)],
        (None, Some(tag), _) => vec![keys::by_tag(tag)],
        (None, None, Some(project)) => vec![keys::by_project(project)],
        (None, None, None) if query.types.is_empty() => of_types(&MemoryType::ALL),
        (None, None, None) => of_types(&query.types),
    }
}

fn passes(head: &Head, query: &SearchQuery) -> bool {
    let same = |wanted: &Option<String>, its: &Option<String>| wanted.is_none() || wanted == its;
    same(&query.project, &head.project)
        && same(&query.session, &head.session)
        && query.scope.is_none_or(|scope| head.scope == scope)
        && (query.types.is_empty() || query.types.contains(&head.memory_type))
        && (query.kinds.is_empty() || query.kinds.contains(&head.kind))
        && query.tags.iter().all(|tag| head.tags.contains(tag))
        && query.created_from.is_none_or(|from| head.created >= from)
        && query.created_until.is_none_or(|until| head.created < until)
}

fn hit(reader: &MemoryReader<'_>, row: MemoryRow) -> Result<Hit> {
    let body = reader.body(&row)?;
    let text = body.as_ref().map(|body| body.content.as_str()).unwrap_or_default();
    let full = render::render(&row.head, &row.version, body.as_ref(), Form::Full);
    Ok(Hit {
        id: row.head.id,
        preview: wording::shortened(text, PREVIEW_CHARS),
        tokens: render::tokens(&full),
        superseded_by: named(reader, &row.superseded_by)?,
        contradicts: named(reader, &reader.contradicted_by(row.head.id)?)?,
        head: row.head,
        version: row.version,
        usage: row.usage,
        body,
        standing: row.standing,
        score: 0,
        relevance: 0,
        arms: Vec::new(),
        by_model: false,
        signals: None,
    })
}

fn named(reader: &MemoryReader<'_>, ids: &[MemoryId]) -> Result<Vec<LinkedMemory>> {
    let mut named = Vec::with_capacity(ids.len());
    for id in ids {
        if let Some(row) = reader.row(*id)? {
            named.push(LinkedMemory { id: *id, title: reader.body(&row)?.map(|body| body.title) });
        }
    }
    Ok(named)
}
