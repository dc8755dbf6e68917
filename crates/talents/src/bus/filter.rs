//! What a listener wants to hear: any of some clauses, each a topic, an event, a run, or several of them at once.

use serde::{Deserialize, Deserializer, Serialize};

use super::BusMessage;

/// Clauses in one filter.
const CLAUSES_MAX: usize = 64;
/// Values in one clause.
const VALUES_MAX: usize = 1_024;

/// Messages that have one of the values in each field that is given. A field that is empty does not matter.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct FilterClause {
    #[serde(rename = "tract", deserialize_with = "one_or_many")]
    pub topic: Vec<String>,
    #[serde(deserialize_with = "one_or_many")]
    pub event: Vec<String>,
    #[serde(deserialize_with = "one_or_many")]
    pub use_id: Vec<String>,
}

impl FilterClause {
    fn takes(&self, message: &BusMessage) -> bool {
        let has = |wanted: &[String], given: Option<&str>| {
            wanted.is_empty() || given.is_some_and(|given| wanted.iter().any(|word| word == given))
        };
        has(&self.topic, Some(message.topic()))
            && has(&self.event, Some(message.event()))
            && has(&self.use_id, message.use_id())
    }
}

/// Which messages a listener gets: those that one clause takes. No clause, no message.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
#[serde(transparent)]
pub struct BusFilter(Vec<FilterClause>);

impl BusFilter {
    pub fn all() -> BusFilter {
        BusFilter(vec![FilterClause::default()])
    }

    pub fn none() -> BusFilter {
        BusFilter(Vec::new())
    }

    pub fn topic(topic: &str) -> BusFilter {
        BusFilter(vec![FilterClause { topic: vec![topic.to_owned()], ..FilterClause::default() }])
    }

    /// The events of some runs.
    pub fn runs(use_ids: impl IntoIterator<Item = String>) -> BusFilter {
        let use_id: Vec<String> = use_ids.into_iter().collect();
        if use_id.is_empty() {
            return BusFilter::none();
        }
        BusFilter(vec![FilterClause {
            topic: vec![super::RUN_TOPIC.to_owned()],
            use_id,
            ..FilterClause::default()
        }])
    }

    pub fn of(clauses: Vec<FilterClause>) -> BusFilter {
        BusFilter(clauses)
    }

    /// Reads a filter that a client sent.
    pub fn parse(value: &serde_json::Value) -> Result<BusFilter, String> {
        let clauses: Vec<FilterClause> =
            serde_json::from_value(value.clone()).map_err(|error| {
                format!("`filters` must be a list of {{tract, event, use_id}}: {error}")
            })?;
        if clauses.len() > CLAUSES_MAX {
            return Err(format!("`filters` has more than {CLAUSES_MAX} entries"));
        }
        let values =
            |clause: &FilterClause| clause.topic.len() + clause.event.len() + clause.use_id.len();
        if clauses.iter().any(|clause| values(clause) > VALUES_MAX) {
            return Err(format!("an entry of `filters` has more than {VALUES_MAX} values"));
        }
        Ok(BusFilter(clauses))
    }

    pub fn takes(&self, message: &BusMessage) -> bool {
        self.0.iter().any(|clause| clause.takes(message))
    }
}

fn one_or_many<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<String>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Words {
        One(String),
        Many(Vec<String>),
    }
    Ok(match Words::deserialize(from)? {
        Words::One(word) => vec![word],
        Words::Many(words) => words,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    // execution 9.3
    #[test]
    fn clauses_are_alternatives_and_fields_are_not() {
        let filter = BusFilter::parse(&json!([
            {"tract": "cortex", "event": ["finish", "error"]},
            {"use_id": "12"},
        ]))
        .expect("a filter");
        let takes = |topic: &str, event: &str| filter.takes(&BusMessage::new(topic, event));
        assert!(takes("cortex", "finish") && takes("cortex", "error"));
        assert!(!takes("cortex", "start") && !takes("logs", "finish"));
        assert!(filter.takes(&BusMessage::new("x", "y").with("use_id", "12")));
        assert!(!BusFilter::none().takes(&BusMessage::new("x", "y")));
        assert!(BusFilter::all().takes(&BusMessage::new("x", "y")));
        assert!(BusFilter::parse(&json!([{"subject": "x"}])).is_err());
        assert!(BusFilter::parse(&json!("cortex")).is_err());
    }
}
