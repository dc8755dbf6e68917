//! Frontmatter of talents: every key, and what is said of a wrong one.

use super::*;
use crate::talent_files::file::cut;

fn front(text: &str) -> (Frontmatter, Vec<TalentProblem>) {
    read(&cut(text).unwrap())
}

fn errors(text: &str) -> Vec<String> {
    front(text).1.iter().map(|problem| format!("{}: {}", problem.line, problem.reason)).collect()
}

#[test]
fn every_key_is_read() {
    // execution R93, R94, R97, R99, R100
    let (front, problems) = front(
        r#"{
  "title": "T", "description": "D", "schedule": "daily", "priority": 40, "multi_facet": true,
  "always": true, "disabled": true, "output": "json", "tools": ["get_facet"], "grant": "write", "write": true,
  "provider": "openai", "tier": 1, "model": "m", "max_tokens": 900, "thinking_budget": 1024,
  "timeout": 30, "max_turns": 5, "tool_budget": 7, "schema": {"type": "array"}, "type": "cogitate",
  "load": {"transcripts": "required", "talents": {"activity": true}},
  "env": {"A": "x", "B": true, "C": 1.5, "D": null}
}
Body
"#,
    );
    assert_eq!(problems, []);
    assert_eq!(front.schedule, Some(TalentSchedule::Daily));
    assert_eq!(front.priority, Some(40));
    assert!(front.multi_facet && front.always && front.disabled && front.write);
    assert_eq!(front.output, Some(OutputFormat::Json));
    assert_eq!(front.grant, ToolGrant::Write);
    assert_eq!(front.tier, Some(ModelTier::Pro));
    assert_eq!(front.max_output_tokens, Some(900));
    assert_eq!(front.timeout_seconds, Some(30));
    assert_eq!(front.load.as_ref().unwrap().transcripts, Want::Required);
    // execution R101: values become text, null takes a variable away
    assert_eq!(front.env["B"].as_deref(), Some("true"));
    assert_eq!(front.env["C"].as_deref(), Some("1.5"));
    assert_eq!(front.env["D"], None);
    assert_eq!(front.kind(), TalentKind::Agent);
}

#[test]
fn output_without_tools_is_a_generator() {
    // execution R38
    assert_eq!(front("{\n\"output\": \"md\"\n}\nx").0.kind(), TalentKind::Generator);
    assert_eq!(front("{\n\"output\": \"md\", \"tools\": []\n}\nx").0.kind(), TalentKind::Agent);
    assert_eq!(front("x").0.kind(), TalentKind::Agent);
    assert_eq!(front("{\n\"output\": \"md\"\n}\nx").0.sources().transcripts, Want::Yes);
    assert_eq!(front("x").0.sources(), Load::default());
}

#[test]
fn a_scheduled_talent_needs_a_priority() {
    // execution R95
    let found = errors("{\n  \"schedule\": \"daily\"\n}\nx");
    assert_eq!(found, ["2: \"priority\" is required with \"schedule\": \"daily\""]);
    assert_eq!(errors("{\n  \"schedule\": \"none\"\n}\nx"), [] as [&str; 0]);
}

#[test]
fn always_is_refused_for_segments() {
    // execution R130
    let found = errors(
        "{\n\"schedule\": \"segment\",\n\"priority\": 1,\n\"multi_facet\": true,\n\"always\": true\n}\nx",
    );
    assert_eq!(found.len(), 1);
    assert!(found[0].starts_with("5: \"always\" is not for segments"), "{found:?}");
}

#[test]
fn a_slip_of_the_pen_is_named_with_what_was_meant() {
    let (_, problems) =
        front("{\n  \"title\": \"T\",\n  \"disabeld\": true,\n  \"colour\": 1\n}\nx");
    assert_eq!(problems[0].line, 3);
    assert!(problems[0].is_error());
    assert_eq!(problems[0].reason, "unknown key \"disabeld\"; did you mean \"disabled\"?");
    assert!(!problems[1].is_error(), "a key that looks like nothing costs nothing");
}

#[test]
fn all_problems_are_told_at_once() {
    let found = errors(
        "{\n\"tier\": 4,\n\"output\": \"yaml\",\n\"tools\": \"x\",\n\"timeout\": 0,\n\"env\": {\"1\": 2},\n\
         \"load\": {\"transcript\": true},\n\"schema\": \"../x.json\",\n\"type\": \"generate\"\n}\nx",
    );
    assert_eq!(found.len(), 8, "{found:#?}");
    assert!(found.iter().any(|text| text.starts_with("7: ") && text.contains("\"transcripts\"")));
}
