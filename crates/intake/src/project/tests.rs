//! Projects found in made-up trees, and in real folders on the disk.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::{fs, io};

use proptest::prelude::*;

use crate::project::alias::Aliases;
use crate::project::file_system::{DiskFiles, FILE_BYTES_MAX, FileSystem};
use crate::project::name::{from_given, normalize, similar};
use crate::project::remote::Remote;
use crate::project::{Place, Resolution, Source, resolve};

/// Files by path; folders are what files lie in.
#[derive(Default)]
struct Files {
    texts: BTreeMap<PathBuf, String>,
    unreadable: BTreeSet<PathBuf>,
}

impl Files {
    fn of(files: &[(&str, &str)]) -> Files {
        let texts = files.iter().map(|(path, text)| (PathBuf::from(path), (*text).to_owned()));
        Files { texts: texts.collect(), ..Files::default() }
    }
}

impl FileSystem for Files {
    fn text(&self, path: &Path) -> io::Result<Option<String>> {
        if self.unreadable.contains(path) {
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, "denied"));
        }
        Ok(self.texts.get(path).cloned())
    }

    fn is_folder(&self, path: &Path) -> bool {
        !self.texts.contains_key(path) && self.texts.keys().any(|file| file.starts_with(path))
    }

    fn canonical(&self, path: &Path) -> Option<PathBuf> {
        (self.is_folder(path) || self.texts.contains_key(path)).then(|| path.to_owned())
    }
}

/// Somewhere without a home.
fn place(cwd: &Path) -> Place<'_> {
    Place { cwd: Some(cwd), ..Place::default() }
}

fn at(cwd: &str, tree: &dyn FileSystem) -> Resolution {
    let place =
        Place { given: None, cwd: Some(Path::new(cwd)), home: Some(Path::new("/home/ann")) };
    resolve(&place, tree)
}

fn found(cwd: &str, tree: &dyn FileSystem) -> Option<(String, Source)> {
    at(cwd, tree).project.map(|project| (project.name, project.source))
}

fn named(name: &str, source: Source) -> (String, Source) {
    (name.to_owned(), source)
}

const ORIGIN: &str = "[core]\n\tbare = false\n[remote \"fork\"]\n\turl = git@github.com:ann/other.git\n\
    [remote \"origin\"]\n\turl = git@github.com:Acme/API.git ; comment\n\
    \tfetch = +refs/heads/*:refs/remotes/origin/*\n";

// agent-memory 2.3, 10.1, 13.5
#[test]
fn sources_are_asked_in_their_order() {
    let head = ("/home/ann/work/Api Clone/.git/HEAD", "ref: refs/heads/main\n");
    let config = ("/home/ann/work/Api Clone/.git/config", ORIGIN);
    let file = ("/home/ann/work/Api Clone/.cortex.toml", "project = \"My--API\"\n");
    let source = ("/home/ann/work/Api Clone/src/deep/main.rs", "");
    let cwd = "/home/ann/work/Api Clone/src/deep";

    assert_eq!(found(cwd, &Files::of(&[source])), Some(named("deep", Source::Folder)));
    assert_eq!(found(cwd, &Files::of(&[source, head])), Some(named("api clone", Source::Root)));
    assert_eq!(found(cwd, &Files::of(&[source, head, config])), Some(named("api", Source::Remote)));
    let all = Files::of(&[source, head, config, file]);
    assert_eq!(found(cwd, &all), Some(named("my-api", Source::Config)));

    let given = Place { given: Some("  Other "), cwd: Some(Path::new(cwd)), home: None };
    let resolution = resolve(&given, &all);
    assert_eq!(resolution.project.unwrap().name, "other");
    assert_eq!(resolution.notes, ["project \"  Other \" is kept as \"other\""]);
    let blank = Place { given: Some("  "), ..given };
    assert_eq!(resolve(&blank, &all).project.unwrap().source, Source::Config);
}

