//! A request for a run, checked for this home before anything touches the disk.
//!
//! `api::run` has the keys and the bounds of their values. Here names become checked types, paths stay inside the
//! home, the time stays within the runner's bound, and the values of `env` are taken out of what is logged and
//! told.

use std::collections::BTreeMap;
use std::path::{Component, Path};
use std::time::Duration;

use api::run::{
    DEFAULT_TALENT, REQUEST_BYTES_MAX, RunEnvironment, RunEvent, RunEventKind, RunRejection,
    RunRequest, RunRequestError,
};

use talents::{Day, Facet, Segment, TalentName, UseId};

/// A request that may become a run.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ValidRequest {
    pub(super) name: TalentName,
    pub(super) use_id: Option<UseId>,
    /// The id it would like, if nobody has it: the time that the sender put on it.
    pub(super) wish: Option<UseId>,
    pub(super) timeout: Option<Duration>,
    pub(super) day: Option<Day>,
    pub(super) facet: Option<Facet>,
    pub(super) segment: Option<Segment>,
    /// Variables for the process; `None` removes one.
    pub(super) env: BTreeMap<String, Option<String>>,
    /// What is logged, told and written to the process: of `env` the names.
    pub(super) shown: RunRequest,
}

impl ValidRequest {
    pub(super) fn check(
        given: &RunRequest,
        timeout_max: Duration,
    ) -> Result<ValidRequest, RunRejection> {
        let env = match &given.env {
            None => BTreeMap::new(),
            Some(env @ RunEnvironment::Values(_)) => env.variables(),
            Some(RunEnvironment::Names(_)) => {
                let rule = "an object of at most 256 variables";
                return Err(RunRequestError::bad_value("env", rule).into());
            }
        };
        // Which folders a talent may write to is in its file; the run itself refuses the others.
        if let Some(path) = &given.output_path
            && !is_plain(Path::new(path))
        {
            let rule = "a path without `..`";
            return Err(RunRequestError::bad_value("output_path", rule).into());
        }
        check_time(given)?;
        for segment in given.span.iter().flatten() {
            Segment::parse(segment)?;
        }
        given.parent.as_deref().map(UseId::parse).transpose()?;
        let name = TalentName::parse(given.name.as_deref().unwrap_or(DEFAULT_TALENT))?;
        let request = ValidRequest {
            use_id: given.use_id.as_deref().map(UseId::parse).transpose()?,
            // execution R24: a request whose sender put a time on it has that number in its file's name.
            wish: given.ts.map(UseId::from_millis),
            timeout: timeout(given, timeout_max)?,
            day: given.day.as_deref().map(Day::parse).transpose()?,
            facet: given.facet.as_deref().map(Facet::parse).transpose()?,
            segment: given.segment.as_deref().map(Segment::parse).transpose()?,
            env,
            shown: RunRequest { name: Some(name.to_string()), ..given.shown() },
            name,
        };
        let bytes = serde_json::to_string(&request.shown).map_or(usize::MAX, |text| text.len());
        if bytes > REQUEST_BYTES_MAX {
            return Err(RunRequestError::TooLarge.into());
        }
        Ok(request)
    }

    /// The first line of the log.
    pub(super) fn first_line(&self, use_id: &UseId) -> RunEvent {
        let mut line = RunEvent::new(RunEventKind::Request);
        // execution R24: the time of the request is the number in the file's name.
        line.set("ts", use_id.as_str().parse::<u64>().unwrap_or_default());
        line.set("use_id", use_id.as_str());
        let fields = RunRequest { use_id: None, ..self.shown.clone() }.into_fields();
        line.fields_mut().extend(fields);
        line
    }

    /// Whether a logged request asks for the same.
    pub(super) fn is_the_same_as(&self, logged: &RunEvent) -> bool {
        RunRequest::from_log(logged.fields())
            .is_ok_and(|logged| self.shown.asks_the_same_as(&logged))
    }
}

fn timeout(given: &RunRequest, max: Duration) -> Result<Option<Duration>, RunRejection> {
    let Some(seconds) = &given.timeout_seconds else { return Ok(None) };
    let given = seconds
        .as_f64()
        .filter(|seconds| *seconds > 0.0)
        .and_then(|seconds| Duration::try_from_secs_f64(seconds).ok())
        .filter(|given| *given <= max);
    given.map(Some).ok_or_else(|| {
        let rule = format!("seconds, more than 0 and at most {}", max.as_secs());
        RunRequestError::bad_value("timeout_seconds", rule).into()
    })
}

fn is_plain(path: &Path) -> bool {
    let plain =
        path.components().all(|part| matches!(part, Component::Normal(_) | Component::RootDir));
    plain && !path.as_os_str().is_empty()
}

