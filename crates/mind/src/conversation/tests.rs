//! Channels turn by turn.

use super::compaction::read_extraction;
use super::*;
use crate::bulletin::{BulletinInput, BulletinState, ModelUse};
use crate::settings::BulletinSettings;

const NOW: Millis = Millis(1_767_225_600_000);

fn settings() -> ChannelSettings {
    ChannelSettings { context_tokens: 1_000, ..ChannelSettings::default() }
}

fn bulletin(audience: Audience) -> Bulletin {
    let nothing = BulletinInput {
        audience: audience.clone(),
        subject: None,
        sections: Vec::new(),
        size: 0,
        hash: String::new(),
        capped: false,
    };
    let mut state = BulletinState::new(audience);
    state.gathered(&nothing, "run", ModelUse::Never, &BulletinSettings::default(), NOW);
    state.current.unwrap()
}

fn say(channel: &mut Channel, text: &str, answer: &str) -> Vec<ChannelEffect> {
    let mut effects = channel.said(text, "Be kind.", None, &settings(), NOW).unwrap();
    let ChannelEffect::Ask { turn, .. } = effects[0].clone() else { panic!("{effects:?}") };
    effects.extend(channel.answered(turn, Ok(answer.to_owned()), &settings(), NOW));
    effects
}

// mind 111, 112, 113, 114, 126
#[test]
fn every_turn_and_every_branch_reads_the_bulletin() {
    let mut channel = Channel::new("general", false);
    let shared = bulletin(Audience::Shared);
    let effects = channel.said("Hello", "Be kind.", Some(&shared), &settings(), NOW).unwrap();
    let ChannelEffect::Ask { turn, system, messages } = &effects[0] else { panic!() };
    assert!(system.starts_with("Be kind.\n\n# Memory Bulletin\nGenerated: 2026-01-01"));
    assert_eq!(messages.len(), 1);
    channel.answered(*turn, Ok("Hi".into()), &settings(), NOW);
    let branch = channel.branch("look it up", "Be kind.", Some(&shared), &settings(), NOW).unwrap();
    let ChannelEffect::StartBranch { branch, system, messages } = branch else { panic!() };
    assert!(system.contains("# Memory Bulletin"));
    assert_eq!(messages.len(), 2, "it inherits the context");
    channel.concluded(&branch.branch_id, "It is 42", NOW).unwrap();
    let last = channel.messages().last().unwrap();
    assert_eq!(last.text, "Branch \"look it up\" concluded: It is 42");
    assert!(channel.concluded(&branch.branch_id, "again", NOW).is_err());
}

// Section 11, point 15
#[test]
fn the_owners_bulletin_is_refused_in_a_shared_channel() {
    let owner = bulletin(Audience::Owner);
    let mut channel = Channel::new("general", false);
    let refused = channel.said("Hello", "Be kind.", Some(&owner), &settings(), NOW).unwrap_err();
    assert_eq!(refused.code(), "channel_refused");
    assert!(channel.messages().is_empty());
    let mut direct = Channel::new("direct", true);
    direct.said("Hello", "Be kind.", Some(&owner), &settings(), NOW).unwrap();
    assert_eq!((channel.audience(), direct.audience()), (Audience::Shared, Audience::Owner));
}

#[test]
fn one_turn_at_a_time_and_bounded_messages() {
    let mut channel = Channel::new("general", false);
    assert!(channel.said("  ", "", None, &settings(), NOW).is_err());
    let small = ChannelSettings { message_bytes_max: 3, ..settings() };
    assert!(channel.said("long", "", None, &small, NOW).is_err());
    channel.said("one", "", None, &settings(), NOW).unwrap();
    assert!(channel.said("two", "", None, &settings(), NOW).is_err());
    assert!(channel.answered(99, Ok("?".into()), &settings(), NOW).is_empty());
    let failed = channel.answered(1, Err("no provider".into()), &settings(), NOW);
    assert!(matches!(&failed[..], [ChannelEffect::Failed { .. }]) && !channel.is_answering());
    for n in 0..5 {
        channel.branch(&format!("b{n}"), "", None, &settings(), NOW).unwrap();
    }
    assert!(channel.branch("b6", "", None, &settings(), NOW).is_err());
}

/// Talks until the channel wants to compact.
fn fill(channel: &mut Channel) -> (String, ChannelEffect) {
    for n in 0..100 {
        let text = format!("Message {n}: {}", "some words of no great weight ".repeat(4));
        for effect in say(channel, &text, "Noted.") {
            match &effect {
                ChannelEffect::Extract { run, .. } | ChannelEffect::Store { run, .. } => {
                    return (run.clone(), effect);
                }
                _ => {}
            }
        }
    }
    panic!("the channel never grew too large")
}

