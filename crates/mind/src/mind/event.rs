//! What the mind is told and what it wants done: its events, its effects, and the model that may write for it.

use kernel::memory::Millis;

use crate::audience::Audience;
use crate::budget::{Cost, Purpose};
use crate::bulletin::{Bulletin, BulletinInput, ModelPrompt, ModelUse};
use crate::maintenance::MaintenanceState;
use crate::supervision::{ProcessEvent, SupervisionEffect};
use crate::warmup::{ProcessType, WarmStep};

/// The model that is configured, and what it costs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelProvider {
    pub name: String,
    /// Millionths of a dollar for a million tokens.
    pub input_price: u64,
    pub output_price: u64,
}

impl ModelProvider {
    /// What a call costs at most.
    pub fn worst(&self, prompt: &ModelPrompt) -> Cost {
        let input = prompt.worst_tokens().saturating_sub(prompt.max_output_tokens);
        let output = prompt.max_output_tokens;
        let price = |tokens: u64, price: u64| tokens.saturating_mul(price).div_ceil(1_000_000);
        Cost {
            tokens: prompt.worst_tokens(),
            micro_dollars: price(input, self.input_price) + price(output, self.output_price),
        }
    }
}

/// A model's answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelAnswer {
    pub text: String,
    pub model: String,
    pub cost: Cost,
}

/// Why a model gave no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelFailure {
    pub why: String,
    /// Nobody was reached, so nobody can have charged for it.
    pub is_unsent: bool,
}

impl From<String> for ModelFailure {
    fn from(why: String) -> ModelFailure {
        ModelFailure { why, is_unsent: false }
    }
}

/// What happened. Each effect that has an answer names the event that brings it.
#[derive(Clone, Debug)]
pub enum MindEvent {
    Tick,
    /// The answer to `MindEffect::Gather`, with the run, audience and model of the effect.
    Gathered {
        run: String,
        audience: Audience,
        model: ModelUse,
        outcome: std::result::Result<BulletinInput, String>,
    },
    /// The answer to `MindEffect::AskModel`.
    Answered {
        run: String,
        outcome: std::result::Result<ModelAnswer, ModelFailure>,
    },
    /// The answer to `MindEffect::Warm`.
    Warmed {
        pass: u64,
        step: WarmStep,
        outcome: std::result::Result<(), String>,
    },
    /// The answer to `MindEffect::Maintain`, with the state that the plan left.
    Maintained {
        run: String,
        outcome: std::result::Result<(String, MaintenanceState), String>,
    },
    /// The answer to `MindEffect::WritePages`.
    PagesWritten {
        run: String,
        outcome: std::result::Result<String, String>,
    },
    /// The answer to `MindEffect::FindPatterns`.
    PatternsFound {
        run: String,
        outcome: std::result::Result<String, String>,
    },
    Process(ProcessEvent),
    /// A channel, branch, worker or scheduled run begins.
    Dispatched(ProcessType),
}

/// What the daemon is to do.
#[derive(Clone, Debug, PartialEq)]
pub enum MindEffect {
    /// Call `bulletin::gather` for this audience. `model` belongs to the run and comes back with the answer.
    Gather {
        run: String,
        audience: Audience,
        model: ModelUse,
    },
    /// Ask the provider; a reservation is made. `MindEvent::Answered` settles it.
    AskModel {
        run: String,
        purpose: Purpose,
        prompt: Box<ModelPrompt>,
        deadline: Millis,
    },
    /// Put it where conversations of its audience read it.
    Publish(Box<Bulletin>),
    /// Open the store, or load the embedder.
    Warm {
        pass: u64,
        step: WarmStep,
    },
    /// Call `maintenance::plan` with `Mind::maintenance` and `proposal::carry_out`.
    Maintain {
        run: String,
    },
    /// Begin a look with `Mind::patterns_input`, give it back with `Mind::apply_patterns`, and call
    /// `proposal::carry_out`.
    FindPatterns {
        run: String,
    },
    /// Ask every question that stands, and let a model word what is new.
    WritePages {
        run: String,
        model: ModelUse,
    },
    /// Stop the work of a run. `force` is true if it was asked to stop before.
    StopJob {
        job: String,
        run: String,
        force: bool,
    },
    Supervise(SupervisionEffect),
    /// Log a warning and count `cold_dispatch_total`.
    ColdDispatch {
        agent_id: String,
        process_type: ProcessType,
    },
    /// Write `Mind::state` to disk.
    Persist,
}
