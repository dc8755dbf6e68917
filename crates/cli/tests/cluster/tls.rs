//! Nodes with certificates of their own: what one passes on to the other is hidden from listeners.

use std::path::Path;
use std::process::Command;

use super::node::{Node, init};
use super::postgres::{Server, is_installed};
use super::service::eventually;

fn openssl(folder: &Path, arguments: &[&str]) {
    let made = Command::new("openssl").args(arguments).current_dir(folder).output().unwrap();
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
}

/// An authority, and a certificate of it for this machine.
fn certificates(folder: &Path) {
    let subject = ["-subj", "/CN=an authority of our own"];
    let key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"];
    let authority = ["req", "-x509", "-keyout", "ca.key", "-out", "ca.pem", "-days", "2"];
    openssl(folder, &[&authority[..], &key, &subject].concat());
    std::fs::write(folder.join("names"), "subjectAltName=IP:127.0.0.1,DNS:localhost\n").unwrap();
    let request = ["req", "-keyout", "node.key", "-out", "node.csr", "-subj", "/CN=node"];
    openssl(folder, &[&request[..], &key].concat());
    let sign =
        ["x509", "-req", "-in", "node.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-days", "2"];
    openssl(
        folder,
        &[&sign[..], &["-CAcreateserial", "-extfile", "names", "-out", "node.pem"]].concat(),
    );
}

/// Asks over TLS; the answer with its head.
fn curl(folder: &Path, token: &str, arguments: &[&str]) -> String {
    let asked = Command::new("curl")
        .args(["-s", "-i", "--cacert", "ca.pem", "-H", &format!("Authorization: Bearer {token}")])
        .args(arguments)
        .current_dir(folder)
        .output()
        .unwrap();
    String::from_utf8_lossy(&asked.stdout).into_owned()
}

// cluster, section 4
#[test]
fn requests_are_passed_on_over_tls_with_certificates_of_our_own() {
    let has = |name: &str| Command::new(name).arg("version").output().is_ok();
    if !is_installed() {
        return;
    }
    if !has("openssl") || !has("curl") {
        eprintln!(
            "\n*** openssl or curl is not installed: TLS between nodes was NOT tested. ***\n"
        );
        return;
    }
    let folder = tempfile::TempDir::new().unwrap();
    certificates(folder.path());
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (cert, key, authority) = (path("node.pem"), path("node.key"), path("ca.pem"));
    let server = Server::start();
    let (url, token) = (server.url(), init(&server.url()));
    let settings = |name| {
        [
            ("CORTEX_LEDGER_NODE", name),
            ("CORTEX_HTTP_TLS_CERT", &*cert),
            ("CORTEX_HTTP_TLS_KEY", &*key),
            ("CORTEX_LEDGER_CA_FILE", &*authority),
        ]
    };
    let nodes = [Node::start(&url, &settings("north")), Node::start(&url, &settings("south"))];
    let ask = |node: &Node, path: &str, more: &[&str]| {
        let url = format!("https://127.0.0.1:{}{path}", node.port);
        curl(folder.path(), &token, &[more, &[&*url]].concat())
    };
    eventually("nodes do not see each other", || {
        nodes.iter().all(|node| ask(node, "/metrics", &[]).contains("cortex_nodes_alive 2"))
    });
    let mut served = [0, 0];
    for n in 0..12 {
        let (actor, body) = (
            format!("X-Cortex-Actor: actor-{n}"),
            format!(r#"{{"title": "t {n}", "content": "x"}}"#),
        );
        let more = ["-H", &*actor, "-H", "Content-Type: application/json", "-d", &*body];
        let saved = ask(&nodes[0], "/api/observations", &more);
        assert!(saved.starts_with("HTTP/1.1 201") || saved.starts_with("HTTP/2 201"), "{saved}");
        served[usize::from(saved.contains("x-cortex-served-by: south"))] += 1;
        let found = ask(&nodes[1], "/api/observations", &["-H", &*actor]);
        assert!(found.contains(&format!("t {n}")), "{found}");
    }
    assert!(served[0] > 0 && served[1] > 0, "{served:?}: nothing was passed on");
    let failures = "cortex_node_forward_failures_total 0";
    assert!(nodes.iter().all(|node| ask(node, "/metrics", &[]).contains(failures)));
    // Without the authority a node does not trust the other, and answers by itself.
    let suspicious = [
        ("CORTEX_LEDGER_NODE", "east"),
        ("CORTEX_HTTP_TLS_CERT", &*cert),
        ("CORTEX_HTTP_TLS_KEY", &*key),
    ];
    let alone = Node::start(&url, &suspicious);
    for n in 0..12 {
        let found =
            ask(&alone, "/api/observations", &["-H", &format!("X-Cortex-Actor: actor-{n}")]);
        assert!(
            found.contains(&format!("t {n}")) && found.contains("x-cortex-served-by: east"),
            "{found}"
        );
    }
}
