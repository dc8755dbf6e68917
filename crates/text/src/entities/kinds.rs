//! The rules for one piece of text: which entity it is, if any.
//!
//! Must stay true: a piece is judged by itself and the two words before it, in time linear in its length.

use std::collections::HashSet;
use std::sync::LazyLock;

use super::{EntityKind, EntitySet};

/// Extensions that make a bare word a file.
static EXTENSIONS: LazyLock<HashSet<&str>> = LazyLock::new(|| {
    words(
        "go ts tsx js jsx mjs cjs py pyi rs java kt kts rb php cs cpp cc hpp swift scala lua zig ex exs erl hs ml \
clj dart yaml yml json jsonl toml xml ini cfg conf env lock sql sh bash zsh ps1 bat md mdx rst txt csv tsv css scss \
sass less html htm proto graphql gql vue svelte tf tfvars gradle ipynb pdf png jpg jpeg svg gif log db sqlite wasm \
so dll exe zip tar gz mod sum",
    )
});
/// One-letter extensions; others are abbreviations (`e.g`, `i.e`).
static SHORT: LazyLock<HashSet<&str>> = LazyLock::new(|| words("c h r d s m v"));
static NAMED: LazyLock<HashSet<&str>> = LazyLock::new(|| {
    words(
        "Makefile Dockerfile Containerfile Justfile Jenkinsfile Vagrantfile Procfile Gemfile Rakefile CODEOWNERS \
.gitignore .gitattributes .dockerignore .editorconfig .npmrc .nvmrc .env .bashrc .zshrc .profile .prettierrc .eslintrc",
    )
});
/// Products, not files.
static PRODUCTS: LazyLock<HashSet<&str>> = LazyLock::new(|| {
    words(
        "node.js next.js vue.js nuxt.js three.js d3.js express.js react.js angular.js ember.js backbone.js \
chart.js moment.js nest.js alpine.js socket.io draw.io bun.js deno.js",
    )
});
static ROOTS: LazyLock<HashSet<&str>> = LazyLock::new(|| {
    words(
        "etc usr var home tmp opt bin sbin root proc sys dev Users mnt srv lib run Library Applications",
    )
});
const HOSTS: [&str; 4] = ["github.com", "gitlab.com", "bitbucket.org", "codeberg.org"];
static VERSIONED: LazyLock<HashSet<&str>> = LazyLock::new(|| {
    words(
        "python go golang node nodejs rust java jdk ruby php postgres postgresql mysql redis kotlin swift \
typescript react django rails angular ubuntu debian kubernetes terraform version",
    )
});
static ERRNO: LazyLock<HashSet<&str>> = LazyLock::new(|| {
    words(
        "EPERM ENOENT ESRCH EINTR EIO ENXIO E2BIG EBADF ECHILD EAGAIN ENOMEM EACCES EFAULT EBUSY EEXIST EXDEV ENODEV \
ENOTDIR EISDIR EINVAL ENFILE EMFILE ENOTTY EFBIG ENOSPC ESPIPE EROFS EMLINK EPIPE EDOM ERANGE EDEADLK ENAMETOOLONG \
ENOSYS ENOTEMPTY ELOOP ENOTSUP EPROTO EADDRINUSE EADDRNOTAVAIL ENETUNREACH ECONNABORTED ECONNRESET ECONNREFUSED \
ENOTCONN ETIMEDOUT EHOSTUNREACH EALREADY EINPROGRESS ESTALE EWOULDBLOCK ENOTFOUND EAI_AGAIN ERESOLVE EINTEGRITY \
SIGSEGV SIGABRT SIGKILL SIGTERM SIGBUS SIGILL SIGFPE SIGPIPE",
    )
});

