//! The crates of the workspace and what each may depend on, as data. `crates` checks it.

/// Normal and build dependencies between our own crates, from the bottom up. A crate that is not listed is refused.
pub(crate) const ALLOWED: [(&str, &[&str]); 29] = [
    ("proof", &[]),
    ("api", &[]),
    // One table of secrets, for memories and for the past.
    ("redact", &[]),
    ("kernel", &["proof"]),
    // Words, for memories and for the past.
    ("text", &["kernel"]),
    ("recall", &["kernel", "proof", "text"]),
    ("embed", &["kernel", "recall"]),
    // The files of coding agents. Reading them needs no store and no index.
    ("transcripts", &["redact"]),
    ("past", &["recall", "redact", "text", "transcripts"]),
    // The mind answers typed questions of `api`.
    ("mind", &["api", "kernel", "recall", "text"]),
    ("llm", &[]),
    ("talents", &["api", "llm"]),
    // What a run does, beside what talents are: `talents` decides, `runs` starts processes.
    ("runs", &["api", "llm", "talents"]),
    // What a text passes before it is a memory, whether it is saved or imported.
    ("intake", &["kernel", "redact", "text"]),
    ("service", &["api", "embed", "intake", "kernel", "mind", "proof", "recall", "text"]),
    // What agents are told, what is kept of their sessions, and their past, over the operations on memories.
    (
        "agent_sessions",
        &["api", "kernel", "mind", "past", "recall", "service", "text", "transcripts"],
    ),
    ("transfer", &["api", "intake", "kernel", "service"]),
    ("client", &["api", "proof"]),
    ("cluster", &["kernel", "proof"]),
    // Who answers the operations of a home: in the daemon, or in the process of one command.
    (
        "host",
        &[
            "agent_sessions",
            "api",
            "cluster",
            "kernel",
            "llm",
            "mind",
            "recall",
            "runs",
            "service",
            "talents",
            "text",
        ],
    ),
    (
        "daemon",
        &[
            "api", "client", "cluster", "host", "kernel", "llm", "mind", "runs", "service",
            "talents",
        ],
    ),
    // `mcp` also serves the tools of one talent to command line tools.
    ("mcp", &["api", "llm", "proof", "runs", "talents"]),
    (
        "http",
        &[
            "agents", "api", "cluster", "daemon", "host", "mcp", "proof", "runs", "service",
            "talents", "transfer",
        ],
    ),
    ("tui", &["api", "client", "proof"]),
    ("agents", &["proof"]),
    // What commands share, among it who answers them; the commands that are processes of their own; the program.
    (
        "command_line",
        &[
            "agent_sessions",
            "agents",
            "api",
            "cluster",
            "daemon",
            "embed",
            "host",
            "kernel",
            "llm",
            "proof",
            "recall",
            "service",
            "talents",
            "text",
            "transcripts",
            "transfer",
        ],
    ),
    (
        "talent_commands",
        &["api", "client", "command_line", "daemon", "host", "llm", "runs", "service", "talents"],
    ),
    ("cli", &[ANY]),
    // Test support may use what it supports; `DEV_ONLY` says who may use test support.
    ("testkit", &["kernel"]),
];

/// Any of our crates but `DEV_ONLY`: for the program, which wires all of them.
pub(crate) const ANY: &str = "*";

/// Only a dev-dependency, of anyone.
pub(crate) const DEV_ONLY: &str = "testkit";

/// Crates that must answer the same today and in a year, on any machine: no runtime, no sockets.
pub(crate) const DETERMINISTIC: [&str; 6] = ["api", "kernel", "mind", "proof", "recall", "text"];

/// The vocabulary that every interface shares, and all that it may depend on directly.
pub(crate) const VOCABULARY: &str = "api";
pub(crate) const OF_VOCABULARY: [&str; 7] =
    ["base64", "jiff", "schemars", "serde", "serde_json", "thiserror", "utoipa"];

/// Crates that open files or stores, which the vocabulary does not even reach.
pub(crate) const STORES: [&str; 10] = [
    "fs4",
    "libsqlite3-sys",
    "memmap2",
    "notify",
    "redb",
    "rusqlite",
    "rustix",
    "tempfile",
    "walkdir",
    "zip",
];

/// Crates that bring an async runtime, an executor, sockets, TLS or a network protocol.
pub(crate) const FORBIDDEN: [&str; 47] = [
    "actix-rt",
    "actix-web",
    "async-channel",
    "async-executor",
    "async-global-executor",
    "async-io",
    "async-nats",
    "async-net",
    "async-process",
    "async-std",
    "attohttpc",
    "axum",
    "curl",
    "embassy-executor",
    "futures-executor",
    "glommio",
    "h2",
    "h3",
    "hickory-resolver",
    "hyper",
    "hyper-util",
    "isahc",
    "mio",
    "monoio",
    "native-tls",
    "openssl",
    "openssl-sys",
    "polling",
    "quinn",
    "quinn-proto",
    "reqwest",
    "ring",
    "rmcp",
    "rustls",
    "smol",
    "socket2",
    "tiny_http",
    "tokio",
    "tokio-rustls",
    "tokio-stream",
    "tokio-tungstenite",
    "tokio-util",
    "tonic",
    "tower-http",
    "tungstenite",
    "ureq",
    "warp",
];
