//! What an authorised delegate may see and change.
//!
//! An authority carries the selectors of every link of its chain and applies them all, so that a mistake in comparing
//! two grants could never show more than the owner's grant does. Refusals name the rule, never the memory's content.

use proof::Digest;
use proof::memory::{Head, MemoryType, Scope, Visibility};

use super::Gate;
use super::grant::Grant;
use super::selector::{Permission, Selector};
use crate::error::{Error, Result};

/// The outcome of `authorize`: good for the one operation that was asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Authority {
    /// The caller's own grant: the last of the chain.
    pub grant: Digest,
    /// The owner's grant: the journaled one, whose uses are counted.
    pub root_grant: Digest,
    pub audience_name: String,
    /// What was asked for and granted.
    pub operation: Permission,
    /// What the caller's grant allows at all.
    pub operations: Vec<Permission>,
    pub includes: Vec<Selector>,
    pub excludes: Vec<Selector>,
    /// The smallest of the chain.
    pub budget_tokens: Option<u32>,
    /// True: the use must be journaled for `root_grant`.
    pub counts_uses: bool,
    pub root: Digest,
    pub size: u64,
}

impl Authority {
    /// The token budget a read may use when the caller asked for `asked`.
    pub fn cap_budget(&self, asked: Option<u32>) -> Option<u32> {
        match (asked, self.budget_tokens) {
            (Some(asked), Some(cap)) => Some(asked.min(cap)),
            (asked, cap) => asked.or(cap),
        }
    }

    /// The types the grant is about, if it names any: those that every link that names types names.
    pub fn named_types(&self) -> Vec<MemoryType> {
        let naming: Vec<&Selector> = self.includes.iter().filter(|i| !i.types.is_empty()).collect();
        if naming.is_empty() {
            return Vec::new();
        }
        let named = |t: &MemoryType| naming.iter().all(|include| include.types.contains(t));
        MemoryType::ALL.into_iter().filter(named).collect()
    }

    /// Inside the slice proper. Public memories outside it can be read, but not changed.
    fn holds(&self, head: &Head) -> bool {
        holds(&self.includes, &self.excludes, head)
    }
}

impl Gate for Authority {
    fn sees(&self, head: &Head) -> bool {
        sees(&self.includes, &self.excludes, head)
    }
}

fn holds(includes: &[Selector], excludes: &[Selector], head: &Head) -> bool {
    head.visibility != Visibility::Private
        && !includes.is_empty()
        && includes.iter().all(|include| include.matches_all(head))
        && !excludes.iter().any(|exclude| exclude.matches_any(head))
}

fn sees(includes: &[Selector], excludes: &[Selector], head: &Head) -> bool {
    match head.visibility {
        Visibility::Private => false,
        Visibility::Scoped => holds(includes, excludes, head),
        Visibility::Public => !excludes.iter().any(|exclude| exclude.matches_any(head)),
    }
}

pub(super) fn selectors(chain: &[&Grant]) -> (Vec<Selector>, Vec<Selector>) {
    (
        chain.iter().map(|grant| grant.include.clone()).collect(),
        chain.iter().filter_map(|grant| grant.exclude.clone()).collect(),
    )
}

#[cfg(test)]
pub(super) fn sees_by(chain: &[&Grant], head: &Head) -> bool {
    let (includes, excludes) = selectors(chain);
    sees(&includes, &excludes, head)
}

#[cfg(test)]
pub(super) fn holds_by(chain: &[&Grant], head: &Head) -> bool {
    let (includes, excludes) = selectors(chain);
    holds(&includes, &excludes, head)
}

fn outside(reason: &str) -> Error {
    Error::OutsideGrant(reason.into())
}

fn check_operation(authority: &Authority, operation: Permission) -> Result<()> {
    if authority.operation == operation && authority.operations.contains(&operation) {
        Ok(())
    } else {
        Err(outside(&format!("{} was not asked for and granted", operation.name())))
    }
}

