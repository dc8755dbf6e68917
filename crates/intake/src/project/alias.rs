//! Names that mean another project, and merging two projects into one.
//!
//! Must stay true: following aliases ends, at a name that is no alias; merging never makes a circle; merged names stay
//! known, so an agent that still uses the old one reaches the right project.

use std::collections::BTreeMap;

use kernel::{Error, Result};

use crate::project::name::normalize;

/// Names one table holds.
pub const ALIASES_MAX: usize = 10_000;

/// From each old name straight to the project's name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Aliases(BTreeMap<String, String>);

impl Aliases {
    /// A table from stored pairs. Chains are followed to their end; a circle or a blank name is refused.
    pub fn new(pairs: impl IntoIterator<Item = (String, String)>) -> Result<Aliases> {
        let mut aliases = Aliases::default();
        for (from, to) in pairs {
            aliases.merge(&from, &to)?;
        }
        Ok(aliases)
    }

    /// The project a name stands for: itself unless it is an alias.
    pub fn resolve<'a>(&'a self, name: &'a str) -> &'a str {
        self.0.get(name).map_or(name, String::as_str)
    }

    /// Every name under which memories of a project may stand: its own, and those that were merged into it.
    pub fn names_of(&self, project: &str) -> Vec<String> {
        let former = self.0.keys().filter(|name| self.resolve(name) == project);
        former.cloned().chain([project.to_owned()]).collect()
    }

    /// The project that something belongs to now, if it belonged to one when it was written down.
    pub fn of<'a>(&'a self, written: Option<&'a str>) -> Option<&'a str> {
        written.map(|name| self.resolve(name))
    }

    /// From now on `from` means `to`. Gives the project that `to` stands for.
    pub fn merge(&mut self, from: &str, to: &str) -> Result<String> {
        let blank = || Error::invalid("project", "a project name needs a letter or digit");
        let from = normalize(from).ok_or_else(blank)?;
        let to = self.resolve(&normalize(to).ok_or_else(blank)?).to_owned();
        if from == to {
            return Err(Error::invalid("project", format!("{from:?} already means {to:?}")));
        }
        if self.0.len() >= ALIASES_MAX && !self.0.contains_key(&from) {
            return Err(Error::TooMany {
                field: "aliases",
                count: self.0.len() + 1,
                max: ALIASES_MAX,
            });
        }
        for target in self.0.values_mut().filter(|target| **target == from) {
            target.clone_from(&to);
        }
        self.0.insert(from, to.clone());
        Ok(to)
    }

    /// The name is a project of its own again.
    pub fn remove(&mut self, name: &str) -> bool {
        self.0.remove(name).is_some()
    }

    /// Old name and project, in order of the old names.
    pub fn pairs(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(from, to)| (from.as_str(), to.as_str()))
    }
}
