//! The one list of what can be set: name, kind, default, what it means.

use serde_json::{Value, json};

/// What a value may be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    Flag,
    /// A whole number in this range.
    Whole(u64, u64),
    /// Any number in this range.
    Number(f64, f64),
    Text,
}

/// Something that can be set.
#[derive(Clone, Copy, Debug)]
pub struct Key {
    pub name: &'static str,
    pub kind: Kind,
    pub default: fn() -> Value,
    pub about: &'static str,
}

pub const KEYS: &[Key] = &[
    Key {
        name: "backup.dir",
        kind: Kind::Text,
        default: || json!(""),
        about: "Folder for backups that a daemon makes by itself; none are made without one",
    },
    Key {
        name: "backup.every_hours",
        kind: Kind::Whole(1, 24 * 365),
        default: || json!(24),
        about: "Hours between two of them",
    },
    Key {
        name: "backup.keep",
        kind: Kind::Whole(1, 1_000),
        default: || json!(7),
        about: "How many of them are kept",
    },
    Key {
        name: "daemon.idle_seconds",
        kind: Kind::Whole(1, 86_400 * 365),
        default: || json!(600),
        about: "A daemon that an agent started ends after this long without a connection",
    },
    Key {
        name: "embedder.base_url",
        kind: Kind::Text,
        default: || json!(""),
        about: "Address of an OpenAI-compatible embedding service",
    },
    Key {
        name: "embedder.dims",
        kind: Kind::Whole(0, 65_536),
        default: || json!(0),
        about: "Numbers in a vector of that service; `cortex model use` asks it",
    },
    Key {
        name: "embedder.key_env",
        kind: Kind::Text,
        default: || json!(""),
        about: "Variable that holds the key of that service",
    },
    Key {
        name: "embedder.model",
        kind: Kind::Text,
        default: || json!("static"),
        about: "Which model makes vectors: static, minilm or http",
    },
    Key {
        name: "embedder.name",
        kind: Kind::Text,
        default: || json!(""),
        about: "Name of the model at that service",
    },
    Key {
        name: "hooks.briefing",
        kind: Kind::Flag,
        default: || json!(true),
        about: "Agents are told at the start of a session what holds, where work stopped and what was decided",
    },
    Key {
        name: "hooks.capture",
        kind: Kind::Flag,
        default: || json!(true),
        about: "What happened in a session, and what you state as a rule, is kept from the agent's own record",
    },
    Key {
        name: "hooks.prompts",
        kind: Kind::Flag,
        default: || json!(true),
        about: "What you ask agents is kept word for word",
    },
    Key {
        name: "hooks.recall",
        kind: Kind::Flag,
        default: || json!(true),
        about: "Memories that answer a prompt, or are about a file or command, are told without being asked for",
    },
    Key {
        name: "http.allowed_hosts",
        kind: Kind::Text,
        default: || json!(""),
        about: "Names beside localhost under which HTTP may be reached, with commas between",
    },
    Key {
        name: "http.background",
        kind: Kind::Flag,
        default: || json!(false),
        about: "A daemon that an agent started serves HTTP too, and stays",
    },
    Key {
        name: "http.host",
        kind: Kind::Text,
        default: || json!("127.0.0.1"),
        about: "IP address that HTTP listens on; one that others can reach needs a token",
    },
    Key {
        name: "http.port",
        kind: Kind::Whole(0, 65_535),
        default: || json!(7_438),
        about: "Port that HTTP listens on; 0: any that is free",
    },
    Key {
        name: "http.second_port",
        kind: Kind::Whole(0, 65_535),
        default: || json!(5_738),
        about: "Port that answers as well, on this machine only, as long as http.port is 7438 and nobody \
                else has it; 0: none",
    },
    Key {
        name: "http.tls_cert",
        kind: Kind::Text,
        default: || json!(""),
        about: "File with the certificate that HTTP shows (PEM, the whole chain); HTTP is then HTTPS",
    },
    Key {
        name: "http.tls_key",
        kind: Kind::Text,
        default: || json!(""),
        about: "File with the key of this certificate (PEM)",
    },
    Key {
        name: "http.token_env",
        kind: Kind::Text,
        default: || json!("CORTEX_HTTP_TOKEN"),
        about: "Variable that holds the token HTTP callers must send, if it is set",
    },
    Key {
        name: "http.token_file",
        kind: Kind::Text,
        default: || json!(""),
        about: "File that holds this token instead",
    },
    Key {
        name: "ledger.actor_bytes",
        kind: Kind::Whole(0, u64::MAX),
        default: || json!(0),
        about: "Bytes that the files of one actor may have on a node; 0: no limit",
    },
    Key {
        name: "ledger.actor_memories",
        kind: Kind::Whole(0, u64::MAX),
        default: || json!(0),
        about: "Memories that one actor may have; 0: no limit",
    },
    Key {
        name: "ledger.advertise",
        kind: Kind::Text,
        default: || json!(""),
        about: "Address at which other nodes reach this one, such as https://node-1:7438; derived from \
                http.host and the port if empty",
    },
    Key {
        name: "ledger.ca_file",
        kind: Kind::Text,
        default: || json!(""),
        about: "File with authorities for the certificates of other nodes (PEM), beside those of the system",
    },
    Key {
        name: "ledger.cache_bytes",
        kind: Kind::Whole(1_048_576, u64::MAX),
        default: || json!(8_589_934_592_u64),
        about: "Bytes that copies of actors may take on this node; the ones not used for longest go first",
    },
    Key {
        name: "ledger.check_days",
        kind: Kind::Whole(0, 365),
        default: || json!(7),
        about: "Days between two reads of each ledger against its checksums, in idle time; 0 for never",
    },
    Key {
        name: "ledger.checkpoint_entries",
        kind: Kind::Whole(1, u64::MAX),
        default: || json!(500),
        about: "Entries by which a journal has to grow for the next checkpoint; long ones have to grow by a quarter",
    },
    Key {
        name: "ledger.checkpoints",
        kind: Kind::Text,
        default: || json!(""),
        about: "Folder that all nodes see, or bucket (s3://, gs://, az://), for checkpoints of long journals; empty: \
                none are made",
    },
    Key {
        name: "ledger.connections",
        kind: Kind::Whole(2, 256),
        default: || json!(16),
        about: "Connections to the database at once",
    },
    Key {
        name: "ledger.node",
        kind: Kind::Text,
        default: || json!(""),
        about: "Name of this node, its own among all; derived from the machine and the home if empty",
    },
    Key {
        name: "ledger.open_actors",
        kind: Kind::Whole(1, 8_192),
        default: || json!(256),
        about: "Actors open at once on this node",
    },
    Key {
        name: "ledger.password_env",
        kind: Kind::Text,
        default: || json!("CORTEX_LEDGER_PASSWORD"),
        about: "Variable that holds the password of the database, if ledger.url has none",
    },
    Key {
        name: "ledger.password_file",
        kind: Kind::Text,
        default: || json!(""),
        about: "File that holds this password instead",
    },
    Key {
        name: "ledger.url",
        kind: Kind::Text,
        default: || json!(""),
        about: "PostgreSQL database that holds the journals of all nodes, such as \
                postgres://cortex@db/cortex; empty: this home holds its own",
    },
    Key {
        name: "ledger.writes_per_second",
        kind: Kind::Whole(0, 1_000_000),
        default: || json!(0),
        about: "Writes that one actor may make in a second on a node; 0: no limit",
    },
    Key {
        name: "memory.archive",
        kind: Kind::Flag,
        default: || json!(true),
        about: "Put away by itself what is old and unimportant, if defaults.cortex.prune_scope is all",
    },
    Key {
        name: "memory.archive_after_days",
        kind: Kind::Whole(1, 36_500),
        default: || json!(90),
        about: "Days after which a memory is old for memory.archive; finished goals and what is past its \
                date follow defaults.cortex.archive_after_days",
    },
    Key {
        name: "memory.archive_below",
        kind: Kind::Number(0.0, 5.0),
        default: || json!(0.1),
        about: "Below which importance score",
    },
    Key {
        name: "memory.dedup_minutes",
        kind: Kind::Whole(0, 10_080),
        default: || json!(15),
        about: "The same memory saved again within this time is counted, not stored",
    },
    Key {
        name: "memory.redact_secrets",
        kind: Kind::Flag,
        default: || json!(true),
        about: "Mask what looks like a credential",
    },
    Key {
        name: "mind.preset",
        kind: Kind::Text,
        default: || json!("default"),
        about: "Settings of the mind by name: default, seed, quiet, busy, aggressive or conservative; what a table of \
                [defaults] sets counts more",
    },
    Key {
        name: "past.exclude",
        kind: Kind::Text,
        default: || json!(""),
        about: "Folders (* and ** stand for any) and agents whose sessions are not read, with commas between; \
                `cortex past exclude` changes it",
    },
    Key {
        name: "past.follow",
        kind: Kind::Flag,
        default: || json!(true),
        about: "Once the past was read, a daemon reads on as agents write",
    },
    Key {
        name: "recall.favoured_speaker",
        kind: Kind::Text,
        default: || json!(""),
        about: "Speaker whose memories a search puts before those of others, such as user; empty: nobody",
    },
    Key {
        name: "recall.speaker_prior",
        kind: Kind::Whole(0, 100),
        default: || json!(50),
        about: "How much that counts, in hundredths of being named in the question",
    },
    Key {
        name: "recall.ranker",
        kind: Kind::Flag,
        default: || json!(true),
        about: "Order hits by the learned ranker; false: by the arms added by weight",
    },
    Key {
        name: "trust.agents_may_rule",
        kind: Kind::Flag,
        default: || json!(false),
        about: "Rules and preferences that agents and imports write bind without a person who confirms them",
    },
];

