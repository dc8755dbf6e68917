//! The page for people: files that are part of the program, and one shell for every address that a reader may open.
//!
//! What must stay true: nothing is fetched from anywhere else, and no script but these files runs, whatever a memory
//! says; the policy below makes browsers keep to that. A file is asked for again only if it changed. Scripts are sent
//! as they are written, without the comments that only the type checker reads.

#![allow(clippy::unused_async, reason = "routes are async, also those that need not wait")]

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::LazyLock;

use axum::Router;
use axum::body::Bytes;
use axum::extract::Path;
use axum::http::{HeaderMap, HeaderName, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;

use crate::health::nowhere;

/// Addresses that the shell answers; which page they mean is for its scripts. Deep links are the same ones.
const SHELL_ROUTES: [&str; 35] = [
    "/",
    "/memories",
    "/search",
    "/new",
    "/m/{id}",
    "/m/{id}/edit",
    "/live",
    "/context",
    "/sessions",
    "/sessions/{*id}",
    "/timeline",
    "/journal",
    "/journal/{seq}",
    "/told",
    "/past",
    "/past/{*reference}",
    "/settings",
    "/projects",
    "/entities",
    "/graph",
    "/graph/{id}",
    "/mind",
    "/audit",
    "/runs",
    "/runs/{id}",
    "/budget",
    "/ask",
    "/chat",
    "/chat/{channel}",
    "/access",
    "/docs",
    "/lab",
    "/log",
    "/talents/{name}",
    "/transfer",
];

/// No inline script or style, nothing from elsewhere, no frame around it, and no text that becomes HTML.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; \
     base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; \
     trusted-types 'none'";

#[derive(Debug)]
struct WebFile {
    path: &'static str,
    bytes: &'static [u8],
}

macro_rules! web_files {
    ($($path:literal)+) => {
        &[$(WebFile { path: $path, bytes: include_bytes!(concat!("../web/", $path)) }),+]
    };
}

const SHELL: WebFile = WebFile { path: "index.html", bytes: include_bytes!("../web/index.html") };

/// Every file beside the shell, by the path after `/assets/`.
const FILES: &[WebFile] = web_files! {
    "icon.svg"
    "lib/actions.js"
    "lib/api.js"
    "lib/as_of.js"
    "lib/cbor.js"
    "lib/dialog.js"
    "lib/diff.js"
    "lib/dom.js"
    "lib/feed.js"
    "lib/growth.js"
    "lib/keys.js"
    "lib/layout.js"
    "lib/list.js"
    "lib/markdown.js"
    "lib/markdown_dom.js"
    "lib/markdown_inline.js"
    "lib/merkle.js"
    "lib/parts.js"
    "lib/plot.js"
    "lib/proof.js"
    "lib/records.js"
    "lib/router.js"
    "lib/schema.js"
    "lib/shapes.js"
    "lib/state.js"
    "lib/text.js"
    "lib/time.js"
    "lib/toast.js"
    "main.js"
    "pages.css"
    "pages/access.js"
    "pages/arms.js"
    "pages/ask.js"
    "pages/audit.js"
    "pages/budget.js"
    "pages/chat.js"
    "pages/connect.js"
    "pages/context.js"
    "pages/edit.js"
    "pages/entities.js"
    "pages/graph.js"
    "pages/home.js"
    "pages/journal.js"
    "pages/lab.js"
    "pages/live.js"
    "pages/log.js"
    "pages/memories.js"
    "pages/memory.js"
    "pages/memory_proof.js"
    "pages/memory_relations.js"
    "pages/memory_versions.js"
    "pages/mind.js"
    "pages/past.js"
    "pages/projects.js"
    "pages/reference.js"
    "pages/runs.js"
    "pages/sessions.js"
    "pages/set_up.js"
    "pages/settings.js"
    "pages/standing.js"
    "pages/talent.js"
    "pages/timeline.js"
    "pages/told.js"
    "pages/transfer.js"
    "style.css"
};

/// Is it an address of the page or of one of its files? Neither says anything about a memory.
pub(super) fn is_part(path: &str) -> bool {
    let first = |path: &str| path.split('/').nth(1).unwrap_or_default().to_owned();
    let word = first(path);
    word == "assets" || SHELL_ROUTES.iter().any(|route| first(route) == word)
}

/// The routes of the page. They are no part of the document of routes: programs have no use for them.
pub(super) fn routes<S: Clone + Send + Sync + 'static>() -> Router<S> {
    let files = Router::new().route("/assets/{*path}", get(file));
    SHELL_ROUTES.iter().fold(files, |router, path| router.route(path, get(shell)))
}

