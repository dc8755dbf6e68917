//! The word after `--type`: one of the nine types, or a kind such as bugfix, which other tools call a type too.
//!
//! What must stay true: every kind that is a word is taken, and a type typed wrong is not: a word that is nearly a
//! known one is refused with that one. `--kind` takes any word as it is, and so does `type` in a line that names its
//! `memory_type`.

use api::Error;
use proof::memory::{KINDS, MemoryType};

use crate::failure::CommandResult;
use crate::wiring::words::normal_kind;

/// What somebody is told who typed a word that is nearly a known one.
const OF_OPTIONS: &str = "--kind takes any word of your own";
const OF_LINES: &str = "beside a memory_type any word of your own is taken";

/// What a word after `--type` stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum TypeWord {
    Type(MemoryType),
    Kind(String),
}

fn type_word(word: &str, advice: &str) -> CommandResult<TypeWord> {
    let word = word.trim();
    if let Ok(memory_type) = MemoryType::parse(word) {
        return Ok(TypeWord::Type(memory_type));
    }
    let kind = normal_kind(word);
    let known = KINDS.iter().map(|(known, _)| (*known).to_owned());
    let types = MemoryType::ALL.iter().map(|known| known.name().to_lowercase());
    let mut nearest: Option<(usize, String)> = None;
    for known in known.chain(types) {
        let distance = strsim::damerau_levenshtein(&known, &kind);
        if distance <= known.len() / 3
            && nearest.as_ref().is_none_or(|(least, _)| distance < *least)
        {
            nearest = Some((distance, known));
        }
    }
    match nearest {
        Some((1.., known)) => {
            let shown: String = word.chars().take(64).collect();
            let reason = format!("{shown:?} is not known; did you mean {known}? {advice}");
            Err(Error::invalid("type", reason).into())
        }
        Some((0, _)) | None => Ok(TypeWord::Kind(kind)),
    }
}

/// Type and kind of a memory to save, from what stands after `--type` and after `--kind`.
pub(crate) fn of_save(
    word: Option<&str>,
    kind: Option<&str>,
) -> CommandResult<(Option<String>, Option<String>)> {
    let own = kind.map(str::to_owned);
    match word.map(|word| type_word(word, OF_OPTIONS)).transpose()? {
        None => Ok((None, own)),
        Some(TypeWord::Type(memory_type)) => Ok((Some(memory_type.name().to_owned()), own)),
        Some(TypeWord::Kind(word)) if own.is_none() => Ok((None, Some(word))),
        Some(TypeWord::Kind(word)) => {
            let reason = format!("{word:?} is a kind, and --kind names one too; give one of them");
            Err(Error::invalid("type", reason).into())
        }
    }
}

/// Type and kind of a memory in a line: `type` is the caller's word, `memory_type` one of the nine.
pub(crate) fn of_line(
    word: Option<&str>,
    memory_type: Option<&str>,
) -> CommandResult<(Option<String>, Option<String>)> {
    if let Some(name) = memory_type {
        let memory_type = MemoryType::parse(name)?;
        return Ok((Some(memory_type.name().to_owned()), word.map(str::to_owned)));
    }
    match word.map(|word| type_word(word, OF_LINES)).transpose()? {
        None => Ok((None, None)),
        Some(TypeWord::Type(memory_type)) => Ok((Some(memory_type.name().to_owned()), None)),
        Some(TypeWord::Kind(word)) => Ok((None, Some(word))),
    }
}

/// Types and kinds to look for. Both at once would find only what is of such a type and of such a kind.
pub(crate) fn of_filter(words: &[String]) -> CommandResult<(Vec<MemoryType>, Vec<String>)> {
    let (mut types, mut kinds) = (Vec::new(), Vec::new());
    for word in words {
        match type_word(word, OF_OPTIONS)? {
            TypeWord::Type(memory_type) => types.push(memory_type),
            TypeWord::Kind(kind) => kinds.push(kind),
        }
    }
    if !types.is_empty() && !kinds.is_empty() {
        let reason = format!("{:?} is a kind; give types here and kinds with --kind", kinds[0]);
        return Err(Error::invalid("type", reason).into());
    }
    Ok((types, kinds))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(word: &str) -> TypeWord {
        TypeWord::Kind(word.to_owned())
    }

    // agent-memory 35-39, 106-110: every type that other tools know
    #[test]
    fn types_of_other_tools_are_kinds_here() {
        for word in [
            "manual",
            "tool_use",
            "bugfix",
            "config",
            "discovery",
            "learning",
            "architecture",
            "session_summary",
            "passive",
            "prompt",
            "file_change",
            "command",
            "file_read",
            "search",
            "adr",
            "infra",
            "incident",
            "hotfix",
        ] {
            assert_eq!(type_word(word, OF_OPTIONS).unwrap(), kind(word));
        }
        assert_eq!(type_word("Root cause", OF_OPTIONS).unwrap(), kind("root-cause"));
        assert_eq!(
            type_word("DECISION", OF_OPTIONS).unwrap(),
            TypeWord::Type(MemoryType::Decision)
        );
    }

    #[test]
    fn a_word_typed_wrong_is_not_a_new_kind() {
        for (word, meant) in [("decison", "decision"), ("Fcat", "fact"), ("Bug Fix", "bugfix")] {
            let error = type_word(word, OF_OPTIONS).unwrap_err().to_string();
            assert!(error.contains(&format!("did you mean {meant}?")), "{error}");
        }
    }

    #[test]
    fn a_line_beside_its_memory_type_has_any_word() {
        let of = |word, memory_type| of_line(Some(word), memory_type);
        let pair = |t: &str, k: &str| (Some(t.to_owned()), Some(k.to_owned()));
        assert_eq!(of("decison", Some("fact")).unwrap(), pair("Fact", "decison"));
        assert_eq!(of("goal", None).unwrap(), (Some("Goal".to_owned()), None));
        assert_eq!(of("adr", None).unwrap(), (None, Some("adr".to_owned())));
        assert!(of("decison", None).unwrap_err().to_string().contains("memory_type"));
        assert!(of("adr", Some("bugfix")).is_err());
    }

    #[test]
    fn a_save_has_one_kind_and_a_filter_one_sort_of_word() {
        let both = |word, kind| of_save(Some(word), Some(kind));
        assert_eq!(
            both("fact", "bugfix").unwrap(),
            (Some("Fact".to_owned()), Some("bugfix".to_owned()))
        );
        assert!(both("bugfix", "fix").is_err());
        let words = |words: &[&str]| words.iter().map(|w| (*w).to_owned()).collect::<Vec<_>>();
        assert_eq!(
            of_filter(&words(&["bugfix", "config"])).unwrap(),
            (vec![], words(&["bugfix", "config"]))
        );
        assert!(of_filter(&words(&["decision", "bugfix"])).is_err());
    }
}
