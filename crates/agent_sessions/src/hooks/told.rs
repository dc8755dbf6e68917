//! What hooks told each session, so that nothing is told twice: also not after the daemon was started anew.
//!
//! One line per telling is added to a file of the home. What must stay true: losing the file repeats a memory and costs
//! nothing else; the file holds ids and digests, and no text.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use kernel::Digest;

/// The file in the home.
const FILE: &str = "told.log";
/// Bytes of it before only the newest half is kept.
const LOG_BYTES_MAX: u64 = 512 << 10;
/// Prompts that the room of a session is shared by, and that room in tokens.
const ROOM_PROMPTS: usize = 10;
const ROOM_TOKENS: usize = 850;
/// Sessions whose room is known: not every agent says when one ends.
const SESSIONS_MAX: usize = 500;

/// Which memories a session was told of.
#[derive(Debug)]
pub(crate) struct ToldLog {
    path: PathBuf,
    /// `None` until it is first needed.
    sessions: Option<BTreeMap<String, BTreeSet<u64>>>,
    /// What the last prompts of a session added, newest last; of the session that asked last, last.
    spent: VecDeque<(String, VecDeque<usize>)>,
}

/// The name of a session in the log.
pub(super) fn key(actor: &str, agent: &str, session: &str) -> String {
    let name = [actor, agent, session].join("\u{0}");
    let digest = Digest::of("cortex/told/1", &[name.as_bytes()]).to_string();
    digest[..24.min(digest.len())].to_owned()
}

/// Marks of what is no memory have this bit, which no id has.
const MARK: u64 = 1 << 63;

/// Stands for the words that a session begins with.
pub(super) const OPENING: u64 = 1 << 62;

/// What stands for something of the past in the log.
pub(super) fn mark(name: &str) -> u64 {
    let digest = Digest::of("cortex/told-past/1", &[name.as_bytes()]).to_string();
    u64::from_str_radix(&digest[..16.min(digest.len())], 16).unwrap_or(0) | MARK
}

impl ToldLog {
    pub(crate) fn new(home: &Path) -> ToldLog {
        ToldLog { path: home.join(FILE), sessions: None, spent: VecDeque::new() }
    }

    fn sessions(&mut self) -> &mut BTreeMap<String, BTreeSet<u64>> {
        let path = &self.path;
        self.sessions.get_or_insert_with(|| {
            // A log that cannot be read tells nothing; the worst is that a memory is told again.
            parse(&fs::read_to_string(path).unwrap_or_default())
        })
    }

    pub(super) fn has(&mut self, session: &str, id: u64) -> bool {
        self.sessions().get(session).is_some_and(|ids| ids.contains(&id))
    }

    /// How many marks a session has.
    pub(super) fn marks(&mut self, session: &str) -> usize {
        let told = self.sessions().get(session);
        told.map_or(0, |ids| ids.iter().filter(|id| **id & MARK > 0).count())
    }

    /// Tokens that the next prompt of a session may add.
    pub(super) fn room(&self, session: &str) -> usize {
        let prompts = self.spent.iter().find(|(known, _)| known == session);
        let spent: usize = prompts.map_or(0, |(_, spent)| spent.iter().sum());
        ROOM_TOKENS.saturating_sub(spent)
    }

    /// Notes what a prompt added, also that it added nothing.
    pub(super) fn spend(&mut self, session: &str, tokens: usize) {
        let place = self.spent.iter().position(|(known, _)| known == session);
        let known = place.and_then(|place| self.spent.remove(place));
        let (_, mut spent) = known.unwrap_or_default();
        spent.push_back(tokens);
        while spent.len() >= ROOM_PROMPTS {
            spent.pop_front();
        }
        self.spent.push_back((session.to_owned(), spent));
        if self.spent.len() > SESSIONS_MAX {
            self.spent.pop_front();
        }
    }

    /// A session ended.
    pub(super) fn end(&mut self, session: &str) {
        self.spent.retain(|(known, _)| known != session);
    }

    /// Notes that a session was told of memories.
    pub(super) fn add(&mut self, session: &str, ids: &[u64]) -> io::Result<()> {
        if ids.is_empty() {
            return Ok(());
        }
        self.sessions().entry(session.to_owned()).or_default().extend(ids);
        if fs::metadata(&self.path).is_ok_and(|about| about.len() > LOG_BYTES_MAX) {
            let text = fs::read_to_string(&self.path)?;
            let lines: Vec<&str> = text.lines().collect();
            let newest = lines[lines.len() / 2..].join("\n");
            service::files::replace_private_file(&self.path, format!("{newest}\n").as_bytes())?;
            // What is known here is bounded as the file is.
            self.sessions = None;
        }
        let ids: Vec<String> = ids.iter().map(u64::to_string).collect();
        let mut file = OpenOptions::new().create(true).append(true).open(&self.path)?;
        file.write_all(format!("{session} {}\n", ids.join(" ")).as_bytes())
    }
}

/// A line that was torn by a crash, or is none of ours, is passed over.
fn parse(text: &str) -> BTreeMap<String, BTreeSet<u64>> {
    let mut sessions: BTreeMap<String, BTreeSet<u64>> = BTreeMap::new();
    for line in text.lines() {
        let mut words = line.split(' ');
        let Some(session) = words.next().filter(|session| session.len() == 24) else { continue };
        let ids = words.filter_map(|word| word.parse::<u64>().ok());
        sessions.entry(session.to_owned()).or_default().extend(ids);
    }
    sessions
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    // S8
    #[test]
    fn what_was_told_is_known_after_a_new_start_and_after_a_torn_line() {
        let home = tempfile::tempdir().unwrap();
        let (one, other) = (key("default", "codex", "s1"), key("default", "codex", "s2"));
        let mut log = ToldLog::new(home.path());
        log.add(&one, &[3, 12]).unwrap();
        let path = home.path().join(FILE);
        let torn = format!("{}{other} 4", fs::read_to_string(&path).unwrap());
        fs::write(&path, &torn[..torn.len() - 10]).unwrap();
        let mut log = ToldLog::new(home.path());
        assert!(log.has(&one, 3) && log.has(&one, 12));
        assert!(!log.has(&one, 1) && !log.has(&other, 3));
    }

    #[test]
    fn the_log_is_bounded_and_keeps_the_newest() {
        let home = tempfile::tempdir().unwrap();
        let mut log = ToldLog::new(home.path());
        let ids: Vec<u64> = (1_000_000..1_002_000).collect();
        for n in 0..60 {
            log.add(&key("default", "codex", &n.to_string()), &ids).unwrap();
        }
        let size = fs::metadata(home.path().join(FILE)).unwrap().len();
        assert!(size <= LOG_BYTES_MAX + 20_000, "{size}");
        assert!(ToldLog::new(home.path()).has(&key("default", "codex", "59"), 1_000_007));
    }

    #[test]
    fn ten_prompts_share_a_room() {
        let mut log = ToldLog::new(Path::new("/nowhere"));
        for _ in 0..5 {
            log.spend("s", 150);
        }
        assert_eq!(log.room("s"), 100);
        for _ in 0..9 {
            log.spend("s", 0);
        }
        assert_eq!(log.room("s"), ROOM_TOKENS);
        assert_eq!(log.room("other"), ROOM_TOKENS);
        log.spend("s", 150);
        for n in 0..SESSIONS_MAX {
            log.spend(&n.to_string(), 10);
        }
        assert_eq!(log.spent.len(), SESSIONS_MAX);
        assert_eq!(log.room("s"), ROOM_TOKENS);
    }
}
