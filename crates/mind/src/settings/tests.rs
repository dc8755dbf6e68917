//! Keys, ranges, and the reference that is made of them.

use serde_json::json;

use super::*;

// mind 26, 115, 116, 117, 118
#[test]
fn the_seeds_keys_are_accepted_and_are_the_defaults() {
    let read: MindSettings = serde_json::from_value(json!({
        "warmup": {"enabled": true, "refresh_secs": 3600},
        "cortex": {
            "maintenance_interval_hours": 24, "decay_factor": 0.95,
            "prune_threshold": 0.1, "merge_similarity_threshold": 0.95,
        },
    }))
    .unwrap();
    assert_eq!(read, MindSettings::default());
    assert_eq!(read.cortex.decay_policy(), DecayPolicy::default());
    read.validate().unwrap();
}

#[test]
fn unknown_keys_are_refused() {
    let wrong = json!({"refresh_seconds": 3600});
    assert!(serde_json::from_value::<WarmupSettings>(wrong).is_err());
}

// mind 121, 124
#[test]
fn values_outside_their_range_are_refused_with_the_path_of_the_key() {
    for hours in [1, 24, 168] {
        let mut settings = MindSettings::default();
        settings.cortex.maintenance_interval_hours = hours;
        settings.validate().unwrap();
    }
    let mut settings = MindSettings::default();
    settings.cortex.decay_factor = 1.5;
    let error = settings.validate().unwrap_err();
    assert_eq!(error.code(), "bad_setting");
    let said = "defaults.cortex.decay_factor: is 1.5; must be from 0 to 1";
    assert_eq!(error.to_string(), said);
    settings.cortex.decay_factor = f64::NAN;
    assert!(settings.validate().is_err());
    settings = MindSettings::default();
    settings.cortex.maintenance_interval_hours = 0;
    assert!(settings.validate().is_err());
}

// mind 128
#[test]
fn every_key_has_a_default_and_a_text() {
    let keys = MindSettings::reference();
    assert!(keys.len() > 50);
    for key in keys {
        assert!(key.about.ends_with('.'), "{}.{}", key.table, key.name);
        assert!(!key.default.is_null(), "{}.{}", key.table, key.name);
    }
}

#[test]
fn the_reference_names_every_key_and_every_preset() {
    let text = reference_markdown();
    assert!(text.contains("## `[defaults.warmup]`"));
    assert!(text.contains("| `refresh_secs` | `3600` | Seconds between refreshes"));
    let aggressive = "| aggressive | `defaults.cortex.decay_factor = 0.9`, \
`defaults.cortex.prune_threshold = 0.2`, `defaults.cortex.prune_scope = \"all\"` |";
    assert!(text.contains(aggressive), "{text}");
    let rows = text.lines().filter(|line| line.starts_with("| `")).count();
    assert_eq!(rows, MindSettings::reference().len());
}

#[test]
fn shares_become_parts_per_million() {
    assert_eq!(ppm(0.95), 950_000);
    assert_eq!((ppm(-1.0), ppm(2.0), ppm(f64::NAN)), (0, 1_000_000, 0));
}
