//! Typed questions: the kernel's find in the words of a request.

use api::find::{FindAccount, FindItem, FindRequest, FoundMemories};
use api::{ErrorCode, Fault};
use kernel::Digest;
use kernel::actor::ActorName;
use kernel::find::{Cursor, FieldValue, FindAnswer, FoundItem, Order, Predicate, Query};
use kernel::grants::{Gate, Permission};
use kernel::memory::{MemoryId, MemoryType};
use kernel::render::Form;
use kernel::uri::Uri;

use crate::Service;
use crate::caller::Caller;
use crate::error::{Error, Result};
use crate::nearness;
use crate::parse::{self, from_ppm};

impl Service {
    pub fn find(&self, caller: &Caller, request: FindRequest) -> Result<FoundMemories> {
        let (mut query, all_types) = query(&request)?;
        let cortex = self.opened(caller)?;
        let now = caller.now()?;
        let digest = match &request.about {
            None => signed_request(&[b"find", &query.to_bytes()]),
            Some(about) => signed_request(&[b"find", &query.to_bytes(), about.as_bytes()]),
        };
        let authority = self.authority(caller, &cortex, Permission::Find, digest)?;
        if let Some(about) = &request.about {
            let gate = authority.as_ref().map(|authority| authority as &dyn Gate);
            query.near = nearness::to_text(&cortex.read()?, gate, about, None, now)?;
            if query.near.is_empty() {
                return Ok(FoundMemories { all_types, ..FoundMemories::default() });
            }
        }
        let (found, late) = match authority {
            Some(_) if request.late => {
                let message = "a delegate cannot record a find with --late";
                return Err(Error::new(ErrorCode::Usage, Fault::Caller, message));
            }
            Some(authority) => (cortex.find_for(&authority, &query, now)?, None),
            None if request.late => {
                let stamp = caller.plain_stamp()?;
                let (found, receipt) = cortex.find_late(stamp, &query, caller.salt()?)?;
                (found, Some(receipt.seq))
            }
            None => (cortex.find(&query, now)?, None),
        };
        Ok(FoundMemories { all_types, ..answer(&caller.actor, found, late) })
    }
}

/// What a delegate signs when it asks for something that is no command: the arguments, each with its length before it.
pub(crate) fn signed_request(arguments: &[&[u8]]) -> Digest {
    let mut bytes = Vec::new();
    for argument in arguments {
        bytes.extend_from_slice(&(argument.len() as u64).to_be_bytes());
        bytes.extend_from_slice(argument);
    }
    Digest::of("cortex/cli-request/1", &[&bytes])
}

/// The query, and whether it looks through all types because none was named.
fn query(request: &FindRequest) -> Result<(Query, bool)> {
    let named = request.memory_types.iter().map(|name| MemoryType::parse(name));
    let mut types = named.collect::<kernel::Result<Vec<_>, kernel::ProofError>>()?;
    let mut parts: Vec<Predicate> = Vec::new();
    if !request.kinds.is_empty() {
        let wanted = request.kinds.iter().cloned().map(FieldValue::Text).collect();
        parts.push(Predicate::In("head.kind".to_owned(), wanted));
    }
    for text in request.conditions.iter().filter(|text| !text.trim().is_empty()) {
        parts.push(text.parse()?);
    }
    parts.extend(request.tags.iter().cloned().map(Predicate::HasTag));
    // Conditions without a type or tag look through all types; the rows examined are bounded all the same.
    let all_types = types.is_empty() && !parts.iter().any(narrows);
    if all_types {
        types = MemoryType::ALL.to_vec();
    }
    let filter = match parts.len() {
        0 => None,
        1 => parts.pop(),
        _ => Some(Predicate::And(parts)),
    };
    let order = request.order.iter().map(|key| Order::parse(key));
    let query = Query {
        types,
        filter,
        order_by: order.collect::<kernel::Result<_>>()?,
        limit: request.limit,
        budget_tokens: request.budget,
        form: request.form.as_deref().map_or(Ok(Form::Short), Form::parse)?,
        include_forgotten: request.forgotten,
        include_archived: request.archived,
        as_of: request.as_of.as_deref().map(parse::time).transpose()?,
        cursor: request.cursor.as_deref().map(Cursor::new),
        ..Query::default()
    };
    Ok((query, all_types))
}

/// A condition that names a type or a tag by itself.
fn narrows(predicate: &Predicate) -> bool {
    match predicate {
        Predicate::HasTag(_) => true,
        Predicate::Eq(field, _) | Predicate::In(field, _) => field == "head.type",
        Predicate::And(parts) => parts.iter().any(narrows),
        Predicate::Or(parts) => !parts.is_empty() && parts.iter().all(narrows),
        _ => false,
    }
}

fn answer(actor: &ActorName, found: FindAnswer, late: Option<u64>) -> FoundMemories {
    FoundMemories {
        items: found.items.into_iter().map(|item| item_view(actor, item)).collect(),
        tokens: found.tokens,
        trimmed: found.trimmed,
        next: found.next.map(|cursor| cursor.as_str().to_owned()),
        explain: FindAccount {
            index: found.explain.index,
            rows_examined: found.explain.rows_examined,
            capped: found.explain.capped,
            matched: found.explain.matched,
        },
        all_types: false,
        late,
    }
}

fn item_view(actor: &ActorName, item: FoundItem) -> FindItem {
    let ids = |ids: &[MemoryId]| ids.iter().map(|id| id.get()).collect();
    let uri = Uri {
        actor: actor.clone(),
        memory_type: item.head.memory_type,
        id: item.head.id,
        version: item.version.n,
    };
    FindItem {
        id: item.head.id.get(),
        uri: uri.to_string(),
        version: item.version.n,
        kind: item.head.kind,
        memory_type: item.head.memory_type.name().to_owned(),
        text: item.text,
        tokens: item.tokens,
        score: from_ppm(item.score),
        standing: item.standing.name().to_owned(),
        superseded_by: ids(&item.superseded_by),
        contradicted_by: ids(&item.contradicted_by),
        tags: item.head.tags,
        project: item.head.project.unwrap_or_default(),
        session_id: item.head.session.unwrap_or_default(),
        created_at: item.head.created.rfc3339(),
        updated_at: item.head.updated.rfc3339(),
    }
}