fn words(list: &'static str) -> HashSet<&'static str> {
    list.split_ascii_whitespace().collect()
}

pub(super) fn is_verb(word: &str) -> bool {
    matches!(word, "GET" | "POST" | "PUT" | "PATCH" | "DELETE" | "HEAD" | "OPTIONS")
}

/// Removes the punctuation a sentence puts around a name, but not what names begin with.
pub(super) fn trim(piece: &str) -> &str {
    let piece = piece.trim_end_matches(['.', ':', '-', '+', '@', '$']);
    piece.trim_start_matches([':', '-', '+'])
}

/// A URL from its scheme on: to a quote, an angle or an unmatched bracket, without the sentence's end.
pub(super) fn url(text: &str) -> &str {
    let mut open = [0_usize; 2];
    let mut end = text.len();
    for (at, c) in text.char_indices() {
        let stop = match c {
            '"' | '\'' | '`' | '<' | '>' | '|' | '\\' => true,
            '(' | '[' => {
                open[usize::from(c == '[')] += 1;
                false
            }
            ')' | ']' => {
                let depth = &mut open[usize::from(c == ']')];
                let unmatched = *depth == 0;
                *depth = depth.saturating_sub(1);
                unmatched
            }
            _ => false,
        };
        if stop {
            end = at;
            break;
        }
    }
    let url = text[..end].trim_end_matches(['.', ',', ';', ':', '!', '?', '*', '…']);
    let host = url.find("://").map_or("", |at| &url[at + 3..]);
    if host.starts_with(|c: char| c.is_alphanumeric() || c == '[') { url } else { "" }
}

/// The path after an HTTP verb, or nothing.
pub(super) fn endpoint_path(word: &str) -> &str {
    let word = word.trim_start_matches(['`', '"', '\'', '(']);
    if !word.starts_with('/') {
        return "";
    }
    let end = word.find(['`', '"', '\'', ',', ';', ')', '|']).unwrap_or(word.len());
    word[..end].trim_end_matches(['.', ':', '!', '?', '*'])
}

/// Adds what the piece is. `imported`: code around it says that it is a package.
pub(super) fn classify(
    piece: &str,
    imported: bool,
    before: &str,
    last: &str,
    found: &mut EntitySet,
) {
    // Most words are prose. A plain one can only be a package, and only after a word that says so.
    let plain = !imported && piece.bytes().all(|b| b.is_ascii_lowercase());
    if plain && !matches!(last, "add" | "install") {
        return;
    }
    if let Some(name) = piece.strip_prefix('$') {
        let name = name.strip_prefix('{').unwrap_or(name);
        let end = name.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(name.len());
        if end >= 2 && is_upper_name(&name[..end]) {
            found.add(EntityKind::EnvVar, &name[..end]);
        }
        return;
    }
    if package(piece, imported, before, last, found) {
        return;
    }
    if is_version(piece)
        || (is_short_version(piece) && VERSIONED.contains(last.to_ascii_lowercase().as_str()))
    {
        found.add(EntityKind::Version, piece);
        return;
    }
    let name = piece.rsplit(['.', ':', '/', '\\']).next().unwrap_or(piece);
    if is_error(name) {
        found.add(EntityKind::Error, name);
    } else if name.contains('_') && name.len() >= 4 && is_upper_name(name) && !name.ends_with('_') {
        // `process.env.DATABASE_URL` and `std::env::DATABASE_URL` name the same variable.
        found.add(EntityKind::EnvVar, name);
    } else if let Some(path) = file(piece) {
        found.add(EntityKind::File, path);
    }
}

fn is_upper_name(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_uppercase() || c == '_')
        && name.bytes().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'_')
        && name.bytes().any(|b| b.is_ascii_uppercase())
}

fn is_error(name: &str) -> bool {
    let digits = |prefix: &str, least: usize, most: usize| {
        name.strip_prefix(prefix).is_some_and(|rest| {
            (least..=most).contains(&rest.len()) && rest.bytes().all(|b| b.is_ascii_digit())
        })
    };
    if digits("E", 4, 4) || digits("TS", 4, 5) || digits("CS", 4, 4) || ERRNO.contains(name) {
        return true;
    }
    if name.strip_prefix("ERR_").is_some_and(|rest| rest.len() > 1 && is_upper_name(name)) {
        return true;
    }
    let stem = name.strip_suffix("Error").or_else(|| name.strip_suffix("Exception"));
    stem.is_some_and(|stem| {
        stem.len() >= 2
            && stem.starts_with(|c: char| c.is_ascii_uppercase())
            && stem.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
    })
}

fn numbers(core: &str) -> Option<usize> {
    let mut count = 0;
    for part in core.split('.') {
        if part.is_empty() || part.len() > 8 || !part.bytes().all(|b| b.is_ascii_digit()) {
            return None;
        }
        count += 1;
    }
    Some(count)
}

/// `v1.2`, `1.2.3`, `1.2.3-rc.1+build`; not `3.5`, an address or a date.
fn is_version(piece: &str) -> bool {
    let bare = piece.strip_prefix(['v', 'V']);
    let body = bare.unwrap_or(piece);
    let (core, suffix) =
        body.find(['-', '+']).map_or((body, ""), |at| (&body[..at], &body[at + 1..]));
    if !suffix.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'-' | b'+')) {
        return false;
    }
    let last = core.rsplit('.').next().unwrap_or("");
    let date = last.len() == 4 && (last.starts_with("19") || last.starts_with("20"));
    match numbers(core) {
        Some(count) if bare.is_some() => (2..=4).contains(&count),
        Some(count) => count == 3 && !date,
        None => false,
    }
}

fn is_short_version(piece: &str) -> bool {
    numbers(piece) == Some(2)
}

fn is_package_name(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_')
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.'))
}

