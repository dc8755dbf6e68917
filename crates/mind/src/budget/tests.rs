//! The budget over days, under any order of calls.

use proptest::prelude::*;

use super::*;

const DAY: i64 = DAY_MS;

fn limits() -> BudgetSettings {
    BudgetSettings {
        tokens_per_day: 1_000,
        micro_dollars_per_day: 5_000,
        bulletin_tokens_per_day: 300,
        chat_tokens_per_day: 900,
        ..BudgetSettings::default()
    }
}

/// A call at the beginning of time.
fn call(purpose: Purpose, worst: Cost) -> ModelCall<'static> {
    ModelCall { purpose, who: "x", worst, at: Millis(0), until: Millis(1) }
}

fn cost(tokens: u64) -> Cost {
    Cost { tokens, micro_dollars: tokens }
}

fn ask(
    budget: &mut ModelBudget,
    purpose: Purpose,
    tokens: u64,
    now: i64,
) -> Result<u64, BudgetRefusal> {
    let until = Millis(now + 60_000);
    let call = ModelCall { purpose, who: "a run", worst: cost(tokens), at: Millis(now), until };
    budget.reserve(&limits(), true, call)
}

// section 11, point 9
#[test]
fn limits_stop_a_call_before_it_is_made() {
    let mut budget = ModelBudget::default();
    let id = ask(&mut budget, Purpose::Bulletin, 300, 0).unwrap();
    let refusal = ask(&mut budget, Purpose::Bulletin, 1, 0).unwrap_err();
    assert_eq!(refusal.code(), "over_purpose");
    ask(&mut budget, Purpose::Chat, 700, 0).unwrap();
    assert_eq!(ask(&mut budget, Purpose::Talents, 1, 0).unwrap_err().code(), "over_tokens");
    assert!(budget.settle(id, cost(100), Some("m"), Millis(1)));
    assert!(!budget.settle(id, cost(100), Some("m"), Millis(1)), "once");
    ask(&mut budget, Purpose::Talents, 200, 0).unwrap();
    let line = budget.ledger().next_back().unwrap();
    assert_eq!((line.who.as_str(), line.cost.tokens, line.assumed), ("a run", 100, false));
}

// Issue 6: money too, in total and per purpose, with a hard stop
#[test]
fn money_is_limited_per_purpose_and_stops_calls_of_unknown_price() {
    let settings = BudgetSettings {
        micro_dollars_per_day: 1_000,
        chat_micro_dollars_per_day: 600,
        ..BudgetSettings::default()
    };
    let mut budget = ModelBudget::default();
    let mut ask = |purpose, micro_dollars| {
        let worst = Cost { tokens: 1, micro_dollars };
        let id = budget.reserve(&settings, true, call(purpose, worst))?;
        budget.settle(id, worst, None, Millis(0));
        Ok::<(), BudgetRefusal>(())
    };
    assert_eq!(ask(Purpose::Chat, 500), Ok(()));
    let refusal = ask(Purpose::Chat, 101).unwrap_err();
    assert_eq!((refusal.code(), refusal.to_string().contains("for chat")), ("over_purpose", true));
    assert_eq!(ask(Purpose::Chat, 100), Ok(()));
    assert_eq!(ask(Purpose::Chat, 0).unwrap_err().code(), "over_purpose", "its money is gone");
    assert_eq!(ask(Purpose::Talents, 400), Ok(()));
    assert_eq!(ask(Purpose::Bulletin, 0).unwrap_err().code(), "over_money");
    // Where nothing costs anything, no money is needed.
    let free = BudgetSettings { micro_dollars_per_day: 0, ..settings };
    let worst = Cost { tokens: 1, micro_dollars: 0 };
    assert!(ModelBudget::default().reserve(&free, true, call(Purpose::Chat, worst)).is_ok());
}

#[test]
fn without_a_provider_every_limit_is_zero() {
    let mut budget = ModelBudget::default();
    let asked = budget.reserve(&limits(), false, call(Purpose::Chat, cost(0)));
    assert_eq!(asked, Err(BudgetRefusal::NoProvider));
    let view = budget.view(&limits(), false, Millis(0));
    assert_eq!((view.tokens_limit, view.micro_dollars_limit), (0, 0));
    assert!(view.purposes.iter().all(|purpose| purpose.tokens_limit == 0));
}

#[test]
fn the_kill_switch_refuses_everything_until_it_is_released() {
    let mut budget = ModelBudget { killed: true, ..ModelBudget::default() };
    assert_eq!(ask(&mut budget, Purpose::Chat, 1, 0), Err(BudgetRefusal::Killed));
    budget.killed = false;
    let off = BudgetSettings { kill_switch: true, ..limits() };
    let asked = budget.reserve(&off, true, call(Purpose::Chat, cost(1)));
    assert_eq!(asked, Err(BudgetRefusal::Killed));
    ask(&mut budget, Purpose::Chat, 1, 0).unwrap();
}

