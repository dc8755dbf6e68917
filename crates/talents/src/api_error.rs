//! Errors of this crate as operations tell them: the same code, whose fault it is, and what to do.

use api::run::RunRejection;
use api::{Error, ErrorCode, Fault};

use crate::NameError;
use crate::bus::BusClientError;
use crate::chronicle::ChronicleError;
use crate::talent_files::{RenderError, TalentError};
use crate::think::ThinkError;

impl From<BusClientError> for Error {
    fn from(error: BusClientError) -> Error {
        let fault = match error.code() {
            "no_bus" | "unknown_talent" | "unknown_service" | "no_such_run" => Fault::Missing,
            "id_taken" | "provider_mismatch" | "reserved" => Fault::Conflict,
            "outbox_full" | "no_answer" | "connection_lost" | "busy" | "queue_full"
            | "too_many_clients" | "too_many_replays" | "shutting_down" | "not_served" => {
                Fault::Busy
            }
            "log_failed" | "log_unreadable" | "internal" => Fault::Server,
            _ => Fault::Caller,
        };
        let told = Error::new(ErrorCode::named(error.code()), fault, error.to_string());
        match error.code() {
            "no_bus" => {
                told.with_hint("`cortex serve` starts the daemon; `cortex status` shows it")
            }
            "unknown_talent" => told.with_hint("`cortex talent list` shows all"),
            _ => told,
        }
    }
}

impl From<NameError> for Error {
    fn from(error: NameError) -> Error {
        Error::new(ErrorCode::named(error.code()), Fault::Caller, error.to_string())
    }
}

impl From<NameError> for RunRejection {
    fn from(error: NameError) -> RunRejection {
        RunRejection::new(error.code(), error.to_string())
    }
}

impl From<ChronicleError> for Error {
    fn from(error: ChronicleError) -> Error {
        let fault = match &error {
            ChronicleError::Io { source, .. } => match source.kind() {
                std::io::ErrorKind::NotFound => Fault::Missing,
                _ => Fault::Server,
            },
            ChronicleError::Unreadable { .. }
            | ChronicleError::Name(_)
            | ChronicleError::Outside { .. }
            | ChronicleError::Empty(_) => Fault::Caller,
            ChronicleError::NoSegment { .. } | ChronicleError::NoFacet { .. } => Fault::Missing,
            ChronicleError::FacetExists(_) => Fault::Conflict,
        };
        let told = Error::new(ErrorCode::named(error.code()), fault, error.to_string());
        match error {
            ChronicleError::NoSegment { day, .. } => {
                told.with_hint(format!("`cortex chronicle list {day}` shows those there are"))
            }
            ChronicleError::NoFacet { .. } => told.with_hint("`cortex facet add` makes one"),
            _ => told,
        }
    }
}

impl From<TalentError> for Error {
    fn from(error: TalentError) -> Error {
        let (fault, hint) = match &error {
            TalentError::Unknown { .. } => (Fault::Missing, "`cortex talent list` shows all"),
            TalentError::Broken { .. } => (Fault::Caller, "`cortex talent check` tells all"),
        };
        Error::new(ErrorCode::named(error.code()), fault, error.to_string()).with_hint(hint)
    }
}

impl From<RenderError> for Error {
    fn from(error: RenderError) -> Error {
        Error::new(ErrorCode::TemplateFailed, Fault::Caller, error.to_string())
    }
}

impl From<ThinkError> for Error {
    fn from(error: ThinkError) -> Error {
        let (code, message) = (ErrorCode::named(error.code()), error.to_string());
        match error {
            ThinkError::Talent(error) => error.into(),
            ThinkError::Chronicle(error) => error.into(),
            ThinkError::NoDay(_) => Error::new(code, Fault::Missing, message)
                .with_hint("`cortex chronicle list` shows the days there are"),
            ThinkError::NoSegment { .. } => Error::new(code, Fault::Missing, message)
                .with_hint("`cortex chronicle list` shows the segments there are"),
            ThinkError::NotScheduled { name, .. } => Error::new(code, Fault::Caller, message)
                .with_hint(format!(
                    "`cortex talent run {name}` runs it; `cortex talent list` shows the schedules"
                )),
        }
    }
}
