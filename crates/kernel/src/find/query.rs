//! What may be asked, in one canonical encoding, so that a find can be journaled and asked again.

use minicbor::data::Type;
use minicbor::{Decode, Encode};
use proof::Digest;
use proof::codec;
use proof::memory::{MemoryId, MemoryType, Millis};

use super::predicate::Predicate;
use super::rank::Cursor;
use crate::error::{Error, Result};
use crate::graph::Walk;
use crate::limits::{
    BUDGET_TOKENS_MAX, FIND_LIMIT_MAX, NEAR_MAX, PREDICATE_DEPTH_MAX, ROWS_EXAMINED_MAX,
};
use crate::render::Form;
use crate::validate::check_at_most;

/// Order keys in one query.
pub const ORDER_KEYS_MAX: usize = 8;
/// Arrays and maps inside each other in an encoded query: three for each level of a filter, and the query around it.
const ENCODED_DEPTH_MAX: usize = 3 * PREDICATE_DEPTH_MAX + 8;

#[derive(Clone, Debug, Default, PartialEq, Eq, Encode, Decode)]
#[cbor(map)]
pub struct Query {
    /// Any of these; of every type if empty.
    #[n(0)]
    pub types: Vec<MemoryType>,
    #[n(1)]
    pub filter: Option<Predicate>,
    /// Salience downwards if empty; nearest hop first for a walk.
    #[n(2)]
    pub order_by: Vec<Order>,
    #[n(3)]
    pub limit: Option<u32>,
    #[n(4)]
    pub budget_tokens: Option<u32>,
    #[n(5)]
    pub form: Form,
    #[n(6)]
    pub include_forgotten: bool,
    #[n(7)]
    pub include_archived: bool,
    /// What was true and known at this moment instead of now.
    #[n(8)]
    pub as_of: Option<Millis>,
    /// Only these, with their similarity to something outside of the kernel.
    #[n(9)]
    pub near: Vec<NearMemory>,
    /// Only what this walk reaches.
    #[n(10)]
    pub from: Option<Walk>,
    #[n(11)]
    pub cursor: Option<Cursor>,
    /// Fewer rows than the kernel's own limit.
    #[n(12)]
    pub rows_max: Option<u32>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
#[cbor(map)]
pub struct NearMemory {
    #[n(0)]
    pub id: MemoryId,
    /// Parts per million.
    #[n(1)]
    pub similarity: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
#[cbor(map)]
pub struct Order {
    #[n(0)]
    pub by: OrderBy,
    #[n(1)]
    pub descending: bool,
}

impl Order {
    pub fn up(by: OrderBy) -> Order {
        Order { by, descending: false }
    }

    pub fn down(by: OrderBy) -> Order {
        Order { by, descending: true }
    }

    /// `created` is upwards, `-created` downwards.
    pub fn parse(text: &str) -> Result<Order> {
        let (descending, name) = text.strip_prefix('-').map_or((false, text), |name| (true, name));
        let by = OrderBy::ALL.into_iter().find(|by| by.name() == name).ok_or_else(|| {
            let names = OrderBy::ALL.map(OrderBy::name).join(", ");
            Error::invalid("order", format!("use one of {names}, with - before it for downwards"))
        })?;
        Ok(Order { by, descending })
    }
}

/// What items can be ordered by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
#[cbor(index_only)]
pub enum OrderBy {
    /// Superseded memories come after all others, whatever their salience.
    #[n(1)]
    Salience,
    /// The order of the journal, which is the order of ids.
    #[n(2)]
    Created,
    #[n(3)]
    Updated,
    #[n(4)]
    Importance,
    #[n(5)]
    Similarity,
    #[n(6)]
    Hop,
    #[n(7)]
    Id,
}

impl OrderBy {
    pub const ALL: [OrderBy; 7] = [
        OrderBy::Salience,
        OrderBy::Created,
        OrderBy::Updated,
        OrderBy::Importance,
        OrderBy::Similarity,
        OrderBy::Hop,
        OrderBy::Id,
    ];