impl Key {
    /// Every variable that overrides the file; the last one that is set wins.
    pub(super) fn variables(&self) -> Vec<String> {
        let mut names = vec![format!("CORTEX_{}", self.name.replace('.', "_").to_uppercase())];
        if !names.contains(&self.variable()) {
            names.push(self.variable());
        }
        names
    }

    /// The variable that overrides the file, by the name people are told.
    pub fn variable(&self) -> String {
        match self.name {
            // The name that other programs know.
            "http.port" => "CORTEX_PORT".to_owned(),
            name => format!("CORTEX_{}", name.replace('.', "_").to_uppercase()),
        }
    }
}

impl Kind {
    /// A value of the file, if it is one of this kind.
    pub fn check(self, value: &toml::Value) -> Result<Value, String> {
        match (self, value) {
            (Kind::Flag, toml::Value::Boolean(flag)) => Ok(json!(flag)),
            (Kind::Whole(..), toml::Value::Integer(n)) => {
                self.whole(u64::try_from(*n).map_err(|_| self.expected())?)
            }
            // The loss is far below what a setting can mean.
            #[allow(clippy::cast_precision_loss)]
            (Kind::Number(..), toml::Value::Integer(n)) => self.number(*n as f64),
            (Kind::Number(..), toml::Value::Float(n)) => self.number(*n),
            (Kind::Text, toml::Value::String(text)) => Ok(json!(text)),
            _ => Err(self.expected()),
        }
    }

    /// A value as a variable holds it.
    pub fn read(self, text: &str) -> Result<Value, String> {
        match self {
            Kind::Flag => text.parse::<bool>().map(Value::from).map_err(|_| self.expected()),
            Kind::Whole(..) => self.whole(text.parse().map_err(|_| self.expected())?),
            Kind::Number(..) => self.number(text.parse().map_err(|_| self.expected())?),
            Kind::Text => Ok(json!(text)),
        }
    }

    fn whole(self, n: u64) -> Result<Value, String> {
        match self {
            Kind::Whole(least, most) if (least..=most).contains(&n) => Ok(json!(n)),
            _ => Err(self.expected()),
        }
    }

    fn number(self, n: f64) -> Result<Value, String> {
        match self {
            Kind::Number(least, most) if (least..=most).contains(&n) => Ok(json!(n)),
            _ => Err(self.expected()),
        }
    }

    /// What a value may be, in words.
    pub fn expected(self) -> String {
        match self {
            Kind::Flag => "expected true or false".to_owned(),
            Kind::Whole(least, most) => format!("expected a number between {least} and {most}"),
            Kind::Number(least, most) => format!("expected a number between {least} and {most}"),
            Kind::Text => "expected a text".to_owned(),
        }
    }
}