#[test]
fn the_nearest_config_wins_and_none_above_the_repository_counts() {
    let files = Files::of(&[
        ("/home/ann/.cortex.toml", "project = \"everything\"\n"),
        ("/home/ann/work/.cortex.toml", "project = \"work\"\n"),
        ("/home/ann/work/mono/.git/HEAD", ""),
        ("/home/ann/work/mono/.cortex.toml", "project = \"mono\"\n"),
        ("/home/ann/work/mono/apps/web/.cortex.toml", "project = \"mono-web\"\n"),
        ("/home/ann/work/mono/apps/web/src/a.ts", ""),
        ("/home/ann/work/mono/apps/api/a.ts", ""),
        ("/home/ann/work/solo/.git/HEAD", ""),
        ("/home/ann/work/notes/today.md", ""),
        ("/home/ann/letters/a.md", ""),
    ]);
    assert_eq!(
        found("/home/ann/work/mono/apps/web/src", &files),
        Some(named("mono-web", Source::Config))
    );
    assert_eq!(found("/home/ann/work/mono/apps/api", &files), Some(named("mono", Source::Config)));
    assert_eq!(found("/home/ann/work/solo", &files), Some(named("solo", Source::Root)));
    assert_eq!(found("/home/ann/work/notes", &files), Some(named("work", Source::Config)));
    assert_eq!(found("/home/ann/letters", &files), Some(named("letters", Source::Folder)));
}

// agent-memory 169
#[test]
fn home_and_what_lies_above_are_no_project() {
    let files = Files::of(&[
        ("/.git/HEAD", ""),
        ("/home/ann/.git/HEAD", ""),
        ("/home/ann/.git/config", ORIGIN),
        ("/home/ann/x/y/a", ""),
    ]);
    for none in ["/", "/home", "/home/ann"] {
        assert_eq!(found(none, &files), None, "{none}");
    }
    assert_eq!(found("/home/ann/x", &files), Some(named("x", Source::Folder)));
    assert_eq!(found("/gone/folder", &files), Some(named("folder", Source::Folder)));
    assert_eq!(found("relative", &files), None);
    assert_eq!(resolve(&Place::default(), &files), Resolution::default());
    let given = Place { given: Some("kept"), cwd: Some(Path::new("/")), home: None };
    assert_eq!(resolve(&given, &files).project.unwrap().name, "kept");
}

#[test]
fn worktrees_are_their_repository_and_submodules_their_own() {
    let files = Files::of(&[
        ("/w/main/.git/HEAD", ""),
        ("/w/main/.git/config", "[core]\n"),
        ("/w/main/.git/worktrees/feature/HEAD", ""),
        ("/w/main/.git/worktrees/feature/commondir", "../..\n"),
        ("/w/feature/.git", "gitdir: /w/main/.git/worktrees/feature\n"),
        ("/w/feature/src/a", ""),
        ("/w/main/lib/.git", "gitdir: ../.git/modules/lib\n"),
        ("/w/main/.git/modules/lib/HEAD", ""),
        (
            "/w/main/.git/modules/lib/config",
            "[core]\n\tworktree = ../../../lib\n[remote \"origin\"]\n\turl = https://x.org/a/lib-one\n",
        ),
        ("/w/main/.git/modules/lib/worktrees/l2/HEAD", ""),
        ("/w/main/.git/modules/lib/worktrees/l2/commondir", "../..\n"),
        ("/w/lib-two/.git", "gitdir: /w/main/.git/modules/lib/worktrees/l2\n"),
        ("/w/bare/.bare/HEAD", ""),
        ("/w/bare/.bare/worktrees/dev/HEAD", ""),
        ("/w/bare/.bare/worktrees/dev/commondir", "../..\n"),
        ("/w/bare/.git", "gitdir: ./.bare\n"),
        ("/w/bare/dev/.git", "gitdir: /w/bare/.bare/worktrees/dev\n"),
        ("/w/box/.git", "gitdir: /elsewhere/tool/.git/worktrees/box\n"),
        ("/srv/tool.git/HEAD", ""),
        ("/srv/tool.git/worktrees/t/commondir", "../..\n"),
        ("/w/t/.git", "gitdir: /srv/tool.git/worktrees/t\n"),
        ("/w/empty/.git/notes", ""),
    ]);
    for (cwd, name, source) in [
        ("/w/main", "main", Source::Root),
        ("/w/feature/src", "main", Source::Root),
        ("/w/main/lib", "lib-one", Source::Remote),
        ("/w/lib-two", "lib-one", Source::Remote),
        ("/w/bare", "bare", Source::Root),
        ("/w/bare/dev", "bare", Source::Root),
        ("/w/box", "tool", Source::Root),
        ("/w/t", "tool", Source::Root),
        ("/w/empty", "empty", Source::Folder),
    ] {
        assert_eq!(found(cwd, &files), Some(named(name, source)), "{cwd}");
    }
    let lib = at("/w/lib-two", &files).project.unwrap();
    assert_eq!(lib.root.unwrap(), Path::new("/w/main/lib"));
}

