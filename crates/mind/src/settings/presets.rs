//! Named settings for the situations the seed describes. Each changes a few keys and leaves the others alone.

use super::{MindSettings, PruneScope};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Preset {
    /// What holds if nothing is set.
    Default,
    /// The seed's rule for forgetting, to the letter.
    Seed,
    /// Many users or much activity: the bulletin follows within half an hour.
    Busy,
    /// One user, little activity: few calls to a model, memories stay longer.
    Quiet,
    /// Forgets faster, and whatever it is.
    Aggressive,
    /// Remembers longer.
    Conservative,
}

impl Preset {
    pub const ALL: [Preset; 6] = [
        Preset::Default,
        Preset::Seed,
        Preset::Quiet,
        Preset::Busy,
        Preset::Aggressive,
        Preset::Conservative,
    ];

    /// The preset of a name.
    pub fn parse(name: &str) -> Option<Preset> {
        Preset::ALL.into_iter().find(|preset| preset.name() == name)
    }

    pub fn name(self) -> &'static str {
        match self {
            Preset::Default => "default",
            Preset::Seed => "seed",
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
            Preset::Default => {}
            Preset::Seed => {
                settings.cortex.prune_scope = PruneScope::All;
                settings.cortex.announce_days = 0;
            }
            Preset::Busy => settings.warmup.refresh_secs = 1_800,
            Preset::Quiet => {
                settings.warmup.refresh_secs = 3 * 3_600;
                settings.cortex.maintenance_interval_hours = 168;
            }
            Preset::Aggressive => {
                settings.cortex.decay_factor = 0.90;
                settings.cortex.prune_threshold = 0.2;
                settings.cortex.prune_scope = PruneScope::All;
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
