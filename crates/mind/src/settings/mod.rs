//! Every knob of the mind: its key, its default, what it does. The configuration reference is made of these texts.
//!
//! The tables are `[defaults.<table>]` of `cortex.toml`; keys that the seed names keep their names. Unknown keys are
//! refused. What must stay true: the defaults pass `validate`, and every key has a text.

mod presets;
#[cfg(test)]
mod tests;

use kernel::context::RuleAuthors;
use serde::{Deserialize, Serialize};

use crate::error::{MindError, Result};
use kernel::salience::{DAY_MS, DecayPolicy, Ppm};

pub use presets::Preset;

/// What is put away without anybody asking.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PruneScope {
    /// What nobody chose to keep.
    #[default]
    Captured,
    /// Everything but identity, as the seed says.
    All,
}

/// One line of the configuration reference.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SettingKey {
    pub table: &'static str,
    pub name: &'static str,
    pub default: serde_json::Value,
    pub about: &'static str,
}

/// Declares a table: the struct, its defaults, its reference.
macro_rules! table {
    ($(#[doc = $about:literal])+ $name:ident in $table:literal {
        $($(#[doc = $doc:literal])+ $field:ident: $type:ty = $default:expr,)+
    }) => {
        $(#[doc = $about])+
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
        #[serde(default, deny_unknown_fields)]
        pub struct $name { $($(#[doc = $doc])+ pub $field: $type,)+ }

        impl Default for $name {
            fn default() -> $name {
                $name { $($field: $default,)+ }
            }
        }

        impl $name {
            pub const TABLE: &'static str = concat!("defaults.", $table);

            /// Every key with its default and its text.
            pub fn reference() -> Vec<SettingKey> {
                let defaults = $name::default();
                vec![$(SettingKey {
                    table: $name::TABLE,
                    name: stringify!($field),
                    default: serde_json::to_value(&defaults.$field).unwrap_or_default(),
                    about: concat!($($doc),+).trim_ascii(),
                }),+]
            }

            /// The whole path of one of its keys.
            pub fn key(name: &str) -> String {
                format!("{}.{name}", $name::TABLE)
            }
        }
    };
}

table!(
    /// How an agent becomes ready, and how often its bulletin is made again.
    WarmupSettings in "warmup" {
        /// Warm up in the background and refresh the bulletin by itself.
        enabled: bool = true,
        /// Seconds between refreshes of the bulletin. 0 counts as 1. 1800 to 3600 suits busy agents, 7200 to 14400
        /// quiet ones.
        refresh_secs: u64 = 3_600,
        /// Load the embedding model while warming up, and not with the first question.
        eager_embedding_load: bool = true,
        /// Seconds after which a warm-up that has not ended counts as failed.
        pass_timeout_secs: u64 = 30,
    }
);
table!(
    /// How memories fade, are forgotten and are joined.
    CortexSettings in "cortex" {
        /// Hours between maintenance runs. How often it runs changes nothing about how fast importance fades.
        maintenance_interval_hours: u64 = 24,
        /// What remains of a memory's importance after one day without use, once it was idle for `decay_idle_days`.
        decay_factor: f64 = 0.95,
        /// A memory whose importance fell below this is forgotten, if `prune_scope` has it. It can be restored.
        prune_threshold: f64 = 0.1,
        /// What is forgotten by itself. `captured`: only what was captured or generated and nobody ever opened, cited,
        /// linked, pinned or kept, and days are those on which the actor was active. `all`: everything but identity,
        /// by days of the calendar, and what `memory.archive` calls stale is archived.
        prune_scope: PruneScope = PruneScope::Captured,
        /// Days for which a memory is named as about to be put away before it is. 0 puts it away at once.
        announce_days: u64 = 7,
        /// Two memories of one type and scope that are at least this similar become one.
        merge_similarity_threshold: f64 = 0.95,
        /// Memories of different channels that are at least this similar are reduced to the most important one.
        cross_channel_similarity_threshold: f64 = 0.9,
        /// Days without use before importance begins to fade.
        decay_idle_days: u64 = 30,
        /// A memory younger than this many days is never pruned.
        prune_min_age_days: u64 = 0,
        /// Days after which a goal that is done or dropped, or a memory past its date, is archived. What is merely
        /// old and unimportant is archived by `memory.archive_after_days`.
        archive_after_days: u64 = 30,
        /// Changes one maintenance run may propose. What is left waits for the next run.
        maintenance_changes_max: u64 = 500,
        /// Memories one maintenance run compares with the others.
        maintenance_compared_max: u64 = 2_000,
        /// Failures in a row after which a job, a provider or a tool is left alone for a while.
        circuit_breaker_threshold: u32 = 3,
        /// Seconds it is left alone before one try is allowed.
        circuit_breaker_cooldown_secs: u64 = 1_800,
    }
);
table!(
    /// What the memory bulletin holds.
    BulletinSettings in "bulletin" {
        /// Words of the whole bulletin, headings and citations included.
        max_words: usize = 500,
        /// Memories looked at for one section.
        section_limit: usize = 10,
        /// Days after which an event is no longer news.
        recent_days: u64 = 14,
        /// Memories whose importance faded below this are left out.
        min_importance: f64 = 0.25,
        /// Let a model write it when one is configured. Without, it is made from the same memories by rules.
        use_model: bool = true,
        /// Tokens a model may write for one bulletin.
        max_output_tokens: u64 = 1_500,
        /// Seconds to wait for the model.
        model_timeout_secs: u64 = 120,
        /// Bulletins kept for looking back.
        history: usize = 48,
    }
);
table!(
    /// When repeated behaviour is worth a memory.
    PatternSettings in "patterns" {
        /// Look for patterns at all.
        enabled: bool = true,
        /// Minutes between two looks.
        interval_minutes: u64 = 60,
        /// Questions about one topic within `topic_window_days` that make an observation.
        topic_questions: u32 = 5,
        /// Days in which questions about a topic are counted.
        topic_window_days: u64 = 7,
        /// Channels in which a person must say the same about themselves.
        fact_channels: u32 = 2,
        /// Failures of one tool with one kind of error within a day that make an observation.
        tool_failures: u32 = 3,
        /// Different days on which the same thing happens at the same hour.
        habit_days: u32 = 4,
        /// Days in which habits are looked for.
        habit_window_days: u64 = 14,
        /// Corrections about the same topic within 30 days that make an observation.
        corrections: u32 = 3,
        /// Days after the last evidence at which an observation expires.
        expires_after_days: u64 = 60,
    }
);
table!(
    /// What models may cost. Without a provider every limit is zero.
    BudgetSettings in "budget" {
        /// Tokens per day (UTC), in and out, for everything together.
        tokens_per_day: u64 = 500_000,
        /// Money per day in millionths of a dollar, for everything together. 1000000 is one dollar.
        micro_dollars_per_day: u64 = 1_000_000,
        /// Tokens per day for bulletins.
        bulletin_tokens_per_day: u64 = 100_000,
        /// Tokens per day for channels and admin chat.
        chat_tokens_per_day: u64 = 300_000,
        /// Tokens per day for talents.
        talents_tokens_per_day: u64 = 300_000,
        /// Tokens per day for maintenance and compaction.
        maintenance_tokens_per_day: u64 = 50_000,
        /// Money per day for bulletins, in millionths of a dollar.
        bulletin_micro_dollars_per_day: u64 = 200_000,
        /// Money per day for channels and admin chat, in millionths of a dollar.
        chat_micro_dollars_per_day: u64 = 600_000,
        /// Money per day for talents, in millionths of a dollar.
        talents_micro_dollars_per_day: u64 = 600_000,
        /// Money per day for maintenance and compaction, in millionths of a dollar.
        maintenance_micro_dollars_per_day: u64 = 100_000,
        /// Refuse every call to a model, whatever is left.
        kill_switch: bool = false,
    }
);
table!(
    /// When a channel, branch or worker counts as stuck, and what is done about it.
    SupervisionSettings in "supervision" {
        /// Seconds between two looks at all processes.
        tick_secs: u64 = 30,
        /// Seconds without progress inside one call to a model.
        llm_stall_secs: u64 = 600,
        /// Seconds without progress inside one tool.
        tool_stall_secs: u64 = 1_800,
        /// Seconds without progress between calls.
        idle_stall_secs: u64 = 300,
        /// Seconds a worker may live at most, progress or not. 0 is no limit.
        worker_timeout_secs: u64 = 3_600,
        /// Seconds a branch may live at most. 0 is no limit.
        branch_timeout_secs: u64 = 600,
        /// Seconds between asking a process to stop and ending it.
        grace_secs: u64 = 20,
        /// Processes that one look may ask to stop or end.
        kill_budget_per_tick: u32 = 8,
        /// Seconds after which what is known about the processes is too old to act on.
        stale_after_secs: u64 = 120,
    }
);
table!(
    /// How long a conversation may grow.
    ChannelSettings in "channel" {
        /// Tokens of a conversation's context.
        context_tokens: u32 = 128_000,
        /// Share of the context at which its oldest part is put into memory and dropped.
        compact_at: f64 = 0.8,
        /// Share of the messages that one compaction takes.
        compact_share: f64 = 0.3,
        /// Share of the context at which old messages are dropped even if no model answered. Each is stored first.
        emergency_at: f64 = 0.95,
        /// Branches of one channel at the same time.
        branches_max: u32 = 5,
        /// Bytes of one message.
        message_bytes_max: usize = 262_144,
    }
);

/// All tables: what `[defaults]` of `cortex.toml` may hold for the mind.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct MindSettings {
    pub warmup: WarmupSettings,
    pub cortex: CortexSettings,
    pub bulletin: BulletinSettings,
    pub patterns: PatternSettings,
    pub budget: BudgetSettings,
    pub supervision: SupervisionSettings,
    pub channel: ChannelSettings,
    /// Whose rules bind. It is set for the whole home, not for the mind alone.
    #[serde(skip)]
    pub rules: RuleAuthors,
}

impl MindSettings {
    /// Refuses values that make no sense, with the path of the key.
    pub fn validate(&self) -> Result<()> {
        let share = |key: String, value: f64| {
            let fine = value.is_finite() && (0.0..=1.0).contains(&value);
            let reason = format!("is {value}; must be from 0 to 1");
            if fine { Ok(()) } else { Err(MindError::setting(key, reason)) }
        };
        let least = |key: String, value: u64, min: u64| {
            let reason = format!("is {value}; must be at least {min}");
            if value >= min { Ok(()) } else { Err(MindError::setting(key, reason)) }
        };
        let (cortex, channel) = (&self.cortex, &self.channel);
        share(CortexSettings::key("decay_factor"), cortex.decay_factor)?;
        share(CortexSettings::key("prune_threshold"), cortex.prune_threshold)?;
        share(
            CortexSettings::key("merge_similarity_threshold"),
            cortex.merge_similarity_threshold,
        )?;
        let cross = cortex.cross_channel_similarity_threshold;
        share(CortexSettings::key("cross_channel_similarity_threshold"), cross)?;
        share(BulletinSettings::key("min_importance"), self.bulletin.min_importance)?;
        share(ChannelSettings::key("compact_at"), channel.compact_at)?;
        share(ChannelSettings::key("compact_share"), channel.compact_share)?;
        share(ChannelSettings::key("emergency_at"), channel.emergency_at)?;
        if channel.emergency_at < channel.compact_at {
            let reason = "must not be below compact_at";
            return Err(MindError::setting(ChannelSettings::key("emergency_at"), reason));
        }
        least(
            CortexSettings::key("maintenance_interval_hours"),
            cortex.maintenance_interval_hours,
            1,
        )?;
        least(CortexSettings::key("maintenance_changes_max"), cortex.maintenance_changes_max, 1)?;
        let threshold = u64::from(cortex.circuit_breaker_threshold);
        least(CortexSettings::key("circuit_breaker_threshold"), threshold, 1)?;
        least(BulletinSettings::key("max_words"), self.bulletin.max_words as u64, 50)?;
        least(BulletinSettings::key("section_limit"), self.bulletin.section_limit as u64, 1)?;
        least(PatternSettings::key("interval_minutes"), self.patterns.interval_minutes, 1)?;
        least(PatternSettings::key("fact_channels"), u64::from(self.patterns.fact_channels), 2)?;
        let questions = u64::from(self.patterns.topic_questions);
        least(PatternSettings::key("topic_questions"), questions, 2)?;
        least(PatternSettings::key("tool_failures"), u64::from(self.patterns.tool_failures), 2)?;
        least(PatternSettings::key("habit_days"), u64::from(self.patterns.habit_days), 2)?;
        least(PatternSettings::key("corrections"), u64::from(self.patterns.corrections), 2)?;
        least(SupervisionSettings::key("tick_secs"), self.supervision.tick_secs, 1)?;
        least(SupervisionSettings::key("grace_secs"), self.supervision.grace_secs, 1)?;
        least(ChannelSettings::key("context_tokens"), u64::from(channel.context_tokens), 1_000)
    }

    /// Every key of every table.
    pub fn reference() -> Vec<SettingKey> {
        [
            WarmupSettings::reference(),
            CortexSettings::reference(),
            BulletinSettings::reference(),
            PatternSettings::reference(),
            BudgetSettings::reference(),
            SupervisionSettings::reference(),
            ChannelSettings::reference(),
        ]
        .concat()
    }
}

/// The configuration reference as Markdown: every table, its keys, what the presets change.
pub fn reference_markdown() -> String {
    let mut lines = Vec::new();
    let mut table = "";
    for key in MindSettings::reference() {
        if key.table != table {
            table = key.table;
            lines.push(format!(
                "\n## `[{table}]`\n\n| key | default | what it does |\n|---|---|---|"
            ));
        }
        lines.push(format!("| `{}` | `{}` | {} |", key.name, key.default, key.about));
    }
    lines.push("\n## Presets\n\n| preset | keys |\n|---|---|".to_owned());
    for preset in Preset::ALL {
        let changed: Vec<String> =
            preset.changes().into_iter().map(|(key, value)| format!("`{key} = {value}`")).collect();
        lines.push(format!("| {} | {} |", preset.name(), changed.join(", ")));
    }
    lines.join("\n")
}

impl CortexSettings {
    pub fn decay_policy(&self) -> DecayPolicy {
        DecayPolicy {
            idle_before_ms: days_ms(self.decay_idle_days),
            factor: ppm(self.decay_factor),
            period_ms: DAY_MS,
        }
    }
}

/// A share from 0 to 1 in parts per million; values outside are clamped.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the value was clamped to 0..=1_000_000"
)]
pub fn ppm(share: f64) -> Ppm {
    if share.is_nan() { 0 } else { (share.clamp(0.0, 1.0) * 1_000_000.0).round() as Ppm }
}

pub(crate) fn secs_ms(secs: u64) -> i64 {
    i64::try_from(secs).unwrap_or(i64::MAX).saturating_mul(1_000)
}

pub(crate) fn hours_ms(hours: u64) -> i64 {
    secs_ms(hours.saturating_mul(3_600))
}

pub(crate) fn days_ms(days: u64) -> i64 {
    i64::try_from(days).unwrap_or(i64::MAX).saturating_mul(DAY_MS)
}