/// May this change of one memory happen? `before` is the memory as it is, `after` as it would be.
///
/// Fields that selectors or other readers' rights depend on stay with the owner: type, tags, project, scope, visibility
/// and the pin. Otherwise a delegate could move memories into its slice, out of the owner's sight, or before everybody.
pub fn gate_write(
    authority: &Authority,
    before: Option<&Head>,
    after: &Head,
    operation: Permission,
) -> Result<()> {
    check_operation(authority, operation)?;
    match (operation, before) {
        (Permission::Write, None) => {
            // An id is handed out by the journal: a new memory cannot be one of those a grant names.
            if !authority.holds(after) || authority.includes.iter().any(|i| !i.ids.is_empty()) {
                return Err(outside("the new memory would lie outside the slice"));
            }
            if after.visibility != Visibility::Scoped {
                return Err(outside("a delegate may not choose the visibility"));
            }
            if after.pinned {
                return Err(outside("a delegate may not pin"));
            }
            let by_project = authority.includes.iter().any(|i| !i.projects.is_empty());
            if by_project && after.scope != Scope::Project {
                return Err(outside("a grant for projects may not write across projects"));
            }
            Ok(())
        }
        // A write can land on a memory that is there already, by its topic: that is an update.
        (Permission::Write, Some(_)) if !authority.operations.contains(&Permission::Update) => {
            Err(outside("the write would change an existing memory"))
        }
        (Permission::Write | Permission::Update | Permission::Tombstone, Some(before)) => {
            if before.id != after.id || !authority.holds(before) {
                return Err(outside("the memory lies outside the slice"));
            }
            let kept = before.memory_type == after.memory_type
                && before.tags == after.tags
                && before.project == after.project
                && before.scope == after.scope
                && before.visibility == after.visibility;
            if !kept {
                return Err(outside("type, tags, project, scope and visibility are the owner's"));
            }
            if before.pinned != after.pinned {
                return Err(outside("a delegate may not pin"));
            }
            if operation != Permission::Tombstone && before.tombstone != after.tombstone {
                return Err(outside("forgetting is an operation of its own"));
            }
            if before.erased != after.erased {
                return Err(outside("a delegate may not erase"));
            }
            Ok(())
        }
        (Permission::Update | Permission::Tombstone, None) => {
            Err(outside("the memory lies outside the slice"))
        }
        _ => Err(outside("the operation changes no memory")),
    }
}

