//! How much of what an agent wrote is read and kept.

/// Bytes of one line of a source. The rest of a longer one is skipped and counted.
pub const LINE_BYTES_MAX: usize = 16 << 20;
/// Bytes of a source that is one JSON document.
pub const WHOLE_BYTES_MAX: u64 = 256 << 20;
/// Bytes of one cell of a database.
pub const CELL_BYTES_MAX: i64 = 16 << 20;
/// Bytes of a prompt or an answer that are kept.
pub const SPEECH_BYTES_MAX: usize = 32 << 10;
/// Bytes of the output of a tool that are kept: two thirds of its head, one third of its tail.
pub const OUTPUT_BYTES_MAX: usize = 2_000;
/// The same for what a tool says that read or edited a file: the file tells it, and the edit is kept by itself.
pub const FILE_OUTPUT_BYTES_MAX: usize = 200;
/// The same for an output that tells of an error.
pub const ERROR_BYTES_MAX: usize = 4_000;
/// Bytes of text that an edit removed or added.
pub const SPAN_BYTES_MAX: usize = 8 << 10;
/// Bytes of a command line.
pub const COMMAND_BYTES_MAX: usize = 4 << 10;
/// Bytes of a path, a title, a branch, a name.
pub const NAME_BYTES_MAX: usize = 1_024;
/// Bytes of the input of a tool that is not known.
pub const INPUT_BYTES_MAX: usize = 300;
/// Calls of one kind in one source whose results are still awaited.
pub const AWAITED_CALLS_MAX: usize = 64;
/// Edits of one call of a tool.
pub const EDITS_MAX: usize = 64;
