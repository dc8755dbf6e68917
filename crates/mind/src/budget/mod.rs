//! What models may cost: tokens and money per day, in total and per purpose, with a hard stop.
//!
//! A call reserves its worst case first and settles with what it really took. What must stay true: spent plus
//! reserved never passes a limit when a call is admitted; without a provider every limit is zero; each line of the
//! ledger says who spent what for which purpose. Money is in millionths of a dollar, so nothing is ever rounded away.

#[cfg(test)]
mod tests;

use api::mind::budget::{DAYS_MAX, LEDGER_MAX};
use std::collections::{BTreeMap, VecDeque};

use kernel::memory::Millis;
use kernel::salience::DAY_MS;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::settings::BudgetSettings;

/// Calls that may be under way at once.
pub const RESERVATIONS_MAX: usize = 256;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Purpose {
    Bulletin,
    Chat,
    Talents,
    Maintenance,
}

impl Purpose {
    pub const ALL: [Purpose; 4] =
        [Purpose::Bulletin, Purpose::Chat, Purpose::Talents, Purpose::Maintenance];

    pub fn name(self) -> &'static str {
        match self {
            Purpose::Bulletin => "bulletin",
            Purpose::Chat => "chat",
            Purpose::Talents => "talents",
            Purpose::Maintenance => "maintenance",
        }
    }

    fn limit(self, settings: &BudgetSettings) -> Cost {
        let (tokens, micro_dollars) = match self {
            Purpose::Bulletin => {
                (settings.bulletin_tokens_per_day, settings.bulletin_micro_dollars_per_day)
            }
            Purpose::Chat => (settings.chat_tokens_per_day, settings.chat_micro_dollars_per_day),
            Purpose::Talents => {
                (settings.talents_tokens_per_day, settings.talents_micro_dollars_per_day)
            }
            Purpose::Maintenance => {
                (settings.maintenance_tokens_per_day, settings.maintenance_micro_dollars_per_day)
            }
        };
        Cost { tokens, micro_dollars }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cost {
    /// Tokens in and out together.
    pub tokens: u64,
    pub micro_dollars: u64,
}

impl Cost {
    pub fn plus(self, other: Cost) -> Cost {
        Cost {
            tokens: self.tokens.saturating_add(other.tokens),
            micro_dollars: self.micro_dollars.saturating_add(other.micro_dollars),
        }
    }
}

/// Why a call may not be made.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum BudgetRefusal {
    #[error("no provider is configured")]
    NoProvider,
    #[error("the kill switch is on")]
    Killed,
    #[error("today's budget has {left} of {limit} tokens left; wanted: {wanted}")]
    Tokens { wanted: u64, left: u64, limit: u64 },
    #[error("today's budget has {left} of {limit} millionths of a dollar left; wanted: {wanted}")]
    Money { wanted: u64, left: u64, limit: u64 },
    #[error("today's budget for {purpose} has {left} of {limit} tokens left; wanted: {wanted}")]
    Purpose { purpose: &'static str, wanted: u64, left: u64, limit: u64 },
    #[error(
        "today's budget for {purpose} has {left} of {limit} millionths of a dollar left; wanted: {wanted}"
    )]
    PurposeMoney { purpose: &'static str, wanted: u64, left: u64, limit: u64 },
    #[error("{RESERVATIONS_MAX} calls are under way")]
    TooMany,
}

impl BudgetRefusal {
    pub fn code(&self) -> &'static str {
        match self {
            BudgetRefusal::NoProvider => "no_provider",
            BudgetRefusal::Killed => "killed",
            BudgetRefusal::Tokens { .. } => "over_tokens",
            BudgetRefusal::Money { .. } => "over_money",
            BudgetRefusal::Purpose { .. } | BudgetRefusal::PurposeMoney { .. } => "over_purpose",
            BudgetRefusal::TooMany => "too_many_calls",
        }
    }
}

/// A call to a model that somebody wants to make.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ModelCall<'a> {
    pub purpose: Purpose,
    /// Job run, channel, talent run: who will be named in the ledger.
    pub who: &'a str,
    /// What the call costs at most.
    pub worst: Cost,
    pub at: Millis,
    /// The worst case counts as spent if nobody settles by then.
    pub until: Millis,
}

/// A call that was admitted and has not ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Reservation {
    id: u64,
    purpose: Purpose,
    /// Job run, channel, talent run: who will be named in the ledger.
    who: String,
    worst: Cost,
    at_unix_ms: i64,
    /// The worst case counts as spent if nobody settles by then.
    until_unix_ms: i64,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LedgerLine {
    pub at_unix_ms: i64,
    pub purpose: Purpose,
    pub who: String,
    pub model: Option<String>,
    pub cost: Cost,
    /// True if the provider never said what it took.
    pub assumed: bool,
}

