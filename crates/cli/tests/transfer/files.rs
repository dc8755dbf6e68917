//! Imports from JSON files of other tools.

use serde_json::{Value, json};

use crate::support::Home;

fn import(home: &Home, name: &str, text: &str, more: &[&str]) -> Value {
    std::fs::write(home.path().join(name), text).unwrap();
    home.run(&[&["import", name, "--json"], more].concat()).ok().json()
}

fn lines(home: &Home) -> Vec<Value> {
    let out = home.run(&["export", "--all"]).ok().out;
    out.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn titled<'m>(lines: &'m [Value], title: &str) -> &'m Value {
    lines
        .iter()
        .find(|line| line["versions"][0]["title"] == title)
        .unwrap_or_else(|| panic!("{title}: {lines:#?}"))
}

#[test]
fn the_reference_server_arrives_with_entities_and_relations() {
    let home = Home::new();
    let file = concat!(
        "{\"type\":\"entity\",\"name\":\"Ada\",\"entityType\":\"person\",\"observations\":[\"likes tabs\",\
            \"lives in Köln\"]}\n",
        "{\"type\":\"entity\",\"name\":\"Web\",\"entityType\":\"project\",\"observations\":[]}\n",
        "this line was torn by two writers\n",
        "\n",
        "{\"type\":\"entity\",\"name\":7}\n",
        "{\"type\":\"relation\",\"from\":\"Ada\",\"to\":\"Web\",\"relationType\":\"works_on\"}\n",
        "{\"type\":\"relation\",\"from\":\"Ada\",\"to\":\"Web\",\"relationType\":\"works_on\"}\n",
        "{\"type\":\"relation\",\"from\":\"Ada\",\"to\":\"Nobody\",\"relationType\":\"knows\"}\n",
        "{\"type\":\"relation\",\"from\":\"Web\",\"to\":\"Ada\",\"relationType\":\"part of\"}",
    );
    let report = import(&home, "memory.jsonl", file, &["--project", "team"]);
    assert_eq!(report["format"], "server-memory");
    assert_eq!(report["memories"]["new"], 2);
    assert_eq!(report["edges"]["new"], 2, "{report}");
    assert_eq!(report["dates"]["absent"], 2);
    // Two bad lines and a relation to nobody.
    assert_eq!(report["skipped"]["total"], 3, "{report:#}");
    let all = lines(&home);
    let ada = titled(&all, "Ada");
    assert_eq!(
        (&ada["kind"], &ada["type"], &ada["project"]),
        (&json!("person"), &json!("Fact"), &json!("team"))
    );
    assert_eq!(ada["versions"][0]["fields"]["subject"], "Ada");
    let content = ada["versions"][0]["content"].as_str().unwrap();
    assert_eq!(
        content,
        "- likes tabs\n- lives in Köln\n\n## Relations\n- works_on [[Web]]\n- knows [[Nobody]]"
    );
    let edges: Vec<&Value> =
        all.iter().filter(|line| line["record"] == "edge").map(|edge| &edge["relation"]).collect();
    assert_eq!(edges, ["relates_to", "part_of"]);

    let root = home.root();
    let again = import(&home, "memory.jsonl", file, &["--project", "team"]);
    assert_eq!(again["memories"], json!({"new": 0, "changed": 0, "unchanged": 2}));
    assert_eq!(home.root(), root);
    // One more observation is a new version.
    let more = file.replace("\"likes tabs\"", "\"likes tabs\",\"has a cat\"");
    assert_eq!(
        import(&home, "memory.jsonl", &more, &["--project", "team"])["memories"]["changed"],
        1
    );
    // The same name in another project is another memory.
    assert_eq!(import(&home, "memory.jsonl", file, &["--project", "other"])["memories"]["new"], 2);
}

#[test]
fn mem0_arrives_in_every_shape() {
    let one = json!({
        "id": "7f3c", "memory": "Dev works at TechCorp as a senior engineer", "hash": "abc", "user_id": "dev",
        "agent_id": "helper", "run_id": "run-1", "metadata": {"type": "professional", "team": "core"},
        "categories": ["work"], "created_at": "2026-07-01T10:00:00.5-07:00", "updated_at": "2026-07-02T10:00:00Z",
    });
    let two = json!({"id": "8a", "memory": "Prefers morning meetings", "created_at": null, "metadata": null});
    for (name, text) in [
        ("array.json", serde_json::to_string_pretty(&json!([one, two, {"id": "x"}])).unwrap()),
        (
            "results.json",
            json!({"count": 2, "results": [one, two, {"memory": "no id"}], "relations": null})
                .to_string(),
        ),
        ("lines.jsonl", format!("{one}\n{two}\n{{\"id\":\"x\"}}\n")),
    ] {
        let home = Home::new();
        let report = import(&home, name, &text, &[]);
        assert_eq!(report["format"], "mem0", "{name}");
        assert_eq!(report["memories"]["new"], 2, "{name}: {report}");
        assert_eq!(report["skipped"]["total"], 1, "{name}: {report}");
        let all = lines(&home);
        let dev = titled(&all, "Dev works at TechCorp as a senior engineer");
        assert_eq!(dev["created"], "2026-07-01T17:00:00.500Z");
        assert_eq!(dev["updated"], "2026-07-02T10:00:00.000Z");
        assert_eq!(dev["kind"], "professional");
        assert_eq!(dev["session"], "run-1");
        assert_eq!(dev["tags"], json!(["agent:helper", "user:dev", "work"]));
        assert!(dev["versions"][0]["content"].as_str().unwrap().ends_with("- team: core"));
        let root = home.root();
        assert_eq!(import(&home, name, &text, &[])["memories"]["new"], 0);
        assert_eq!(home.root(), root);
    }
}

