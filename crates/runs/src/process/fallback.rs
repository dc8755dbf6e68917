//! Another provider in place of one that cannot answer: when, which one, and how it is told.
//!
//! What must stay true: nobody is replaced whom the request named, or with whom a conversation goes on; the change
//! is an event of the run; if both fail, both failures are told.

use api::run::FallbackPayload;

use super::TalentProcess;
use super::error::RunError;
use super::events::{Events, OutputClosedError};
use super::prepare::PreparedRun;
use super::request::TalentRequest;
use llm::models::ModelChoice;
use llm::providers::{ProviderError, ReasonCode};

/// Who is asked after this failure; nobody if another would fail the same way, or must not step in.
pub(super) fn of(
    process: &TalentProcess,
    request: &TalentRequest,
    prepared: &PreparedRun,
    error: &ProviderError,
) -> Option<ModelChoice> {
    let elsewhere = matches!(
        error.reason,
        ReasonCode::KeyInvalid
            | ReasonCode::QuotaExceeded
            | ReasonCode::Unavailable
            | ReasonCode::NetworkUnreachable
    );
    let wanted = request.provider.is_some() || request.model.is_some();
    let talks = request.session_id.is_some() || request.chat_id.is_some();
    if !elsewhere || wanted || talks {
        return None;
    }
    process.resolver.fallback(&prepared.choice)
}

pub(super) async fn tell(
    events: &Events,
    from: &ModelChoice,
    to: &ModelChoice,
    reason: &str,
    error: &ProviderError,
) -> Result<(), OutputClosedError> {
    let change = FallbackPayload {
        original_provider: Some(from.provider.clone()),
        backup_provider: Some(to.provider.clone()),
        provider: Some(to.provider.clone()),
        model: Some(to.model.clone()),
        reason: Some(reason.to_owned()),
        reason_code: Some(error.code().to_owned()),
        error: Some(error.to_string()),
    };
    events.emit(change).await
}

/// Both have failed: the first says why the run ended, the second why nobody could help.
pub(super) fn both(
    from: &ModelChoice,
    first: ProviderError,
    to: &ModelChoice,
    second: &ProviderError,
) -> RunError {
    let message = format!("{first}; {}, the fallback: {second}", to.provider);
    RunError::Provider {
        provider: from.provider.clone(),
        error: ProviderError { message, ..first },
    }
}