    pub fn name(self) -> &'static str {
        match self {
            OrderBy::Salience => "salience",
            OrderBy::Created => "created",
            OrderBy::Updated => "updated",
            OrderBy::Importance => "importance",
            OrderBy::Similarity => "similarity",
            OrderBy::Hop => "hop",
            OrderBy::Id => "id",
        }
    }
}

impl Query {
    pub fn of_types(types: &[MemoryType], limit: u32) -> Query {
        Query { types: types.to_vec(), limit: Some(limit), ..Query::default() }
    }

    pub fn to_bytes(&self) -> Vec<u8> {
        codec::encode(self)
    }

    pub fn from_bytes(bytes: &[u8]) -> Result<Query> {
        check_nesting(bytes)?;
        Ok(codec::decode("query", bytes)?)
    }

    /// What cursors are bound to: everything but the cursor.
    pub fn digest(&self) -> Digest {
        let first = Query { cursor: None, ..self.clone() };
        Digest::of("cortex/query/1", &[&first.to_bytes()])
    }

    /// The guards that need no row, in their order; too broad is the planner's to say.
    pub(super) fn check(&self) -> Result<()> {
        let limit = self.limit.filter(|limit| *limit > 0);
        let budget = self.budget_tokens.filter(|budget| *budget > 0);
        if limit.is_none() && budget.is_none() {
            return Err(Error::Unbounded);
        }
        check_at_most("limit", limit, FIND_LIMIT_MAX)?;
        check_at_most("budget_tokens", budget, BUDGET_TOKENS_MAX)?;
        if self.rows_max == Some(0) {
            return Err(Error::invalid("rows_max", "must be at least 1"));
        }
        check_near(&self.near)?;
        if self.order_by.len() > ORDER_KEYS_MAX {
            return Err(Error::TooMany {
                field: "order_by",
                count: self.order_by.len(),
                max: ORDER_KEYS_MAX,
            });
        }
        self.filter.as_ref().map_or(Ok(()), Predicate::check_size)
    }

    pub(super) fn limit(&self) -> usize {
        self.limit.filter(|limit| *limit > 0).unwrap_or(FIND_LIMIT_MAX) as usize
    }

    pub(super) fn rows_max(&self) -> u32 {
        self.rows_max.unwrap_or(ROWS_EXAMINED_MAX).min(ROWS_EXAMINED_MAX)
    }

    pub(super) fn order(&self) -> Vec<Order> {
        if !self.order_by.is_empty() {
            self.order_by.clone()
        } else if self.from.is_some() {
            vec![Order::up(OrderBy::Hop), Order::down(OrderBy::Salience)]
        } else {
            vec![Order::down(OrderBy::Salience)]
        }
    }
}

pub(crate) fn check_near(near: &[NearMemory]) -> Result<()> {
    if near.len() > NEAR_MAX {
        return Err(Error::TooMany { field: "near", count: near.len(), max: NEAR_MAX });
    }
    if near.iter().any(|near| near.similarity > 1_000_000) {
        return Err(Error::invalid("near", "similarities lie between 0 and 1"));
    }
    Ok(())
}

/// Refuses bytes nested deeper than any legal query before a recursive decoder sees them.
fn check_nesting(bytes: &[u8]) -> Result<()> {
    let refused = |reason: &str| Error::NonCanonical { what: "query", reason: reason.to_owned() };
    let mut decoder = minicbor::Decoder::new(bytes);
    // The stack holds how many items are still to come in each open array or map.
    let mut open: Vec<u64> = Vec::new();
    while decoder.position() < bytes.len() {
        let broken = |error: minicbor::decode::Error| refused(&error.to_string());
        match decoder.datatype().map_err(broken)? {
            Type::Array => {
                open.push(decoder.array().map_err(broken)?.unwrap_or(0).saturating_add(1));
            }
            Type::Map => {
                let pairs = decoder.map().map_err(broken)?.unwrap_or(0);
                open.push(pairs.saturating_mul(2).saturating_add(1));
            }
            Type::ArrayIndef | Type::MapIndef | Type::Tag => {
                return Err(refused("indefinite lengths and tags are not used"));
            }
            _ => decoder.skip().map_err(broken)?,
        }
        if open.len() > ENCODED_DEPTH_MAX {
            return Err(refused("nested too deep"));
        }
        while let Some(left) = open.last_mut() {
            *left -= 1;
            if *left > 0 {
                break;
            }
            open.pop();
        }
    }
    Ok(())
}
