//! The bodies of talents as templates.
//!
//! A name that does not exist is a problem at `check` and an error at run time; a name that exists but has no value
//! in this run is an error too. Nothing is ever left standing as text or replaced by nothing. Templates see only
//! what is in the scene: no files, no variables of the environment.

use minijinja::{Environment, ErrorKind, UndefinedBehavior, Value};
use thiserror::Error;

use super::problem::{TalentProblem, hint};

/// What a template may name. Each always exists; what a run does not have is none, and `{% if segment %}` asks.
pub const VARIABLES: &[&str] = &[
    "date",
    "day",
    "day_long",
    "facet",
    "facet_description",
    "facet_title",
    "facets",
    "generators",
    "input",
    "now",
    "output",
    "prompt",
    "segment",
    "segment_end",
    "segment_start",
    "talent",
    "time",
    "title",
    "use_id",
    "zone",
];

/// How much a template may do; a loop without end stops here.
const RENDERED_BYTES_MAX: usize = 1024 * 1024;

#[derive(Debug, Error)]
#[error("line {line}: {reason}")]
pub struct RenderError {
    pub line: usize,
    pub reason: String,
}

fn environment() -> Environment<'static> {
    let mut env = Environment::new();
    env.set_undefined_behavior(UndefinedBehavior::Strict);
    env.set_auto_escape_callback(|_| minijinja::AutoEscape::None);
    env.set_formatter(|out, state, value| {
        if value.is_none() {
            return Err(minijinja::Error::new(
                ErrorKind::InvalidOperation,
                "this value is not there in this run; ask with {% if … %} first",
            ));
        }
        minijinja::escape_formatter(out, state, value)
    });
    env
}

/// Every problem of a body that can be seen without running it.
pub(super) fn check(body: &str, body_line: usize) -> Vec<TalentProblem> {
    let env = environment();
    match env.template_from_str(body) {
        Err(error) => {
            let line = body_line + error.line().unwrap_or(1).saturating_sub(1);
            vec![TalentProblem::error(line, format!("template: {}", reason(&error)))]
        }
        Ok(template) => {
            let mut unknown: Vec<String> = template
                .undeclared_variables(false)
                .into_iter()
                .filter(|name| !VARIABLES.contains(&name.as_str()) && !is_builtin(&env, name))
                .collect();
            unknown.sort();
            unknown
                .iter()
                .map(|name| {
                    let line = body_line + line_of(body, name);
                    let meant = hint(name, VARIABLES);
                    TalentProblem::error(
                        line,
                        format!("template: nothing is called {name:?}{meant}"),
                    )
                })
                .collect()
        }
    }
}

/// Functions of the template language are names too.
fn is_builtin(env: &Environment<'_>, name: &str) -> bool {
    env.globals().any(|(global, _)| global == name)
}

/// The first line, from 0, that has the name inside a tag.
fn line_of(body: &str, name: &str) -> usize {
    body.lines()
        .position(|line| line.contains(name) && (line.contains("{{") || line.contains("{%")))
        .unwrap_or(0)
}

pub(super) fn render(body: &str, body_line: usize, scene: &Value) -> Result<String, RenderError> {
    let env = environment();
    let failed = |error: &minijinja::Error| RenderError {
        line: body_line + error.line().unwrap_or(1).saturating_sub(1),
        reason: reason(error),
    };
    let template = env.template_from_str(body).map_err(|error| failed(&error))?;
    let mut out = BoundedBuffer { bytes: Vec::new() };
    template.render_captured_to(scene.clone(), &mut out).map_err(|error| failed(&error))?;
    String::from_utf8(out.bytes)
        .map_err(|error| RenderError { line: body_line, reason: error.to_string() })
}

struct BoundedBuffer {
    bytes: Vec<u8>,
}

impl std::io::Write for BoundedBuffer {
    fn write(&mut self, part: &[u8]) -> std::io::Result<usize> {
        if self.bytes.len() + part.len() > RENDERED_BYTES_MAX {
            return Err(std::io::Error::other(format!(
                "the text grows beyond {RENDERED_BYTES_MAX} bytes"
            )));
        }
        self.bytes.extend_from_slice(part);
        Ok(part.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

fn reason(error: &minijinja::Error) -> String {
    let mut text = error.detail().map_or_else(|| error.kind().to_string(), str::to_owned);
    if let Some(source) = std::error::Error::source(error) {
        text = format!("{text}: {source}");
    }
    text
}

#[cfg(test)]
mod tests {
    use minijinja::context;

    use super::*;

    fn scene() -> Value {
        context! { day => "20250109", facets => vec!["work"], segment => None::<String> }
    }

    #[test]
    fn names_that_do_not_exist_are_found_before_a_run() {
        let found = check(
            "Line\n{{ day }} {% for facet in facets %}{{ facet }}{% endfor %}\n{{ segmant }}",
            5,
        );
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].line, 7);
        assert_eq!(
            found[0].reason,
            "template: nothing is called \"segmant\"; did you mean \"segment\"?"
        );
        assert_eq!(
            check("{% for i in range(3) %}{{ i }}{% endfor %}{% set a = 1 %}{{ a }}", 1),
            []
        );
    }

    #[test]
    fn what_cannot_be_read_is_told_with_its_line() {
        let found = check("One\n{% if day %}\nnever closed", 10);
        assert_eq!(found.len(), 1);
        assert!((11..=12).contains(&found[0].line), "{}", found[0]);
    }

    #[test]
    fn a_run_never_leaves_a_gap() {
        assert_eq!(render("{{ day }}", 1, &scene()).unwrap(), "20250109");
        let unknown = render("a\n{{ nobody }}", 3, &scene()).unwrap_err();
        assert_eq!(unknown.line, 4, "{unknown}");
        let none = render("{{ segment }}", 1, &scene()).unwrap_err();
        assert!(none.reason.contains("not there in this run"), "{none}");
        assert_eq!(
            render("{% if segment %}{{ segment }}{% endif %}ok", 1, &scene()).unwrap(),
            "ok"
        );
    }

    #[test]
    fn a_text_without_end_is_stopped() {
        let body = "{% for a in range(9999) %}{% for b in range(9999) %}xxxxxxxxxxxx{% endfor %}{% endfor %}";
        assert!(render(body, 1, &scene()).unwrap_err().reason.contains("grows beyond"));
    }

    #[test]
    fn marks_of_markdown_and_json_stay_as_they_are() {
        let body = "[{\"facet\": \"x\"}] <b> & 'q'";
        assert_eq!(render(body, 1, &scene()).unwrap(), body);
    }
}
