//! Answers as text for people, on a terminal or in the admin chat: whole lines, each with its line break.
//!
//! What must stay true: text of memories passes `untrusted`, because it draws on a terminal, and agents read terminals
//! too; where a hint proposes something, it names the command.

mod changes;

pub use changes::confirmed;
