//! What of a memory needs attention: said twice, disagreeing, out of date, never used, secret, or under two names.
//!
//! It only looks. What must stay true: every finding names ids and what to do about it; what was not looked at is said;
//! one look costs no more than its bounds, however long memories are.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

use api::audit::{AuditAnswer, AuditRequest, Concern, EXAMPLES_MAX, ExampleView, FindingView};
use kernel::find::{MemoryReader, MemoryRow, Standing};
use kernel::memory::{Body, MemoryId, MemoryType, Millis, Scope};
use kernel::{Digest, Reading, keys};
use recall::search::SearchQuery;

use crate::Service;
use crate::caller::Caller;
use crate::error::{Error, Result};
use crate::prompt::{prompt_numbers, prompt_view};
use intake::dedup::{content_hash, normal_text};
use intake::project::name;
use intake::redactor::Redactor;

/// Examples of each finding, unless told otherwise, and at most.
const EXAMPLES: usize = 5;

/// The newest memories are compared by meaning; the rest only word by word.
const COMPARED_MAX: usize = 2_000;

/// Bytes of text that one look reads; the rest is for the next one.
const LOOK_BYTES_MAX: usize = 32 * 1_048_576;

/// Bytes of a text, from its beginning, in which it is looked for what two memories disagree about.
const DIFFERENCE_BYTES_MAX: usize = 16 * 1_024;

/// Bytes of memories that are compared by meaning.
const COMPARED_BYTES_MAX: usize = 4 * 1_048_576;

/// Neighbours of a memory that are compared with it.
const NEIGHBOURS: usize = 5;

/// So near, in parts per million, that two memories are either the same or at odds.
const NEAR_PPM: u64 = 900_000;

/// Days after which a memory should have been of use.
const UNUSED_DAYS: i64 = 30;

const DAY_MS: i64 = 86_400_000;

/// Fewer words than this tell nobody anything.
const WORDS_MIN: usize = 4;

/// One memory as it is examined.
struct ExaminedMemory {
    row: MemoryRow,
    body: Body,
}

impl ExaminedMemory {
    fn id(&self) -> MemoryId {
        self.row.head.id
    }
}

/// What was found so far.
struct Findings {
    limit: usize,
    found: BTreeMap<Concern, (usize, Vec<ExampleView>)>,
}

impl Findings {
    fn add(&mut self, problem: Concern, ids: &[MemoryId], title: &str, why: String) {
        let (count, examples) = self.found.entry(problem).or_default();
        *count += 1;
        if examples.len() < self.limit {
            let ids = ids.iter().map(|id| id.get()).collect();
            examples.push(ExampleView { ids, title: title.to_owned(), why });
        }
    }
}

impl Service {
    /// Looks at every memory in sight and says which need attention, and why.
    pub fn audit(&self, caller: &Caller, request: AuditRequest) -> Result<AuditAnswer> {
        crate::access::for_owner(caller)?;
        let limit = request.limit.unwrap_or(EXAMPLES);
        if limit > EXAMPLES_MAX {
            return Err(Error::invalid("limit", format!("must be at most {EXAMPLES_MAX}")));
        }
        let now = caller.now()?;
        // Uses that were only noted yet are uses.
        match self.flush_actor(&caller.actor, now) {
            // They stay noted; a full disk can still be looked at.
            Err(error) if error.is_retryable() => {}
            outcome => outcome?,
        }
        let (_, reading) = self.reading(caller)?;
        let project = self.read_project(caller, request.project.as_deref(), false);
        let (examined, next) = in_sight(&reading, project.as_deref(), request.before, now)?;
        let mut findings = Findings { limit, found: BTreeMap::new() };
        self.prompts_repeated(caller, &reading, &examined, &mut findings)?;
        each(&examined, now, &mut findings);
        let same = copies(&examined, &mut findings);
        contradictions(&reading, &examined, now, &mut findings)?;
        let compared = neighbours(&reading, &examined, &same, now, &mut findings)?;
        if project.is_none() {
            project_names(&examined, &mut findings);
        }
        let shown = findings.found.into_iter().map(|(problem, (count, examples))| FindingView {
            examples,
            ..FindingView::new(problem, count)
        });
        Ok(AuditAnswer { memories: examined.len(), compared, findings: shown.collect(), next })
    }

