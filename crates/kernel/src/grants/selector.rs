//! What a grant allows: operations, and the memories they may touch.
//!
//! A selector is a conjunction of criteria, so that adding a criterion or removing an item can only narrow it. An
//! exclusion is the opposite, a disjunction, so that adding anything can only widen it. Attenuation rests on these two
//! facts.

use minicbor::{Decode, Encode};
use proof::memory::{Head, MemoryId, MemoryType};

use crate::error::{Error, Result};
use crate::limits::{SELECTOR_ITEMS_MAX, TAG_BYTES_MAX};
use crate::validate::check_name;

/// What a delegate may ask for. The set is closed and codes are never renumbered; erasing, sessions, snapshots and
/// grants themselves are not in it, because they stay with the owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Encode, Decode)]
#[cbor(index_only)]
pub enum Permission {
    /// Resolve and history.
    #[n(1)]
    Read = 1,
    #[n(2)]
    Find = 2,
    #[n(3)]
    Context = 3,
    #[n(4)]
    Graph = 4,
    #[n(5)]
    Prove = 5,
    #[n(6)]
    Write = 6,
    #[n(7)]
    Update = 7,
    /// Forget and restore.
    #[n(8)]
    Tombstone = 8,
    #[n(9)]
    Edge = 9,
    #[n(10)]
    Attest = 10,
}

impl Permission {
    pub const ALL: [Permission; 10] = [
        Permission::Read,
        Permission::Find,
        Permission::Context,
        Permission::Graph,
        Permission::Prove,
        Permission::Write,
        Permission::Update,
        Permission::Tombstone,
        Permission::Edge,
        Permission::Attest,
    ];

    pub fn code(self) -> u8 {
        self as u8
    }

    pub fn name(self) -> &'static str {
        match self {
            Permission::Read => "read",
            Permission::Find => "find",
            Permission::Context => "context",
            Permission::Graph => "graph",
            Permission::Prove => "prove",
            Permission::Write => "write",
            Permission::Update => "update",
            Permission::Tombstone => "tombstone",
            Permission::Edge => "edge",
            Permission::Attest => "attest",
        }
    }

    pub fn from_name(name: &str) -> Option<Permission> {
        Permission::ALL.into_iter().find(|operation| operation.name() == name)
    }

    /// True when the operation leaves something in the journal on the delegate's behalf.
    pub fn changes(self) -> bool {
        self >= Permission::Write
    }
}

/// Memories by type, tag, project and id. Lists are sorted without duplicates; an empty list is no criterion.
#[derive(Clone, Debug, Default, PartialEq, Eq, Encode, Decode)]
#[cbor(map)]
pub struct Selector {
    #[n(0)]
    pub types: Vec<MemoryType>,
    #[n(1)]
    pub tags: Vec<String>,
    #[n(2)]
    pub projects: Vec<String>,
    #[n(3)]
    pub ids: Vec<MemoryId>,
}

impl Selector {
    /// Puts every list into its one order.
    pub fn normal(mut self) -> Selector {
        fn order<T: Ord>(items: &mut Vec<T>) {
            items.sort();
            items.dedup();
        }
        order(&mut self.types);
        order(&mut self.tags);
        order(&mut self.projects);
        order(&mut self.ids);
        self
    }

    pub fn is_empty(&self) -> bool {
        self.items() == 0
    }

    fn items(&self) -> usize {
        self.types.len() + self.tags.len() + self.projects.len() + self.ids.len()
    }

    /// Every populated criterion has an item that fits. An empty selector fits nothing.
    pub fn matches_all(&self, head: &Head) -> bool {
        !self.is_empty() && self.verdicts(head).into_iter().flatten().all(|fits| fits)
    }

    /// Some criterion has an item that fits.
    pub fn matches_any(&self, head: &Head) -> bool {
        self.verdicts(head).into_iter().flatten().any(|fits| fits)
    }

    /// One verdict per populated criterion.
    fn verdicts(&self, head: &Head) -> [Option<bool>; 4] {
        fn when<T>(items: &[T], fits: impl FnMut(&T) -> bool) -> Option<bool> {
            (!items.is_empty()).then(|| items.iter().any(fits))
        }
        [
            when(&self.types, |t| *t == head.memory_type),
            when(&self.tags, |tag| head.tags.contains(tag)),
            when(&self.projects, |project| head.project.as_ref() == Some(project)),
            when(&self.ids, |id| *id == head.id),
        ]
    }

