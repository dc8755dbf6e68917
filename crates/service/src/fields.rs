//! The fields of the nine types as people name them: `name=value` in, JSON out.

use kernel::memory::{
    DecisionStatus, Fields, GoalStatus, MemoryId, MemoryType, Millis, Outcome, Polarity, Strength,
};
use kernel::{Error, Result};
use serde_json::{Map, Value, json};

use crate::parse;

/// The names that a type knows.
pub fn names(memory_type: MemoryType) -> &'static [&'static str] {
    match memory_type {
        MemoryType::Identity => &["name", "aliases", "role"],
        MemoryType::Goal => &["status", "due", "criteria"],
        MemoryType::Preference => &["topic", "polarity", "strength"],
        MemoryType::Constraint => &["strength", "trigger"],
        MemoryType::Decision => &["rationale", "alternatives", "status"],
        MemoryType::Fact => &["subject", "predicate", "object", "as_of"],
        MemoryType::Pattern => &["strength", "coverage", "evidence"],
        MemoryType::Event => &["happened_at", "outcome", "participants"],
        MemoryType::ArtifactRef => &["uri", "digest", "media_type", "size"],
    }
}

/// Sets fields from `name=value` arguments. A name given more than once makes a list; an empty value clears.
pub fn set_all(fields: &mut Fields, arguments: &[String]) -> Result<()> {
    let mut given: Vec<(&str, Vec<String>)> = Vec::new();
    for argument in arguments {
        let (name, value) = argument.split_once('=').ok_or_else(|| {
            Error::invalid("field", format!("{:?} is not name=value", parse::shown(argument)))
        })?;
        match given.iter_mut().find(|(known, _)| *known == name) {
            Some((_, values)) => values.push(value.to_owned()),
            None => given.push((name, vec![value.to_owned()])),
        }
    }
    given.iter().try_for_each(|(name, values)| set(fields, name, values))
}

/// The same from a JSON object; a list is an array.
pub fn set_json(fields: &mut Fields, object: &Map<String, Value>) -> Result<()> {
    fn text(name: &str, value: &Value) -> Result<String> {
        match value {
            Value::String(text) => Ok(text.clone()),
            Value::Number(number) => Ok(number.to_string()),
            _ => Err(Error::invalid("field", format!("{name} must be a text, number or array"))),
        }
    }
    for (name, value) in object {
        let values: Vec<String> = match value {
            Value::Null => continue,
            Value::Array(items) => items.iter().map(|v| text(name, v)).collect::<Result<_>>()?,
            one => vec![text(name, one)?],
        };
        set(fields, name, &values)?;
    }
    Ok(())
}

fn set(fields: &mut Fields, name: &str, values: &[String]) -> Result<()> {
    let memory_type = fields.memory_type();
    match (&mut *fields, name) {
        (Fields::Identity(f), "name") => f.name = text(name, values)?,
        (Fields::Identity(f), "aliases") => f.aliases = list(values),
        (Fields::Identity(f), "role") => f.role = text(name, values)?,
        (Fields::Goal(f), "status") => f.status = word(name, values, GoalStatus::parse)?,
        (Fields::Goal(f), "due") => f.due = time(name, values)?,
        (Fields::Goal(f), "criteria") => f.criteria = list(values),
        (Fields::Preference(f), "topic") => f.topic = text(name, values)?,
        (Fields::Preference(f), "polarity") => f.polarity = word(name, values, Polarity::parse)?,
        (Fields::Preference(f), "strength") => f.strength = ratio(name, values)?,
        (Fields::Constraint(f), "strength") => f.strength = word(name, values, Strength::parse)?,
        (Fields::Constraint(f), "trigger") => f.trigger = text(name, values)?,
        (Fields::Decision(f), "rationale") => f.rationale = text(name, values)?,
        (Fields::Decision(f), "alternatives") => f.alternatives = list(values),
        (Fields::Decision(f), "status") => f.status = word(name, values, DecisionStatus::parse)?,
        (Fields::Fact(f), "subject") => f.subject = text(name, values)?,
        (Fields::Fact(f), "predicate") => f.predicate = text(name, values)?,
        (Fields::Fact(f), "object") => f.object = text(name, values)?,
        (Fields::Fact(f), "as_of") => f.as_of = time(name, values)?,
        (Fields::Pattern(f), "strength") => f.strength = ratio(name, values)?,
        (Fields::Pattern(f), "coverage") => f.coverage = number(name, values)?,
        (Fields::Pattern(f), "evidence") => f.evidence = ids(values)?,
        (Fields::Event(f), "happened_at") => f.happened_at = time(name, values)?,
        (Fields::Event(f), "outcome") => {
            f.outcome = text(name, values)?.map(|word| Outcome::parse(&word)).transpose()?;
        }
        (Fields::Event(f), "participants") => f.participants = list(values),
        (Fields::ArtifactRef(f), "uri") => f.uri = text(name, values)?,
        (Fields::ArtifactRef(f), "digest") => f.digest = text(name, values)?,
        (Fields::ArtifactRef(f), "media_type") => f.media_type = text(name, values)?,
        (Fields::ArtifactRef(f), "size") => f.size = number(name, values)?,
        _ => {
            let reason = format!(
                "{:?} is not a field of {}; it has {}",
                parse::shown(name),
                memory_type.name(),
                names(memory_type).join(", "),
            );
            return Err(Error::invalid("field", reason));
        }
    }
    Ok(())
}

