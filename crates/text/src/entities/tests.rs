//! What is an entity and what is prose.

use std::time::Duration;

use proptest::prelude::*;

use super::*;

fn show(text: &str) -> Vec<String> {
    extract("", text).into_iter().map(|e| format!("{}:{}", e.kind.name(), e.value)).collect()
}

#[test]
fn files() {
    assert_eq!(
        show("src/auth/middleware.ts, internal/store/store.go"),
        ["file:internal/store/store.go", "file:src/auth/middleware.ts"]
    );
    assert_eq!(show("a/b.go c/d.go e/f.go"), ["file:a/b.go", "file:c/d.go", "file:e/f.go"]);
    assert_eq!(show("`src/main.rs` and Cargo.toml"), ["file:Cargo.toml", "file:src/main.rs"]);
    assert_eq!(show("config.yaml: and README.md. done"), ["file:README.md", "file:config.yaml"]);
    assert_eq!(
        show("at src/main.rs:42:7, in \"C:\\work\\a b\""),
        ["file:C:\\work\\a", "file:src/main.rs"]
    );
    assert_eq!(
        show("edit ~/.ssh/config, /etc/hosts, .env, Dockerfile"),
        ["file:.env", "file:/etc/hosts", "file:Dockerfile", "file:~/.ssh/config"]
    );
    assert_eq!(show("store_test.go (and ./run.sh)"), ["file:./run.sh", "file:store_test.go"]);
}

#[test]
fn urls_and_packages() {
    assert_eq!(show("(see https://api.example.com/docs)."), ["url:https://api.example.com/docs"]);
    assert_eq!(show("[x](https://a.b/c_(d))!"), ["url:https://a.b/c_(d)"]);
    assert_eq!(show("http:// https://"), Vec::<String>::new());
    assert_eq!(
        show("github.com/spf13/viper and @scope/package"),
        ["package:@scope/package", "package:github.com/spf13/viper"]
    );
    assert_eq!(show("import x from 'react'; require(\"fs\")"), ["package:fs", "package:react"]);
    for code in [
        "Changed:\nimport {\n  a,\n  b,\n} from 'react'\nand more from 'here'",
        "use `import x from \"react\"` there",
        "x(); import 'react';",
        "export * from 'react';",
        "await import('react')",
    ] {
        assert_eq!(show(code), ["package:react"], "{code}");
    }
    assert_eq!(
        show("run cargo add serde, react@18.2.0"),
        ["package:react", "package:serde", "version:18.2.0"]
    );
}

#[test]
fn symbols() {
    assert_eq!(
        show("func HandleSave, type Config, struct Foo, fn bar"),
        ["symbol:Config", "symbol:Foo", "symbol:HandleSave", "symbol:bar"]
    );
    assert_eq!(
        show("class X and def y and interface Z and impl T"),
        ["symbol:T", "symbol:X", "symbol:Z", "symbol:y"]
    );
    assert_eq!(show("impl<T: Ord> fmt::Display for Tree<T> {"), ["symbol:Display", "symbol:Tree"]);
    assert_eq!(show("func (s *Store) Save(ctx)"), ["symbol:Save"]);
    assert_eq!(
        show("call parse() on std::fs::File or `getUser` or mem_save"),
        ["symbol:getUser", "symbol:mem_save", "symbol:parse", "symbol:std::fs::File"]
    );
    assert_eq!(show("def main(): pass"), ["symbol:main"]);
}

#[test]
fn endpoints_variables_versions_errors() {
    assert_eq!(
        show("`GET /api/users/{id}` and POST /login."),
        ["endpoint:GET /api/users/{id}", "endpoint:POST /login"]
    );
    assert_eq!(
        show("DATABASE_URL=x, $HOME/bin ${PATH} process.env.API_KEY"),
        ["env_var:API_KEY", "env_var:DATABASE_URL", "env_var:HOME", "env_var:PATH"]
    );
    assert_eq!(
        show("v1.2.3 (1.95.0) ^2.0.1-rc.1, v2.1, Python 3.11."),
        ["version:1.95.0", "version:2.0.1-rc.1", "version:3.11", "version:v1.2.3", "version:v2.1"]
    );
    assert_eq!(
        show("TypeError: java.lang.NullPointerException ENOENT error[E0382] ERR_TIMED_OUT"),
        [
            "error:E0382",
            "error:ENOENT",
            "error:ERR_TIMED_OUT",
            "error:NullPointerException",
            "error:TypeError"
        ]
    );
}

#[test]
fn prose_yields_nothing() {
    for text in [
        "and/or e.g. i.e. e.g./i.e. 3.5 million, 12.5% of 24/7 work",
        "The type of class I like is a function that can fail; the type is var and const.",
        "Node.js and Next.js on an iPhone, GitHub, JavaScript; mail bob@example.com at 10.0.0.1 on 15.11.2026.",
        "I GET it. We POST often. It costs $5 or $A. An Error, the Exception - EVERYTHING.",
        "She said: \"from 'here' on\"... well-known, state-of-the-art",
        "We import goods from 'there' and require 'this'. Export it from 'now' on.",
        "用户认证模块。Это просто текст. Größe/Farbe",
    ] {
        let found = show(text);
        assert!(found.is_empty(), "{text}: {found:?}");
    }
}

#[test]
fn bounded_sorted_and_keyed() {
    let many = (0..1000).map(|n| format!("dir/f{n}.rs")).collect::<Vec<_>>().join(" ");
    let found = extract("src/a.rs", &many);
    assert_eq!(found.len(), MAX_ENTITIES);
    assert!(found.is_sorted());
    let file = Entity { kind: EntityKind::File, value: ".\\SRC\\Main.rs".to_owned() };
    assert_eq!(file.key(), "src/main.rs");
    for kind in EntityKind::ALL {
        assert_eq!(EntityKind::parse(kind.name()), Some(kind));
    }
}

#[test]
fn long_text_is_linear() {
    for unit in [
        "a/", "func (", "impl<", "http://", "://", "x::", "@", "$", ":1", "'", "a.", "_", "type ",
        "${", "é/", "GET /",
    ] {
        let took = |bytes: usize| {
            let text = unit.repeat(bytes / unit.len());
            let start = std::time::Instant::now();
            let found = extract(&text, &text);
            (start.elapsed(), found)
        };
        let short = (0..3).map(|_| took(1 << 18).0).min().unwrap();
        let (long, found) = took(1 << 22);
        // Sixteen times the text: quadratic work would take 256 times as long.
        assert!(long < short * 100 + Duration::from_millis(500), "{unit} {short:?} {long:?}");
        assert!(found.iter().all(|e| e.value.len() <= MAX_VALUE));
    }
}

proptest! {
    #[test]
    fn any_text_is_fine(title in "\\PC{0,40}", content in "\\PC{0,80}|[a-zA-Z0-9é$@{}()<>:/\\\\.'\"`_ -]{0,60}") {
        let found = extract(&title, &content);
        prop_assert_eq!(&found, &extract(&title, &content));
        prop_assert!(found.is_sorted() && found.iter().all(|e| !e.value.is_empty()));
    }
}
