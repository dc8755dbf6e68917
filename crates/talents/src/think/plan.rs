//! What is to be done, as data: phases, groups by priority, units, and what is left out and why.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use api::run::RunRequest;
use jiff::civil::Time;
use serde::Serialize;

use super::ThinkError;
use super::done::{self, WorkDone};
use crate::chronicle::{
    FacetFile, active_facets, list_facets, output_path, segment_facets, segments,
};
use crate::layout::Layout;
use crate::names::{Day, Facet, Segment, TalentName};
use crate::talent_files::{
    OutputFormat, TIMEOUT_SECONDS, Talent, TalentCatalog, TalentKind, TalentSchedule,
};

/// Which part of a day is worked through.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum ThinkWork {
    /// The day as a whole.
    Daily,
    /// One segment.
    Segment(Segment),
    /// Every segment of the day, then the day as a whole.
    All,
    /// The segments that have ended by then.
    Closed(Time),
}

#[derive(Clone, Debug)]
pub struct ThinkRequest {
    pub day: Day,
    pub work: ThinkWork,
    /// Only for this facet; talents that are not for single facets are left out.
    pub facet: Option<Facet>,
    pub talent: Option<TalentName>,
    /// Do again what has been done.
    pub refresh: bool,
}

/// One run that is to be started.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ThinkUnit {
    #[serde(serialize_with = "text")]
    pub talent: TalentName,
    pub title: String,
    #[serde(serialize_with = "maybe_text")]
    pub facet: Option<Facet>,
    #[serde(rename = "type")]
    pub kind: &'static str,
    pub priority: i64,
    pub output_path: Option<PathBuf>,
    /// There is an output already, which will be written anew.
    pub exists: bool,
    /// Its sources have changed since it was done.
    pub stale: bool,
    pub timeout_seconds: u64,
    /// The digest of its sources as they are now.
    #[serde(skip)]
    pub(super) inputs: String,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SkippedUnit {
    #[serde(serialize_with = "text")]
    pub talent: TalentName,
    pub facet: Option<String>,
    pub reason: &'static str,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ThinkGroup {
    pub priority: i64,
    pub units: Vec<ThinkUnit>,
    pub skipped: Vec<SkippedUnit>,
    /// Talents for single facets whose facets an earlier group of this phase will tell.
    pub later: Vec<String>,
    /// Units that are done and of which nothing is noted, with the digest of their sources.
    #[serde(skip)]
    pub(super) unnoted: Vec<(String, String)>,
}

/// One segment, or the day as a whole.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ThinkPhase {
    #[serde(serialize_with = "maybe_text")]
    pub segment: Option<Segment>,
    pub groups: Vec<ThinkGroup>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ThinkPlan {
    #[serde(serialize_with = "text")]
    pub day: Day,
    pub phases: Vec<ThinkPhase>,
    /// Files that could not be read.
    pub problems: Vec<String>,
}

impl ThinkPlan {
    pub fn units(&self) -> impl Iterator<Item = &ThinkUnit> {
        self.phases.iter().flat_map(|phase| &phase.groups).flat_map(|group| &group.units)
    }
}

fn text<S: serde::Serializer>(value: &impl std::fmt::Display, to: S) -> Result<S::Ok, S::Error> {
    to.collect_str(value)
}

#[allow(clippy::ref_option, reason = "serde calls it with a reference to the field")]
fn maybe_text<S: serde::Serializer>(
    value: &Option<impl std::fmt::Display>,
    to: S,
) -> Result<S::Ok, S::Error> {
    match value {
        Some(value) => to.collect_str(value),
        None => to.serialize_none(),
    }
}

/// What would be done now. Starts nothing and writes nothing.
pub fn plan(
    layout: &Layout,
    catalog: &TalentCatalog,
    asked: &ThinkRequest,
) -> Result<ThinkPlan, ThinkError> {
    let mut problems: Vec<String> = catalog.problems().iter().map(ToString::to_string).collect();
    let mut phases = Vec::new();
    for segment in parts(layout, asked)? {
        let bench = PlanContext { layout, catalog, asked, segment };
        let mut groups = Vec::new();
        for priority in bench.priorities()? {
            let (mut group, bad) = bench.group(priority)?;
            problems.extend(bad);
            bench.mark_later(&mut group);
            groups.push(group);
        }
        phases.push(ThinkPhase { segment, groups });
    }
    once_each(&mut problems);
    Ok(ThinkPlan { day: asked.day, phases, problems })
}

/// Each group looks at the same files; what is wrong with one is told once.
pub(super) fn once_each(problems: &mut Vec<String>) {
    let mut told = BTreeSet::new();
    problems.retain(|problem| told.insert(problem.clone()));
}