#[test]
fn a_new_day_begins_with_nothing_spent_and_lost_calls_count_as_their_worst() {
    let mut budget = ModelBudget::default();
    ask(&mut budget, Purpose::Chat, 900, 0).unwrap();
    assert_eq!(ask(&mut budget, Purpose::Chat, 900, 1).unwrap_err().code(), "over_tokens");
    budget.expire(Millis(60_001));
    assert_eq!(budget.spent(Millis(60_001)), cost(900));
    assert!(budget.ledger().all(|line| line.assumed));
    assert!(ask(&mut budget, Purpose::Chat, 900, DAY - 1).is_err());
    ask(&mut budget, Purpose::Chat, 900, DAY).unwrap();
}

#[test]
fn money_stops_a_call_too_and_state_survives_a_restart() {
    let mut budget = ModelBudget::default();
    let dear = Cost { tokens: 1, micro_dollars: 5_001 };
    let refused = budget.reserve(&limits(), true, call(Purpose::Chat, dear));
    assert_eq!(refused.unwrap_err().code(), "over_money");
    ask(&mut budget, Purpose::Chat, 10, 0).unwrap();
    let text = serde_json::to_string(&budget).unwrap();
    assert_eq!(serde_json::from_str::<ModelBudget>(&text).unwrap(), budget);
}

proptest! {
    // Whatever is asked in whatever order: when calls take no more than they reserved, no limit is ever passed.
    #[test]
    fn no_limit_is_passed(
        steps in prop::collection::vec((0usize..4, 0u64..400, 0u64..=100, 0i64..3 * DAY / 10), 1..80)
    ) {
        let (mut budget, mut now) = (ModelBudget::default(), 0);
        for (purpose, tokens, share, gap) in steps {
            now += gap;
            let purpose = Purpose::ALL[purpose];
            let asked = ask(&mut budget, purpose, tokens, now);
            if let Some(id) = asked.ok().filter(|_| share % 3 != 0) {
                budget.settle(id, cost(tokens * share / 100), None, Millis(now));
            }
            let taken = budget.spent(Millis(now)).plus(budget.reserved());
            prop_assert!(taken.tokens <= 1_000 && taken.micro_dollars <= 5_000);
            prop_assert!(budget.spent_for(Purpose::Bulletin, Millis(now)).tokens <= 300);
        }
    }
}

#[test]
fn what_runs_took_is_booked_once_with_or_without_a_reservation() {
    let (mut budget, settings) = (ModelBudget::default(), BudgetSettings::default());
    let cost = Cost { tokens: 40, micro_dollars: 3 };
    let worst = Cost { tokens: 1_000, micro_dollars: 0 };
    let (purpose, who) = (Purpose::Chat, "main-turn-1");
    let turn = ModelCall { purpose, who, worst, at: Millis(1), until: Millis(9_000) };
    budget.reserve(&settings, true, turn).unwrap();
    for _ in 0..2 {
        budget.paid(purpose, who, cost, Some("tiny"), Millis(2));
        budget.paid(Purpose::Talents, "1700000000000", cost, None, Millis(3));
    }
    assert_eq!(budget.reserved(), Cost::default());
    assert_eq!(budget.spent_for(Purpose::Chat, Millis(4)), cost);
    assert_eq!(budget.spent_for(Purpose::Talents, Millis(4)), cost);
    // What cost nothing is no line.
    budget.paid(Purpose::Talents, "1700000000001", Cost::default(), None, Millis(5));
    assert_eq!(budget.ledger().count(), 2);
}

// web W14: what a plot is drawn from
#[test]
fn what_days_cost_is_known_by_purpose_as_far_back_as_is_asked() {
    let mut budget = ModelBudget::default();
    let paid = |budget: &mut ModelBudget, purpose: Purpose, day: i64| {
        let who = format!("{}-{day}", purpose.name());
        budget.paid(purpose, &who, cost(40), None, Millis(day * DAY + 5));
    };
    paid(&mut budget, Purpose::Chat, 1);
    paid(&mut budget, Purpose::Chat, 3);
    paid(&mut budget, Purpose::Talents, 3);
    let now = Millis(4 * DAY + 7);
    let asked = |days: usize| -> Vec<(i64, usize)> {
        budget.spent_days(days, now).map(|(day, sums)| (day.get() / DAY, sums.len())).collect()
    };
    assert_eq!(asked(10), [(1, 1), (3, 2)]);
    assert_eq!(asked(2), [(3, 2)], "today and the day before");
    assert_eq!(asked(0), []);
}
