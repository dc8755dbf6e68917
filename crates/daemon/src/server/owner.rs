//! What shows the owner over HTTP: the token of the home, links that open the page once, and their cookies.
//!
//! What must stay true: secrets are compared without telling how much of them was right; a link works once and for a
//! while; a cookie ends with its time and with the token it came of; whoever replaces the file of the token has
//! replaced the token at the next request.

use std::collections::VecDeque;
use std::fs::Metadata;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use api::Result;
use client::token;
use kernel::Digest;
use kernel::memory::Millis;

/// How long a link may wait for its click.
const LINK_LIFE: Duration = Duration::from_hours(12);
/// Links that wait at once; of more, the oldest are forgotten.
const LINKS_MAX: usize = 16;
/// How long a browser stays the owner's.
pub const COOKIE_LIFE: Duration = Duration::from_hours(7 * 24);

/// The keys of the owner of one home.
pub struct OwnerKeys {
    home: PathBuf,
    token: Mutex<ReadToken>,
    links: Mutex<VecDeque<Link>>,
}

/// The token as the file had it when it looked like this.
#[derive(Default)]
struct ReadToken {
    file: Option<FileStamp>,
    key: Option<Digest>,
}

struct Link {
    secret: String,
    until: Instant,
}

/// Changes with every change of a file, also of its mode.
type FileStamp = (u64, i64, i64);

#[cfg(unix)]
fn stamp(found: &Metadata) -> FileStamp {
    use std::os::unix::fs::MetadataExt as _;
    (found.ino(), found.ctime(), found.ctime_nsec())
}

#[cfg(not(unix))]
fn stamp(found: &Metadata) -> FileStamp {
    let changed =
        found.modified().ok().and_then(|at| at.duration_since(std::time::UNIX_EPOCH).ok());
    let changed = changed.unwrap_or_default();
    (
        found.len(),
        i64::try_from(changed.as_secs()).unwrap_or(i64::MAX),
        changed.subsec_nanos().into(),
    )
}

impl std::fmt::Debug for OwnerKeys {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("OwnerKeys").field("home", &self.home).finish_non_exhaustive()
    }
}

impl OwnerKeys {
    /// The keys of a home; its token is made if there is none.
    pub fn new(home: &Path) -> Result<OwnerKeys> {
        token::ensure(home)?;
        Ok(OwnerKeys { home: home.to_owned(), token: Mutex::default(), links: Mutex::default() })
    }

    /// True for the token of the home.
    pub fn is_token(&self, given: &str) -> bool {
        self.key().is_some_and(|key| same(&key, &token_key(given)))
    }

    /// A link that has not been used yet, made if there is none.
    pub fn link(&self) -> Result<String> {
        let mut links = self.links();
        links.retain(|link| link.until > Instant::now());
        if let Some(link) = links.back() {
            return Ok(link.secret.clone());
        }
        drop(links);
        self.new_link()
    }

    /// A link that nobody else was given.
    pub fn new_link(&self) -> Result<String> {
        let secret = token::secret()?;
        let mut links = self.links();
        if links.len() == LINKS_MAX {
            links.pop_front();
        }
        links.push_back(Link { secret: secret.clone(), until: Instant::now() + LINK_LIFE });
        Ok(secret)
    }

    /// Uses a link up and gives the value of a cookie for it.
    pub fn redeem(&self, given: &str, now: Millis) -> Result<Option<String>> {
        let mut links = self.links();
        links.retain(|link| link.until > Instant::now());
        let given = link_key(given);
        let Some(place) = links.iter().position(|link| same(&link_key(&link.secret), &given))
        else {
            return Ok(None);
        };
        links.remove(place);
        drop(links);
        let Some(key) = self.key() else { return Ok(None) };
        let life = i64::try_from(COOKIE_LIFE.as_millis()).unwrap_or(i64::MAX);
        let until = now.get().saturating_add(life);
        let chance = &token::secret()?[..32];
        Ok(Some(format!("{until}.{chance}.{}", seal(&key, until, chance))))
    }

    /// True for the value of a cookie that still counts.
    pub fn is_cookie(&self, value: &str, now: Millis) -> bool {
        let mut parts = value.split('.');
        let (Some(until), Some(chance), Some(given), None) =
            (parts.next(), parts.next(), parts.next(), parts.next())
        else {
            return false;
        };
        let Ok(until) = until.parse::<i64>() else { return false };
        let Ok(given) = given.parse::<Digest>() else { return false };
        until > now.get() && self.key().is_some_and(|key| same(&seal(&key, until, chance), &given))
    }

