//! The language of an actor: which stemmer reads its words.
//!
//! It is part of the journal: a change is an entry, and with it every text is analyzed anew. What must stay true:
//! documents and questions of one state are read in the same language, on every machine and after every rebuild.

use kernel::Reading;
use kernel::command::MigrationDraft;
use kernel::journal::Migration;
use kernel::store::View;
use kernel::{Error, Result};

use text::analyze::{Analyzer, Language};

/// What an entry names when the language changes.
const COMPONENT: &str = "recall.language";

/// Of an actor that never chose one. Words in other scripts are read in languages of those scripts all the same.
const UNTOLD: Language = Language::English;

pub(crate) fn key() -> Vec<u8> {
    vec![0x95]
}

pub(crate) fn encode(language: Language) -> Vec<u8> {
    language.code().to_le_bytes().to_vec()
}

/// The language that an entry changes to; `None` if it is about something else.
pub(crate) fn changed_by(migration: &Migration) -> Option<Result<Language>> {
    let unknown =
        || Error::corrupt("entry", format!("language {} is not one of this program", migration.to));
    (migration.component == COMPONENT).then(|| Language::of_code(migration.to).ok_or_else(unknown))
}

pub(crate) fn read(view: &View<'_>) -> Result<Language> {
    let Some(bytes) = view.get(&key())? else { return Ok(UNTOLD) };
    let code = bytes.as_slice().try_into().ok().map(u32::from_le_bytes);
    code.and_then(Language::of_code)
        .ok_or_else(|| Error::corrupt("language of the actor", "does not decode"))
}

/// How words become terms in the state that a view shows.
pub fn analyzer(view: &View<'_>) -> Result<Analyzer> {
    read(view).map(Analyzer::new)
}

/// The language of an actor.
pub fn language(reading: &Reading) -> Result<Language> {
    read(&reading.view())
}

/// What to submit so that an actor is read in another language. Every text is analyzed anew in the commit of this
/// entry.
pub fn change(from: Language, to: Language) -> MigrationDraft {
    MigrationDraft { component: COMPONENT.into(), from: from.code(), to: to.code() }
}
