//! The laws over settings that nobody would write by hand.

use proptest::prelude::*;

use super::*;

/// White space and remarks between tokens.
fn gap() -> BoxedStrategy<String> {
    prop_oneof![
        4 => Just(String::new()),
        2 => Just(" ".to_owned()),
        2 => Just("\n".to_owned()),
        1 => Just("\n  ".to_owned()),
        1 => Just("\t".to_owned()),
        1 => Just("\r\n".to_owned()),
        1 => Just(" // , } \" remark\n".to_owned()),
        1 => Just("/* , } \n */".to_owned()),
    ]
    .boxed()
}

/// Names that meet ours by chance, and strings that look like structure.
fn name() -> BoxedStrategy<String> {
    prop_oneof![
        Just("a".to_owned()),
        Just("other".to_owned()),
        Just("//".to_owned()),
        Just("é, }".to_owned()),
        Just("env".to_owned()),
    ]
    .boxed()
}

fn leaf() -> BoxedStrategy<String> {
    prop_oneof![
        Just("1".to_owned()),
        Just("-2.5e3".to_owned()),
        Just("null".to_owned()),
        Just("true".to_owned()),
        Just("\"\"".to_owned()),
        Just("\"x // , } ] \\\" y\"".to_owned()),
    ]
    .boxed()
}

fn joined(
    open: char,
    close: char,
    parts: Vec<(String, String, String)>,
    last: &str,
    comma: bool,
) -> String {
    let mut text = open.to_string();
    let count = parts.len();
    for (number, (before, part, after)) in parts.into_iter().enumerate() {
        text.push_str(&before);
        text.push_str(&part);
        text.push_str(&after);
        if number + 1 < count || comma {
            text.push(',');
        }
    }
    text.push_str(last);
    text.push(close);
    text
}

fn value() -> BoxedStrategy<String> {
    leaf()
        .prop_recursive(3, 16, 4, |inner| prop_oneof![list(inner.clone()), members(name(), inner),])
        .boxed()
}

fn list(inner: BoxedStrategy<String>) -> BoxedStrategy<String> {
    let parts = prop::collection::vec((gap(), inner, gap()), 0..4);
    (parts, gap(), any::<bool>())
        .prop_map(|(parts, last, comma)| joined('[', ']', parts, &last, comma))
        .boxed()
}

fn members(name: BoxedStrategy<String>, value: BoxedStrategy<String>) -> BoxedStrategy<String> {
    let part = (name, gap(), gap(), value).prop_map(|(name, before, after, value)| {
        format!("{}{before}:{after}{value}", serde_json::Value::from(name))
    });
    let parts = prop::collection::vec((gap(), part, gap()), 0..4);
    (parts, gap(), any::<bool>())
        .prop_map(|(parts, last, comma)| joined('{', '}', parts, &last, comma))
        .boxed()
}

/// Settings with lists of servers and hooks that others filled, or without.
fn settings() -> BoxedStrategy<String> {
    let hook = list(members(name(), leaf()));
    let hooks = members(
        prop_oneof![Just("SessionStart".to_owned()), Just("Stop".to_owned())].boxed(),
        hook,
    );
    let part = prop_oneof![
        2 => (name(), value()).prop_map(|(name, value)| (name, value)),
        1 => members(name(), value()).prop_map(|value| ("mcpServers".to_owned(), value)),
        1 => hooks.prop_map(|value| ("hooks".to_owned(), value)),
    ];
    let part = (part, gap(), gap()).prop_map(|((name, value), before, after)| {
        format!("{}{before}:{after}{value}", serde_json::Value::from(name))
    });
    let parts = prop::collection::vec((gap(), part, gap()), 0..5);
    let root = (parts, gap(), any::<bool>())
        .prop_map(|(parts, last, comma)| joined('{', '}', parts, &last, comma));
    let mark = prop_oneof![9 => Just(""), 1 => Just("\u{feff}")];
    (mark, gap(), root, gap())
        .prop_map(|(mark, before, root, after)| format!("{mark}{before}{root}{after}"))
        .boxed()
}

