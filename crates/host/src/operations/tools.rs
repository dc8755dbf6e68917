//! Tools of other servers: which a talent has, one call for a run, and the calls that wait for a person.

use api::server_tools::{
    ApprovalView, ApprovalsAnswer, ApprovalsRequest, DecideRequest, ServerToolsAnswer,
    ServerToolsRequest, ToolUseAnswer, ToolUseRequest,
};
use api::{ErrorCode, Fault};
use service::Caller;
use service::error::{Error, Result};
use talents::talent_files::{Talent, TalentCatalog};
use talents::{Layout, TalentName};

use crate::home::Host;
use crate::run_control::ActiveRun;

impl Host {
    fn talent(&self, name: &str) -> Result<Talent> {
        let name = TalentName::parse(name).map_err(api::Error::from)?;
        let catalog = TalentCatalog::open(&Layout::new(self.folder()).talents());
        Ok(catalog.find(&name).map_err(api::Error::from)?)
    }

    fn live(&self) -> Vec<ActiveRun> {
        self.run_control_if_there().map(|runs| runs.live()).unwrap_or_default()
    }

    pub fn server_tools(
        &self,
        caller: &Caller,
        request: ServerToolsRequest,
    ) -> Result<ServerToolsAnswer> {
        service::access::only_owner(caller, "use tools of others")?;
        let allowed = self.talent(&request.talent)?.front.tools.unwrap_or_default();
        let Some(servers) = self.tool_servers() else { return Ok(ServerToolsAnswer::default()) };
        let (tools, problems) = servers.list(&allowed);
        Ok(ServerToolsAnswer { tools, problems })
    }

    /// Only a run that goes on uses tools, and only those that its own talent's file names.
    pub fn tool_use(&self, caller: &Caller, request: ToolUseRequest) -> Result<ToolUseAnswer> {
        service::access::only_owner(caller, "use tools of others")?;
        let Some(run) = self.live().into_iter().find(|run| run.use_id == request.run) else {
            let why = format!("no run {} goes on", request.run);
            return Err(api::Error::new(ErrorCode::RunEnded, Fault::Conflict, why).into());
        };
        let Some(servers) = self.tool_servers() else {
            let why = "no server is set up in [tools.servers]";
            return Err(api::Error::new(ErrorCode::NotServed, Fault::Caller, why).into());
        };
        let allowed = self.talent(&run.talent)?.front.tools.unwrap_or_default();
        let now = caller.now()?.get();
        Ok(servers.use_tool(&request, &run.talent, &allowed, now)?)
    }

    pub fn approvals(&self, caller: &Caller, _: ApprovalsRequest) -> Result<ApprovalsAnswer> {
        service::access::only_owner(caller, "see what waits for an approval")?;
        let live = self.live();
        let is_live = |run: &str| live.iter().any(|one| one.use_id == run);
        let servers = self.tool_servers();
        let approvals = servers.map(|servers| servers.approvals(is_live)).unwrap_or_default();
        Ok(ApprovalsAnswer { approvals })
    }

    /// A person decides; a run that could say yes to itself would ask nobody.
    pub fn decide(&self, caller: &Caller, request: DecideRequest) -> Result<ApprovalView> {
        service::access::only_owner(caller, "decide about a tool")?;
        if !caller.author.is_person() {
            let why = "only a person says whether a tool is used";
            let error = api::Error::new(ErrorCode::PersonNeeded, Fault::Forbidden, why);
            return Err(error.with_hint("`cortex talent approve ID`, at a terminal").into());
        }
        let live = self.live();
        let is_live = |run: &str| live.iter().any(|one| one.use_id == run);
        let Some(servers) = self.tool_servers() else {
            return Err(Error::from(api::Error::new(
                ErrorCode::NotFound,
                Fault::Missing,
                format!("no call {} waits for an approval", request.id),
            )));
        };
        Ok(servers.decide(&request.id, request.approve, is_live)?)
    }
}
