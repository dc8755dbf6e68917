//! Search: a question in ordinary words. Titles and previews; the whole text is another step.

use api::search::{
    AnswerableView, ArmView, HitView, NamedView, ReasonView, SearchAnswer, SearchRequest,
};
use kernel::context::RuleAuthors;
use kernel::find::Standing;
use kernel::grants::Permission;
use kernel::memory::{Body, MemoryId, MemoryType, Millis};
use kernel::{Reading, render};
use recall::ranker::{AnswerLevel, FeatureRow, Ranker};
use recall::search::{Arm, Hit, HitOrder, LIMIT_MAX, LinkedMemory, SearchQuery, SpeakerBoost};

use crate::caller::Caller;
use crate::embedders::active::QuestionContext;
use crate::error::{Error, Result};
use crate::normalized_save::{normal_kind, scope_of};
use crate::read::memory_id;
use crate::{Service, asked_before, elsewhere, learned, newest, parse, put_away, views, wording};

/// Hits that are noted as shown per search.
const NOTED_MAX: usize = 10;
/// Hits of all projects that are looked at for what is personal, and for what there is besides.
const LOOKED_AT_ELSEWHERE: usize = 30;
/// Features that are named as reasons of a hit.
const REASONS_MAX: usize = 6;

/// Said of a question that wants a summary or an order of events.
const WHOLE_HISTORY: &str = "this asks for a whole history, and hits are moments of it: \
    the timeline of a hit shows what came before and after";

fn named_view(named: &LinkedMemory) -> NamedView {
    NamedView { id: named.id.get(), title: named.title.clone().unwrap_or_default() }
}

/// The question in the words of recall.
fn query_of(request: &SearchRequest, project: Option<String>) -> Result<SearchQuery> {
    let limit = request.limit.unwrap_or(10);
    if limit == 0 || limit > LIMIT_MAX {
        return Err(Error::invalid("limit", format!("must lie between 1 and {LIMIT_MAX}")));
    }
    let time = |text: &Option<String>| text.as_deref().map(parse::time).transpose();
    let types = request.memory_types.iter().map(|name| MemoryType::parse(name));
    Ok(SearchQuery {
        project,
        scope: request.scope.as_deref().map(|scope| scope_of(Some(scope))),
        types: types.collect::<kernel::Result<_, kernel::ProofError>>()?,
        kinds: request.kind.iter().chain(&request.kinds).map(|kind| normal_kind(kind)).collect(),
        tags: request.tags.clone(),
        session: request.session_id.clone(),
        created_from: time(&request.since)?,
        created_until: time(&request.until)?,
        as_of: time(&request.as_of)?,
        include_forgotten: request.include_forgotten,
        include_archived: request.include_archived,
        ..SearchQuery::new(request.query.clone(), limit)
    })
}

impl Service {
    pub fn search(&self, caller: &Caller, request: SearchRequest) -> Result<SearchAnswer> {
        self.again_if_poisoned(caller, || self.search_once(caller, request.clone()))
    }