fn toml_settings() -> BoxedStrategy<String> {
    let line = prop_oneof![
        Just("# [mcp_servers.cortex]".to_owned()),
        Just(String::new()),
        "[a-d]{3,8}".prop_map(|key| format!("{key} = \"x # [y]\" # remark")),
        "[a-d]{3,8}".prop_map(|key| format!("{key} = [1,\n  2, # two\n]")),
        "[a-d]{3,8}".prop_map(|key| format!("[{key}]")),
        "[a-d]{3,8}".prop_map(|key| format!("[[list_{key}]]")),
        "[a-d]{3,8}".prop_map(|key| format!("[mcp_servers.{key}]\ncommand = 'x'")),
        "[a-d]{3,8}".prop_map(|key| format!("{key}.inner.deep = 1")),
        Just("text = '''\n[mcp_servers.cortex]\ncommand = 1\n'''".to_owned()),
        Just("mcp_servers = { a = { command = 'x' }, }".to_owned()),
    ];
    let windows = any::<bool>();
    (prop::collection::vec(line, 0..8), windows, any::<bool>(), any::<bool>())
        .prop_filter_map("two tables of one name", |(lines, windows, last, mark)| {
            let mut text = lines.join("\n");
            if last {
                text.push('\n');
            }
            if windows {
                text = text.replace('\n', "\r\n");
            }
            if mark {
                text.insert(0, '\u{feff}');
            }
            crate::setup::toml::read(&text).is_ok().then_some(text)
        })
        .boxed()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn json_comes_back_byte_for_byte(text in settings()) {
        let contents = content_of(Agent::GeminiCli, "cortex").into_iter();
        // A file that is ours alone has nothing of others in it.
        for content in contents.filter(|content| !content.entries().is_empty()) {
            check_laws(&content, Some(&text));
        }
    }

    #[test]
    fn json_without_a_record_loses_only_what_is_ours(text in settings()) {
        let content = &content_of(Agent::GeminiCli, "cortex")[0];
        let step = adding(content, Some(&text), None).unwrap().unwrap();
        let back = removing(content, &step.text, None).unwrap().unwrap();
        let mut expected = content.read(&text).unwrap();
        let left = content.read(&back).unwrap();
        // Without a record nobody knows who made an empty container, so it stays.
        for path in content.missing(&text).unwrap() {
            let mut place = &mut expected;
            for name in &path[..path.len() - 1] {
                place = &mut place[name];
            }
            let last = &path[path.len() - 1];
            place[last] = if path.len() == 1 { serde_json::json!({}) } else { serde_json::json!([]) };
        }
        prop_assert_eq!(left, expected);
        // Every remark is still there.
        prop_assert_eq!(back.matches("remark").count(), text.matches("remark").count());
    }

    #[test]
    fn edits_elsewhere_survive(text in settings(), value in leaf()) {
        let content = &content_of(Agent::GeminiCli, "cortex")[0];
        let step = adding(content, Some(&text), None).unwrap().unwrap();
        // A person adds a first member to the settings.
        let edit = |text: &str| {
            let open = text.find('{').unwrap() + 1;
            let empty = content.read(text).unwrap() == serde_json::json!({});
            let comma = if empty { "" } else { "," };
            format!("{} \"new\": {value}{comma} {}", &text[..open], &text[open..])
        };
        // A brace in a remark before the settings is no place for a member.
        prop_assume!(!text.split('{').next().unwrap().contains('/'));
        let edited = edit(&step.text);
        prop_assume!(content.read(&edited).is_ok());
        let back = removing(content, &edited, Some(&step.trace)).unwrap().unwrap();
        let wanted = content.read(&edit(&text));
        prop_assert_eq!(content.read(&back), wanted);
    }

    #[test]
    fn toml_comes_back_byte_for_byte(text in toml_settings()) {
        check_laws(&content_of(Agent::Codex, "cortex")[0], Some(&text));
    }

    #[test]
    fn toml_without_a_record_loses_only_what_is_ours(text in toml_settings()) {
        let content = &content_of(Agent::Codex, "cortex")[0];
        let step = adding(content, Some(&text), None).unwrap().unwrap();
        let back = removing(content, &step.text, None).unwrap().unwrap();
        let mut left = content.read(&back).unwrap();
        // A table that held nothing but ours is not there without it.
        if let Some(servers) = left.get("mcp_servers").cloned() && servers == serde_json::json!({}) {
            left.as_object_mut().unwrap().remove("mcp_servers");
        }
        prop_assert_eq!(left, content.read(&text).unwrap());
        prop_assert_eq!(back.matches('#').count(), text.matches('#').count());
    }
}
