//! Goal: one folder is one project for everybody, two repositories are two, and reads stay inside with a door.
//! Method: repositories made of files in a temporary folder, and callers that work in them.

#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use api::context::ContextRequest;
use api::health::HealthRequest;
use api::projects::MergeRequest;
use api::prompt::PromptSaveRequest;
use api::read::GetRequest;
use api::save::{SaveAnswer, SaveRequest};
use api::search::{SearchAnswer, SearchRequest};
use api::session::SessionStartRequest;
use api::timeline::TimelineRequest;
use kernel::actor::ActorName;
use kernel::memory::Millis;
use service::{Caller, FixedEnvironment, Service, Settings};
use tempfile::TempDir;

const NOW: i64 = 1_790_000_000_000;

struct Machine {
    folder: TempDir,
    ops: Service,
}

impl Machine {
    fn new() -> Machine {
        let folder = TempDir::new().unwrap();
        let ops = Service::new(folder.path().join("home"), Settings::default(), Duration::ZERO);
        Machine { folder, ops }
    }

    /// A repository with a remote, in a folder of its own.
    fn repository(&self, folder: &str, remote: &str) -> Caller {
        let path = self.folder.path().join(folder);
        fs::create_dir_all(path.join(".git")).unwrap();
        fs::write(path.join(".git/HEAD"), "ref: refs/heads/main\n").unwrap();
        fs::write(path.join(".git/config"), format!("[remote \"origin\"]\n\turl = {remote}\n"))
            .unwrap();
        self.caller(&path)
    }

    fn caller(&self, folder: &Path) -> Caller {
        let mut caller = Caller::new(ActorName::parse("default").unwrap(), "ada");
        caller.environment = Arc::new(FixedEnvironment::new(Some(Millis(NOW)), None));
        caller.cwd = Some(PathBuf::from(folder));
        caller.person_home = Some(self.folder.path().to_owned());
        caller
    }

    fn save(&self, caller: &Caller, title: &str) -> SaveAnswer {
        let request =
            SaveRequest { title: title.into(), content: title.into(), ..SaveRequest::default() };
        self.ops.save(caller, request).unwrap()
    }

    fn search(&self, caller: &Caller, query: &str, project: Option<&str>) -> SearchAnswer {
        let request = SearchRequest {
            query: query.into(),
            project: project.map(str::to_owned),
            default_project: true,
            ..SearchRequest::default()
        };
        self.ops.search(caller, request).unwrap()
    }
}

fn titles(answer: &SearchAnswer) -> Vec<&str> {
    answer.hits.iter().map(|hit| hit.title.as_str()).collect()
}

// serving S18
#[test]
fn repositories_of_one_name_are_two_projects_and_doctor_tells() {
    let machine = Machine::new();
    let first = machine.repository("a/shop", "git@github.com:acme/shop.git");
    let second = machine.repository("b/shop", "https://gitlab.com/beta/shop");
    let clone = machine.repository("c/my-copy", "https://github.com/Acme/Shop.git");
    assert_eq!(machine.save(&first, "Prices are in cents").project, "shop");
    let told = machine.save(&second, "Prices are in euros");
    assert_eq!(told.project, "beta/shop");
    assert!(told.project_note.contains("\"shop\" is there already"), "{told:?}");
    assert_eq!(machine.save(&clone, "Taxes are added late").project, "shop");
    // In another process, whoever asks first.
    assert_eq!(machine.save(&second, "Taxes are included").project, "beta/shop");
    let found = machine.search(&second, "prices", None);
    assert_eq!(titles(&found), ["Prices are in euros", "Taxes are included"], "{found:?}");
    let health = machine.ops.health(&first, HealthRequest {}).unwrap();
    let apart = &health.actors[0].projects_apart;
    assert_eq!(apart, &["shop (github.com/acme/shop) and beta/shop (gitlab.com/beta/shop)"]);
}

// serving S19
#[test]
fn a_folder_is_one_project_whoever_asks() {
    let machine = Machine::new();
    let notes = machine.folder.path().join("notes");
    fs::create_dir_all(&notes).unwrap();
    let by_folder = machine.caller(&notes);
    assert_eq!(machine.save(&by_folder, "In a plain folder").project, "notes");
    let mut by_name = machine.caller(machine.folder.path());
    by_name.cwd = None;
    by_name.project = Some("Notes".into());
    assert_eq!(machine.save(&by_name, "By a header").project, "notes");
    assert_eq!(machine.search(&by_name, "plain folder", None).hits.len(), 2);
    // Neither the person's home nor the folder of the memories is a project.
    for folder in [machine.folder.path(), machine.ops.folder()] {
        assert_eq!(machine.save(&machine.caller(folder), "Nowhere").project, "", "{folder:?}");
    }
}

// serving S20
#[test]
fn reads_are_about_the_project_and_what_is_personal_and_say_what_is_elsewhere() {
    let machine = Machine::new();
    let web = machine.repository("web", "https://github.com/acme/web");
    let api = machine.repository("api", "https://github.com/acme/api");
    machine.save(&web, "Deploys of the page run on Tuesday");
    for n in 0..5 {
        machine.save(&api, &format!("Deploys of part {n} run on Monday"));
    }
    let personal = SaveRequest {
        title: "I like to watch deploys in the morning".into(),
        content: "I like to watch deploys in the morning".into(),
        scope: Some("personal".into()),
        ..SaveRequest::default()
    };
    machine.ops.save(&api, personal).unwrap();
    let found = machine.search(&web, "when do deploys run", None);
    let mut seen = titles(&found);
    seen.sort_unstable();
    assert_eq!(
        seen,
        ["Deploys of the page run on Tuesday", "I like to watch deploys in the morning"]
    );
    assert_eq!(found.elsewhere.as_deref(), Some("5 more in other projects (project: all)"));
    let all = machine.search(&web, "when do deploys run", Some("all"));
    assert_eq!((all.hits.len(), all.elsewhere), (7, None));
    let named = machine.search(&web, "when do deploys run", Some("api"));
    assert_eq!(named.hits.len(), 6);
    let context = |project: Option<&str>| {
        let project = project.map(str::to_owned);
        let request =
            ContextRequest { project, default_project: true, ..ContextRequest::default() };
        machine.ops.recent_context(&web, request).unwrap().memories.len()
    };
    assert_eq!((context(None), context(Some("all"))), (2, 7));
    // Programs that do not ask for it get everything, as ever.
    let request = SearchRequest { query: "when do deploys run".into(), ..SearchRequest::default() };
    assert_eq!(machine.ops.search(&web, request).unwrap().hits.len(), 7);
}

