//! What tokens cost. Published list prices in dollars for a million tokens; a model that is not here has no cost,
//! not a guessed one.

use std::collections::BTreeMap;

use super::TokenUsage;
use crate::models::PriceSettings;

/// When the table was last compared with what the vendors publish.
pub const PRICES_AS_OF: &str = "2026-11";

struct Price {
    /// The beginning of the model's name; the longest that fits counts.
    model: &'static str,
    input: f64,
    output: f64,
    cached: f64,
    cache_write: f64,
}

const fn price(
    model: &'static str,
    input: f64,
    output: f64,
    cached: f64,
    cache_write: f64,
) -> Price {
    Price { model, input, output, cached, cache_write }
}

/// Models whose price depends on the length of the prompt (claude-haiku-5-5) are left out: their cost would be a guess.
const PRICES: &[Price] = &[
    price("claude-fable-5-1", 10.0, 50.0, 0.25, 12.5),
    price("claude-fable-5", 10.0, 50.0, 1.0, 12.5),
    price("claude-opus-5-5", 4.0, 20.0, 0.2, 5.0),
    price("claude-opus-5", 5.0, 25.0, 0.5, 6.25),
    price("claude-opus-4-8", 5.0, 25.0, 0.5, 6.25),
    price("claude-opus-4-7", 5.0, 25.0, 0.5, 6.25),
    price("claude-opus-4-6", 5.0, 25.0, 0.5, 6.25),
    price("claude-opus-4-5", 5.0, 25.0, 0.5, 6.25),
    price("claude-sonnet-5-5", 2.0, 10.0, 0.1, 2.5),
    price("claude-sonnet-5", 2.0, 10.0, 0.2, 2.5),
    price("claude-sonnet-4-6", 3.0, 15.0, 0.3, 3.75),
    price("claude-sonnet-4-5", 3.0, 15.0, 0.3, 3.75),
    price("claude-haiku-4-5", 1.0, 5.0, 0.1, 1.25),
    price("gpt-5.5", 5.0, 30.0, 0.5, 5.0),
    price("gpt-5.4-mini", 0.75, 4.5, 0.075, 0.75),
    price("gpt-5.4-nano", 0.2, 1.25, 0.02, 0.2),
    price("gpt-5.4", 2.5, 15.0, 0.25, 2.5),
    price("gpt-5-mini", 0.25, 2.0, 0.025, 0.25),
    price("gpt-5-nano", 0.05, 0.4, 0.005, 0.05),
    price("gpt-4o-mini", 0.15, 0.6, 0.075, 0.15),
    price("gpt-4o", 2.5, 10.0, 1.25, 2.5),
    price("gemini-2.5-flash-lite", 0.1, 0.4, 0.01, 0.1),
    price("gemini-2.5-flash", 0.3, 2.5, 0.03, 0.3),
];

/// Dollars, or nothing if nobody knows the price of the model.
pub fn cost(model: &str, usage: &TokenUsage, own: &BTreeMap<String, PriceSettings>) -> Option<f64> {
    let (input, output, cached, cache_write) = match own.get(model) {
        Some(own) => {
            let cached = own.cached.unwrap_or(own.input);
            (own.input, own.output, cached, own.cache_write.unwrap_or(own.input))
        }
        None => {
            let known = PRICES
                .iter()
                .filter(|price| names(price.model, model))
                .max_by_key(|price| price.model.len())?;
            (known.input, known.output, known.cached, known.cache_write)
        }
    };
    let fresh =
        usage.input_tokens.saturating_sub(usage.cached_tokens + usage.cache_creation_tokens);
    #[allow(clippy::cast_precision_loss, reason = "counts of tokens are far below 2^52")]
    let millions = |tokens: u64| tokens as f64 / 1_000_000.0;
    Some(
        millions(fresh) * input
            + millions(usage.cached_tokens) * cached
            + millions(usage.cache_creation_tokens) * cache_write
            + millions(usage.output_tokens) * output,
    )
}

/// A name with a date behind it is the same model; `gpt-5.5-pro` is another one.
fn names(known: &str, model: &str) -> bool {
    let Some(rest) = model.strip_prefix(known) else { return false };
    rest.is_empty()
        || (rest.starts_with('-')
            && rest[1..].bytes().all(|byte| byte.is_ascii_digit() || byte == b'-')
            && rest.len() > 6)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_came_from_a_cache_costs_less() {
        let usage = TokenUsage {
            input_tokens: 1_000_000,
            cached_tokens: 400_000,
            cache_creation_tokens: 100_000,
            output_tokens: 200_000,
            ..TokenUsage::default()
        };
        let cost = cost("claude-sonnet-4-6", &usage, &BTreeMap::new()).unwrap();
        assert!((cost - (0.5 * 3.0 + 0.4 * 0.3 + 0.1 * 3.75 + 0.2 * 15.0)).abs() < 1e-9);
    }

    #[test]
    fn a_model_that_nobody_knows_has_no_cost() {
        let usage = TokenUsage { input_tokens: 10, ..TokenUsage::default() };
        for model in ["smollm2", "gpt-5.5-pro", "claude-opus-5-6", "claude-haiku-5-5", ""] {
            assert_eq!(cost(model, &usage, &BTreeMap::new()), None, "{model}");
        }
        assert!(cost("claude-haiku-4-5-20251001", &usage, &BTreeMap::new()).is_some());
        let own = PriceSettings { input: 2.0, output: 0.0, cached: None, cache_write: None };
        let own = BTreeMap::from([("smollm2".to_owned(), own)]);
        assert!(cost("smollm2", &usage, &own).is_some());
    }
}