/// The phases of what is asked: segments, and `None` for the day.
pub(super) fn parts(
    layout: &Layout,
    asked: &ThinkRequest,
) -> Result<Vec<Option<Segment>>, ThinkError> {
    if !layout.day(asked.day).is_dir() {
        return Err(ThinkError::NoDay(asked.day));
    }
    let there = segments(layout, asked.day)?;
    match asked.work {
        ThinkWork::Daily => Ok(vec![None]),
        ThinkWork::Segment(segment) if there.contains(&segment) => Ok(vec![Some(segment)]),
        ThinkWork::Segment(segment) => {
            Err(ThinkError::NoSegment { day: asked.day, segment: segment.to_string() })
        }
        ThinkWork::All => Ok(there.into_iter().map(Some).chain([None]).collect()),
        ThinkWork::Closed(until) => {
            Ok(there.into_iter().filter(|segment| segment.end() <= until).map(Some).collect())
        }
    }
}

/// One phase, looked at when it is its turn.
pub(super) struct PlanContext<'a> {
    pub(super) layout: &'a Layout,
    pub(super) catalog: &'a TalentCatalog,
    pub(super) asked: &'a ThinkRequest,
    pub(super) segment: Option<Segment>,
}

impl PlanContext<'_> {
    fn schedule(&self) -> TalentSchedule {
        if self.segment.is_some() { TalentSchedule::Segment } else { TalentSchedule::Daily }
    }

    fn talents(&self) -> Result<Vec<&Talent>, ThinkError> {
        let schedule = self.schedule();
        let Some(only) = &self.asked.talent else {
            return Ok(self.catalog.scheduled(schedule).collect());
        };
        let talent = self.catalog.find(only)?;
        // Where both schedules are worked through, a talent has its place in one of them.
        let both = matches!(self.asked.work, ThinkWork::All | ThinkWork::Closed(_));
        let elsewhere = both && talent.front.schedule.is_some();
        if talent.front.schedule != Some(schedule) && !elsewhere {
            let schedule = match (self.asked.work, schedule) {
                (ThinkWork::All, _) => "schedule",
                (_, TalentSchedule::Segment) => "schedule for segments",
                (_, TalentSchedule::Daily) => "schedule for days",
            };
            return Err(ThinkError::NotScheduled { name: only.clone(), schedule });
        }
        Ok(self.catalog.scheduled(schedule).filter(|talent| talent.name == *only).collect())
    }

    pub(super) fn priorities(&self) -> Result<BTreeSet<i64>, ThinkError> {
        Ok(self.talents()?.iter().filter_map(|talent| talent.front.priority).collect())
    }

    /// The units of one priority, by what is on disk at this moment.
    pub(super) fn group(&self, priority: i64) -> Result<(ThinkGroup, Vec<String>), ThinkError> {
        let mut group = ThinkGroup { priority, ..ThinkGroup::default() };
        let (facets, mut problems) = list_facets(self.layout)?;
        let (active, bad) = self.active()?;
        problems.extend(bad);
        for talent in self.talents()? {
            if talent.front.priority != Some(priority) {
                continue;
            }
            if talent.front.disabled {
                group.skip(talent, None, "disabled");
            } else if talent.front.multi_facet {
                self.fan_out(talent, &facets, &active, &mut group)?;
            } else if self.asked.facet.is_some() {
                group.skip(talent, None, "not_for_facets");
            } else {
                self.unit(talent, None, &mut group)?;
            }
        }
        Ok((group, problems))
    }

    fn active(&self) -> Result<(Vec<String>, Vec<String>), ThinkError> {
        match self.segment {
            Some(segment) => {
                let (found, problems) = segment_facets(self.layout, self.asked.day, segment);
                Ok((found.into_iter().map(|activity| activity.facet).collect(), problems))
            }
            None => {
                let (found, problems) = active_facets(self.layout, self.asked.day)?;
                Ok((found.into_iter().collect(), problems))
            }
        }
    }

    fn fan_out(
        &self,
        talent: &Talent,
        facets: &BTreeMap<Facet, FacetFile>,
        active: &[String],
        group: &mut ThinkGroup,
    ) -> Result<(), ThinkError> {
        let before = group.units.len() + group.skipped.len();
        for name in active.iter().filter(|name| !facets.keys().any(|facet| facet.as_str() == *name))
        {
            group.skip(talent, Some(name.clone()), "unknown_facet");
        }
        for (facet, file) in facets {
            let named = self.asked.facet.as_ref();
            if named.is_some_and(|named| named != facet) {
                continue;
            }
            let is_active = active.iter().any(|name| name == facet.as_str());
            // What a segment is about is in the segment; "always" is only for days.
            let always = talent.front.always && self.segment.is_none();
            if file.muted {
                group.skip(talent, Some(facet.to_string()), "muted");
            } else if is_active || always || named.is_some() {
                self.unit(talent, Some(facet.clone()), group)?;
            } else {
                group.skip(talent, Some(facet.to_string()), "not_active");
            }
        }
        if group.units.len() + group.skipped.len() == before {
            group.skip(talent, None, "no_active_facets");
        }
        Ok(())
    }

    fn unit(
        &self,
        talent: &Talent,
        facet: Option<Facet>,
        group: &mut ThinkGroup,
    ) -> Result<(), ThinkError> {
        let path = talent.front.output.map(|format| {
            output_path(
                self.layout,
                self.asked.day,
                self.segment,
                facet.as_ref(),
                &talent.name,
                format,
            )
        });
        let exists =
            path.as_ref().is_some_and(|path| path.metadata().is_ok_and(|meta| meta.len() > 0));
        let (day, of) = (self.asked.day, facet.as_ref());
        let inputs = done::inputs(self.layout, self.catalog, day, self.segment, of, talent)?;
        let key = done::key(self.segment, of, &talent.name);
        let before = WorkDone::read(self.layout, day).get(&key).cloned();
        let is_done = match &before {
            Some(unit) => !unit.by_rules && unit.inputs == inputs && (exists || path.is_none()),
            // Written by hand or before anything was noted: it counts from now on as it lies there.
            None => exists,
        };
        if is_done && !self.asked.refresh {
            if before.is_none() {
                group.unnoted.push((key, inputs));
            }
            group.skip(talent, facet.map(|facet| facet.to_string()), "already_complete");
            return Ok(());
        }
        group.units.push(ThinkUnit {
            talent: talent.name.clone(),
            title: talent.title().to_owned(),
            facet,
            kind: talent.kind().as_str(),
            priority: group.priority,
            output_path: path,
            exists,
            stale: before.is_some_and(|unit| !unit.by_rules && unit.inputs != inputs),
            timeout_seconds: talent.front.timeout_seconds.unwrap_or(TIMEOUT_SECONDS),
            inputs,
        });
        Ok(())
    }

    /// In a plan, talents for facets that come after the talent that finds the facets cannot be known yet.
    fn mark_later(&self, group: &mut ThinkGroup) {
        let Some(segment) = self.segment else { return };
        let writes_facets = |talent: &&Talent| {
            talent.name.as_str() == "facets"
                && !talent.front.disabled
                && talent.front.priority < Some(group.priority)
        };
        let known = self.layout.segment(self.asked.day, segment).join("facets.json").exists();
        if (known && !self.asked.refresh)
            || !self.catalog.scheduled(TalentSchedule::Segment).any(|talent| writes_facets(&talent))
        {
            return;
        }
        group.later = self
            .catalog
            .scheduled(TalentSchedule::Segment)
            .filter(|talent| {
                talent.front.multi_facet && talent.front.priority == Some(group.priority)
            })
            .map(|talent| talent.name.to_string())
            .collect();
    }

    /// The request for a unit. Day, segment and facet reach the process as variables by the runner: what stands in
    /// `env` is taken for a secret, and would be masked where it turns up in a path.
    pub(super) fn request(&self, unit: &ThinkUnit, input: &str) -> RunRequest {
        let day = self.asked.day;
        let extension = |path: &PathBuf| path.extension()?.to_str().and_then(OutputFormat::parse);
        RunRequest {
            name: Some(unit.talent.to_string()),
            prompt: self.prompt(unit, input),
            facet: unit.facet.as_ref().map(ToString::to_string),
            output: unit.output_path.as_ref().and_then(extension),
            day: Some(day.to_string()),
            segment: self.segment.map(|segment| segment.to_string()),
            refresh: Some(true),
            schedule: Some(self.schedule().as_str().to_owned()),
            timeout_seconds: Some(unit.timeout_seconds.into()),
            ..RunRequest::default()
        }
    }

    /// What a unit is asked; a generator that works on a whole day is asked nothing but its own instructions.
    fn prompt(&self, unit: &ThinkUnit, input: &str) -> Option<String> {
        let long = self.asked.day.date().strftime("%A, %-d %B %Y");
        let is_agent = unit.kind == TalentKind::Agent.as_str();
        let Some(facet) = &unit.facet else {
            return is_agent.then(|| format!("Work on {long} ({input})."));
        };
        // A generator has no tools to load a facet with; its context tells about it.
        let load = if is_agent {
            format!(" Load it with get_facet(\"{facet}\") first.")
        } else {
            String::new()
        };
        Some(format!("Work on {long} for the facet \"{facet}\" only ({input}).{load}"))
    }
}

impl ThinkGroup {
    fn skip(&mut self, talent: &Talent, facet: Option<String>, reason: &'static str) {
        self.skipped.push(SkippedUnit { talent: talent.name.clone(), facet, reason });
    }
}