    /// The name of the cookie: its own for each home, because browsers share cookies between the ports of a machine.
    pub fn cookie_name(&self) -> String {
        let home = self.home.as_os_str().as_encoded_bytes();
        format!("cortex-{}", &Digest::of("cortex/cookie-name/1", &[home]).to_string()[..8])
    }

    /// What the token of the home is known by, read again if its file has changed. None if others could have read it.
    fn key(&self) -> Option<Digest> {
        let mut token = self.token.lock().unwrap_or_else(PoisonError::into_inner);
        let now = std::fs::metadata(token::path(&self.home)).ok().map(|found| stamp(&found));
        if now.is_none() || token.file != now {
            // Whatever is wrong with the file, nobody is the owner by it until it is right again.
            let read = token::read(&self.home).ok().flatten();
            *token = ReadToken { file: now, key: read.as_deref().map(token_key) };
        }
        token.key
    }

    fn links(&self) -> MutexGuard<'_, VecDeque<Link>> {
        self.links.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn token_key(token: &str) -> Digest {
    Digest::of("cortex/http-token/1", &[token.as_bytes()])
}

fn link_key(link: &str) -> Digest {
    Digest::of("cortex/page-link/1", &[link.as_bytes()])
}

/// What only somebody with the token can have written beside a time.
fn seal(key: &Digest, until: i64, chance: &str) -> Digest {
    let inner = Digest::of(
        "cortex/page-cookie/inner/1",
        &[key.as_bytes(), &until.to_be_bytes(), chance.as_bytes()],
    );
    // Hashed twice, so that a cookie that is known helps nobody to write a longer one.
    Digest::of("cortex/page-cookie/1", &[key.as_bytes(), inner.as_bytes()])
}

/// Compares all bytes, wherever the first difference is.
fn same(left: &Digest, right: &Digest) -> bool {
    let pairs = left.as_bytes().iter().zip(right.as_bytes());
    pairs.fold(0, |differences, (left, right)| differences | (left ^ right)) == 0
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    const NOW: Millis = Millis(1_000_000);

    // F2
    #[test]
    fn a_link_works_once_and_its_cookie_until_it_ends_or_the_token_changes() {
        let home = tempfile::TempDir::new().unwrap();
        let keys = OwnerKeys::new(home.path()).unwrap();
        let link = keys.link().unwrap();
        assert_eq!(keys.link().unwrap(), link, "unused, it is told again");
        assert_ne!(keys.new_link().unwrap(), link);
        assert_eq!(keys.redeem("0000", NOW).unwrap(), None);
        let cookie = keys.redeem(&link, NOW).unwrap().unwrap();
        assert_eq!(keys.redeem(&link, NOW).unwrap(), None, "used");
        assert!(keys.is_cookie(&cookie, NOW));
        let life = i64::try_from(COOKIE_LIFE.as_millis()).unwrap();
        assert!(!keys.is_cookie(&cookie, Millis(NOW.get() + life)));
        let longer = cookie.replacen(&(NOW.get() + life).to_string(), &i64::MAX.to_string(), 1);
        assert!(!keys.is_cookie(&longer, NOW));
        for wrong in ["", "..", "1.2.3", &format!("{cookie}.x"), &cookie[1..]] {
            assert!(!keys.is_cookie(wrong, NOW), "{wrong}");
        }
        let token = token::read(home.path()).unwrap().unwrap();
        assert!(keys.is_token(&token) && !keys.is_token(&token[1..]) && !keys.is_token(""));
        let next = token::renew(home.path()).unwrap();
        assert!(keys.is_token(&next) && !keys.is_token(&token));
        assert!(!keys.is_cookie(&cookie, NOW), "it came of the old token");
    }

    // F1
    #[test]
    fn without_a_private_token_nobody_is_the_owner() {
        let home = tempfile::TempDir::new().unwrap();
        let keys = OwnerKeys::new(home.path()).unwrap();
        let token = token::read(home.path()).unwrap().unwrap();
        assert!(keys.is_token(&token));
        let open = std::os::unix::fs::PermissionsExt::from_mode(0o644);
        std::fs::set_permissions(token::path(home.path()), open).unwrap();
        assert!(!keys.is_token(&token), "others may have read it");
        std::fs::remove_file(token::path(home.path())).unwrap();
        assert!(!keys.is_token(&token) && !keys.is_token(""));
    }

    #[test]
    fn links_that_nobody_follows_are_forgotten() {
        let home = tempfile::TempDir::new().unwrap();
        let keys = OwnerKeys::new(home.path()).unwrap();
        let links: Vec<String> = (0..=LINKS_MAX).map(|_| keys.new_link().unwrap()).collect();
        assert_eq!(keys.redeem(&links[0], NOW).unwrap(), None);
        assert!(keys.redeem(&links[1], NOW).unwrap().is_some());
    }
}
