//! The `[exec]` part of the configuration: how runs are confined, and which variables they may have.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::variables::{self, is_name};

/// How much confinement a run needs to begin.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ConfineMode {
    /// Without it no run begins.
    Require,
    /// As much as the system has.
    #[default]
    Try,
    /// None at all.
    Off,
}

/// What a run may use at most. Each bound holds for one process, but for that of processes.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct ExecLimits {
    pub processes: u64,
    pub memory_bytes: u64,
    pub file_bytes: u64,
    pub open_files: u64,
}

#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct ExecSettings {
    pub confine: ConfineMode,
    /// Variables that a request may set, beside the keys of providers.
    pub env: Vec<String>,
    /// Variables of the daemon that every run gets, beside the usual ones.
    pub inherit: Vec<String>,
    /// Files and folders that every run may read, such as a program in an unusual place.
    pub read: Vec<PathBuf>,
    /// Processes that a run may have at once.
    pub processes_max: u64,
    /// Memory of its own that one process may ask for.
    pub memory_bytes_max: u64,
    /// Largest file that it may write.
    pub file_bytes_max: u64,
    pub open_files_max: u64,
}

impl Default for ExecSettings {
    fn default() -> ExecSettings {
        ExecSettings {
            confine: ConfineMode::default(),
            env: Vec::new(),
            inherit: Vec::new(),
            read: Vec::new(),
            processes_max: 256,
            memory_bytes_max: 8 << 30,
            file_bytes_max: 1 << 30,
            open_files_max: 4_096,
        }
    }
}

impl ExecSettings {
    /// Why these settings cannot hold, in words that name the key.
    pub fn check(&self) -> Result<(), String> {
        for (key, names) in [("env", &self.env), ("inherit", &self.inherit)] {
            if let Some(name) = names.iter().find(|name| !is_name(name)) {
                return Err(format!("exec.{key}: {name:?} is no name of a variable"));
            }
        }
        // What the daemon's owner has set for himself may be handed on; what a request brings may not.
        if let Some((name, rule)) =
            self.env.iter().find_map(|name| Some((name, variables::forbidden(name)?)))
        {
            return Err(format!(
                "exec.env: {name} cannot be declared: {rule} is never taken from a request"
            ));
        }
        if let Some(path) =
            self.read.iter().find(|path| !path.is_absolute() && !path.starts_with("~"))
        {
            return Err(format!("exec.read: {} must begin with / or ~", path.display()));
        }
        let bounds = [
            ("processes_max", self.processes_max, 4),
            ("memory_bytes_max", self.memory_bytes_max, 64 << 20),
            ("file_bytes_max", self.file_bytes_max, 1 << 20),
            ("open_files_max", self.open_files_max, 64),
        ];
        match bounds.into_iter().find(|(_, value, least)| value < least) {
            Some((key, value, least)) => {
                Err(format!("exec.{key} is {value}; {least} is the least"))
            }
            None => Ok(()),
        }
    }

    pub fn limits(&self) -> ExecLimits {
        ExecLimits {
            processes: self.processes_max,
            memory_bytes: self.memory_bytes_max,
            file_bytes: self.file_bytes_max,
            open_files: self.open_files_max,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_read_as_written_and_mistakes_name_their_key() {
        let read = |text: &str| {
            let settings: ExecSettings = toml::from_str(text).map_err(|error| error.to_string())?;
            settings.check().map(|()| settings)
        };
        let settings =
            read("confine = \"require\"\nenv = [\"MY_KEY\"]\nprocesses_max = 32").expect("fits");
        assert_eq!((settings.confine, settings.limits().processes), (ConfineMode::Require, 32));
        assert_eq!(read("").expect("fits").confine, ConfineMode::Try);
        for (text, told) in [
            ("confine = \"maybe\"", "maybe"),
            ("env = [\"LD_PRELOAD\"]", "LD_PRELOAD cannot be declared: LD_*"),
            ("env = [\"A B\"]", "exec.env: \"A B\" is no name"),
            ("inherit = [\"\"]", "exec.inherit: \"\" is no name"),
            ("read = [\"notes\"]", "exec.read: notes must begin with / or ~"),
            ("processes_max = 1", "exec.processes_max is 1; 4 is the least"),
            ("memory_bytes_max = 1", "exec.memory_bytes_max is 1"),
            ("file_bytes_max = 1", "exec.file_bytes_max is 1"),
            ("open_files_max = 1", "exec.open_files_max is 1"),
            ("confin = \"off\"", "confin"),
        ] {
            let said = read(text).expect_err(text);
            assert!(said.contains(told), "{said}");
        }
        // The owner may hand on what he has set himself.
        assert!(read("inherit = [\"HTTPS_PROXY\", \"SSL_CERT_FILE\"]").is_ok());
    }
}
