//! What is not read: `past.exclude` in the home's configuration, which `cortex past exclude` changes.
//!
//! What must stay true: everything else in the file stays as it is; what is excluded later is removed, and is read
//! again when the exclusion is lifted.

use std::collections::BTreeMap;

use api::past::{PastExcludeAnswer, PastExcludeRequest};
use api::{ErrorCode, Fault};
use past::Exclusion;
use toml_edit::{DocumentMut, Item, Table, value};
use transcripts::session::PastAgent;

use service::caller::Caller;
use service::error::{Error, Result};
use service::{config, files};

use super::refused;
use crate::AgentSessions;

const TABLE: &str = "past";
const KEY: &str = "exclude";

impl AgentSessions {
    /// The patterns and agents that the configuration names.
    fn excluded_words(&self) -> Result<Vec<String>> {
        let config = config::load(self.service.folder(), &BTreeMap::new())?;
        let listed = config.text("past.exclude").unwrap_or_default();
        let words = listed.split(',').map(str::trim).filter(|word| !word.is_empty());
        Ok(words.map(str::to_owned).collect())
    }

    /// What the home's configuration keeps out, and the home itself.
    pub(crate) fn exclusion(&self, owner: &Caller) -> Result<Exclusion> {
        let mut exclusion = Exclusion {
            home: Some(self.service.folder().to_owned()),
            person: owner.person_home.clone(),
            ..Exclusion::default()
        };
        for word in self.excluded_words()? {
            match PastAgent::parse(&word) {
                Some(agent) => exclusion.agents.push(agent),
                None => exclusion.folders.push(word),
            }
        }
        Ok(exclusion)
    }

    /// Whether a daemon reads on by itself.
    pub fn follows_past(&self) -> Result<bool> {
        Ok(config::load(self.service.folder(), &BTreeMap::new())?.follows_past())
    }

    pub fn past_exclude(
        &self,
        caller: &Caller,
        request: PastExcludeRequest,
    ) -> Result<PastExcludeAnswer> {
        let owner = self.past_owner(caller)?;
        let mut words = self.excluded_words()?;
        if let Some(word) = &request.remove {
            if !words.contains(word) {
                return Err(Error::missing("exclusion", word));
            }
            words.retain(|known| known != word);
        }
        if let Some(word) = &request.add {
            if word.trim().is_empty() || word.contains(',') {
                return Err(Error::invalid(
                    "add",
                    "must be a pattern of folders without a comma, or an agent",
                ));
            }
            if !words.contains(word) {
                words.push(word.trim().to_owned());
            }
        }
        if !request.dry_run && (request.add.is_some() || request.remove.is_some()) {
            self.write_excluded(&words)?;
        }
        let mut exclusion = self.exclusion(&owner)?;
        if request.dry_run {
            let (agents, folders) =
                words.iter().partition::<Vec<&String>, _>(|word| PastAgent::parse(word).is_some());
            exclusion.agents = agents.iter().filter_map(|word| PastAgent::parse(word)).collect();
            exclusion.folders = folders.into_iter().cloned().collect();
        }
        let sessions = if self.past.is_there() {
            self.change_past(&owner, |past, tombstones| {
                if request.remove.is_some() && !request.dry_run {
                    past.read_missing_anew().map_err(refused)?;
                }
                past.remove_excluded(&exclusion, tombstones, request.dry_run).map_err(refused)
            })?
        } else {
            Vec::new()
        };
        Ok(PastExcludeAnswer { excluded: words, sessions, dry_run: request.dry_run })
    }

    fn write_excluded(&self, words: &[String]) -> Result<()> {
        let path = config::path(self.service.folder(), &BTreeMap::new());
        let refused = |why: String| {
            Error::new(ErrorCode::Config, Fault::Caller, format!("{}: {why}", path.display()))
        };
        let text = match std::fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
            Err(error) => return Err(Error::io(path.display(), &error)),
        };
        let mut document: DocumentMut =
            text.parse().map_err(|error: toml_edit::TomlError| refused(error.to_string()))?;
        let table = document.entry(TABLE).or_insert(Item::Table(Table::new()));
        let table =
            table.as_table_like_mut().ok_or_else(|| refused("past is not a table".to_owned()))?;
        table.insert(KEY, value(words.join(", ")));
        files::replace_file(&path, document.to_string().as_bytes())
            .map_err(|error| Error::io(path.display(), &error))
    }
}
