//! The texts of talents: read, checked, written and taken out, for the person whose home it is.
//!
//! What must stay true: a text is written only by a person, because it says what is done in their name; what was there
//! before comes back with the answer, so that the change can be taken back.

use std::path::PathBuf;

use api::{Error, ErrorCode, Fault};
use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::IntoResponse;
use host::pools::WorkKind;
use serde::{Deserialize, Serialize};
use service::Caller;
use service::access::for_owner;
use talents::TalentName;
use talents::talent_files::TalentProblem;
use talents::talent_files::text::{self, TalentTextError};
use utoipa::ToSchema;

use crate::input::{Asker, Body, Name};
use crate::problem::Problem;
use crate::run_lookup::talents_host;
use crate::{App, Reply};

/// What a talent says.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct TalentTextView {
    name: String,
    /// `system` if it is in the program, `user` if it is a file of the home.
    source: String,
    text: String,
    /// There is one of this name in the program, which holds again when the file is taken out.
    is_built_in: bool,
    problems: Vec<TalentProblemView>,
}

#[derive(Debug, Serialize, ToSchema)]
pub(super) struct TalentProblemView {
    line: usize,
    /// `error`: it is not used. `warning`: a part of it has no effect.
    severity: String,
    reason: String,
}

/// Other words for a talent.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct TalentEdit {
    /// What it is to say; absent: the file of the home is taken out.
    text: Option<String>,
    /// What the file of the home said when the edit began; absent if there was none.
    before: Option<String>,
    /// Only say what would be wrong.
    dry_run: bool,
}

/// What became of an edit.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct TalentEditOutcome {
    /// False if something is wrong with it, or if it was only to be checked.
    saved: bool,
    problems: Vec<TalentProblemView>,
}

/// What a talent says, and what is wrong with it. For the owner.
#[utoipa::path(
    get, path = "/api/talents/{name}", tag = "runs", operation_id = "get_talent",
    params(("name" = String, Path, description = "The talent")),
    responses(
        (status = 200, description = "Its text", body = TalentTextView),
        (status = 404, description = "There is no such talent"),
    ),
)]
pub(super) async fn read(State(app): State<App>, Asker(caller): Asker, Name(name): Name) -> Reply {
    for_owner(&caller)?;
    let (folder, name) = place(&app, &name)?;
    let view = app
        .run(WorkKind::Read, move |_| {
            let found = text::read(&folder, &name).map_err(|error| refused(&error))?;
            let found = found.ok_or_else(|| refused(&TalentTextError::Unknown(name.clone())))?;
            Ok(TalentTextView {
                problems: views(&text::check(&folder, &name, &found.text)),
                name: name.to_string(),
                source: found.source.as_str().to_owned(),
                text: found.text,
                is_built_in: found.is_built_in,
            })
        })
        .await?;
    Ok(Json(view).into_response())
}

/// Writes other words for a talent into the home, or takes them out, after a check. What somebody changed meanwhile is
/// not overwritten. For the owner.
#[utoipa::path(
    put, path = "/api/talents/{name}", tag = "runs", operation_id = "edit_talent",
    params(("name" = String, Path, description = "The talent")),
    request_body = TalentEdit,
    responses(
        (status = 200, description = "Whether it was written, and what is wrong with it", body = TalentEditOutcome),
        (status = 409, description = "It says something else than what the edit began with"),
    ),
)]
pub(super) async fn write(
    State(app): State<App>,
    Asker(caller): Asker,
    Name(name): Name,
    body: Body,
) -> Reply {
    by_person(&caller)?;
    let (folder, name) = place(&app, &name)?;
    let edit: TalentEdit = body.read()?;
    let edited = app
        .run(WorkKind::Write, move |_| {
            let words = edit.text.as_deref();
            let problems = if edit.dry_run {
                text::check(&folder, &name, words.unwrap_or_default())
            } else {
                text::write(&folder, &name, words, edit.before.as_deref())
                    .map_err(|error| refused(&error))?
            };
            let is_sound = !problems.iter().any(TalentProblem::is_error);
            Ok(TalentEditOutcome { saved: is_sound && !edit.dry_run, problems: views(&problems) })
        })
        .await?;
    Ok(Json(edited).into_response())
}

fn by_person(caller: &Caller) -> Result<(), Problem> {
    for_owner(caller)?;
    if caller.author.is_person() {
        return Ok(());
    }
    let message = "talents are changed by a person";
    Err(Error::new(ErrorCode::PersonNeeded, Fault::Forbidden, message).into())
}

/// The folder of the user's talents, and the name that a path has.
fn place(app: &App, name: &str) -> Result<(PathBuf, TalentName), Problem> {
    let name = TalentName::parse(name)
        .map_err(|error| Problem::bad(ErrorCode::named(error.code()), error.to_string()))?;
    Ok((talents_host(app)?.context()?.layout.talents(), name))
}

fn refused(error: &TalentTextError) -> Problem {
    let message = error.to_string();
    match error {
        TalentTextError::Unknown(_) => {
            Problem::new(StatusCode::NOT_FOUND, ErrorCode::named("unknown_talent"), message)
        }
        TalentTextError::Overtaken(_) => {
            Problem::new(StatusCode::CONFLICT, ErrorCode::VersionConflict, message)
                .with_hint("read it again")
        }
        TalentTextError::TooLong => {
            Problem::new(StatusCode::UNPROCESSABLE_ENTITY, ErrorCode::TooLong, message)
        }
        TalentTextError::Io { .. } => Error::new(ErrorCode::Io, Fault::Server, message).into(),
    }
}

fn views(problems: &[TalentProblem]) -> Vec<TalentProblemView> {
    let view = |problem: &TalentProblem| TalentProblemView {
        line: problem.line,
        severity: if problem.is_error() { "error" } else { "warning" }.to_owned(),
        reason: problem.reason.clone(),
    };
    problems.iter().map(view).collect()
}