fn one<'a>(name: &str, values: &'a [String]) -> Result<Option<&'a str>> {
    match values {
        [] => Ok(None),
        [value] => Ok(Some(value.as_str()).filter(|value| !value.is_empty())),
        _ => Err(Error::invalid("field", format!("{name} takes one value"))),
    }
}

fn text(name: &str, values: &[String]) -> Result<Option<String>> {
    Ok(one(name, values)?.map(str::to_owned))
}

fn list(values: &[String]) -> Vec<String> {
    values.iter().filter(|value| !value.is_empty()).cloned().collect()
}

fn word<T: Default>(
    name: &str,
    values: &[String],
    parse: fn(&str) -> Result<T, kernel::ProofError>,
) -> Result<T> {
    one(name, values)?.map_or_else(|| Ok(T::default()), |text| Ok(parse(text)?))
}

fn time(name: &str, values: &[String]) -> Result<Option<Millis>> {
    one(name, values)?.map(parse::time).transpose()
}

fn ratio(name: &str, values: &[String]) -> Result<Option<u32>> {
    one(name, values)?.map(|text| parse::ratio("strength", text)).transpose()
}

fn number<T: std::str::FromStr>(name: &str, values: &[String]) -> Result<Option<T>> {
    one(name, values)?
        .map(|text| {
            text.parse().map_err(|_| {
                Error::invalid("field", format!("{name}: {:?} is not a number", parse::shown(text)))
            })
        })
        .transpose()
}

fn ids(values: &[String]) -> Result<Vec<MemoryId>> {
    let id = |text: &String| text.parse::<parse::MemoryRef>().map(|reference| reference.id);
    values.iter().filter(|value| !value.is_empty()).map(id).collect()
}

/// The fields that are set.
pub fn to_json(fields: &Fields) -> Value {
    let at = |time: Option<Millis>| time.map(Millis::rfc3339);
    let ratio = |ppm: Option<u32>| ppm.map(parse::from_ppm);
    let mut object = match fields {
        Fields::Identity(f) => json!({"name": f.name, "aliases": f.aliases, "role": f.role}),
        Fields::Goal(f) => {
            json!({"status": f.status.name(), "due": at(f.due), "criteria": f.criteria})
        }
        Fields::Preference(f) => {
            json!({"topic": f.topic, "polarity": f.polarity.name(), "strength": ratio(f.strength)})
        }
        Fields::Constraint(f) => json!({"strength": f.strength.name(), "trigger": f.trigger}),
        Fields::Decision(f) => json!({
            "rationale": f.rationale, "alternatives": f.alternatives, "status": f.status.name(),
        }),
        Fields::Fact(f) => json!({
            "subject": f.subject, "predicate": f.predicate, "object": f.object,
            "as_of": at(f.as_of),
        }),
        Fields::Pattern(f) => {
            let evidence: Vec<u64> = f.evidence.iter().map(|id| id.get()).collect();
            json!({"strength": ratio(f.strength), "coverage": f.coverage, "evidence": evidence})
        }
        Fields::Event(f) => json!({
            "happened_at": at(f.happened_at), "outcome": f.outcome.map(Outcome::name),
            "participants": f.participants,
        }),
        Fields::ArtifactRef(f) => json!({
            "uri": f.uri, "digest": f.digest, "media_type": f.media_type, "size": f.size,
        }),
    };
    if let Value::Object(object) = &mut object {
        object.retain(|_, value| !value.is_null() && *value != json!([]));
    }
    object
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_named_field_can_be_set_and_no_other() {
        for memory_type in MemoryType::ALL {
            for name in names(memory_type) {
                let value = match (*name, memory_type) {
                    ("status", MemoryType::Goal) => "done",
                    ("status", _) => "rejected",
                    ("strength", MemoryType::Constraint) => "hard",
                    ("strength", _) => "0.25",
                    ("polarity", _) => "avoid",
                    ("outcome", _) => "failure",
                    ("due" | "as_of" | "happened_at", _) => "2026-01-31",
                    ("coverage" | "size" | "evidence", _) => "7",
                    _ => "some text",
                };
                let mut fields = Fields::empty(memory_type);
                set_all(&mut fields, &[format!("{name}={value}")]).unwrap();
                assert!(to_json(&fields).get(name).is_some(), "{memory_type:?} {name}");
                set_all(&mut fields, &[format!("{name}=")]).unwrap();
                assert_eq!(fields, Fields::empty(memory_type), "{memory_type:?} {name}");
            }
            let error = set_all(&mut Fields::empty(memory_type), &["colour=red".into()]);
            let message = error.unwrap_err().to_string();
            assert!(message.contains(names(memory_type)[0]), "{message}");
        }
    }
}