    /// As an inclusion, this one lets nothing through that `parent` holds back.
    pub(super) fn narrows(&self, parent: &Selector) -> bool {
        fn within<T: Ord>(mine: &[T], parents: &[T]) -> bool {
            parents.is_empty() || (!mine.is_empty() && subset(mine, parents))
        }
        within(&self.types, &parent.types)
            && within(&self.tags, &parent.tags)
            && within(&self.projects, &parent.projects)
            && within(&self.ids, &parent.ids)
    }

    /// As an exclusion, this one holds back everything that `parent` does.
    pub(super) fn covers(&self, parent: &Selector) -> bool {
        subset(&parent.types, &self.types)
            && subset(&parent.tags, &self.tags)
            && subset(&parent.projects, &self.projects)
            && subset(&parent.ids, &self.ids)
    }

    /// Bounds and order. `field` is the name the error carries.
    pub(super) fn check(&self, field: &'static str) -> Result<()> {
        if self.is_empty() {
            return Err(Error::invalid(field, "selects nothing; name a type, tag, project or id"));
        }
        if self.items() > SELECTOR_ITEMS_MAX {
            return Err(Error::TooMany { field, count: self.items(), max: SELECTOR_ITEMS_MAX });
        }
        for tag in &self.tags {
            check_name("tag", tag)?;
            if tag.len() > TAG_BYTES_MAX {
                return Err(Error::TooLarge { field: "tag", size: tag.len(), max: TAG_BYTES_MAX });
            }
        }
        self.projects.iter().try_for_each(|project| check_name("project", project))?;
        let ordered = ascending(&self.types)
            && ascending(&self.tags)
            && ascending(&self.projects)
            && ascending(&self.ids);
        if ordered {
            Ok(())
        } else {
            Err(Error::invalid(field, "is not sorted without duplicates"))
        }
    }

    /// For people: `type Fact, Goal; tag release`.
    pub fn describe(&self) -> String {
        let mut parts = Vec::new();
        let mut part = |what: &str, items: Vec<String>| {
            if !items.is_empty() {
                parts.push(format!("{what} {}", items.join(", ")));
            }
        };
        part("type", self.types.iter().map(|t| t.name().to_owned()).collect());
        part("tag", self.tags.clone());
        part("project", self.projects.clone());
        part("id", self.ids.iter().map(ToString::to_string).collect());
        parts.join("; ")
    }
}

pub(super) fn ascending<T: Ord>(items: &[T]) -> bool {
    items.is_sorted_by(|a, b| a < b)
}

/// Both sorted.
pub(super) fn subset<T: Ord>(few: &[T], many: &[T]) -> bool {
    few.iter().all(|item| many.binary_search(item).is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grants::fixture::{head, id};

    fn tags(names: &[&str]) -> Vec<String> {
        names.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn operations_have_stable_codes_and_names() {
        for (code, operation) in (1u8..).zip(Permission::ALL) {
            assert_eq!(operation.code(), code);
            assert_eq!(Permission::from_name(operation.name()), Some(operation));
            assert_eq!(proof::codec::encode(&operation), [code]);
        }
        assert_eq!(Permission::from_name("erase"), None);
        assert!(proof::codec::decode::<Permission>("operation", &[11]).is_err());
    }

    #[test]
    fn criteria_are_joined_by_and_items_by_or() {
        let mut memory = head(7);
        memory.tags = tags(&["a", "b"]);
        memory.project = Some("p".into());
        let both =
            Selector { tags: tags(&["b", "z"]), projects: tags(&["p"]), ..Selector::default() };
        assert!(both.matches_all(&memory));
        let other = Selector { projects: tags(&["q"]), ..both.clone() };
        assert!(!other.matches_all(&memory) && other.matches_any(&memory));
        assert!(!Selector::default().matches_all(&memory));
        assert!(!Selector::default().matches_any(&memory));
        memory.project = None;
        assert!(!both.matches_all(&memory), "a memory without a project is in no project");
    }

    #[test]
    fn disorder_emptiness_and_excess_are_refused() {
        let many = Selector { ids: (1..=65).map(id).collect(), ..Selector::default() };
        let unsorted = Selector { tags: tags(&["b", "a"]), ..Selector::default() };
        let double = Selector { tags: tags(&["a", "a"]), ..Selector::default() };
        let blank = Selector { projects: tags(&[" "]), ..Selector::default() };
        let long = Selector { tags: vec!["x".repeat(TAG_BYTES_MAX + 1)], ..Selector::default() };
        for bad in [Selector::default(), many, unsorted.clone(), double, blank, long] {
            assert!(bad.check("include").is_err(), "{bad:?}");
        }
        assert!(unsorted.normal().check("include").is_ok());
    }
}
