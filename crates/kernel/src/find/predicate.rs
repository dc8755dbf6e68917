//! Filters: a closed tree of comparisons, checked before a row is read.
//!
//! Numbers compare as integers, never through floats. A field that a memory does not have, or has no value for, is
//! equal to nothing: `Eq`, `In`, orders and patterns are false for it, `Ne` is true. A name that no type has is an
//! error.

use std::cmp::Ordering;

use minicbor::data::Int;
use minicbor::decode::Error as DecodeError;
use minicbor::encode::{Error as EncodeError, Write};
use minicbor::{Decode, Decoder, Encode, Encoder};
use proof::memory::{MemoryType, Millis};
use regex::{Regex, RegexBuilder};

use super::field::{self, Kind, Subject};
use crate::error::{Error, Result};
use crate::limits::{
    PATTERN_BYTES_MAX, PATTERN_COMPILED_BYTES_MAX, PREDICATE_DEPTH_MAX, PREDICATE_NODES_MAX,
    TAG_BYTES_MAX,
};
use crate::validate::check_text;

/// A filter. Fields are named in full: `head.project`, `version.confidence`, `data.status`.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub enum Predicate {
    /// Equal; for a list, containing.
    #[n(1)]
    Eq(#[n(0)] String, #[n(1)] FieldValue),
    #[n(2)]
    Ne(#[n(0)] String, #[n(1)] FieldValue),
    #[n(3)]
    Gt(#[n(0)] String, #[n(1)] FieldValue),
    #[n(4)]
    Gte(#[n(0)] String, #[n(1)] FieldValue),
    #[n(5)]
    Lt(#[n(0)] String, #[n(1)] FieldValue),
    #[n(6)]
    Lte(#[n(0)] String, #[n(1)] FieldValue),
    #[n(7)]
    In(#[n(0)] String, #[n(1)] Vec<FieldValue>),
    #[n(8)]
    HasTag(#[n(0)] String),
    /// A regular expression found anywhere in the text.
    #[n(9)]
    Matches(#[n(0)] String, #[n(1)] String),
    /// True when empty.
    #[n(10)]
    And(#[n(0)] Vec<Predicate>),
    /// False when empty.
    #[n(11)]
    Or(#[n(0)] Vec<Predicate>),
    #[n(12)]
    Not(#[n(0)] Box<Predicate>),
}

#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub enum FieldValue {
    #[n(1)]
    Text(#[n(0)] String),
    /// Ratios (importance, confidence, strength) in parts per million.
    #[n(2)]
    Number(#[n(0)] Number),
    #[n(3)]
    Time(#[n(0)] Millis),
    #[n(4)]
    Flag(#[n(0)] bool),
}

impl FieldValue {
    pub fn text(text: impl Into<String>) -> FieldValue {
        FieldValue::Text(text.into())
    }

    pub fn number(number: impl Into<Number>) -> FieldValue {
        FieldValue::Number(number.into())
    }

    fn what(&self) -> &'static str {
        match self {
            FieldValue::Text(_) => "a text",
            FieldValue::Number(_) => "a number",
            FieldValue::Time(_) => "a time",
            FieldValue::Flag(_) => "true or false",
        }
    }
}

/// Any signed or unsigned 64-bit number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Number(i128);

impl Number {
    /// `None` outside of 64 bits.
    pub fn new(number: i128) -> Option<Number> {
        Int::try_from(number).ok().map(|_| Number(number))
    }

    pub fn get(self) -> i128 {
        self.0
    }
}

macro_rules! number_from {
    ($($int:ty),+) => {
        $(impl From<$int> for Number {
            fn from(number: $int) -> Number {
                Number(number.into())
            }
        })+
    };
}
number_from!(i32, i64, u32, u64);

impl<C> Encode<C> for Number {
    fn encode<W: Write>(
        &self,
        e: &mut Encoder<W>,
        _: &mut C,
    ) -> std::result::Result<(), EncodeError<W::Error>> {
        e.int(Int::try_from(self.0).expect("a Number is checked to fit"))?.ok()
    }
}

impl<'b, C> Decode<'b, C> for Number {
    fn decode(d: &mut Decoder<'b>, _: &mut C) -> std::result::Result<Self, DecodeError> {
        Ok(Number(d.int()?.into()))
    }
}

impl Predicate {
    /// What must hold whatever else does: the leaves reachable through `And` alone.
    pub(super) fn conjuncts(&self) -> Vec<&Predicate> {
        match self {
            Predicate::And(parts) => parts.iter().flat_map(Predicate::conjuncts).collect(),
            leaf => vec![leaf],
        }
    }

    /// Refuses a filter that is too large to be evaluated, without walking further than the limit.
    pub fn check_size(&self) -> Result<()> {
        let mut nodes = 0;
        self.count(&mut nodes, 1)
    }

    fn count(&self, nodes: &mut usize, depth: usize) -> Result<()> {
        if depth > PREDICATE_DEPTH_MAX {
            let max = PREDICATE_DEPTH_MAX;
            return Err(Error::TooMany { field: "filter depth", count: depth, max });
        }
        *nodes += match self {
            Predicate::In(_, values) => 1 + values.len(),
            _ => 1,
        };
        if *nodes > PREDICATE_NODES_MAX {
            let max = PREDICATE_NODES_MAX;
            return Err(Error::TooMany { field: "filter", count: *nodes, max });
        }
        match self {
            Predicate::And(parts) | Predicate::Or(parts) => {
                parts.iter().try_for_each(|part| part.count(nodes, depth + 1))
            }
            Predicate::Not(part) => part.count(nodes, depth + 1),
            Predicate::Matches(_, pattern) if pattern.len() > PATTERN_BYTES_MAX => {
                Err(Error::TooLarge {
                    field: "pattern",
                    size: pattern.len(),
                    max: PATTERN_BYTES_MAX,
                })
            }
            _ => Ok(()),
        }
    }

    /// Checks names and kinds against the types the find is about (all, if none are named) and compiles patterns.
    pub(super) fn compile(&self, types: &[MemoryType]) -> Result<Test> {
        Ok(match self {
            Predicate::Eq(name, value) => {
                Test::Eq(checked(name, &[value], false, types)?, value.clone())
            }
            Predicate::Ne(name, value) => {
                Test::Not(Box::new(Test::Eq(checked(name, &[value], false, types)?, value.clone())))
            }
            Predicate::Gt(name, value) => Test::order(name, value, &[Ordering::Greater], types)?,
            Predicate::Gte(name, value) => {
                Test::order(name, value, &[Ordering::Greater, Ordering::Equal], types)?
            }
            Predicate::Lt(name, value) => Test::order(name, value, &[Ordering::Less], types)?,
            Predicate::Lte(name, value) => {
                Test::order(name, value, &[Ordering::Less, Ordering::Equal], types)?
            }
            Predicate::In(name, values) => {
                let refs: Vec<&FieldValue> = values.iter().collect();
                Test::In(checked(name, &refs, false, types)?, values.clone())
            }
            Predicate::HasTag(tag) => {
                check_text("tag", tag, TAG_BYTES_MAX)?;
                if tag.trim().is_empty() {
                    return Err(Error::invalid("tag", "is empty"));
                }
                Test::HasTag(tag.clone())
            }
            Predicate::Matches(name, pattern) => Test::matches(name, pattern, types)?,
            Predicate::And(parts) => Test::And(compile_all(parts, types)?),
            Predicate::Or(parts) => Test::Or(compile_all(parts, types)?),
            Predicate::Not(part) => Test::Not(Box::new(part.compile(types)?)),
        })
    }
}

fn compile_all(parts: &[Predicate], types: &[MemoryType]) -> Result<Vec<Test>> {
    parts.iter().map(|part| part.compile(types)).collect()
}

/// The rows of a field that the named types have; all its rows if none of them has it.
fn rows_for(name: &str, types: &[MemoryType]) -> Result<Vec<&'static field::Field>> {
    let rows = field::rows(name);
    if rows.is_empty() {
        return Err(Error::UnknownField(name.chars().take(64).collect()));
    }
    let meant: Vec<_> = rows
        .iter()
        .filter(|row| types.is_empty() || row.owner.is_none_or(|owner| types.contains(&owner)))
        .collect();
    Ok(if meant.is_empty() { rows.iter().collect() } else { meant })
}

fn checked(
    name: &str,
    values: &[&FieldValue],
    ordered: bool,
    types: &[MemoryType],
) -> Result<&'static str> {
    let rows = rows_for(name, types)?;
    for value in values {
        let mut refusal = None;
        let fits = rows.iter().any(|row| match (row.kind, *value) {
            (Kind::Word(check), FieldValue::Text(text)) if !ordered => {
                refusal = check(&text.to_ascii_lowercase()).err();
                refusal.is_none()
            }
            (Kind::Text, FieldValue::Text(_))
            | (Kind::Number | Kind::Ratio, FieldValue::Number(_))
            | (Kind::Time, FieldValue::Time(_)) => true,
            (Kind::Texts, FieldValue::Text(_))
            | (Kind::Ids, FieldValue::Number(_))
            | (Kind::Flag, FieldValue::Flag(_)) => !ordered,
            _ => false,
        });
        if !fits {
            let with = if ordered { "an order" } else { value.what() };
            let mismatch = Error::NotComparable { field: name.to_owned(), with };
            return Err(refusal.map_or(mismatch, Error::from));
        }
    }
    Ok(rows[0].name)
}

/// A predicate ready to be asked about rows.
#[derive(Debug)]
pub(super) enum Test {
    Eq(&'static str, FieldValue),
    Order(&'static str, FieldValue, &'static [Ordering]),
    In(&'static str, Vec<FieldValue>),
    HasTag(String),
    Matches(&'static str, Regex),
    And(Vec<Test>),
    Or(Vec<Test>),
    Not(Box<Test>),
}

impl Test {
    fn order(
        name: &str,
        value: &FieldValue,
        wanted: &'static [Ordering],
        types: &[MemoryType],
    ) -> Result<Test> {
        Ok(Test::Order(checked(name, &[value], true, types)?, value.clone(), wanted))
    }

    fn matches(name: &str, pattern: &str, types: &[MemoryType]) -> Result<Test> {
        let rows = rows_for(name, types)?;
        if !rows.iter().any(|row| matches!(row.kind, Kind::Text | Kind::Word(_) | Kind::Texts)) {
            return Err(Error::NotComparable { field: name.to_owned(), with: "a pattern" });
        }
        let regex = RegexBuilder::new(pattern)
            .size_limit(PATTERN_COMPILED_BYTES_MAX)
            .build()
            .map_err(|error| Error::invalid("pattern", error.to_string()))?;
        Ok(Test::Matches(rows[0].name, regex))
    }

    pub(super) fn needs_body(&self) -> bool {
        match self {
            Test::Eq(name, _)
            | Test::Order(name, _, _)
            | Test::In(name, _)
            | Test::Matches(name, _) => name.starts_with("data."),
            Test::HasTag(_) => false,
            Test::And(parts) | Test::Or(parts) => parts.iter().any(Test::needs_body),
            Test::Not(part) => part.needs_body(),
        }
    }

    pub(super) fn holds(&self, subject: &Subject<'_>) -> bool {
        match self {
            Test::Eq(name, value) => subject.held(name).is(value),
            Test::Order(name, value, wanted) => {
                subject.held(name).order(value).is_some_and(|order| wanted.contains(&order))
            }
            Test::In(name, values) => {
                let held = subject.held(name);
                values.iter().any(|value| held.is(value))
            }
            Test::HasTag(tag) => subject.head.tags.binary_search(tag).is_ok(),
            Test::Matches(name, regex) => subject.held(name).any_text(|text| regex.is_match(text)),
            Test::And(parts) => parts.iter().all(|part| part.holds(subject)),
            Test::Or(parts) => parts.iter().any(|part| part.holds(subject)),
            Test::Not(part) => !part.holds(subject),
        }
    }
}