/// What is left today, for people and programs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct BudgetStatus {
    pub day: String,
    pub kill_switch: bool,
    pub provider: bool,
    pub spent: Cost,
    pub reserved: Cost,
    pub tokens_limit: u64,
    pub micro_dollars_limit: u64,
    pub purposes: Vec<PurposeSpending>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PurposeSpending {
    pub purpose: Purpose,
    pub spent: Cost,
    pub tokens_limit: u64,
    pub micro_dollars_limit: u64,
}

/// The persistent state. Days are numbers of UTC days since 1970.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelBudget {
    days: BTreeMap<i64, BTreeMap<Purpose, Cost>>,
    reservations: BTreeMap<u64, Reservation>,
    ledger: VecDeque<LedgerLine>,
    last_id: u64,
    /// The kill switch as thrown at run time; the settings have one of their own.
    pub killed: bool,
}

impl ModelBudget {
    /// Admits a call, or says why not. `provider` is false when none is configured.
    pub fn reserve(
        &mut self,
        settings: &BudgetSettings,
        provider: bool,
        call: ModelCall<'_>,
    ) -> Result<u64, BudgetRefusal> {
        let ModelCall { purpose, who, worst, at: now, until } = call;
        self.expire(now);
        if self.killed || settings.kill_switch {
            return Err(BudgetRefusal::Killed);
        }
        if !provider {
            return Err(BudgetRefusal::NoProvider);
        }
        if self.reservations.len() == RESERVATIONS_MAX {
            return Err(BudgetRefusal::TooMany);
        }
        let taken = self.spent(now).plus(self.reserved());
        let wanted = worst.tokens;
        let (limit, left) = left_of(settings.tokens_per_day, taken.tokens);
        if wanted > left {
            return Err(BudgetRefusal::Tokens { wanted, left, limit });
        }
        // A call whose price is not known before is refused once the money is spent. Where nothing costs anything,
        // none is ever spent.
        let is_over = |left: u64, taken: u64| worst.micro_dollars > left || left == 0 && taken > 0;
        let money = worst.micro_dollars;
        let (limit, left) = left_of(settings.micro_dollars_per_day, taken.micro_dollars);
        if is_over(left, taken.micro_dollars) {
            return Err(BudgetRefusal::Money { wanted: money, left, limit });
        }
        let of_purpose = self.spent_for(purpose, now).plus(self.reserved_for(purpose));
        let (limits, purpose_name) = (purpose.limit(settings), purpose.name());
        let (limit, left) = left_of(limits.tokens, of_purpose.tokens);
        if wanted > left {
            return Err(BudgetRefusal::Purpose { purpose: purpose_name, wanted, left, limit });
        }
        let (limit, left) = left_of(limits.micro_dollars, of_purpose.micro_dollars);
        if is_over(left, of_purpose.micro_dollars) {
            let (purpose, wanted) = (purpose_name, money);
            return Err(BudgetRefusal::PurposeMoney { purpose, wanted, left, limit });
        }
        self.last_id += 1;
        let reservation = Reservation {
            id: self.last_id,
            purpose,
            who: who.to_owned(),
            worst,
            at_unix_ms: now.get(),
            until_unix_ms: until.get().max(now.get()),
        };
        self.reservations.insert(self.last_id, reservation);
        Ok(self.last_id)
    }

    /// The call ended and took this. False: the reservation is not there (settled before, or expired and counted).
    pub fn settle(&mut self, id: u64, actual: Cost, model: Option<&str>, now: Millis) -> bool {
        let Some(reservation) = self.reservations.remove(&id) else { return false };
        self.book(&reservation, actual, model, false, now);
        true
    }

    /// What the calls of `who` took, reserved before or not. Booked once, however often it is told.
    pub fn paid(
        &mut self,
        purpose: Purpose,
        who: &str,
        cost: Cost,
        model: Option<&str>,
        now: Millis,
    ) {
        if let Some(id) = self.held_by(who) {
            self.settle(id, cost, model, now);
        } else if cost != Cost::default() && self.ledger.iter().all(|line| line.who != who) {
            let (who, at_unix_ms) = (who.to_owned(), now.get());
            let until_unix_ms = at_unix_ms;
            let call = Reservation { id: 0, purpose, who, worst: cost, at_unix_ms, until_unix_ms };
            self.book(&call, cost, model, false, now);
        }
    }