async fn shell(headers: HeaderMap) -> Response {
    answer(&SHELL, &headers)
}

async fn file(Path(path): Path<String>, uri: Uri, headers: HeaderMap) -> Response {
    match FILES.iter().find(|file| file.path == path) {
        Some(file) => answer(file, &headers),
        None => nowhere(uri).await.into_response(),
    }
}

/// What is sent of a file, and a tag that changes when that does.
#[derive(Debug)]
struct FileBody {
    bytes: Bytes,
    tag: String,
}

static FILE_BODIES: LazyLock<BTreeMap<&'static str, FileBody>> = LazyLock::new(|| {
    let sent = |file: &WebFile| {
        let bytes = match std::str::from_utf8(file.bytes) {
            Ok(text) if file.path.rsplit_once('.').is_some_and(|(_, end)| end == "js") => {
                Bytes::from(without_types(text))
            }
            _ => Bytes::from_static(file.bytes),
        };
        let mut hasher = DefaultHasher::new();
        bytes.hash(&mut hasher);
        (file.path, FileBody { tag: format!("\"{:016x}\"", hasher.finish()), bytes })
    };
    FILES.iter().chain(std::iter::once(&SHELL)).map(sent).collect()
});

/// A script without the comments for the type checker (`/**` to `*/` on lines of their own, `/** @` to `*/` inside a
/// line): browsers have no use for them, and what says why (`//`) stays readable.
fn without_types(script: &str) -> String {
    let (mut text, mut inside) = (String::with_capacity(script.len()), false);
    for line in script.split_inclusive('\n') {
        let bare = line.trim();
        let begins =
            !inside && bare.starts_with("/**") && (bare.ends_with("*/") || !bare.contains("*/"));
        if !inside && !begins {
            push_without_casts(line, &mut text);
        }
        inside = (inside || begins) && !bare.ends_with("*/");
    }
    text
}

fn push_without_casts(line: &str, text: &mut String) {
    let mut rest = line;
    while let Some((before, comment)) = rest.split_once("/** @") {
        let Some((_, after)) = comment.split_once("*/") else { break };
        text.push_str(before);
        rest = after.strip_prefix(' ').unwrap_or(after);
    }
    text.push_str(rest);
}

