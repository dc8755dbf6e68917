//! Named settings for the situations the seed describes. Each changes a few keys and leaves the others alone.

use super::MindSettings;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Preset {
    /// Many users or much activity: the bulletin follows within half an hour.
    Busy,
    /// One user, little activity: few calls to a model, memories stay longer.
    Quiet,
    /// Forgets faster.
    Aggressive,
    /// Remembers longer.
    Conservative,
}

impl Preset {
    pub const ALL: [Preset; 4] =
        [Preset::Busy, Preset::Quiet, Preset::Aggressive, Preset::Conservative];

    pub fn name(self) -> &'static str {
        match self {
            Preset::Busy => "busy",
            Preset::Quiet => "quiet",
            Preset::Aggressive => "aggressive",
            Preset::Conservative => "conservative",
        }
    }

    /// The keys it changes, with their values.
    pub fn changes(self) -> Vec<(String, serde_json::Value)> {
        let values = |settings: MindSettings| serde_json::to_value(settings).unwrap_or_default();
        let (before, after) =
            (values(MindSettings::default()), values(self.apply(MindSettings::default())));
        MindSettings::reference()
            .into_iter()
            .filter_map(|key| {
                let table = key.table.strip_prefix("defaults.")?;
                let value = after.get(table)?.get(key.name)?;
                (before.get(table)?.get(key.name)? != value)
                    .then(|| (format!("{}.{}", key.table, key.name), value.clone()))
            })
            .collect()
    }

    pub fn apply(self, mut settings: MindSettings) -> MindSettings {
        match self {
            Preset::Busy => settings.warmup.refresh_secs = 1_800,
            Preset::Quiet => {
                settings.warmup.refresh_secs = 3 * 3_600;
                settings.cortex.maintenance_interval_hours = 168;
            }
            Preset::Aggressive => {
                settings.cortex.decay_factor = 0.90;
                settings.cortex.prune_threshold = 0.2;
            }
            Preset::Conservative => {
                settings.cortex.decay_factor = 0.98;
                settings.cortex.prune_threshold = 0.05;
            }
        }
        settings
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // mind 119, 120, 121, 122, 123
    #[test]
    fn presets_are_what_the_seed_recommends() {
        let of = |preset: Preset| preset.apply(MindSettings::default());
        for preset in Preset::ALL {
            of(preset).validate().unwrap();
        }
        assert!((1_800..=3_600).contains(&of(Preset::Busy).warmup.refresh_secs));
        assert!((7_200..=14_400).contains(&of(Preset::Quiet).warmup.refresh_secs));
        let keys = |preset| (of(preset).cortex.decay_factor, of(preset).cortex.prune_threshold);
        assert_eq!(keys(Preset::Aggressive), (0.90, 0.2));
        assert_eq!(keys(Preset::Conservative), (0.98, 0.05));
    }
}