/// May these memories be named together, as the two ends of an edge or the citations of an attestation?
///
/// Both ends of an edge must lie in the slice, since an edge changes how either is ranked and walked. Citing needs
/// sight.
pub fn gate_named(authority: &Authority, heads: &[&Head], operation: Permission) -> Result<()> {
    check_operation(authority, operation)?;
    let allowed = match operation {
        Permission::Edge => heads.iter().all(|head| authority.holds(head)),
        Permission::Attest => heads.iter().all(|head| authority.sees(head)),
        _ => return Err(outside("the operation names no memories")),
    };
    if allowed { Ok(()) } else { Err(outside("a named memory lies outside the slice")) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grants::fixture::{authority, head, id};
    use proof::memory::MemoryType;
    use proof::memory::{Millis, Tombstone};

    fn tagged(tag: &str) -> Selector {
        Selector { tags: vec![tag.into()], ..Selector::default() }
    }

    fn is_outside(result: &Result<()>) -> bool {
        matches!(result, Err(Error::OutsideGrant(_)))
    }

    // kernel 59
    #[test]
    fn sight_follows_visibility_and_every_selector() {
        let mut authority = authority(Permission::Read);
        authority.includes.push(tagged("a"));
        authority.excludes.push(tagged("secret"));
        let mut memory = head(1);
        assert!(!authority.sees(&memory), "every include must match");
        memory.tags = vec!["a".into()];
        assert!(authority.sees(&memory));
        memory.tags.push("secret".into());
        assert!(!authority.sees(&memory), "exclusion wins");
        memory.visibility = Visibility::Public;
        assert!(!authority.sees(&memory), "exclusion wins over public");
        memory.tags.clear();
        assert!(authority.sees(&memory), "public is seen outside the slice");
        memory.memory_type = MemoryType::Goal;
        assert!(authority.sees(&memory));
        memory.tags = vec!["a".into()];
        memory.memory_type = MemoryType::Fact;
        memory.visibility = Visibility::Private;
        assert!(!authority.sees(&memory), "private is never seen");
        authority.includes.clear();
        memory.visibility = Visibility::Scoped;
        assert!(!authority.sees(&memory), "no selector is no slice");
    }

    // kernel 59
    #[test]
    fn a_write_stays_in_the_slice() {
        let mut authority = authority(Permission::Write);
        let new = head(9);
        gate_write(&authority, None, &new, Permission::Write).unwrap();
        for spoil in [
            (|h| h.memory_type = MemoryType::Goal) as fn(&mut Head),
            |h| h.visibility = Visibility::Private,
            |h| h.visibility = Visibility::Public,
            |h| h.pinned = true,
        ] {
            let mut bad = new.clone();
            spoil(&mut bad);
            assert!(is_outside(&gate_write(&authority, None, &bad, Permission::Write)), "{bad:?}");
        }
        authority.operations.retain(|o| *o != Permission::Update);
        assert!(is_outside(&gate_write(&authority, Some(&new), &new, Permission::Write)));
        authority.includes[0].ids = vec![id(9)];
        assert!(is_outside(&gate_write(&authority, None, &new, Permission::Write)), "ids are old");
        authority.includes[0].ids.clear();
        authority.includes[0].projects = vec!["p".into()];
        let mut personal = Head { project: Some("p".into()), ..new };
        gate_write(&authority, None, &personal, Permission::Write).unwrap();
        personal.scope = Scope::Personal;
        assert!(is_outside(&gate_write(&authority, None, &personal, Permission::Write)));
    }

    // kernel 59, section 14 item 14
    #[test]
    fn an_update_may_not_touch_what_selectors_and_rights_look_at() {
        let authority = authority(Permission::Update);
        let before = head(4);
        let mut fine = before.clone();
        (fine.version, fine.importance, fine.archived) = (2, 1, true);
        gate_write(&authority, Some(&before), &fine, Permission::Update).unwrap();
        for spoil in [
            (|h| h.memory_type = MemoryType::Goal) as fn(&mut Head),
            |h| h.tags.push("z".into()),
            |h| h.project = Some("q".into()),
            |h| h.scope = Scope::Personal,
            |h| h.visibility = Visibility::Public,
            |h| h.pinned = true,
            |h| h.erased = true,
            |h| h.id = id(5),
            |h| h.tombstone = Some(Tombstone { reason: "r".into(), by: "b".into(), at: Millis(1) }),
        ] {
            let mut after = before.clone();
            spoil(&mut after);
            assert!(is_outside(&gate_write(&authority, Some(&before), &after, Permission::Update)));
            // Nor may it pull a memory in from outside by the same edit.
            assert!(gate_write(&authority, Some(&after), &before, Permission::Update).is_err());
        }
        assert!(is_outside(&gate_write(&authority, None, &before, Permission::Update)));
    }

    #[test]
    fn a_public_memory_outside_the_slice_can_be_read_but_not_changed() {
        let authority = authority(Permission::Update);
        let public =
            Head { visibility: Visibility::Public, memory_type: MemoryType::Goal, ..head(4) };
        assert!(authority.sees(&public));
        assert!(is_outside(&gate_write(&authority, Some(&public), &public, Permission::Update)));
    }

    // kernel 59
    #[test]
    fn only_the_operation_asked_for_is_gated_through() {
        let memory = head(4);
        let reader = authority(Permission::Read);
        for operation in Permission::ALL {
            assert!(is_outside(&gate_write(&reader, Some(&memory), &memory, operation)));
            assert!(is_outside(&gate_named(&reader, &[&memory], operation)));
        }
        let mut stripped = authority(Permission::Tombstone);
        gate_write(&stripped, Some(&memory), &memory, Permission::Tombstone).unwrap();
        stripped.operations = vec![Permission::Read];
        assert!(is_outside(&gate_write(&stripped, Some(&memory), &memory, Permission::Tombstone)));
    }

    #[test]
    fn edges_need_both_ends_in_the_slice_and_citations_need_sight() {
        let (inside, mut other) = (head(4), head(5));
        other.memory_type = MemoryType::Goal;
        let edge = authority(Permission::Edge);
        gate_named(&edge, &[&inside, &inside], Permission::Edge).unwrap();
        assert!(is_outside(&gate_named(&edge, &[&inside, &other], Permission::Edge)));
        other.visibility = Visibility::Public;
        assert!(is_outside(&gate_named(&edge, &[&inside, &other], Permission::Edge)));
        let attest = authority(Permission::Attest);
        gate_named(&attest, &[&inside, &other], Permission::Attest).unwrap();
        other.visibility = Visibility::Private;
        assert!(is_outside(&gate_named(&attest, &[&inside, &other], Permission::Attest)));
    }

    #[test]
    fn the_budget_is_the_smaller_one() {
        let mut authority = authority(Permission::Find);
        assert_eq!(authority.cap_budget(None), None);
        assert_eq!(authority.cap_budget(Some(9)), Some(9));
        authority.budget_tokens = Some(5);
        assert_eq!(authority.cap_budget(None), Some(5));
        assert_eq!(authority.cap_budget(Some(9)), Some(5));
        assert_eq!(authority.cap_budget(Some(3)), Some(3));
    }
}