    fn search_once(&self, caller: &Caller, request: SearchRequest) -> Result<SearchAnswer> {
        let project =
            self.read_project(caller, request.project.as_deref(), request.default_project);
        let mut query = query_of(&request, project)?;
        let favoured = self.settings.favoured_speaker.as_deref();
        query.boost = favoured.map(|name| SpeakerBoost::new(name, self.settings.speaker_prior));
        if !self.settings.ranker {
            query.order = HitOrder::Weights;
        }
        let near = request.similar_to.map(memory_id).transpose()?;
        let access = self.access(caller, Permission::Find, &request)?;
        let reading = &access.reading;
        let now = caller.now()?;
        let mut note = None;
        let wordless = near.is_none() && newest::is_wordless(&reading.view(), &query.text)?;
        let mut answer = match near {
            Some(id) => {
                access.check_sight(caller, Permission::Find, id)?;
                recall::search::similar(reading, access.gate(), id, &query, now)?
            }
            None if wordless => {
                let (answer, said) = newest::newest(&access, &query, now)?;
                note = said;
                answer
            }
            None => {
                note = self.ask_model(
                    caller,
                    &mut query,
                    QuestionContext { reading, gate: access.gate(), now },
                );
                let mut found = if request.put_away {
                    put_away::search(reading, access.gate(), &query, now)?
                } else {
                    recall::search::search(reading, access.gate(), &query, now)?
                };
                learned::order(&reading.view(), &mut found.hits, now)?;
                asked_before::set_back(&mut found, &query.text);
                found
            }
        };
        let cut = access.budget().keep(&mut answer.hits, |hit| {
            let title = hit.body.as_ref().map_or("", |body| body.title.as_str());
            render::tokens(title).saturating_add(render::tokens(&hit.preview))
        });
        if cut > 0 {
            note = Some(format!("{cut} more did not fit the token budget of the grant"));
        }
        if answer.asks_history {
            let said = note.into_iter().chain([WHOLE_HISTORY.to_owned()]);
            note = Some(said.collect::<Vec<_>>().join("; "));
        }
        let is_asked = near.is_none() && !wordless;
        let by_default = request.default_project && request.project.is_none();
        let mut elsewhere = None;
        if near.is_none()
            && !wordless
            && cut == 0
            && (by_default || answer.hits.is_empty())
            && let Some(project) = &query.project
        {
            let anywhere = SearchQuery {
                project: None,
                limit: query.limit.max(LOOKED_AT_ELSEWHERE),
                ..query.clone()
            };
            let other = recall::search::search(reading, access.gate(), &anywhere, now)?;
            elsewhere = elsewhere::joined(&mut answer, other, project, query.limit, by_default);
        }
        if !request.quiet {
            let shown: Vec<MemoryId> =
                answer.hits.iter().take(NOTED_MAX).map(|hit| hit.id).collect();
            self.note_shown(caller, &shown)?;
        }
        let put_away = match (is_asked, request.put_away) {
            (true, false) => put_away::matches(reading, access.gate(), &query, now)?,
            _ => Vec::new(),
        };
        let meaning = answer
            .hits
            .iter()
            .flat_map(|hit| &hit.arms)
            .any(|arm| arm.score > 0 && matches!(arm.arm, Arm::Meaning | Arm::Interaction));
        let mode = match (wordless, meaning) {
            (true, _) => "newest",
            (false, true) => "text + vectors",
            (false, false) => "text",
        };
        let model = query.model.map(|asked| asked.model);
        let mut found = SearchAnswer {
            hits: answer
                .hits
                .iter()
                .enumerate()
                .map(|(place, hit)| HitView {
                    reasons: reasons(request.explain, hit, &answer.typical),
                    level: match (is_asked, place) {
                        (false, _) => String::new(),
                        // That something answers is judged by what leads.
                        (true, 0) => level_of(hit).max(answer.answerable.level).name().to_owned(),
                        (true, _) => level_of(hit).name().to_owned(),
                    },
                    ..hit_view(reading, hit, model.as_ref(), self.rule_authors())
                })
                .collect(),
            answerable: is_asked.then(|| AnswerableView {
                level: answer.answerable.level.name().to_owned(),
                probability: answer.answerable.probability,
            }),
            by_model: model.as_ref().map(|_| answer.by_model),
            candidates: answer.candidates,
            mode: mode.to_owned(),
            elsewhere,
            put_away,
            model,
            note,
            query: request.query,
            project: query.project.unwrap_or_default(),
        };
        if access.authority.is_some() && is_asked {
            blunt(&mut found);
        }
        Ok(found)
    }
}

/// Takes the exact numbers out of what a delegate learns. How rare a word is follows from all memories, also from those
/// that no grant shows, and a number would tell whether one of them has a word; a level hardly does.
fn blunt(found: &mut SearchAnswer) {
    let thousandths = |level: &str| match level {
        "strong" => 900,
        "likely" => 600,
        "weak" => 300,
        _ => 0,
    };
    for hit in &mut found.hits {
        hit.relevance = thousandths(&hit.level);
        hit.rank = f64::from(hit.relevance) / 1_000.0;
        hit.reasons.clear();
        // Which arms heard the question is a matter of the hit itself.
        hit.arms.retain(|arm| arm.score > 0.0);
        hit.arms.iter_mut().for_each(|arm| (arm.score, arm.rank) = (1.0, 0));
    }
    if let Some(answerable) = &mut found.answerable {
        answerable.probability = thousandths(&answerable.level);
    }
}

