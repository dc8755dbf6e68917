//! The text of one talent, for who edits it: what it says now, what is wrong with other words, and writing those.
//!
//! What must stay true: what could not be used is not written; a text that is not the one the editor began with is not
//! overwritten; the talents in the binary are never changed, a file of the same name stands before them.

use std::fs;
use std::path::{Path, PathBuf};

use thiserror::Error;

use super::catalog;
use super::file::FILE_BYTES_MAX;
use super::{TalentProblem, TalentSource, builtin};
use crate::names::TalentName;

/// Why a text was not written.
#[derive(Debug, Error)]
pub enum TalentTextError {
    #[error("there is no talent {0}")]
    Unknown(TalentName),
    #[error("talent {0} says something else than what the edit began with")]
    Overtaken(TalentName),
    #[error("a talent has at most {FILE_BYTES_MAX} bytes")]
    TooLong,
    #[error("{}: {reason}", file.display())]
    Io { file: PathBuf, reason: String },
}

/// What a talent says, and whose words they are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TalentText {
    pub source: TalentSource,
    pub text: String,
    /// There is one of this name in the binary, which holds again when the user's file is taken out.
    pub is_built_in: bool,
}

/// What a talent says now; `None` if there is none of this name.
pub fn read(folder: &Path, name: &TalentName) -> Result<Option<TalentText>, TalentTextError> {
    let built_in = builtin::TALENTS.iter().find(|(known, _)| *known == name.as_str());
    let is_built_in = built_in.is_some();
    let own = own_text(folder, name)?.map(|text| TalentText {
        source: TalentSource::User,
        text,
        is_built_in,
    });
    Ok(own.or_else(|| {
        let text = (*built_in?.1).to_owned();
        Some(TalentText { source: TalentSource::System, text, is_built_in })
    }))
}

fn own_text(folder: &Path, name: &TalentName) -> Result<Option<String>, TalentTextError> {
    let file = file_of(folder, name);
    match catalog::read(&file) {
        Ok(text) => Ok(Some(text)),
        Err(_) if !file.exists() => Ok(None),
        Err(reason) => Err(TalentTextError::Io { file, reason }),
    }
}

fn file_of(folder: &Path, name: &TalentName) -> PathBuf {
    folder.join(format!("{name}.md"))
}

/// What would be wrong with a talent of this name that says this.
pub fn check(folder: &Path, name: &TalentName, text: &str) -> Vec<TalentProblem> {
    let file = file_of(folder, name);
    let problems = catalog::parse(name, TalentSource::User, Some(folder), text).1;
    problems.into_iter().map(|found| TalentProblem { file: file.clone(), ..found }).collect()
}

/// Writes the user's words for a talent, or takes them out; `before` is what they were when the edit began. Gives what
/// is wrong with them: if that is an error, nothing was written.
pub fn write(
    folder: &Path,
    name: &TalentName,
    text: Option<&str>,
    before: Option<&str>,
) -> Result<Vec<TalentProblem>, TalentTextError> {
    let file = file_of(folder, name);
    let failed = |error: &std::io::Error| TalentTextError::Io {
        file: file.clone(),
        reason: error.to_string(),
    };
    if own_text(folder, name)?.as_deref() != before {
        return Err(TalentTextError::Overtaken(name.clone()));
    }
    let Some(text) = text else {
        if before.is_none() {
            return Err(TalentTextError::Unknown(name.clone()));
        }
        fs::remove_file(&file).map_err(|error| failed(&error))?;
        return Ok(Vec::new());
    };
    if text.len() > FILE_BYTES_MAX {
        return Err(TalentTextError::TooLong);
    }
    let problems = check(folder, name, text);
    if problems.iter().any(TalentProblem::is_error) {
        return Ok(problems);
    }
    fs::create_dir_all(folder).map_err(|error| failed(&error))?;
    let draft = file.with_extension("md.new");
    let written = fs::write(&draft, text).and_then(|()| fs::rename(&draft, &file));
    written.map_err(|error| failed(&error))?;
    Ok(problems)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn name(text: &str) -> TalentName {
        TalentName::parse(text).unwrap()
    }

    // web W12: edit a talent with check
    #[test]
    fn a_built_in_is_overridden_by_a_file_and_holds_again_without_it() {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join("talent");
        let built_in = read(&folder, &name("default")).unwrap().unwrap();
        assert_eq!(built_in.source, TalentSource::System);
        assert_eq!(write(&folder, &name("default"), Some("Be brief."), None).unwrap(), []);
        let own = read(&folder, &name("default")).unwrap().unwrap();
        assert_eq!((own.source, own.text.as_str()), (TalentSource::User, "Be brief."));
        assert!(own.is_built_in);
        assert_eq!(write(&folder, &name("default"), None, Some("Be brief.")).unwrap(), []);
        assert_eq!(read(&folder, &name("default")).unwrap(), Some(built_in));
        assert_eq!(read(&folder, &name("nobody")).unwrap(), None);
    }

    #[test]
    fn what_cannot_be_used_is_not_written_and_what_changed_meanwhile_is_not_overwritten() {
        let home = tempfile::tempdir().unwrap();
        let (folder, mine) = (home.path(), name("mine"));
        let wrong = write(folder, &mine, Some("{\n  \"tier\": 99\n}\nDo it."), None).unwrap();
        assert!(wrong[0].is_error() && wrong[0].line == 2, "{wrong:?}");
        assert_eq!(read(folder, &mine).unwrap(), None);
        write(folder, &mine, Some("Do it."), None).unwrap();
        let late = write(folder, &mine, Some("Do that."), None).unwrap_err();
        assert!(matches!(late, TalentTextError::Overtaken(_)), "{late}");
        assert!(matches!(
            write(folder, &name("other"), None, None).unwrap_err(),
            TalentTextError::Unknown(_)
        ));
        assert_eq!(read(folder, &mine).unwrap().unwrap().text, "Do it.");
        assert_eq!(fs::read_dir(folder).unwrap().count(), 1, "no draft is left behind");
    }
}
