//! What hooks may do: the settings of the home, then `[hooks]` in the `.cortex.toml` of the project.
//!
//! What must stay true: a project can only switch off what the home has on; a file that cannot be read switches nothing
//! and is told.

use std::collections::BTreeMap;
use std::path::Path;

use service::config;

/// The file of a project.
const FILE: &str = ".cortex.toml";
/// Folders looked at on the way up.
const ANCESTORS_MAX: usize = 64;
/// Bytes of such a file.
const FILE_BYTES_MAX: u64 = 64 << 10;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "switches that do not depend on each other")]
pub(super) struct HookSwitches {
    pub(super) briefing: bool,
    pub(super) capture: bool,
    pub(super) prompts: bool,
    pub(super) recall: bool,
}

impl HookSwitches {
    const ALL_ON: HookSwitches =
        HookSwitches { briefing: true, capture: true, prompts: true, recall: true };

    /// The switches for who works in `folder`, and what is wrong with the settings, in one line each.
    pub(super) fn of(
        home: &Path,
        variables: &BTreeMap<String, String>,
        folder: Option<&Path>,
        person_home: Option<&Path>,
    ) -> (HookSwitches, Vec<String>) {
        let mut wrong = Vec::new();
        let mut switches = match config::load(home, variables) {
            Ok(config) => HookSwitches {
                briefing: config.is_on("hooks.briefing"),
                capture: config.is_on("hooks.capture"),
                prompts: config.is_on("hooks.prompts"),
                recall: config.is_on("hooks.recall"),
            },
            Err(error) => {
                wrong.push(error.to_string());
                HookSwitches::ALL_ON
            }
        };
        if let Some(folder) = folder {
            switches.narrow(folder, person_home, &mut wrong);
        }
        (switches, wrong)
    }

    fn narrow(&mut self, folder: &Path, person_home: Option<&Path>, wrong: &mut Vec<String>) {
        let is_project = |folder: &Path| !person_home.is_some_and(|home| home.starts_with(folder));
        for folder in folder.ancestors().take(ANCESTORS_MAX).take_while(|folder| is_project(folder))
        {
            let path = folder.join(FILE);
            let small = std::fs::metadata(&path)
                .is_ok_and(|about| about.is_file() && about.len() <= FILE_BYTES_MAX);
            if small && let Ok(text) = std::fs::read_to_string(&path) {
                match self.read(&text) {
                    Ok(true) => return,
                    Ok(false) => {}
                    Err(reason) => wrong.push(format!("{}: {reason}", path.display())),
                }
            }
            if folder.join(".git").exists() {
                return;
            }
        }
    }

    /// Takes over what a project switches off. True if the text says anything about hooks.
    fn read(&mut self, text: &str) -> Result<bool, String> {
        let table: toml::Table =
            text.parse().map_err(|error: toml::de::Error| error.message().to_owned())?;
        let Some(hooks) = table.get("hooks") else { return Ok(false) };
        let hooks = hooks.as_table().ok_or("hooks is not a table")?;
        for (name, value) in hooks {
            let on = value.as_bool().ok_or(format!("hooks.{name}: expected true or false"))?;
            let switch = match name.as_str() {
                "briefing" => &mut self.briefing,
                "capture" => &mut self.capture,
                "prompts" => &mut self.prompts,
                "recall" => &mut self.recall,
                _ => {
                    return Err(format!(
                        "unknown key \"hooks.{name}\"; there are briefing, capture, prompts and recall"
                    ));
                }
            };
            *switch &= on;
        }
        Ok(true)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    // S9
    #[test]
    fn the_home_decides_and_a_project_switches_off() {
        let (home, project) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let inner = project.path().join("src");
        std::fs::create_dir_all(&inner).unwrap();
        let none = BTreeMap::new();
        let of = |variables: &BTreeMap<String, String>| {
            HookSwitches::of(home.path(), variables, Some(&inner), None)
        };
        assert_eq!(of(&none), (HookSwitches::ALL_ON, Vec::new()));
        std::fs::write(home.path().join("cortex.toml"), "[hooks]\nprompts = false\n").unwrap();
        std::fs::write(
            project.path().join(FILE),
            "project = \"web\"\n[hooks]\nrecall = false\nprompts = true\n",
        )
        .unwrap();
        let (switches, wrong) = of(&none);
        assert_eq!(wrong, Vec::<String>::new());
        let expected = HookSwitches { prompts: false, recall: false, ..HookSwitches::ALL_ON };
        assert_eq!(switches, expected);
        let variables = BTreeMap::from([("CORTEX_HOOKS_CAPTURE".to_owned(), "false".to_owned())]);
        assert!(!of(&variables).0.capture);
    }

    // S31
    #[test]
    fn settings_that_cannot_be_read_are_told_and_defaults_hold() {
        let home = tempfile::tempdir().unwrap();
        std::fs::write(home.path().join("cortex.toml"), "[hooks]\nrecal = false\n").unwrap();
        let (switches, wrong) = HookSwitches::of(home.path(), &BTreeMap::new(), None, None);
        assert_eq!(switches, HookSwitches::ALL_ON);
        assert!(wrong[0].contains("did you mean \"hooks.recall\"?"), "{wrong:?}");
        let project = tempfile::tempdir().unwrap();
        std::fs::write(project.path().join(FILE), "[hooks]\nrecal = false\n").unwrap();
        std::fs::write(home.path().join("cortex.toml"), "").unwrap();
        let (_, wrong) =
            HookSwitches::of(home.path(), &BTreeMap::new(), Some(project.path()), None);
        assert!(wrong[0].contains("hooks.recal"), "{wrong:?}");
    }
}
