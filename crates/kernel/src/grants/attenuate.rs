//! What makes one grant less than another.
//!
//! A delegate may hand on what it has, in whole or in part, by signing a child grant with its own key. Every rule here
//! takes away or keeps; an authority applies the selectors of all links besides, so no single rule carries the safety
//! alone.

use super::grant::Grant;
use super::refused;
use super::selector::subset;
use crate::error::Result;

/// A child may only take away. Nothing it allows is refused by its parent.
pub fn check_attenuation(parent: &Grant, child: &Grant) -> Result<()> {
    fn at_most(child: Option<u32>, parent: Option<u32>) -> bool {
        parent.is_none_or(|parent| child.is_some_and(|child| child <= parent))
    }
    let excluded = match (&child.exclude, &parent.exclude) {
        (_, None) => true,
        (None, Some(_)) => false,
        (Some(child), Some(parent)) => child.covers(parent),
    };
    let rules = [
        (child.parent == Some(parent.id()), "a link does not name the grant before it"),
        (child.issuer == parent.audience, "a link is not issued by the delegate before it"),
        (child.actor == parent.actor, "a link is for another actor"),
        (child.schema == parent.schema, "a link has another schema"),
        (subset(&child.operations, &parent.operations), "a link adds an operation"),
        (child.include.narrows(&parent.include), "a link includes more than its parent"),
        (excluded, "a link excludes less than its parent"),
        (child.expires <= parent.expires, "a link outlives its parent"),
        (at_most(child.use_limit, parent.use_limit), "a link allows more uses than its parent"),
        (at_most(child.budget_tokens, parent.budget_tokens), "a link has a larger token budget"),
        ((child.root, child.size) == (parent.root, parent.size), "a link has another root"),
    ];
    match rules.into_iter().find(|(holds, _)| !holds) {
        Some((_, reason)) => Err(refused(reason)),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Error;
    use crate::grants::fixture::{child_of, grant, head, id, public};
    use crate::grants::{Permission, Selector};
    use proof::Digest;
    use proof::memory::Millis;
    use proptest::prelude::*;

    type Spoil = fn(&mut Grant);

    #[test]
    fn each_rule_of_attenuation_refuses_on_its_own() {
        let mut parent = grant();
        parent.exclude = Some(Selector { tags: vec!["secret".into()], ..Selector::default() });
        parent.use_limit = Some(10);
        parent.budget_tokens = Some(1_000);
        let good = child_of(&parent, 3);
        check_attenuation(&parent, &good).unwrap();
        let cases: [(&str, Spoil); 17] = [
            ("name the grant before", |c| c.parent = None),
            ("name the grant before", |c| c.parent = Some(Digest::ZERO)),
            ("not issued by", |c| c.issuer = public(9)),
            ("another actor", |c| c.actor = "other".into()),
            ("another schema", |c| c.schema += 1),
            ("adds an operation", |c| c.operations.push(Permission::Attest)),
            ("includes more", |c| c.include.types.clear()),
            ("includes more", |c| c.include.types.push(proof::memory::MemoryType::Event)),
            ("excludes less", |c| c.exclude = None),
            ("excludes less", |c| {
                c.exclude = Some(Selector { tags: vec!["x".into()], ..Selector::default() });
            }),
            ("outlives", |c| c.expires = Millis(c.expires.get() + 1)),
            ("more uses", |c| c.use_limit = None),
            ("more uses", |c| c.use_limit = Some(11)),
            ("token budget", |c| c.budget_tokens = None),
            ("token budget", |c| c.budget_tokens = Some(1_001)),
            ("another root", |c| c.root = Digest::ZERO),
            ("another root", |c| c.size += 1),
        ];
        for (reason, spoil) in cases {
            let mut child = good.clone();
            spoil(&mut child);
            match check_attenuation(&parent, &child) {
                Err(Error::GrantRefused(text)) => assert!(text.contains(reason), "{text}"),
                other => panic!("{reason}: {other:?}"),
            }
        }
    }

    fn some_of<T: Clone + Ord + std::fmt::Debug + 'static>(
        all: Vec<T>,
    ) -> impl Strategy<Value = Vec<T>> {
        let most = all.len();
        prop::sample::subsequence(all, 0..=most)
    }

    fn selector() -> impl Strategy<Value = Selector> {
        use proof::memory::MemoryType::{Event, Fact, Goal};
        let words = |items: [&str; 3]| items.map(String::from).to_vec();
        (
            some_of(vec![Goal, Fact, Event]),
            some_of(words(["a", "b", "c"])),
            some_of(words(["p", "q", "r"])),
            some_of(vec![id(1), id(2), id(3)]),
        )
            .prop_map(|(types, tags, projects, ids)| Selector {
                types,
                tags,
                projects,
                ids,
            })
    }

    fn any_head() -> impl Strategy<Value = proof::memory::Head> {
        use proof::memory::{MemoryType, Visibility};
        (
            1u64..5,
            prop::sample::select(vec![MemoryType::Goal, MemoryType::Fact, MemoryType::Event]),
            some_of(vec!["a".to_owned(), "b".to_owned(), "c".to_owned()]),
            prop::option::of(prop::sample::select(vec!["p".to_owned(), "q".to_owned()])),
            prop::sample::select(vec![Visibility::Private, Visibility::Scoped, Visibility::Public]),
        )
            .prop_map(|(n, memory_type, tags, project, visibility)| proof::memory::Head {
                memory_type,
                project,
                visibility,
                tags,
                ..head(n)
            })
    }

    /// Intersects or joins each list of two selectors.
    fn mix(a: &Selector, b: &Selector, join: bool) -> Selector {
        fn lists<T: Ord + Clone>(a: &[T], b: &[T], join: bool) -> Vec<T> {
            let both = a.iter().filter(|x| b.contains(x)).cloned();
            let mut mixed: Vec<T> = match (join, a.is_empty()) {
                (true, _) => a.iter().chain(b).cloned().collect(),
                (false, true) => b.to_vec(),
                (false, false) => both.collect(),
            };
            mixed.sort();
            mixed.dedup();
            mixed
        }
        Selector {
            types: lists(&a.types, &b.types, join),
            tags: lists(&a.tags, &b.tags, join),
            projects: lists(&a.projects, &b.projects, join),
            ids: lists(&a.ids, &b.ids, join),
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2_000))]

        // kernel 59: whatever is accepted as a child shows nothing its parent hides.
        #[test]
        fn an_accepted_child_never_sees_more(
            include in selector(), exclude in selector(), other in selector(), wider in selector(),
            derived: bool, heads in prop::collection::vec(any_head(), 1..12),
        ) {
            let mut parent = grant();
            parent.include = include;
            parent.exclude = (!exclude.is_empty()).then_some(exclude);
            let mut child = child_of(&parent, 3);
            child.include = if derived { mix(&parent.include, &other, false) } else { other };
            child.exclude = match (&parent.exclude, derived) {
                (Some(exclude), true) => Some(mix(exclude, &wider, true)),
                _ => (!wider.is_empty()).then_some(wider),
            };
            prop_assume!(parent.check().is_ok() && child.check().is_ok());
            if check_attenuation(&parent, &child).is_ok() {
                for head in &heads {
                    let (below, above) = ([&child], [&parent]);
                    prop_assert!(!crate::grants::authority::sees_by(&below, head)
                        || crate::grants::authority::sees_by(&above, head));
                    prop_assert!(!crate::grants::authority::holds_by(&below, head)
                        || crate::grants::authority::holds_by(&above, head));
                }
            } else if derived {
                let emptied = |p: usize, c: usize| p > 0 && c == 0;
                let (p, c) = (&parent.include, &child.include);
                prop_assert!(
                    emptied(p.types.len(), c.types.len()) || emptied(p.tags.len(), c.tags.len())
                        || emptied(p.projects.len(), c.projects.len()) || emptied(p.ids.len(), c.ids.len()),
                    "a derived child is refused only when a criterion was lost"
                );
            }
        }
    }
}