    /// Memories that are somebody's question, saved a second time.
    fn prompts_repeated(
        &self,
        caller: &Caller,
        reading: &Reading,
        examined: &[ExaminedMemory],
        findings: &mut Findings,
    ) -> Result<()> {
        let view = reading.view();
        let aliases = self.known_aliases(&caller.actor);
        let mut asked: BTreeMap<Digest, u64> = BTreeMap::new();
        for seq in prompt_numbers(&view)? {
            if let Some(prompt) = prompt_view(&view, &aliases, seq)? {
                asked.insert(content_hash(&prompt.content), seq);
            }
        }
        for one in examined {
            if let Some(seq) = asked.get(&content_hash(&one.body.content)) {
                let why = format!("it is prompt {seq}");
                findings.add(Concern::Prompt, &[one.id()], &one.body.title, why);
            }
        }
        Ok(())
    }
}

/// Every memory that is shown, newest first, and before which one to go on if there is too much text for one look.
fn in_sight(
    reading: &Reading,
    project: Option<&str>,
    before: Option<u64>,
    now: Millis,
) -> Result<(Vec<ExaminedMemory>, Option<u64>)> {
    let view = reading.view();
    let reader = MemoryReader::new(&view, None, None, now)?;
    let mut ids = Vec::new();
    for memory_type in MemoryType::ALL {
        view.scan_index(&keys::by_type(memory_type), None, true, &mut |id| {
            if before.is_none_or(|before| id.get() < before) {
                ids.push(id);
            }
            Ok(ControlFlow::Continue(()))
        })?;
    }
    ids.sort_unstable_by(|a, b| b.cmp(a));
    let mut examined: Vec<ExaminedMemory> = Vec::new();
    let mut bytes = 0;
    for id in ids {
        if bytes >= LOOK_BYTES_MAX {
            let next = examined.last().map(|one| one.id().get());
            return Ok((examined, next));
        }
        let Some(row) = reader.row(id)? else { continue };
        let away = row.standing.is_forgotten() || row.standing == Standing::Archived;
        if away || project.is_some_and(|name| row.head.project.as_deref() != Some(name)) {
            continue;
        }
        if let Some(body) = reader.body(&row)? {
            bytes += body.title.len() + body.content.len();
            examined.push(ExaminedMemory { row, body });
        }
    }
    Ok((examined, None))
}

/// What can be said of one memory by itself.
fn each(examined: &[ExaminedMemory], now: Millis, findings: &mut Findings) {
    for one in examined {
        let ExaminedMemory { row, body } = one;
        let head = &row.head;
        let mut say = |problem, why| findings.add(problem, &[head.id], &body.title, why);
        let mut screen = Redactor::new(true);
        screen.text(&body.title);
        screen.text(&body.content);
        if let Some(note) = screen.into_report().note() {
            say(Concern::Secret, note.replacen("redacted: ", "", 1));
        }
        let ended = match row.standing {
            Standing::Expired => row.version.expires.map(|at| ("expired", at)),
            Standing::NoLongerValid => row.version.valid_until.map(|at| ("was true until", at)),
            _ => None,
        };
        if let Some((what, at)) = ended {
            say(Concern::Outdated, format!("{what} {}", at.date()));
        }
        let words: BTreeSet<String> = normal_text(&format!("{} {}", body.title, body.content))
            .split(|c: char| !c.is_alphanumeric())
            .filter(|word| !word.is_empty())
            .map(str::to_owned)
            .collect();
        if words.len() < WORDS_MIN {
            say(Concern::Vague, format!("{} different words", words.len()));
        }
        let days = now.get().saturating_sub(head.created.get()) / DAY_MS;
        let used = row.usage.accesses > 0 || row.usage.citations > 0;
        if days >= UNUSED_DAYS && !used && !head.pinned && row.usage.edges_in == 0 {
            say(Concern::Unused, format!("saved {}, never read", head.created.date()));
        }
        if head.project.is_none() && head.scope == Scope::Project {
            say(Concern::Unplaced, "every project sees it".to_owned());
        }
    }
}

/// Memories with the same words; of each group all but the oldest are copies. Answers with who is in a group.
fn copies(examined: &[ExaminedMemory], findings: &mut Findings) -> BTreeMap<MemoryId, Digest> {
    let mut groups: BTreeMap<Digest, Vec<&ExaminedMemory>> = BTreeMap::new();
    // Newest first, so the oldest of a group comes last.
    for one in examined {
        let text = format!("{}\n{}", one.body.title, one.body.content);
        groups.entry(content_hash(&text)).or_default().push(one);
    }
    let mut same = BTreeMap::new();
    for (digest, group) in groups {
        let Some((oldest, rest)) = group.split_last() else { continue };
        same.extend(group.iter().map(|one| (one.id(), digest)));
        for one in rest {
            let why = match (&one.row.head.project, &oldest.row.head.project) {
                (a, b) if a == b => format!("as #{} says", oldest.id()),
                (_, Some(other)) => format!("as #{} says, in {other}", oldest.id()),
                (_, None) => format!("as #{} says, in no project", oldest.id()),
            };
            findings.add(Concern::Copied, &[one.id(), oldest.id()], &one.body.title, why);
        }
    }
    same
}

