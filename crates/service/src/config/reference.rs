//! The reference of everything that can be set, as Markdown: made from the keys themselves, so that it cannot be wrong.

use std::fmt::Write as _;

use crate::config::keys::{KEYS, Kind};

const HEAD: &str = "\
# Configuration

Made by `cortex config reference`; a test holds it to the program.

`cortex.toml` in the home (`~/.cortex`, or `CORTEX_HOME`; `CORTEX_CONFIG` names another file), then `CORTEX_*` \
variables, then flags. A
key that does not exist is refused. `cortex config show` says what is set and where it came from, \
`cortex config check` whether the file
is right. What is set about the mind counts within seconds, without a restart.
";

/// The whole reference.
pub fn reference() -> String {
    let mut text = HEAD.to_owned();
    let mut table = "";
    for key in KEYS {
        let (part, name) = key.name.split_once('.').unwrap_or(("", key.name));
        if part != table {
            table = part;
            let columns = "| key | default | may be | what it does | variable |";
            // Writing to a text cannot fail.
            let _ = writeln!(text, "\n## `[{table}]`\n\n{columns}\n|---|---|---|---|---|");
        }
        let may_be = match key.kind {
            Kind::Flag => "true, false".to_owned(),
            Kind::Whole(from, to) => format!("{from} to {to}"),
            Kind::Number(from, to) => format!("{from} to {to}, with decimals"),
            Kind::Text => "text".to_owned(),
        };
        let (default, about, variable) = ((key.default)(), key.about, key.variable());
        // Writing to a text cannot fail.
        let _ = writeln!(text, "| `{name}` | `{default}` | {may_be} | {about}. | `{variable}` |");
    }
    text.push_str(&mind::settings::reference_markdown());
    text.push_str(
        "\n\n`preset = \"quiet\"` under `[mind]` chooses one; a key that `cortex.toml` sets counts more. `cortex \
         config show` lists what it changes.\n",
    );
    text
}
