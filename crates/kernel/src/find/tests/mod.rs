//! Tests of find, by what they are about.

mod answers;
mod bounds;
mod filters;
mod pages;

use proof::memory::MemoryType;

use super::fixture::{DAY, Draft, Fixture, NotPrivate, T0, id, now};
use super::*;

fn run(fixture: &Fixture, query: &Query) -> Result<FindAnswer> {
    find(&fixture.view(), None, query, now())
}

fn ids(found: &FindAnswer) -> Vec<u64> {
    found.items.iter().map(|item| item.head.id.get()).collect()
}

fn filter(text: &str) -> Predicate {
    text.parse().unwrap()
}

fn facts(text: &str) -> Query {
    Query { filter: Some(filter(text)), ..Query::of_types(&[MemoryType::Fact], 100) }
}
