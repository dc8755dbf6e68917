//! The root, proofs for whoever trusts nothing else, and the grants that let others in.

use axum::extract::State;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::input::{Asker, Body, Id, Name, QueryParameters};
use crate::problem::Problem;
use crate::{App, Reply, created, listed};
use api::grants::{
    GrantAnswer, GrantListRequest, GrantRequest, GrantView, RevokeAnswer, RevokeRequest,
};
use api::proof::{ProveAnswer, ProveRequest, RootAnswer, RootRequest, VerifyAnswer, VerifyRequest};
use host::Host;
use host::pools::WorkKind;
use service::bearer::Bearers;

/// The root that commits to everything that is remembered.
#[utoipa::path(
    get, path = "/api/root", tag = "proofs", operation_id = "get_root",
    responses((status = 200, description = "The root", body = RootAnswer)),
)]
pub(super) async fn root(State(app): State<App>, Asker(caller): Asker) -> Reply {
    app.reply(caller, RootRequest {}).await
}

#[derive(Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(default, deny_unknown_fields)]
pub(super) struct ProveParameters {
    /// For the state of this snapshot instead of now.
    snapshot: Option<u64>,
}

/// A proof that a memory is there and says what it says, or that none has this id.
#[utoipa::path(
    get, path = "/api/observations/{id}/proof", tag = "proofs", operation_id = "prove_observation",
    params(("id" = u64, Path, minimum = 1), ProveParameters),
    responses((status = 200, description = "The proof", body = ProveAnswer)),
)]
pub(super) async fn prove(
    State(app): State<App>,
    Asker(caller): Asker,
    Id(id): Id,
    QueryParameters(asked): QueryParameters<ProveParameters>,
) -> Reply {
    app.reply(caller, ProveRequest { id, snapshot: asked.snapshot }).await
}

/// Checks a proof by itself, without looking at what is remembered here.
#[utoipa::path(
    post, path = "/api/proofs/verify", tag = "proofs", operation_id = "verify_proof",
    request_body = VerifyRequest,
    responses((status = 200, description = "What it proves", body = VerifyAnswer)),
)]
pub(super) async fn verify(State(app): State<App>, Asker(caller): Asker, body: Body) -> Reply {
    let request: VerifyRequest = body.read()?;
    app.reply(caller, request).await
}

/// The grants: for whom, for what, until when, how often used.
#[utoipa::path(
    get, path = "/api/scopes", tag = "proofs", operation_id = "list_scopes",
    responses((status = 200, description = "All of them, oldest first", body = [GrantView])),
)]
pub(super) async fn scopes(State(app): State<App>, Asker(caller): Asker) -> Reply {
    let answer = app.ask(caller, GrantListRequest {}).await?;
    listed(&answer.grants, 0, answer.grants.len())
}

#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Granted)]
pub(super) struct GrantReply {
    #[serde(flatten)]
    grant: GrantAnswer,
    /// A bearer token that stands for the grant, told once. Absent if the delegate brought a key of its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    token: Option<String>,
}

/// Lets somebody else read or change a part, until a time. The token is in this answer and nowhere else.
#[utoipa::path(
    post, path = "/api/scopes", tag = "proofs", operation_id = "grant_scope",
    request_body = GrantRequest,
    responses((status = 201, description = "The grant", body = GrantReply)),
)]
pub(super) async fn grant(State(app): State<App>, Asker(caller): Asker, body: Body) -> Reply {
    let request: GrantRequest = body.read()?;
    let give = move |ops: &Host| {
        let mut grant = ops.service.grant(&caller, request)?;
        let mut drawn = [0; 32];
        caller.environment.fill(&mut drawn)?;
        let token = match &grant.file.secret_key {
            Some(_) => {
                let bearers = Bearers::new(ops.folder());
                let token = bearers.issue(&grant.file, drawn, caller.now()?)?;
                share_bearer(ops, &bearers, &token)?;
                Some(token)
            }
            None => None,
        };
        // The key stays here; whoever shows the token is signed for.
        grant.file.secret_key = None;
        Ok(GrantReply { grant, token })
    };
    Ok(created(&app.run(WorkKind::Write, give).await?))
}

#[derive(Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(default, deny_unknown_fields)]
pub(super) struct RevokeParameters {
    reason: Option<String>,
}

/// Takes a grant back, and with it everything made from it.
#[utoipa::path(
    delete, path = "/api/scopes/{id}", tag = "proofs", operation_id = "revoke_scope",
    params(("id" = String, Path), RevokeParameters),
    responses((status = 200, description = "It is revoked", body = RevokeAnswer)),
)]
pub(super) async fn revoke(
    State(app): State<App>,
    Asker(caller): Asker,
    Name(id): Name,
    QueryParameters(asked): QueryParameters<RevokeParameters>,
) -> Reply {
    app.reply(caller, RevokeRequest { id, reason: asked.reason }).await
}

/// In a cluster the token of a grant counts at every node.
fn share_bearer(ops: &Host, bearers: &Bearers, token: &str) -> Result<(), Problem> {
    let (Some(node), Some(name)) = (ops.node(), Bearers::name(token)) else { return Ok(()) };
    if let Some(kept) = bearers.kept_text(token)? {
        let shared = node.ledger.wait(node.ledger.keep_bearer(&name, &kept));
        shared.map_err(daemon::cluster_host::told)?;
    }
    Ok(())
}
