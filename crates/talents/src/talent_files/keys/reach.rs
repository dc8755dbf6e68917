//! What a talent's file says about the process of its runs: variables, files, connections.

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};

use serde_json::{Map, Value};

use super::Reader;
use crate::confine::{FileGrant, forbidden};
use crate::talent_files::problem::hint;

/// Paths in each list of "files".
const FILES_MAX: usize = 32;

impl Reader<'_> {
    pub(super) fn env(&mut self) -> BTreeMap<String, Option<String>> {
        match self.value("env").cloned() {
            None => BTreeMap::new(),
            Some(Value::Object(given)) => match environment(&given) {
                Ok(env) => env,
                Err(reason) => {
                    self.wrong("env", reason);
                    BTreeMap::new()
                }
            },
            Some(_) => {
                self.wrong("env", "\"env\" must be an object of names and values");
                BTreeMap::new()
            }
        }
    }

    /// Files and connections that the run has beyond the usual.
    pub(super) fn reach(&mut self) -> FileGrant {
        let mut grant = FileGrant {
            network: self.flag("network"),
            chronicle: self.value("write") == Some(&Value::Bool(true)),
            ..FileGrant::default()
        };
        let given = match self.value("files").cloned() {
            None => return grant,
            Some(Value::Object(given)) => given,
            Some(_) => {
                self.wrong("files", "\"files\" must be an object with \"read\" and \"write\"");
                return grant;
            }
        };
        for (key, value) in &given {
            let list = match key.as_str() {
                "read" => &mut grant.read,
                "write" => &mut grant.write,
                other => {
                    let reason = format!(
                        "\"files\" has no key {other:?}{}",
                        hint(other, &["read", "write"])
                    );
                    self.wrong("files", reason);
                    continue;
                }
            };
            let paths = value.as_array().filter(|paths| paths.len() <= FILES_MAX);
            let path =
                |path: &Value| path.as_str().filter(|path| is_plain_path(path)).map(PathBuf::from);
            match paths.and_then(|paths| paths.iter().map(path).collect::<Option<Vec<_>>>()) {
                Some(paths) => *list = paths,
                None => {
                    let reason = format!(
                        "{key:?} of \"files\" must be a list of at most {FILES_MAX} paths that begin with / or ~/, \
                         without .."
                    );
                    self.wrong("files", reason);
                }
            }
        }
        grant
    }
}

fn is_plain_path(path: &str) -> bool {
    (path.starts_with('/') || path.starts_with("~/"))
        && !path.contains('\0')
        && !Path::new(path).components().any(|part| matches!(part, Component::ParentDir))
}

/// Variables with their values as text: true becomes `true`, null takes the variable away.
fn environment(given: &Map<String, Value>) -> Result<BTreeMap<String, Option<String>>, String> {
    let mut env = BTreeMap::new();
    for (name, value) in given {
        let fits = !name.is_empty()
            && !name.starts_with(|first: char| first.is_ascii_digit())
            && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        if !fits {
            return Err(format!("{name:?} is no name of a variable"));
        }
        if let Some(rule) = forbidden(name) {
            return Err(format!("{name} cannot be set: {rule} is the runner's to decide"));
        }
        let text = match value {
            Value::Null => None,
            Value::String(text) if text.contains('\0') => {
                return Err(format!("the value of {name} holds a zero byte"));
            }
            Value::String(text) => Some(text.clone()),
            Value::Bool(_) | Value::Number(_) => Some(value.to_string()),
            Value::Array(_) | Value::Object(_) => {
                return Err(format!(
                    "the value of {name} must be a text, a number, true, false or null"
                ));
            }
        };
        env.insert(name.clone(), text);
    }
    Ok(env)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::talent_files::file::cut;
    use crate::talent_files::keys::read;

    #[test]
    fn values_of_variables_are_checked() {
        // F4: what decides which code runs is not the talent's either
        for bad in [
            json!({"A": [1]}),
            json!({"A": "a\u{0}b"}),
            json!({"1": 2}),
            json!({"LD_PRELOAD": "x"}),
        ] {
            assert!(environment(bad.as_object().expect("an object")).is_err(), "{bad}");
        }
    }

    // F8
    #[test]
    fn a_talent_names_what_its_runs_reach() {
        let text = "{\n\"files\": {\"read\": [\"~/notes\", \"/srv\"], \"write\": [\"~/out\"]},\n\
                    \"network\": true,\n\"write\": true\n}\nx";
        let (front, problems) = read(&cut(text).expect("parts"));
        assert_eq!(problems, []);
        let paths = |paths: &[&str]| paths.iter().map(PathBuf::from).collect::<Vec<_>>();
        let granted = FileGrant {
            read: paths(&["~/notes", "/srv"]),
            write: paths(&["~/out"]),
            network: true,
            chronicle: true,
        };
        assert_eq!(front.reach, granted);
        let (front, _) = read(&cut("x").expect("parts"));
        assert_eq!(front.reach, FileGrant::default());
        let many: Vec<String> = (0..=FILES_MAX).map(|n| format!("/srv/{n}")).collect();
        for bad in [
            json!({"files": ["/srv"]}),
            json!({"files": {"reed": []}}),
            json!({"files": {"read": ["notes"]}}),
            json!({"files": {"read": ["~/../x"]}}),
            json!({"files": {"read": [1]}}),
            json!({"files": {"read": "/srv"}}),
            json!({"files": {"read": many}}),
            json!({"network": "yes"}),
        ] {
            let text = format!("{bad:#}\nx");
            let (front, problems) = read(&cut(&text).expect("parts"));
            assert!(problems.len() == 1 && problems[0].is_error(), "{bad}: {problems:?}");
            assert_eq!(front.reach, FileGrant::default(), "{bad}");
        }
    }
}