/// The first and the last moment that a request may be of: 2001 to 2100, in milliseconds.
const TIMES: std::ops::Range<u64> = 978_307_200_000..4_102_444_800_000;

/// execution R24: a time is one, in milliseconds, and the number of the run where that is given too.
fn check_time(given: &RunRequest) -> Result<(), RunRejection> {
    let Some(ts) = given.ts else { return Ok(()) };
    if !TIMES.contains(&ts) {
        let rule = "a time in milliseconds since 1970, as 1760000000000";
        return Err(RunRequestError::bad_value("ts", rule).into());
    }
    match &given.use_id {
        Some(use_id) if *use_id != ts.to_string() => {
            let rule = "the number in \"use_id\", where both are given";
            Err(RunRequestError::bad_value("ts", rule).into())
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn check(given: &Value) -> Result<ValidRequest, RunRejection> {
        let max = Duration::from_secs(100);
        let request = RunRequest::from_fields(given.as_object().expect("an object"))?;
        ValidRequest::check(&request, max)
    }

    // execution 9.7, R23-R45
    #[test]
    fn what_a_request_may_not_say_is_refused_with_a_code() {
        let cases = [
            (json!({"type": "generate"}), "protected_key"),
            (json!({"tools": []}), "protected_key"),
            (json!({"cwd": "/"}), "protected_key"),
            (json!({"grant": {}}), "protected_key"),
            (json!({"promt": "typo"}), "unknown_key"),
            (json!({"name": "../x"}), "bad_name"),
            (json!({"use_id": "12/../3"}), "bad_name"),
            (json!({"use_id": 12}), "bad_value"),
            (json!({"parent": "x"}), "bad_name"),
            (json!({"day": "2025-01-01"}), "bad_name"),
            (json!({"segment": "x"}), "bad_name"),
            (json!({"span": ["120000_300", 5]}), "bad_name"),
            (json!({"facet": "A B"}), "bad_name"),
            (json!({"session_id": "--resume"}), "bad_value"),
            (json!({"session_id": "../x"}), "bad_value"),
            (json!({"output": "pdf"}), "bad_value"),
            (json!({"output_path": ""}), "bad_value"),
            // T17, R24
            (json!({"ts": 5}), "bad_value"),
            (json!({"ts": "nonsense"}), "bad_value"),
            (json!({"ts": -3}), "bad_value"),
            (json!({"ts": [1_760_000_000_000_u64]}), "bad_value"),
            (json!({"ts": 1_760_000_000}), "bad_value"),
            (json!({"ts": 1_760_000_000_000_u64, "use_id": "1760000000001"}), "bad_value"),
            (json!({"output_path": "/home/me/../you"}), "bad_value"),
            (json!({"timeout_seconds": 0}), "bad_value"),
            (json!({"timeout_seconds": 101}), "bad_value"),
            (json!({"tier": 4}), "bad_value"),
            (json!({"env": ["KEY"]}), "bad_value"),
            (json!({"env": {"A B": "x"}}), "bad_env"),
            (json!({"env": {"CORTEX_HOME": "x"}}), "bad_env"),
            (json!({"env": {"A": [1]}}), "bad_env"),
            (json!({"prompt": "x".repeat(REQUEST_BYTES_MAX)}), "too_large"),
        ];
        for (given, code) in cases {
            assert_eq!(check(&given).expect_err("refused").code, code, "{given}");
        }
    }

    // execution 9.8, 9.9
    #[test]
    fn env_has_values_for_the_process_and_names_for_everybody_else() {
        let request = check(&json!({
            "tract": "cortex", "event": "request", "ts": 1_760_000_000_000_u64, "ref": "r", "prompt": null,
            "env": {"KEY": "secret", "FLAG": true, "COUNT": 3, "GONE": null},
            "output_path": "/home/me/chronicle/x.md",
        }))
        .expect("a request");
        assert_eq!(request.name.as_str(), DEFAULT_TALENT); // execution R26
        assert_eq!(request.env["FLAG"], Some("true".to_owned()));
        assert_eq!(request.env["COUNT"], Some("3".to_owned()));
        assert_eq!(request.env["GONE"], None);
        let line = request.first_line(&UseId::from_millis(17));
        assert_eq!(line["ts"], 17);
        assert_eq!(line["env"], json!(["KEY", "FLAG", "COUNT", "GONE"]));
        assert!(!line.line().contains("secret"));
        assert!(request.is_the_same_as(&line));
        let other = check(&json!({"prompt": "else"})).expect("a request");
        assert!(!other.is_the_same_as(&line));
    }
}
