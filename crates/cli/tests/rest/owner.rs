//! HTTP is the owner's alone: what shows the owner, and what everybody else gets.

use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::process::Command;

use serde_json::{Value, json};

use crate::support::{Answer, Daemon, cortex, problem};

/// The user that tests play the neighbour with.
const NOBODY: u32 = 65_534;

/// Every route of the document, with something in place of what a path takes.
fn every_route(daemon: &Daemon) -> Vec<(String, String)> {
    let document = daemon.get("/openapi.json").json();
    let mut routes = Vec::new();
    for (path, methods) in document["paths"].as_object().unwrap() {
        for method in methods.as_object().unwrap().keys() {
            let path: Vec<&str> = path
                .split('/')
                .map(|part| if part.starts_with('{') { "1" } else { part })
                .collect();
            routes.push((method.to_uppercase(), path.join("/")));
        }
    }
    routes.push(("POST".to_owned(), "/mcp".to_owned()));
    for path in ["/nowhere", "/open/", "/open/../api/stats", "/healthz/", "//healthz"] {
        routes.push(("GET".to_owned(), path.to_owned()));
    }
    assert!(routes.len() > 60, "{routes:?}");
    routes
}

// F1
#[test]
fn whoever_shows_nothing_gets_nothing_on_any_route() {
    let daemon = Daemon::start(&[]);
    daemon.save("a secret plan", "decision");
    for (method, path) in every_route(&daemon) {
        let headers = "Host: localhost\r\nContent-Type: application/json\r\n";
        let bare = daemon.send_bare(&method, &path, headers, b"{}");
        if path == "/healthz" {
            assert_eq!((bare.status, bare.json()), (200, json!({"status": "ok"})));
            continue;
        }
        assert_eq!(bare.status, 401, "{method} {path}: {}", bare.body);
        if method != "HEAD" {
            problem(&bare, 401, "token_refused");
            assert!(bare.json()["hint"].as_str().unwrap().contains("cortex"), "{}", bare.body);
        }
        let wrong = format!("{headers}Authorization: Bearer {}\r\n", "0".repeat(64));
        assert_eq!(daemon.send_bare(&method, &path, &wrong, b"{}").status, 401, "{method} {path}");
    }
    assert_eq!(daemon.get("/api/stats").json()["observations"], 1, "nothing was done");
}

/// Asks as another user of the machine, with the program that everybody has.
fn as_nobody(arguments: &[&str]) -> String {
    let mut command = Command::new("curl");
    command.args(["-s", "-m", "20", "-w", "\n%{http_code}"]).args(arguments);
    command.current_dir("/").env_clear().env("PATH", "/usr/bin:/bin").uid(NOBODY).gid(NOBODY);
    let output = command.output().unwrap();
    String::from_utf8(output.stdout).unwrap()
}

// F1, F3
#[test]
fn another_user_of_the_machine_reads_nothing_and_runs_nothing() {
    if rustix::process::geteuid().as_raw() != 0 {
        eprintln!("NOT TESTED: a second user needs root to be played");
        return;
    }
    let daemon = Daemon::start(&[]);
    daemon.save("a secret plan", "decision");
    let base = format!("http://{}", daemon.address());
    for path in ["/api/observations", "/api/export", "/metrics", "/", "/docs", "/api/search?q=plan"]
    {
        let said = as_nobody(&[&format!("{base}{path}")]);
        assert!(said.ends_with("401") && !said.contains("secret plan"), "{path}: {said}");
    }
    // The two requests that ran code as the owner.
    for env in [json!({"LD_PRELOAD": "/tmp/evil.so"}), json!({"PATH": "/tmp/evil"})] {
        let body = json!({"name": "default", "prompt": "x", "provider": "claude", "env": env});
        let said = as_nobody(&[
            "-H",
            "Content-Type: application/json",
            "-d",
            &body.to_string(),
            &format!("{base}/api/runs"),
        ]);
        assert!(said.ends_with("401"), "{said}");
    }
    assert_eq!(daemon.get("/api/runs").json()["total"], 0, "nothing ran");
    // A cookie that another user got hold of, because browsers send it to every port, is worth nothing to them.
    let host = format!("Host: {}\r\n", daemon.address());
    let link = path_of(&daemon.said["page"]);
    let said = as_nobody(&[&format!("{base}{link}")]);
    assert!(said.ends_with("401"), "a link is the owner's: {said}");
    let followed = daemon.send_bare("GET", &link, &host, b"");
    let cookie = cookie_of(&followed);
    assert_eq!(daemon.send("GET", "/api/stats", &format!("{host}{cookie}"), b"").status, 200);
    let said = as_nobody(&["-H", cookie.trim(), &format!("{base}/api/stats")]);
    assert!(said.ends_with("401"), "{said}");
    let said = as_nobody(&[&format!("{base}/healthz")]);
    assert!(said.ends_with("200"), "{said}");
    // Neither the token nor the socket is within reach.
    let home = daemon.home.path();
    let mode = |path: &str| home.join(path).metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(""), mode("run"), mode("token")), (0o700, 0o700, 0o600));
    let mut command = cortex(home, &[]);
    command.current_dir("/").args(["--wait", "1", "status"]).uid(NOBODY).gid(NOBODY);
    let Ok(output) = command.output() else {
        eprintln!("NOT TESTED: the other user cannot start the program at all");
        return;
    };
    assert!(!output.status.success(), "{output:?}");
    assert!(!String::from_utf8_lossy(&output.stdout).contains("socket"), "{output:?}");
}

