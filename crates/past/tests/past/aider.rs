//! What the reader of aider makes of Markdown, as a golden file, and where it finds it.

use serde_json::json;

use crate::histories::{Scene, append, at, contents};

// past 1, 2, 12
#[test]
fn aider_is_markdown_with_fences() {
    let mut scene = Scene::new();
    scene.exclusion.person = Some(scene.home.path().to_owned());
    let text = "\n# aider chat started at 2026-10-01 08:00:00\n\n> aider v0.86\n\n\
        #### Why is it slow? 日本\n#### <blank>\n\
        #### Look well.\n\nThe cache key lacks the locale:\n\n```md\n#### this is text\n> and this\n```\n\n\
        So it misses.\n\n\
        > Applied edit to cache.py\n\n#### /run make test\n\n> 2 failed\n\n\
        # aider chat started at 2026-10-02 09:00:00\n\n\
        #### And now?\n\nNow it is fast.\n\n#### torn";
    scene.write(".aider.chat.history.md", text);
    let folder = scene.path("work");
    std::fs::create_dir_all(&folder).unwrap();
    let lines = [
        json!({"type": "user", "uuid": "u", "cwd": folder, "timestamp": at(1), "message": {"content": "x"}}),
    ];
    scene.claude("s1", &lines);
    scene.read();
    scene.disk.delete_all();
    std::fs::remove_file(scene.path(".claude/projects/-src-a/s1.jsonl")).unwrap();
    scene.read();
    // An id is made of the path, which is another one each time; so is the order of the sessions.
    let mut shown: Vec<Vec<String>> = Vec::new();
    for line in contents(&scene.past()) {
        let line = line.replace(&scene.home.path().display().to_string(), "HOME");
        match line.strip_prefix("aider:") {
            Some(rest) => shown.push(vec![format!("aider:ID{}", &rest[16..])]),
            None => shown.last_mut().unwrap().push(line),
        }
    }
    shown.sort();
    let shown = shown.concat();
    insta::assert_snapshot!("aider", shown.join("\n"));
    let before = contents(&scene.past());
    append(&scene.path(".aider.chat.history.md"), " and more\n\nAn answer.\n");
    scene.read();
    let after = contents(&scene.past());
    assert!(before.iter().all(|line| after.contains(line) || line.contains("turns")), "{after:#?}");
    assert!(after.iter().any(|line| line.contains("torn and more")));
}

#[test]
fn aider_is_found_in_folders_that_other_sessions_name() {
    let mut scene = Scene::new();
    scene.exclusion.person = Some(scene.home.path().to_owned());
    scene.write(
        "work/.aider.chat.history.md",
        "# aider chat started at 2026-10-01 08:00:00\n\n#### Hello?\n\nYes.\n",
    );
    let folder = scene.path("work");
    let lines = [
        json!({"type": "user", "uuid": "u", "cwd": folder, "timestamp": at(1), "message": {"content": "x"}}),
    ];
    scene.claude("s1", &lines);
    // The first reading makes the folder known and reads on in it.
    let answer = scene.read();
    assert_eq!((answer.agents["aider"].prompts, answer.changed_files), (1, 2));
    assert_eq!(scene.read().changed_files, 0);
}