/// Pairs that somebody said contradict each other, while neither was replaced.
fn contradictions(
    reading: &Reading,
    examined: &[ExaminedMemory],
    now: Millis,
    findings: &mut Findings,
) -> Result<()> {
    let view = reading.view();
    let reader = MemoryReader::new(&view, None, None, now)?;
    for one in examined.iter().filter(|one| one.row.standing == Standing::Current) {
        for other in reader.contradicted_by(one.id())? {
            // Each pair once, from its newer side.
            let Some(row) = reader.row(other)?.filter(|row| row.standing == Standing::Current)
            else {
                continue;
            };
            if other < one.id() {
                let title = reader.body(&row)?.map(|body| body.title).unwrap_or_default();
                let why = format!("against #{other}: {title}");
                findings.add(Concern::Contradicting, &[one.id(), other], &one.body.title, why);
            }
        }
    }
    Ok(())
}

/// Compares the newest memories by meaning, each with what is nearest to it. Answers with how many.
fn neighbours(
    reading: &Reading,
    examined: &[ExaminedMemory],
    same: &BTreeMap<MemoryId, Digest>,
    now: Millis,
    findings: &mut Findings,
) -> Result<usize> {
    let analyzer = recall::language::analyzer(&reading.view())?;
    let shown: BTreeMap<MemoryId, &ExaminedMemory> =
        examined.iter().map(|one| (one.id(), one)).collect();
    let current: Vec<&ExaminedMemory> = examined
        .iter()
        .filter(|one| one.row.standing == Standing::Current)
        .scan(0, |bytes, one| {
            *bytes += one.body.content.len();
            // The first comes whatever it has.
            (*bytes <= COMPARED_BYTES_MAX.max(one.body.content.len())).then_some(one)
        })
        .take(COMPARED_MAX)
        .collect();
    let mut told: BTreeSet<(MemoryId, MemoryId)> = BTreeSet::new();
    for one in current.iter().copied() {
        let head = &one.row.head;
        let query = SearchQuery {
            types: vec![head.memory_type],
            project: head.project.clone(),
            ..SearchQuery::new("", NEIGHBOURS)
        };
        let near = recall::search::similar(reading, None, head.id, &query, now)?;
        for hit in near.hits.iter().filter(|hit| hit.score >= NEAR_PPM) {
            let Some(other) = shown.get(&hit.id).copied() else { continue };
            let pair = (head.id.min(hit.id), head.id.max(hit.id));
            let copied = same.get(&head.id) == same.get(&hit.id);
            let stands = other.row.standing == Standing::Current;
            // Told already, as a contradiction that somebody saw.
            let known = one.row.usage.contradicted > 0 && other.row.usage.contradicted > 0;
            if copied || known || !stands || !told.insert(pair) {
                continue;
            }
            let ids = [pair.1, pair.0];
            let newer = if one.id() == pair.1 { one } else { other };
            let older = if one.id() == pair.1 { other } else { one };
            let beside = format!("#{}: {}", older.id(), older.body.title);
            match mind::maintenance::difference(&analyzer, &beginning(older), &beginning(newer)) {
                None => findings.add(Concern::Alike, &ids, &newer.body.title, beside),
                // Two things that happened are two, however alike they read.
                Some(_) if head.memory_type == MemoryType::Event => {}
                Some(difference) => {
                    let why = format!("{beside}; {difference}");
                    findings.add(Concern::Disagreeing, &ids, &newer.body.title, why);
                }
            }
        }
    }
    Ok(current.len())
}

/// A memory's text as far as it is looked through for disagreements.
fn beginning(one: &ExaminedMemory) -> Cow<'_, Body> {
    if one.body.content.len() <= DIFFERENCE_BYTES_MAX {
        return Cow::Borrowed(&one.body);
    }
    let end = one.body.content.floor_char_boundary(DIFFERENCE_BYTES_MAX);
    Cow::Owned(Body { content: one.body.content[..end].to_owned(), ..one.body.clone() })
}

/// Projects whose names are nearly the same.
fn project_names(examined: &[ExaminedMemory], findings: &mut Findings) {
    let names: BTreeSet<&str> =
        examined.iter().filter_map(|one| one.row.head.project.as_deref()).collect();
    let names: Vec<&str> = names.into_iter().collect();
    for (place, one) in names.iter().enumerate() {
        for other in name::similar(one, names[place + 1..].iter().copied()) {
            findings.add(Concern::Projects, &[], one, format!("and {other}"));
        }
    }
}
