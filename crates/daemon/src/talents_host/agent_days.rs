//! The sessions of coding agents as a source of days: what people asked and what agents answered, in stretches.
//!
//! A stretch ends where nobody said anything for half an hour, and at midnight. What must stay true: only stretches
//! that are over are told, so the same session always gives the same stretches; sessions that agents led, and turns
//! that were taken back, are left out; what was forgotten in the past is not told any more.

use std::sync::Arc;

use api::DEFAULT_ACTOR;
use api::past::{
    PastSessionView, PastSessionsRequest, PastShowRequest, PastStateRequest, PastTurnView,
};
use jiff::tz::TimeZone;
use jiff::{Timestamp, Zoned};
use kernel::actor::ActorName;
use service::Caller;
use talents::chronicle::{DaySource, SegmentLine, SourceSegment};
use talents::{Day, Segment};

use host::Host;

/// Nobody said anything for so long: what follows is another stretch.
const GAP_SECONDS: i64 = 30 * 60;
/// The least that a stretch lasts.
const SECONDS_MIN: i64 = 60;
/// Sessions that are looked at, newest first.
const SESSIONS_MAX: usize = 1_000;
/// Who asks, in the log.
const BY: &str = "chronicle";

pub(super) struct AgentDays {
    host: Arc<Host>,
    zone: TimeZone,
}

impl AgentDays {
    pub(super) fn new(host: Arc<Host>, zone: TimeZone) -> AgentDays {
        AgentDays { host, zone }
    }

    fn caller() -> Result<Caller, String> {
        let actor = ActorName::parse(DEFAULT_ACTOR).map_err(|error| error.to_string())?;
        Ok(Caller::new(actor, BY))
    }

    fn sessions(&self, caller: &Caller, since: Day) -> Result<Vec<PastSessionView>, String> {
        if !self.host.agents.has_past() {
            return Ok(Vec::new());
        }
        let start = since.date().to_zoned(self.zone.clone()).map_err(|error| error.to_string())?;
        let request = PastSessionsRequest {
            since: Some(start.timestamp().to_string()),
            limit: Some(SESSIONS_MAX),
            ..PastSessionsRequest::default()
        };
        let sessions = self.host.agents.past_sessions(caller, request);
        Ok(sessions.map_err(|error| error.to_string())?.sessions)
    }

    /// Changes when a session comes, goes or goes on.
    pub(super) fn signature(&self, since: Day) -> String {
        let sessions = AgentDays::caller().and_then(|caller| self.sessions(&caller, since));
        let one = |session: PastSessionView| {
            format!("{} {} {:?}", session.reference, session.turns, session.updated_at)
        };
        sessions.unwrap_or_default().into_iter().map(one).collect::<Vec<_>>().join(", ")
    }

    /// How much of the past was forgotten so far.
    pub(super) fn forgotten(&self) -> u64 {
        if !self.host.agents.has_past() {
            return 0;
        }
        let state = AgentDays::caller()
            .ok()
            .and_then(|caller| self.host.agents.past_state(&caller, PastStateRequest {}).ok());
        state.map_or(0, |state| state.forgotten)
    }
}

impl DaySource for AgentDays {
    fn name(&self) -> &'static str {
        "past"
    }

    fn segments(&self, since: Day) -> Result<Vec<SourceSegment>, String> {
        let caller = AgentDays::caller()?;
        let now = caller.now().map_err(|error| error.to_string())?.get();
        let agents = &self.host.agents;
        let sessions = self.sessions(&caller, since)?;
        let mut found = Vec::new();
        for session in sessions {
            let request = PastShowRequest {
                reference: session.reference.clone(),
                whole: true,
                ..PastShowRequest::default()
            };
            // A session that was forgotten meanwhile is not there any more.
            let Ok(shown) = agents.past_show(&caller, request) else { continue };
            found.extend(stretches(&session, &shown.turns, &self.zone, now / 1_000));
        }
        Ok(found.into_iter().filter(|segment| segment.day >= since).collect())
    }
}