#[test]
fn what_cannot_be_read_is_said_and_passed_over() {
    let mut files = Files::of(&[
        ("/w/a/.git/HEAD", ""),
        ("/w/a/.git/config", ORIGIN),
        ("/w/a/.cortex.toml", "project = \n"),
        ("/w/b/.cortex.toml", "project = 7\n"),
        ("/w/c/.cortex.toml", "other = 1\n"),
    ]);
    files.unreadable.insert(PathBuf::from("/w/a/.git/config"));
    let a = at("/w/a", &files);
    assert_eq!(a.project.unwrap().source, Source::Root);
    let [config, remote] = a.notes.as_slice() else { panic!("{:?}", a.notes) };
    assert!(config.starts_with("/w/a/.cortex.toml was passed over: "), "{config}");
    assert!(remote.starts_with("/w/a/.git/config could not be read"), "{remote}");
    assert_eq!(
        at("/w/b", &files).notes,
        ["/w/b/.cortex.toml was passed over: project is not a text"]
    );
    assert_eq!(at("/w/c", &files).notes, [""; 0]);
}

#[test]
fn every_address_of_a_repository_is_one() {
    for url in [
        "git@github.com:Acme/Api.git",
        "https://github.com/acme/api",
        "https://github.com/acme/api/",
        "https://github.com/Acme/api.git/",
        "http://ann:hunter2@GitHub.com:8443/acme/api.git",
        "ssh://git@github.com/acme/api.git",
        "ssh://git@ssh.github.com:443/acme/api.git",
        "git+ssh://git@github.com:22/acme/api",
        "git://github.com/acme/api.git",
        "github.com:acme/api",
        "git@github.com-work:acme/api.git",
        " https://github.com/acme/api?x=1#y ",
    ] {
        let remote = Remote::parse(url).unwrap();
        assert_eq!(remote.address, "github.com/acme/api", "{url}");
        assert_eq!(remote.name().unwrap(), "api");
        assert!(!format!("{remote:?}").contains("hunter2"));
    }
    for (url, identity, name) in [
        ("https://dev.azure.com/org/proj/_git/repo", "dev.azure.com/org/proj/repo", "repo"),
        ("git@ssh.dev.azure.com:v3/org/proj/repo", "dev.azure.com/org/proj/repo", "repo"),
        ("https://gitlab.com/group/sub/repo.git", "gitlab.com/group/sub/repo", "repo"),
        ("ssh://git@[::1]:22/srv/repo.git", "::1/srv/repo", "repo"),
        ("/srv/git/tool.git", "/srv/git/tool", "tool"),
        ("file:///srv/git/tool.git", "/srv/git/tool", "tool"),
        ("/home/ann/tool/.git", "/home/ann/tool", "tool"),
        ("../tool", "/../tool", "tool"),
        (r"C:\repos\Tool", "/c:/repos/tool", "tool"),
    ] {
        let remote = Remote::parse(url).unwrap();
        assert_eq!(
            (remote.address.as_str(), remote.name().unwrap().as_str()),
            (identity, name),
            "{url}"
        );
    }
    for none in ["", "  ", "https://", "git@github.com:", "/", "https://github.com/"] {
        assert_eq!(Remote::parse(none), None, "{none}");
    }
}

#[test]
fn names_have_one_spelling() {
    for (name, normal) in [
        ("  My-Project ", Some("my-project")),
        ("a--b___c", Some("a-b_c")),
        ("a-_b", Some("a-_b")),
        ("two\n words", Some("two words")),
        ("Cafe\u{301}", Some("café")),
        ("日本", Some("日本")),
        ("", None),
        ("--", None),
        ("..", None),
    ] {
        assert_eq!(normalize(name).as_deref(), normal, "{name:?}");
    }
    for (given, name) in [
        ("acme/api", Some("acme/api")),
        ("/home/ann/work/Api/", Some("api")),
        ("~/code/api", Some("api")),
        (r"C:\work\Api", Some("api")),
        ("./api", Some("api")),
        ("../", None),
        ("/", None),
        ("~/", None),
        ("git@github.com:acme/api.git", Some("api")),
        ("https://github.com/acme/api", Some("api")),
        (".dotfiles", Some(".dotfiles")),
        ("app: server", Some("app: server")),
    ] {
        assert_eq!(from_given(given).as_deref(), name, "{given:?}");
    }
    assert_eq!(normalize(&"x".repeat(500)).unwrap().len(), 128);
}