fn package(piece: &str, imported: bool, before: &str, last: &str, found: &mut EntitySet) -> bool {
    // `name@1.2.3`, with or without a scope.
    if let Some(at) = piece.rfind('@').filter(|at| *at > 0) {
        let (name, version) = (&piece[..at], &piece[at + 1..]);
        let scoped = name.strip_prefix('@').and_then(|name| name.split_once('/'));
        let good =
            scoped.map_or(is_package_name(name), |(s, n)| is_package_name(s) && is_package_name(n));
        if good && (is_version(version) || is_short_version(version)) {
            found.add(EntityKind::Package, name);
            found.add(EntityKind::Version, version);
            return true;
        }
        // A mail address, or nothing we know.
        return !piece.contains(['/', '\\']);
    }
    if let Some((scope, name)) = piece.strip_prefix('@').and_then(|rest| rest.split_once('/')) {
        let end = name.find('/').unwrap_or(name.len());
        if is_package_name(scope)
            && is_package_name(&name[..end])
            && scope.contains(|c: char| c.is_alphabetic())
        {
            found.add(EntityKind::Package, &piece[..scope.len() + end + 2]);
            return true;
        }
    }
    for host in HOSTS {
        let Some(rest) = piece.strip_prefix(host).and_then(|rest| rest.strip_prefix('/')) else {
            continue;
        };
        let mut steps = rest.split('/');
        if let (Some(owner), Some(name)) = (steps.next(), steps.next()) {
            let name = name.strip_suffix(".git").unwrap_or(name);
            if is_package_name(owner) && is_package_name(name) {
                found.add(EntityKind::Package, &format!("{host}/{owner}/{name}"));
            }
        }
        return true;
    }
    let installed = matches!(
        (before, last),
        ("cargo" | "yarn" | "pnpm" | "uv" | "bun", "add")
            | ("npm" | "pip" | "pip3" | "gem" | "pnpm", "install")
    ) && piece.len() > 2
        && !matches!(
            piece,
            "and"
                | "the"
                | "then"
                | "fails"
                | "failed"
                | "with"
                | "from"
                | "for"
                | "this"
                | "again"
                | "command"
        );
    if (imported || installed) && piece.split('/').all(is_package_name) {
        found.add(EntityKind::Package, piece);
        return true;
    }
    false
}

/// The path without a line number, if the piece is a file.
fn file(piece: &str) -> Option<&str> {
    let mut path = piece;
    // `main.rs:42:7` names the file; a drive's colon is followed by a slash.
    while let Some((head, tail)) = path.rsplit_once(':') {
        if tail.bytes().all(|b| b.is_ascii_digit() || b == b'-') {
            path = head;
        } else {
            break;
        }
    }
    let drive = path.len() > 3
        && path.as_bytes()[0].is_ascii_alphabetic()
        && matches!(path.get(1..3), Some(":\\" | ":/"));
    let body = if drive { &path[3..] } else { path };
    if body.contains([':', '@', '$']) || body.contains("//") || !body.contains(char::is_alphabetic)
    {
        return None;
    }
    let name = body.rsplit(['/', '\\']).next().unwrap_or(body);
    if NAMED.contains(name) {
        return Some(path);
    }
    let deep = name.len() < body.len();
    let rooted = drive
        || ["~/", "./", "../", ".\\", "..\\"].iter().any(|start| body.starts_with(start))
        || body
            .strip_prefix('/')
            .and_then(|rest| rest.split_once('/'))
            .is_some_and(|(root, _)| ROOTS.contains(root));
    if rooted && deep && body.len() > 3 {
        return Some(path);
    }
    let (stem, extension) = name.rsplit_once('.')?;
    let extension_like = extension.len() <= 10
        && extension.starts_with(|c: char| c.is_ascii_alphabetic())
        && extension.bytes().all(|b| b.is_ascii_alphanumeric());
    if !extension_like || (extension.len() == 1 && !SHORT.contains(extension)) {
        return None;
    }
    let known = EXTENSIONS.contains(extension);
    if deep {
        let head = body.split(['/', '\\']).next().unwrap_or("");
        // A site without its scheme is no file of ours.
        let site =
            [".com", ".org", ".net", ".io", ".dev", ".ai"].iter().any(|tld| head.ends_with(tld));
        // Of prose with a slash (`Node.js/Deno`, `e.g./i.e`) no step but the last may be empty.
        let whole =
            body.trim_start_matches(['/', '.']).split(['/', '\\']).all(|step| !step.is_empty());
        let words = PRODUCTS.contains(name.to_ascii_lowercase().as_str());
        return (whole && !site && !words && (known || !stem.is_empty())).then_some(path);
    }
    let product = PRODUCTS.contains(name.to_ascii_lowercase().as_str());
    let stem_named = stem.contains(|c: char| c.is_alphabetic() || c == '_')
        || !stem.is_empty() && known && extension.len() > 1;
    (known && stem_named && !product).then_some(path)
}
