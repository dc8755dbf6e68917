//! What fits: long sources by parts, windows, budgets, and runs that break off in the middle.

use super::*;

/// A talk of so many hours, one line for each five seconds.
fn talk(hours: u32) -> String {
    let mut out = String::new();
    for n in 0..hours * 720 {
        let text = format!("In minute {} we went on about the release and its tests", n / 12);
        out.push_str(&json!({"start": "12:00:00", "speaker": "Ada", "text": text}).to_string());
        out.push('\n');
    }
    out
}

fn long(hours: u32) -> Vec<(&'static str, String)> {
    vec![("chronicle/20250109/120000_300/audio.jsonl", talk(hours))]
}

fn staged(replies: Vec<Result<ModelReply, ProviderError>>, hours: u32) -> Stage {
    let files = long(hours);
    let files: Vec<(&str, &str)> =
        files.iter().map(|(path, text)| (*path, text.as_str())).collect();
    let mut stage = stage(replies, &files);
    let text = "default = {provider='anthropic'}\nmodels = {anthropic={'1'='tiny', '2'='tiny', '3'='tiny'}}\n\
                windows = {tiny=8192}";
    let settings: ProviderSettings = toml::from_str(text).unwrap();
    stage.process.resolver = Resolver::new(settings, vec!["anthropic".into()]);
    stage
}

fn refreshed() -> Value {
    let mut request = activity();
    request["refresh"] = json!(true);
    request
}

// T18
#[tokio::test]
async fn a_long_talk_is_read_by_parts_that_fit_and_progress_is_told() {
    // Notes that are as long as they may be: several levels are needed.
    let notes = "The release was moved and its tests were run again. ".repeat(60);
    let replies = (0..60).map(|_| Ok(reply(&notes))).chain([Ok(reply("# Done"))]).collect();
    let stage = staged(replies, 8);
    let events = stage.one(refreshed()).await;
    let calls = stage.script.calls.lock().unwrap();
    for call in calls.iter() {
        let answer = u64::from(call.max_output_tokens.unwrap_or(0));
        assert!(room::request_tokens(call) + answer <= 8_192, "{}", room::request_tokens(call));
    }
    let last = events.last().unwrap();
    assert_eq!(last["event"], "finish", "{last}");
    let progress: Vec<&Value> =
        events.iter().filter(|event| event["event"] == "progress").collect();
    assert_eq!(progress.len() + 1, calls.len(), "one for each part, and then the task");
    assert!(progress.len() > 4 && progress.iter().any(|event| event["level"] == 2));
    assert_eq!(last["usage"]["requests"], calls.len());
    let ChatMessage::User { text } = &calls.last().unwrap().messages[0] else { panic!() };
    assert!(text.contains("notes on its") && text.contains("Write what happened"), "{text}");
    assert_eq!(
        fs::read_dir(stage.process.layout.parts(talents::Day::parse("20250109").unwrap()))
            .unwrap()
            .count(),
        0
    );
}

// T18: wherever a run breaks off, what was answered is paid for once
#[tokio::test]
async fn a_run_that_breaks_off_after_any_part_pays_for_no_part_twice() {
    let whole = {
        let replies = (0..40).map(|n| Ok(reply(&format!("Notes {n}")))).collect();
        let stage = staged(replies, 4);
        stage.one(refreshed()).await;
        stage.script.calls.lock().unwrap().len()
    };
    assert!(whole > 3, "{whole}");
    for answered in 0..whole {
        let down = || Err(ProviderError::new(ReasonCode::NetworkUnreachable, "gone"));
        let mut replies: Vec<_> = (0..answered).map(|n| Ok(reply(&format!("Notes {n}")))).collect();
        replies.push(down());
        replies.extend((answered..40).map(|n| Ok(reply(&format!("Notes {n}")))));
        let stage = staged(replies, 4);
        let first = stage.one(refreshed()).await;
        let ends = |events: &[Value]| {
            let ends = events
                .iter()
                .filter(|event| event["event"] == "finish" || event["event"] == "error");
            ends.count()
        };
        assert_eq!((ends(&first), &first.last().unwrap()["event"]), (1, &json!("error")));
        let second = stage.one(refreshed()).await;
        assert_eq!((ends(&second), &second.last().unwrap()["event"]), (1, &json!("finish")));
        let calls = stage.script.calls.lock().unwrap().len();
        assert_eq!(calls, whole + 1, "only the request that failed is asked again");
        let reused = second.iter().filter(|event| event["reused"] == true).count();
        assert_eq!(reused, answered.min(whole - 1));
    }
}

/// A budget that the runs of a test share.
struct Purse {
    limit: u64,
}

impl Toolbox for Purse {
    fn tools(&self) -> Vec<ToolSpec> {
        Vec::new()
    }

    fn call<'a>(
        &'a self,
        _: &'a ToolScene,
        _: &'a str,
        _: Value,
    ) -> BoxFuture<'a, Result<ToolAnswer, ToolError>> {
        Box::pin(async { Err(ToolError::new("none")) })
    }

    fn may_spend<'a>(
        &'a self,
        _: &'a ToolScene,
        wanted: Spending,
    ) -> BoxFuture<'a, Result<u64, String>> {
        let limit = self.limit;
        Box::pin(async move {
            if wanted.tokens_min > limit {
                return Err(format!("{} tokens wanted, {limit} are left", wanted.tokens));
            }
            Ok(wanted.tokens.min(limit))
        })
    }
}

// T18: the stop acts between requests and inside of an answer
#[tokio::test]
async fn a_budget_stops_a_run_between_requests_and_in_the_stream() {
    let replies = (0..40).map(|n| Ok(reply(&format!("Notes {n}")))).collect();
    let mut stage = staged(replies, 4);
    stage.process.toolbox = Arc::new(Purse { limit: 7_500 });
    let events = stage.one(refreshed()).await;
    let error = events.last().unwrap();
    assert_eq!(error["reason_code"], "budget_exhausted", "{error}");
    let spent: u64 =
        events.iter().filter_map(|event| event["usage"]["total_tokens"].as_u64()).sum();
    assert!(spent <= 7_500, "{spent}");
    // One answer that is far longer than what was granted.
    let endless = "word ".repeat(40_000);
    let mut stage = super::stage(vec![Ok(reply(&endless))], &segment());
    stage.process.toolbox = Arc::new(Purse { limit: 7_000 });
    let events = stage.one(activity()).await;
    let error = events.last().unwrap();
    assert_eq!(error["reason_code"], "budget_exhausted", "{error}");
    assert!(error["partial_text_length"].as_u64().unwrap() > 1_000);
    let kept = fs::read_to_string(error["partial_path"].as_str().unwrap()).unwrap();
    assert_eq!(kept, endless, "all that came is kept");
    let told = events.iter().find(|event| event["event"] == "usage").unwrap();
    assert_eq!(told["estimated"], true);
    assert!(!stage.dir.path().join("chronicle/20250109/120000_300/activity.md").exists());
}

// T18
#[tokio::test]
async fn what_must_be_asked_at_once_and_does_not_fit_is_refused_before_it_is_sent() {
    let stage = staged(vec![Ok(reply("never"))], 1);
    let prompt = "please ".repeat(20_000);
    let events = stage.one(json!({"use_id": "1", "prompt": prompt})).await;
    assert_eq!(events.last().unwrap()["reason_code"], "window_exceeded");
    assert_eq!(stage.script.calls.lock().unwrap().len(), 0);
}