/// The closed stretches of one session.
fn stretches(
    session: &PastSessionView,
    turns: &[PastTurnView],
    zone: &TimeZone,
    now: i64,
) -> Vec<SourceSegment> {
    let mut found: Vec<(Zoned, Zoned, Vec<SegmentLine>)> = Vec::new();
    for turn in turns.iter().filter(|turn| !turn.undone) {
        let Some(at) = turn.at.as_deref().and_then(|at| at.parse::<Timestamp>().ok()) else {
            continue;
        };
        let at = at.to_zoned(zone.clone());
        let lines = turn.items.iter().filter_map(|item| {
            let speaker = match item.role.as_str() {
                "prompt" => "user",
                "answer" => "assistant",
                "summary" => "summary",
                _ => return None,
            };
            let text = item.text.trim().to_owned();
            let at = at.strftime("%H:%M:%S").to_string();
            (!text.is_empty()).then(|| SegmentLine { at, speaker: speaker.to_owned(), text })
        });
        let lines: Vec<SegmentLine> = lines.collect();
        if lines.is_empty() {
            continue;
        }
        match found.last_mut() {
            Some((_, end, said))
                if end.date() == at.date()
                    && at.timestamp().as_second() - end.timestamp().as_second() < GAP_SECONDS =>
            {
                *end = at;
                said.extend(lines);
            }
            _ => found.push((at.clone(), at, lines)),
        }
    }
    let project = session.folder.as_deref().and_then(|folder| folder.rsplit('/').next());
    let name: String = session
        .reference
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() { c } else { '-' })
        .collect();
    let segment = |(start, end, lines): (Zoned, Zoned, Vec<SegmentLine>)| {
        if end.timestamp().as_second() + GAP_SECONDS > now {
            return None;
        }
        let seconds = end.timestamp().as_second() - start.timestamp().as_second();
        let seconds = u32::try_from(seconds.max(SECONDS_MIN)).ok()?;
        Some(SourceSegment {
            day: Day::from(start.date()),
            segment: Segment::new(start.time().with().subsec_nanosecond(0).build().ok()?, seconds)
                .ok()?,
            name: name.clone(),
            project: project.map(str::to_lowercase),
            title: session.title.clone(),
            lines,
        })
    };
    found.into_iter().filter_map(segment).collect()
}

#[cfg(test)]
mod tests {
    use api::past::PastItemView;

    use super::*;

    fn turn(at: &str, role: &str, text: &str) -> PastTurnView {
        PastTurnView {
            at: Some(at.to_owned()),
            items: vec![PastItemView {
                role: role.to_owned(),
                text: text.to_owned(),
                ..PastItemView::default()
            }],
            ..PastTurnView::default()
        }
    }

    // T14
    #[test]
    fn a_session_is_cut_where_nobody_spoke_and_at_midnight_and_only_closed_stretches_are_told() {
        let session = PastSessionView {
            reference: "claude:ab-1".to_owned(),
            folder: Some("/home/me/Shop".to_owned()),
            ..PastSessionView::default()
        };
        let mut gone = turn("2026-01-09T10:06:00Z", "prompt", "never mind");
        gone.undone = true;
        let turns = [
            turn("2026-01-09T10:00:00Z", "prompt", "Move the release"),
            turn("2026-01-09T10:05:00.5Z", "answer", "Moved"),
            turn("2026-01-09T10:05:30Z", "command", "git push"),
            gone,
            turn("2026-01-09T23:50:00Z", "prompt", "Late"),
            turn("2026-01-10T00:10:00Z", "prompt", "Later"),
        ];
        let zone = TimeZone::UTC;
        let at = |text: &str| text.parse::<Timestamp>().unwrap().as_second();
        let told = stretches(&session, &turns, &zone, at("2026-01-10T00:30:00Z"));
        let names: Vec<String> = told
            .iter()
            .map(|one| format!("{} {} {}", one.day, one.segment, one.lines.len()))
            .collect();
        assert_eq!(names, ["20260109 100000_300 2", "20260109 235000_60 1"]);
        assert_eq!(
            (told[0].name.as_str(), told[0].project.as_deref()),
            ("claude-ab-1", Some("shop"))
        );
        let later = stretches(&session, &turns, &zone, at("2026-01-10T01:30:00Z"));
        assert_eq!((later.len(), &later[..2]), (3, &told[..]), "what was told stays as it is");
    }
}
