//! What was told to whom, as far back as this process remembers.

use api::read::GetRequest;
use api::search::NamedView;
use api::telling::{TELLINGS_PAGE_MAX, TellingView, TellingsAnswer, TellingsRequest};
use service::Caller;
use service::access::for_owner;
use service::error::{Error, Result};

use crate::feed::Telling;
use crate::home::Host;

const TELLINGS_DEFAULT: usize = 50;

impl Host {
    pub fn tellings(&self, caller: &Caller, request: TellingsRequest) -> Result<TellingsAnswer> {
        for_owner(caller)?;
        let limit = request.limit.unwrap_or(TELLINGS_DEFAULT);
        if !(1..=TELLINGS_PAGE_MAX).contains(&limit) {
            let reason = format!("must lie between 1 and {TELLINGS_PAGE_MAX}");
            return Err(Error::invalid("limit", reason));
        }
        let (found, newest, capped) = {
            let all = self.feed.tellings();
            let Some(of) = all.get(&caller.actor) else {
                return Ok(TellingsAnswer { capped: true, ..TellingsAnswer::default() });
            };
            let wanted = |telling: &&Telling| {
                request.after.is_none_or(|after| telling.number > after)
                    && request.by.as_ref().is_none_or(|by| telling.by == *by)
                    && request.memory_id.is_none_or(|id| telling.ids.contains(&id))
            };
            let found: Vec<Telling> =
                of.kept.iter().rev().filter(wanted).take(limit).cloned().collect();
            let oldest = of.kept.front().map_or(0, |telling| telling.number);
            (found, of.newest, request.after.is_none_or(|after| after + 1 < oldest))
        };
        let tellings = found.into_iter().map(|telling| self.telling_view(caller, telling));
        Ok(TellingsAnswer { tellings: tellings.collect(), newest, capped })
    }

    fn telling_view(&self, caller: &Caller, telling: Telling) -> TellingView {
        let named = |id: &u64| {
            let request = GetRequest {
                id: *id,
                quiet: true,
                include_put_away: true,
                ..GetRequest::default()
            };
            let memory = self.service.get(caller, request).ok()?.memory;
            (!memory.erased).then_some(NamedView { id: *id, title: memory.title })
        };
        TellingView {
            number: telling.number,
            at: telling.at.rfc3339(),
            by: telling.by,
            author: telling.author,
            operation: telling.operation.to_owned(),
            project: telling.project,
            question: telling.question,
            memories: telling.ids.iter().filter_map(named).collect(),
            total: telling.total,
        }
    }
}