fn hit_view(reading: &Reading, hit: &Hit, model: Option<&String>, rules: RuleAuthors) -> HitView {
    let by = model.filter(|_| hit.by_model);
    let body = hit.body.as_ref();
    let whole = body.map(|body| wording::on_one_line(&body.content)).unwrap_or_default();
    HitView {
        id: hit.id.get(),
        title: body.map(|body| body.title.clone()).unwrap_or_default(),
        kind: hit.head.kind.clone(),
        memory_type: hit.head.memory_type.name().to_owned(),
        project: hit.head.project.clone().unwrap_or_default(),
        scope: hit.head.scope.name().to_owned(),
        session_id: hit.head.session.clone().unwrap_or_default(),
        topic_key: hit.head.topic_key.clone().unwrap_or_default(),
        created_at: hit.head.created.rfc3339(),
        updated_at: hit.head.updated.rfc3339(),
        happened_at: views::happened_at(&hit.head, &hit.version, body),
        revised_at: views::revised(&hit.version).map(Millis::rfc3339),
        uri: reading.uri(&hit.head, hit.version.n).to_string(),
        preview: wording::shortened(beyond_title(&hit.preview, body), 300),
        cut: !hit.preview.contains(&whole),
        rank: f64::from(hit.relevance) / 1_000.0,
        relevance: hit.relevance,
        level: String::new(),
        tokens: hit.tokens,
        standing: standing_name(hit.standing),
        status: body.and_then(|body| views::status(&body.fields)).map(str::to_owned),
        pinned: hit.head.pinned,
        superseded_by: hit.superseded_by.iter().map(named_view).collect(),
        contradicts: hit.contradicts.iter().map(named_view).collect(),
        by: hit.version.by.clone(),
        author: views::author(&hit.version),
        proposed: rules.is_proposed(&hit.head, &hit.version),
        arms: hit.arms.iter().map(|arm| arm_view(arm, by)).collect(),
        reasons: Vec::new(),
    }
}

/// A preview without the title that it begins with: the hit has it already.
fn beyond_title<'p>(preview: &'p str, body: Option<&Body>) -> &'p str {
    let title = body.map(|body| wording::on_one_line(&body.title)).unwrap_or_default();
    let title = title.trim_end_matches(['…', '.']);
    let rest = preview.strip_prefix(title).and_then(|rest| rest.strip_prefix(". "));
    rest.filter(|_| !title.is_empty()).unwrap_or(preview)
}

/// The features that moved a hit most, if they were asked for.
fn reasons(explain: bool, hit: &Hit, typical: &FeatureRow) -> Vec<ReasonView> {
    let Some(signals) = hit.signals.as_ref().filter(|_| explain) else { return Vec::new() };
    let moved = Ranker::shared().reasons(signals, typical).into_iter().take(REASONS_MAX);
    let view = |(feature, moved): (recall::ranker::Feature, i64)| ReasonView {
        feature: feature.name().to_owned(),
        value: signals.get(feature),
        typical: typical.get(feature),
        moved,
    };
    moved.map(view).collect()
}

/// In a word how likely a hit answers. What is listed at all is at least weak.
fn level_of(hit: &Hit) -> AnswerLevel {
    Ranker::shared().level(hit.relevance).max(AnswerLevel::Weak)
}

fn standing_name(standing: Standing) -> String {
    standing.name().to_owned()
}

fn arm_view(arm: &recall::search::ArmScore, by: Option<&String>) -> ArmView {
    ArmView {
        by: by.filter(|_| arm.arm == Arm::Meaning).cloned(),
        arm: arm.arm.name().to_owned(),
        rank: arm.rank,
        score: ratio(arm.score),
        weight: f64::from(arm.weight) / 100.0,
    }
}

fn ratio(ppm: u64) -> f64 {
    parse::from_ppm(u32::try_from(ppm).unwrap_or(u32::MAX))
}
