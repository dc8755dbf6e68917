//! What the events of each kind carry.
//!
//! Fields without a value are not written. Logs may hold events of talents that are not ours, so a value of the
//! wrong type is read as absent and costs nothing else of the event.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use super::event::RunEventKind;

/// What events of one kind carry.
pub trait RunPayload: Serialize + DeserializeOwned {
    const KIND: RunEventKind;
}

/// Makes a payload of one table: all fields are optional, in the order in which they are written.
macro_rules! payload {
    ($(#[$meta:meta])* $name:ident = $kind:ident { $($(#[$field:meta])* $key:ident: $type:ty,)+ }) => {
        $(#[$meta])*
        #[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
        #[serde(default)]
        pub struct $name {
            $(
                $(#[$field])*
                #[serde(deserialize_with = "or_absent", skip_serializing_if = "Option::is_none")]
                pub $key: Option<$type>,
            )+
        }

        impl RunPayload for $name {
            const KIND: RunEventKind = RunEventKind::$kind;
        }
    };
}

fn or_absent<'de, D, T>(from: D) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: DeserializeOwned,
{
    let value = Value::deserialize(from)?;
    Ok(T::deserialize(value).ok())
}

payload! {
    /// Which process does the run.
    SpawnPayload = Spawned {
        pid: i32,
        pgid: i32,
        /// When it started, in the kernel's ticks since the machine started.
        started: u64,
        /// Which start of the machine.
        boot: String,
    }
}

payload! {
    /// Which model is asked.
    StartPayload = Start {
        name: String,
        model: String,
        provider: String,
        tier: u8,
        prompt: String,
        session_id: String,
        chat_id: String,
    }
}

payload! {
    /// A thought of the model, or text before it uses a tool.
    ThinkingPayload = Thinking {
        summary: String,
        model: String,
        signed: bool,
    }
}

payload! {
    /// A piece of the answer while it is written.
    TextPayload = TextDelta {
        delta: String,
        model: String,
    }
}

payload! {
    ToolStartPayload = ToolStart {
        tool: String,
        args: Value,
        call_id: String,
    }
}

payload! {
    ToolEndPayload = ToolEnd {
        tool: String,
        args: Value,
        result: Value,
        call_id: String,
        /// Memories that the tool gave.
        cited: Vec<u64>,
        /// Whose fault a failure is: `call`, `tool` or `past`.
        blame: String,
        duration_ms: u64,
        /// What its result costs to read, estimated.
        tokens: u64,
    }
}

payload! {
    /// Who goes on from here.
    AgentPayload = TalentUpdated {
        agent: String,
        talent: String,
        /// Who had the word before, if that one gave it away.
        from: String,
    }
}

payload! {
    /// A call of a tool that the budget of the talent has no room for.
    ToolBudgetPayload = ToolBudgetExhausted {
        tool: String,
        budget: u32,
        count: u32,
    }
}

payload! {
    /// What one request to a model took.
    UsagePayload = Usage {
        provider: String,
        model: String,
        usage: Value,
        /// In US dollars; null if nobody knows the price.
        cost: Option<f64>,
        /// Nobody said what it took: the request was broken off.
        estimated: bool,
    }
}

payload! {
    /// How far long work has come: one part of what is too long to be read at once.
    ProgressPayload = Progress {
        step: String,
        level: u32,
        part: u64,
        parts: u64,
        /// It was paid for in an earlier run.
        reused: bool,
    }
}

payload! {
    MaxTurnsPayload = MaxTurnsExhausted {
        max_turns: u32,
    }
}

payload! {
    WarningPayload = Warning {
        message: String,
        /// What a command line tool wrote to its standard error.
        stderr: String,
    }
}

payload! {
    /// Another provider in place of one that cannot answer.
    FallbackPayload = Fallback {
        original_provider: String,
        backup_provider: String,
        provider: String,
        model: String,
        /// `preflight` or `on_failure`.
        reason: String,
        reason_code: String,
        error: String,
    }
}

payload! {
    InfoPayload = Info {
        message: String,
        /// How many bytes a line had that was cut.
        truncated: u64,
        /// Where it was printed, if not on standard output.
        stream: String,
        bytes: u64,
        kept_bytes: u64,
    }
}

payload! {
    /// The end of a run that has a result, or that had nothing to do.
    FinishPayload = Finish {
        result: String,
        /// Why nothing was done.
        skipped: String,
        /// The output was there already.
        reused: bool,
        name: String,
        usage: Value,
        /// In US dollars. Absent if no model was asked, null if the price of a turn is not known.
        cost: Option<f64>,
        /// Memories that were read.
        cited: Vec<u64>,
        warnings: Vec<String>,
        output_path: String,
        cli_session_id: String,
        chat_id: String,
        provider: String,
        model: String,
        schema_validation: Value,
    }
}

payload! {
    /// The end of a run that failed, or an error that it survived.
    ErrorPayload = Error {
        error: String,
        reason: String,
        reason_code: String,
        terminal: bool,
        provider: String,
        trace: String,
        /// When the provider may be asked again, in milliseconds since 1970.
        reset_at_ms: i64,
        partial_text_length: u64,
        partial_text_tail: String,
        /// Where the whole of it is kept.
        partial_path: String,
        exit_code: i32,
        cited: Vec<u64>,
    }
}