#[test]
fn an_open_memory_backup_keeps_states_and_names() {
    let home = Home::new();
    let text = json!({
        "user": {"id": "u", "user_id": "ada"},
        "memories": [
            {"id": "m1", "user_id": "u", "app_id": "a", "content": "Active one", "state": "active",
             "created_at": "2026-07-01T10:00:00+00:00", "category_ids": ["c"]},
            {"id": "m2", "content": "Archived one", "state": "archived", "created_at": "2026-07-01T11:00:00+00:00"},
            {"id": "m3", "content": "Deleted one", "state": "deleted", "created_at": "2026-07-01T12:00:00+00:00",
             "deleted_at": "2026-07-03T12:00:00+00:00"},
        ],
        "relations": [{"source": "ada", "relationship": "works_at", "target": "acme"}],
        "apps": [{"id": "a", "name": "cursor"}],
        "categories": [{"id": "c", "name": "habits"}],
    });
    let report = import(&home, "memories.json", &text.to_string(), &[]);
    assert_eq!(report["found"], json!({"manual": 3, "relation": 1}), "{report}");
    let all = lines(&home);
    assert_eq!(titled(&all, "Active one")["tags"], json!(["app:cursor", "habits", "user:u"]));
    assert_eq!(titled(&all, "Archived one")["archived"], true);
    assert_eq!(titled(&all, "Deleted one")["forgotten"]["at"], "2026-07-03T12:00:00.000Z");
    let fact = &titled(&all, "ada works at acme")["versions"][0]["fields"];
    assert_eq!(*fact, json!({"subject": "ada", "predicate": "works_at", "object": "acme"}));
}

#[test]
fn lines_that_are_no_text_cost_only_themselves() {
    let home = Home::new();
    let mut bytes =
        b"{\"type\":\"entity\",\"name\":\"Good\",\"entityType\":\"x\",\"observations\":[]}\n"
            .to_vec();
    bytes.extend_from_slice(b"{\"type\":\"entity\",\"name\":\"bad \xff\xfe\"}\n");
    bytes.extend_from_slice(
        b"{\"type\":\"entity\",\"name\":\"Also good\",\"entityType\":\"x\",\"observations\":[]}\n",
    );
    std::fs::write(home.path().join("m.jsonl"), bytes).unwrap();
    let report = home.run(&["import", "m.jsonl", "--json"]).ok().json();
    assert_eq!(
        (&report["memories"]["new"], &report["skipped"]["total"]),
        (&json!(2), &json!(1)),
        "{report}"
    );
    assert_eq!(
        report["skipped"]["rows"][0],
        json!({"what": "line 2", "reason": "the line is not UTF-8"})
    );
}

// serving S34
#[test]
fn a_file_that_breaks_off_is_taken_as_far_as_it_goes_and_is_no_success() {
    let memory = |n: u32| format!("{{\"id\": \"m{n}\", \"memory\": \"Memory number {n}\"}}");
    let array = format!("[\n{},\n{},\n{}", memory(1), memory(2), &memory(3)[..20]);
    let lines = format!("{}\n{}\n{}", memory(1), memory(2), &memory(3)[..20]);
    let entity = "{\"type\":\"entity\",\"name\":\"A\",\"entityType\":\"x\",\"observations\":[]}";
    let server = format!("{entity}\n{}", &entity[..30]);
    for (name, text, kept) in [("a.json", array, 2), ("l.jsonl", lines, 2), ("s.jsonl", server, 1)]
    {
        let home = Home::new();
        std::fs::write(home.path().join(name), text).unwrap();
        let ran = home.run(&["import", name]).ends(2);
        assert!(ran.err.contains(&format!("{kept} memories before that were kept")), "{}", ran.err);
        assert_eq!(home.run(&["stats", "--json"]).ok().json()["observations"], kept, "{name}");
    }
}