#[test]
fn similar_names_are_found_best_first() {
    let known = ["my_project", "myproject-api", "my-projekt", "other", "my-project", "my", "m"];
    assert_eq!(similar("my-project", known), ["my_project", "myproject-api", "my-projekt"]);
    assert_eq!(similar("café", ["cafe"]), ["cafe"]);
    assert!(similar("ab", ["abc", "xy"]).iter().all(|name| *name == "abc"));
}

#[test]
fn merged_names_lead_to_the_project() {
    let mut aliases = Aliases::default();
    assert_eq!(aliases.merge("Old", "new").unwrap(), "new");
    assert_eq!(aliases.merge("older", "old").unwrap(), "new");
    assert_eq!(aliases.merge("new", "newest").unwrap(), "newest");
    for name in ["old", "older", "new", "newest"] {
        assert_eq!(aliases.resolve(name), "newest");
    }
    assert!(aliases.merge("newest", "old").is_err(), "a circle");
    assert!(aliases.merge(" ", "old").is_err());
    assert_eq!(Aliases::new(aliases.pairs().map(|(a, b)| (a.into(), b.into()))).unwrap(), aliases);
    assert!(aliases.remove("old") && !aliases.remove("old"));
    assert_eq!(aliases.resolve("old"), "old");
}

#[test]
fn the_disk_answers_for_real_folders_and_links() {
    let temporary = tempfile::tempdir().unwrap();
    let base = temporary.path().canonicalize().unwrap();
    let repository = base.join("Repo");
    fs::create_dir_all(repository.join(".git")).unwrap();
    fs::create_dir_all(repository.join("src")).unwrap();
    fs::write(repository.join(".git/HEAD"), "ref: refs/heads/main\n").unwrap();
    let source = repository.join("src");
    let project = resolve(&place(&source), &DiskFiles).project.unwrap();
    assert_eq!(
        (project.name.as_str(), project.root.as_deref()),
        ("repo", Some(repository.as_path()))
    );

    #[cfg(unix)]
    {
        let link = base.join("elsewhere");
        std::os::unix::fs::symlink(&source, &link).unwrap();
        assert_eq!(resolve(&place(&link), &DiskFiles).project.unwrap().name, "repo");
        let home_link = Place { home: Some(&link), ..place(&source) };
        assert_eq!(resolve(&home_link, &DiskFiles).project, None, "home, seen through a link");
    }
    fs::write(
        repository.join(".git/config"),
        "x".repeat(1 + usize::try_from(FILE_BYTES_MAX).unwrap()),
    )
    .unwrap();
    let large = resolve(&place(&source), &DiskFiles);
    assert_eq!((large.project.unwrap().source, large.notes.len()), (Source::Root, 1));
}

proptest! {
    #[test]
    fn normal_names_stay(name in "(\\PC|[ \t\n_-]){0,80}") {
        if let Some(normal) = normalize(&name) {
            prop_assert_eq!(normalize(&normal), Some(normal.clone()));
            prop_assert!(normal.len() <= 128);
        }
    }

    #[test]
    fn any_address_and_file_is_read_without_panic(text in "(\\PC|[\n\\[\\]\"=/:@.]){0,120}") {
        if let Some(remote) = Remote::parse(&text) {
            prop_assert!(!remote.address.is_empty());
        }
        from_given(&text);
        let files = Files::of(&[
            ("/w/a/.git/HEAD", ""),
            ("/w/a/.git/config", &text),
            ("/w/a/.cortex.toml", &text),
            ("/w/b/.git", &text),
        ]);
        prop_assert!(at("/w/a", &files).project.is_some());
        prop_assert!(at("/w/b", &files).project.is_some());
    }

    #[test]
    fn aliases_never_go_in_circles(pairs in prop::collection::vec(("[a-e]", "[a-e]"), 0..20)) {
        let mut aliases = Aliases::default();
        for (from, to) in &pairs {
            if let Ok(to) = aliases.merge(from, to) {
                prop_assert_eq!(aliases.resolve(from), to.as_str());
            }
            for (_, target) in aliases.pairs() {
                prop_assert_eq!(aliases.resolve(target), target);
            }
        }
    }
}