fn answer(file: &WebFile, asked: &HeaderMap) -> Response {
    let FileBody { bytes, tag } = &FILE_BODIES[file.path];
    let known = asked.get(header::IF_NONE_MATCH).and_then(|tags| tags.to_str().ok());
    let headers = [
        (header::CONTENT_TYPE, content_type(file.path)),
        (header::CONTENT_SECURITY_POLICY, POLICY),
        // Kept, but asked for again each time: an update of the program shows at once.
        (header::CACHE_CONTROL, "no-cache"),
        (header::REFERRER_POLICY, "no-referrer"),
        (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
        (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
        (header::ETAG, tag.as_str()),
    ];
    if known.is_some_and(|tags| tags.split(',').any(|known| known.trim() == tag)) {
        return (StatusCode::NOT_MODIFIED, headers).into_response();
    }
    (headers, bytes.clone()).into_response()
}

fn content_type(path: &str) -> &'static str {
    match path.rsplit('.').next() {
        Some("html") => "text/html; charset=utf-8",
        Some("js") => "text/javascript; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("svg") => "image/svg+xml",
        _ => "application/octet-stream",
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::{Path as FilePath, PathBuf};

    use super::*;

    /// Bytes of all files together: the page stays small enough to be there at once.
    const PAGE_BYTES_MAX: usize = 300_000;

    fn web() -> PathBuf {
        FilePath::new(env!("CARGO_MANIFEST_DIR")).join("web")
    }

    fn walk(folder: &FilePath, found: &mut BTreeSet<String>) {
        for entry in std::fs::read_dir(folder).expect("the folder of the page") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                walk(&path, found);
            } else {
                let name = path.strip_prefix(web()).expect("below the folder");
                found.insert(name.to_str().expect("a plain name").to_owned());
            }
        }
    }

    fn texts() -> impl Iterator<Item = (&'static str, &'static str)> {
        let all = FILES.iter().chain(std::iter::once(&SHELL));
        all.map(|file| (file.path, std::str::from_utf8(file.bytes).expect("UTF-8")))
    }

    // web 1: part of the binary, below 300 KB in all
    #[test]
    fn every_file_is_embedded_and_all_are_small() {
        let mut there = BTreeSet::new();
        walk(&web(), &mut there);
        let embedded: BTreeSet<String> = texts().map(|(path, _)| path.to_owned()).collect();
        assert_eq!(embedded, there);
        let bytes: usize = FILE_BODIES.values().map(|sent| sent.bytes.len()).sum();
        assert!(bytes < PAGE_BYTES_MAX, "{bytes}");
    }

    #[test]
    fn scripts_are_sent_without_the_comments_of_the_type_checker() {
        let script = "// Why.\n/** @type {A} */\nlet a = /** @type {B} */ (b);\n  /**\n   * @param {C} c\n   */\n  \
            const d = (c) => c;\n/** @type {E} */ let e;\n";
        let sent = "// Why.\nlet a = (b);\n  const d = (c) => c;\nlet e;\n";
        assert_eq!(without_types(script), sent);
    }

    // W20: neither HTML from text nor code from text, and nothing from elsewhere
    #[test]
    fn no_file_makes_html_or_code_from_text_or_loads_from_elsewhere() {
        let forbidden = [
            "innerHTML",
            "outerHTML",
            "insertAdjacentHTML",
            "document.write",
            "eval(",
            "new Function",
            "srcdoc",
            "style=\"",
            "<script>",
            "@import",
            "url(http",
            "src=\"http",
            "href=\"http",
        ];
        for (path, text) in texts() {
            for word in forbidden {
                assert!(!text.contains(word), "{path} has {word}");
            }
        }
    }

    #[test]
    fn what_a_file_imports_is_embedded() {
        for (path, text) in texts()
            .filter(|(path, _)| FilePath::new(path).extension().is_some_and(|end| end == "js"))
        {
            for import in text.lines().filter(|line| line.starts_with("import ")) {
                let from = import.rsplit('\'').nth(1).expect("a path in quotes");
                let folder = FilePath::new(path).parent().expect("a folder");
                let mut target = PathBuf::from(folder);
                for part in from.split('/') {
                    match part {
                        "." => {}
                        ".." => assert!(target.pop(), "{path}: {from}"),
                        name => target.push(name),
                    }
                }
                let known = FILES.iter().any(|file| FilePath::new(file.path) == target);
                assert!(known, "{path} imports {from}");
            }
        }
    }

    #[tokio::test]
    async fn a_file_has_its_policy_and_is_sent_once() {
        let first = shell(HeaderMap::new()).await;
        assert_eq!(first.status(), StatusCode::OK);
        assert_eq!(first.headers()[header::CONTENT_TYPE], "text/html; charset=utf-8");
        let policy = first.headers()[header::CONTENT_SECURITY_POLICY].to_str().expect("text");
        assert!(!policy.contains("unsafe"), "{policy}");
        let mut asked = HeaderMap::new();
        asked.insert(header::IF_NONE_MATCH, first.headers()[header::ETAG].clone());
        assert_eq!(shell(asked.clone()).await.status(), StatusCode::NOT_MODIFIED);
        let uri = Uri::from_static("/assets/main.js");
        let other = file(Path("main.js".to_owned()), uri.clone(), asked).await;
        assert_eq!(other.status(), StatusCode::OK);
        assert_eq!(other.headers()[header::CONTENT_TYPE], "text/javascript; charset=utf-8");
        let gone = file(Path("../Cargo.toml".to_owned()), uri, HeaderMap::new()).await;
        assert_eq!(gone.status(), StatusCode::NOT_FOUND);
    }
}