// serving S21
#[test]
fn merging_refuses_names_that_nothing_has() {
    let machine = Machine::new();
    let web = machine.repository("web", "https://github.com/acme/web");
    machine.save(&web, "Something");
    let merge = |from: &str, to: &str| {
        let request =
            MergeRequest { from: vec![from.into()], to: to.into(), ..MergeRequest::default() };
        machine.ops.merge_projects(&web, request)
    };
    for (from, to) in [("webs", "web"), ("web", "webs")] {
        let error = api::Error::from(merge(from, to).unwrap_err());
        assert!(error.message.contains("webs"), "{error:?}");
        assert!(error.hint.unwrap().contains("\"web\""));
    }
    let other = SaveRequest {
        title: "Other".into(),
        project: Some("site".into()),
        ..SaveRequest::default()
    };
    machine.ops.save(&web, other).unwrap();
    assert_eq!(merge("site", "web").unwrap().moved, 1);
}

// serving S32
#[test]
fn a_save_belongs_to_the_session_that_spoke_last() {
    let machine = Machine::new();
    let web = machine.repository("web", "https://github.com/acme/web");
    for id in ["first", "second"] {
        let start = SessionStartRequest { id: id.into(), ..SessionStartRequest::default() };
        machine.ops.session_start(&web, start).unwrap();
    }
    assert_eq!(machine.save(&web, "Right after the start").session_id, "second");
    let prompt = PromptSaveRequest {
        content: "please go on".into(),
        session_id: Some("first".into()),
        ..PromptSaveRequest::default()
    };
    machine.ops.prompt_save(&web, prompt).unwrap();
    assert_eq!(machine.save(&web, "After a prompt").session_id, "first");
    // The same after a restart: it is read from the journal.
    machine.ops.close(Millis(NOW)).unwrap();
    let again = Service::new(machine.ops.folder(), Settings::default(), Duration::ZERO);
    let saved = again.save(&web, SaveRequest { title: "Later".into(), ..SaveRequest::default() });
    assert_eq!(saved.unwrap().session_id, "first");
}

// serving S35
#[test]
fn a_title_that_cannot_be_kept_is_cleaned_and_told() {
    let machine = Machine::new();
    let web = machine.repository("web", "https://github.com/acme/web");
    let saved = machine.save(&web, "two\nlines\0");
    assert_eq!(saved.title, "two lines");
    assert!(saved.cleaned.contains("line breaks"), "{saved:?}");
    let long = "very long words ".repeat(100);
    let request =
        SaveRequest { title: long.clone(), content: "why".into(), ..SaveRequest::default() };
    let saved = machine.ops.save(&web, request).unwrap();
    let kept = machine.ops.get(&web, GetRequest { id: saved.id, ..GetRequest::default() }).unwrap();
    assert!(kept.memory.content.starts_with(long.trim()), "{}", kept.memory.content);
    assert!(kept.memory.content.ends_with("why") && kept.memory.title.ends_with('…'));
    assert_eq!(machine.save(&web, "plain").cleaned, "");
}

// serving S29
#[test]
fn what_happened_in_march_is_of_march_although_it_was_recorded_today() {
    let machine = Machine::new();
    let web = machine.repository("web", "https://github.com/acme/web");
    let today = machine.save(&web, "The lamp was mended today").id;
    let march = SaveRequest {
        title: "The lamp was broken".into(),
        content: "The lamp was broken".into(),
        valid_from: Some("2026-03-02T10:00:00Z".into()),
        ..SaveRequest::default()
    };
    let march = machine.ops.save(&web, march).unwrap().id;
    let found = machine.search(&web, "lamp", None);
    let hit = found.hits.iter().find(|hit| hit.id == march).unwrap();
    assert!(hit.happened_at.as_deref().unwrap().starts_with("2026-03-02"), "{hit:?}");
    assert!(hit.created_at.starts_with("2026-09"), "{hit:?}");
    let timeline = TimelineRequest { id: today, ..TimelineRequest::default() };
    let timeline = machine.ops.timeline(&web, timeline).unwrap();
    assert_eq!(timeline.before.iter().map(|brief| brief.id).collect::<Vec<_>>(), [march]);
    let context = ContextRequest { default_project: true, ..ContextRequest::default() };
    let context = machine.ops.recent_context(&web, context).unwrap();
    assert_eq!(context.memories.iter().map(|b| b.id).collect::<Vec<_>>(), [today, march]);
    assert!(context.text.contains("2026-03-02 (recorded 2026-09-"), "{}", context.text);
    let until = SearchRequest {
        query: "lamp".into(),
        until: Some("2026-04-01".into()),
        ..SearchRequest::default()
    };
    let old = machine.ops.search(&web, until).unwrap();
    assert_eq!(old.hits.iter().map(|hit| hit.id).collect::<Vec<_>>(), [march]);
}