fn cookie_of(answer: &Answer) -> String {
    let cookie = answer.header("set-cookie").unwrap();
    for wanted in ["HttpOnly", "SameSite=Strict", "Max-Age=", "Path=/"] {
        assert!(cookie.contains(wanted), "{cookie}");
    }
    format!("Cookie: {}\r\n", cookie.split(';').next().unwrap())
}

fn path_of(page: &Value) -> String {
    let page = page.as_str().unwrap();
    format!("/open/{}", page.split_once("/open/").unwrap().1)
}

// F2
#[test]
fn a_printed_link_opens_the_page_once_for_one_browser() {
    let daemon = Daemon::start(&[]);
    daemon.save("<script>alert(1)</script> & more", "decision");
    let host = format!("Host: {}\r\n", daemon.address());
    let first = path_of(&daemon.said["page"]);
    assert_eq!(path_of(&daemon.run(&["status"])["page"]), first, "unused, it is told again");
    let followed = daemon.send_bare("GET", &first, &host, b"");
    assert_eq!((followed.status, followed.header("location")), (303, Some("/")));
    let cookie = cookie_of(&followed);
    let again = daemon.send_bare("GET", &first, &host, b"");
    problem(&again, 401, "token_refused");
    let with = |method: &str, path: &str, more: &str, body: &[u8]| {
        daemon.send(method, path, &format!("{host}{cookie}{more}"), body)
    };
    let page = with("GET", "/", "Accept: text/html\r\n", b"");
    assert_eq!(page.status, 200, "{}", page.body);
    assert!(page.body.contains("<title>Cortex"), "{}", page.body);
    assert!(!page.body.contains("<script>"), "no script but files: {}", page.body);
    problem(&daemon.send_bare("GET", "/assets/main.js", &host, b""), 401, "token_refused");
    assert_eq!(with("GET", "/assets/main.js", "", b"").status, 200);
    for name in ["cross-origin-resource-policy", "cross-origin-opener-policy"] {
        assert_eq!(page.header(name), Some("same-origin"));
    }
    assert_eq!(with("GET", "/api/stats", "", b"").status, 200);
    // F5: a cookie goes wherever a browser sends it; only our own page may write by it.
    let body = br#"{"title": "by the page", "content": "x"}"#;
    let json = "Content-Type: application/json\r\n";
    problem(&with("POST", "/api/observations", json, body), 403, "origin_refused");
    problem(&with("POST", "/api/observations/1/archive", "", b""), 403, "origin_refused");
    let same_site = format!("{json}Sec-Fetch-Site: same-site\r\n");
    problem(&with("POST", "/api/observations", &same_site, body), 403, "origin_refused");
    let ours =
        format!("{json}Origin: http://{}\r\nSec-Fetch-Site: same-origin\r\n", daemon.address());
    assert_eq!(with("POST", "/api/observations", &ours, body).status, 201);
    // A browser that came from a page elsewhere is led on by a page of ours.
    let other = path_of(&daemon.run(&["open", "--print"])["page"]);
    let nav =
        "Sec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: navigate\r\nSec-Fetch-Dest: document\r\n";
    let led = daemon.send_bare("GET", &other, &format!("{host}{nav}"), b"");
    assert!(led.status == 200 && led.body.contains("url=/"), "{}", led.body);
    cookie_of(&led);
    // A person is told what to do in words, a program as a problem.
    let told = daemon.send_bare("GET", "/", &format!("{host}Accept: text/html\r\n"), b"");
    assert_eq!(told.status, 401);
    assert!(told.body.contains("<p>") && told.body.contains("cortex open"), "{}", told.body);
    // A new token ends every browser, without a restart.
    let token = daemon.run(&["token", "--new"])["token"].as_str().unwrap().to_owned();
    assert_eq!(with("GET", "/api/stats", "", b"").status, 401);
    assert!(daemon.owner().contains(&token));
    assert_eq!(daemon.get("/api/stats").status, 200);
}

#[cfg(target_os = "linux")]
#[test]
fn a_daemon_leaves_no_core_files() {
    let daemon = Daemon::start(&[]);
    let limits = std::fs::read_to_string(format!("/proc/{}/limits", daemon.child.id())).unwrap();
    let core = limits.lines().find(|line| line.starts_with("Max core file size")).unwrap();
    let bounds: Vec<&str> = core.split_whitespace().skip(4).take(2).collect();
    assert_eq!(bounds, ["0", "0"], "{core}");
}

// F2
#[test]
fn programs_of_the_owner_find_the_token_by_themselves() {
    let daemon = Daemon::start(&[]);
    let output =
        cortex(daemon.home.path(), &[]).args(["curl", "-s", "/api/stats"]).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let stats: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(stats["observations"], 0);
    let post = [
        "curl",
        "-s",
        "/api/observations",
        "-H",
        "Content-Type: application/json",
        "-d",
        r#"{"title": "By curl", "content": "as it stands in the manual"}"#,
    ];
    let output = cortex(daemon.home.path(), &[]).args(post).output().unwrap();
    let saved: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(saved["id"], 1, "{output:?}");
    let refused = cortex(daemon.home.path(), &[]).args(["curl", "-s"]).output().unwrap();
    assert_eq!(refused.status.code(), Some(2));
    let printed = cortex(daemon.home.path(), &[]).arg("token").output().unwrap();
    let token = String::from_utf8(printed.stdout).unwrap();
    assert!(daemon.owner().contains(token.trim()));
}