// mind 127
#[test]
fn compaction_stores_memories_before_anything_leaves_the_context() {
    let mut channel = Channel::new("general", false);
    let (run, effect) = fill(&mut channel);
    let ChannelEffect::Extract { user, .. } = &effect else { panic!() };
    assert!(user.contains("Message 0"));
    let (count, tokens) = (channel.messages().len(), channel.tokens());
    assert!(tokens >= 800);
    let answer = r#"Here: {"summary": "They talked.", "memories": [{"type": "decision", "title": "Use redb"}]}"#;
    let effects = channel.extracted(&run, Ok(answer.into()), NOW);
    let [ChannelEffect::Store { memories, messages, .. }] = &effects[..] else { panic!() };
    assert_eq!(memories[0].kernel_type(), kernel::memory::MemoryType::Decision);
    assert_eq!(channel.messages().len(), count, "nothing has left yet");
    channel.stored(&run, NOW);
    assert_eq!(channel.messages().len(), count - messages.len() + 1);
    assert_eq!(channel.messages()[0].text, "They talked.");
    assert!(channel.tokens() < tokens);
    let kept: Channel = serde_json::from_str(&serde_json::to_string(&channel).unwrap()).unwrap();
    assert_eq!(kept, channel);
}

#[test]
fn without_a_usable_answer_the_messages_themselves_are_kept() {
    for answer in [Err("no provider".to_owned()), Ok("I would rather not".to_owned())] {
        let mut channel = Channel::new("general", false);
        let (run, _) = fill(&mut channel);
        let effects = channel.extracted(&run, answer, NOW);
        let [ChannelEffect::Store { memories, messages, .. }] = &effects[..] else { panic!() };
        assert_eq!(memories.len(), 1);
        for message in messages {
            assert!(memories[0].content.contains(message.text.trim()), "nothing said is lost");
        }
        // If storing fails, all of it stays.
        let before = channel.messages().len();
        channel.store_failed(&run);
        assert_eq!(channel.messages().len(), before);
        channel.stored(&run, NOW);
        assert_eq!(channel.messages().len(), before);
    }
}

#[test]
fn a_full_context_does_not_wait_for_a_model_and_never_parts_a_call_from_its_result() {
    let mut channel = Channel::new("general", false);
    channel.said("Read the file", "", None, &settings(), NOW).unwrap();
    for n in 0..9 {
        let call = format!("c{n}");
        channel.push(MessageRole::ToolCall { call: call.clone() }, "{}", NOW);
        channel.push(MessageRole::ToolResult { call }, &"data ".repeat(90), NOW);
    }
    let effects = channel.answered(1, Ok("Done".into()), &settings(), NOW);
    let ChannelEffect::Store { run, messages, .. } = &effects[1] else { panic!("{effects:?}") };
    let calls = messages.iter().filter(|m| matches!(m.role, MessageRole::ToolCall { .. })).count();
    let results =
        messages.iter().filter(|m| matches!(m.role, MessageRole::ToolResult { .. })).count();
    assert_eq!(calls, results);
    channel.stored(run, NOW);
    assert!(matches!(channel.messages()[1].role, MessageRole::ToolCall { .. }));
}

#[test]
fn extractions_are_checked() {
    for (answer, fine) in [
        (r#"{"summary": "s"}"#, true),
        ("```json\n{\"summary\": \"s\", \"memories\": []}\n```", true),
        (r#"{"summary": ""}"#, false),
        (r#"{"summary": "s", "memories": [{"type": "belief", "title": "t"}]}"#, false),
        (r#"{"summary": "s", "memories": [{"title": "two\nlines"}]}"#, false),
        ("nothing", false),
        ("}{", false),
    ] {
        assert_eq!(read_extraction(answer).is_ok(), fine, "{answer}");
    }
}

// Section 11, point 15
#[test]
fn what_is_remembered_of_a_private_channel_is_private() {
    let memory = NewMemory {
        memory_type: "preference".into(),
        title: "Likes tea".into(),
        content: String::new(),
    };
    let of = |private: bool| Channel::new("talk", private).draft(&memory, Some("m"));
    assert_eq!(of(true).visibility, Visibility::Private);
    assert_eq!(of(false).visibility, Visibility::Scoped);
    assert_eq!(of(false).provenance.source, Source::Derived);
    assert_eq!(of(false).channel.as_deref(), Some("talk"));
}