    /// The reservation in somebody's name.
    pub fn held_by(&self, who: &str) -> Option<u64> {
        self.reservations.values().find(|held| held.who == who).map(|held| held.id)
    }

    /// Takes the reservation in somebody's name out, to put another in its place.
    pub(crate) fn lift(&mut self, who: &str) -> Option<Reservation> {
        let id = self.held_by(who)?;
        self.reservations.remove(&id)
    }

    pub(crate) fn put_back(&mut self, reservation: Reservation) {
        self.reservations.insert(reservation.id, reservation);
    }

    /// The call was never made.
    pub fn release(&mut self, id: u64) -> bool {
        self.reservations.remove(&id).is_some()
    }

    /// Calls that never came back count as their worst case.
    pub fn expire(&mut self, now: Millis) {
        let over: Vec<u64> = self
            .reservations
            .values()
            .filter(|reservation| reservation.until_unix_ms < now.get())
            .map(|reservation| reservation.id)
            .collect();
        for id in over {
            if let Some(reservation) = self.reservations.remove(&id) {
                self.book(&reservation, reservation.worst, None, true, now);
            }
        }
    }

    fn book(
        &mut self,
        reservation: &Reservation,
        cost: Cost,
        model: Option<&str>,
        assumed: bool,
        now: Millis,
    ) {
        let day = self.days.entry(day_of(now)).or_default();
        let total = day.entry(reservation.purpose).or_default();
        *total = total.plus(cost);
        while self.days.len() > DAYS_MAX {
            self.days.pop_first();
        }
        if self.ledger.len() == LEDGER_MAX {
            self.ledger.pop_front();
        }
        self.ledger.push_back(LedgerLine {
            at_unix_ms: now.get(),
            purpose: reservation.purpose,
            who: reservation.who.clone(),
            model: model.map(str::to_owned),
            cost,
            assumed,
        });
    }

    /// Spent on the UTC day of `now`.
    pub fn spent(&self, now: Millis) -> Cost {
        let purposes = self.days.get(&day_of(now)).into_iter().flat_map(BTreeMap::values);
        purposes.fold(Cost::default(), |sum, cost| sum.plus(*cost))
    }

    pub fn spent_for(&self, purpose: Purpose, now: Millis) -> Cost {
        let day = self.days.get(&day_of(now));
        day.and_then(|day| day.get(&purpose)).copied().unwrap_or_default()
    }

    /// The last days on which something was spent, the oldest first, out of as many as are asked for.
    pub fn spent_days(
        &self,
        days: usize,
        now: Millis,
    ) -> impl Iterator<Item = (Millis, &BTreeMap<Purpose, Cost>)> {
        let (today, days) = (day_of(now), i64::try_from(days).unwrap_or(i64::MAX));
        let span = self.days.iter().filter(move |(day, _)| (0..days).contains(&(today - **day)));
        span.map(|(day, purposes)| (Millis(day.saturating_mul(DAY_MS)), purposes))
    }

    pub fn reserved(&self) -> Cost {
        self.reservations.values().fold(Cost::default(), |sum, held| sum.plus(held.worst))
    }

    fn reserved_for(&self, purpose: Purpose) -> Cost {
        let held = self.reservations.values().filter(|held| held.purpose == purpose);
        held.fold(Cost::default(), |sum, held| sum.plus(held.worst))
    }

    /// Newest last.
    pub fn ledger(&self) -> impl DoubleEndedIterator<Item = &LedgerLine> {
        self.ledger.iter()
    }

    pub fn view(&self, settings: &BudgetSettings, provider: bool, now: Millis) -> BudgetStatus {
        let limit = |limit: u64| if provider { limit } else { 0 };
        let purpose = |purpose: Purpose| PurposeSpending {
            purpose,
            spent: self.spent_for(purpose, now),
            tokens_limit: limit(purpose.limit(settings).tokens),
            micro_dollars_limit: limit(purpose.limit(settings).micro_dollars),
        };
        BudgetStatus {
            day: now.date(),
            kill_switch: self.killed || settings.kill_switch,
            provider,
            spent: self.spent(now),
            reserved: self.reserved(),
            tokens_limit: limit(settings.tokens_per_day),
            micro_dollars_limit: limit(settings.micro_dollars_per_day),
            purposes: Purpose::ALL.map(purpose).to_vec(),
        }
    }
}

fn left_of(limit: u64, taken: u64) -> (u64, u64) {
    (limit, limit.saturating_sub(taken))
}

fn day_of(now: Millis) -> i64 {
    now.get().div_euclid(DAY_MS)
}
