//! Every bound of the past, with its name.

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
/// Bytes of items in a segment before it is closed. A turn more writes the open one anew, so it is not larger.
pub const SEGMENT_BYTES_MAX: usize = 128 << 10;
/// Bytes of items in one compressed block of a segment.
pub const BLOCK_BYTES_MAX: usize = 32 << 10;
/// Bytes of a block when it is unpacked. One item can be larger than a block by its longest texts.
pub const UNPACKED_BYTES_MAX: usize = 1 << 20;
/// Items of a session that are read to answer a question about it.
pub const ITEMS_MAX: usize = 200_000;
/// Calls of our own tools in one source whose results are still awaited.
pub const AWAITED_CALLS_MAX: usize = 64;
/// Edits of one call of a tool.
pub const EDITS_MAX: usize = 64;
/// Files below the roots of one agent.
pub const FILES_MAX: usize = 200_000;
/// Folders between a root and a file.
pub const DEPTH_MAX: usize = 8;
/// Bytes of source that are read before the catalogue and the index are made current.
pub const SLICE_BYTES: u64 = 64 << 20;
/// Bytes at the beginning of a source, and before the place that was reached, by which it is known again.
pub const FINGERPRINT_BYTES: u64 = 4 << 10;
/// Hits of one search.
pub const HITS_MAX: usize = 200;
/// Terms of one question.
pub const TERMS_MAX: usize = 64;
/// Blocks of text that one search unpacks.
pub const SEARCH_BLOCKS_MAX: usize = 64;
/// Parts of the index before they are merged.
pub const PARTS_MAX: usize = 8;
/// Turns of a session among the first ten hits.
pub const TURNS_OF_SESSION: usize = 2;
/// Bytes of a preview.
pub const PREVIEW_BYTES_MAX: usize = 600;
/// Postings in memory before they become a part of the index.
pub const POSTINGS_MAX: usize = 2_000_000;
/// Bytes of an output that went well whose words are counted.
pub const OUTPUT_WORDS_BYTES_MAX: usize = 400;
/// Bytes of what an edit removed, and of what it added, whose words are counted.
pub const EDIT_WORDS_BYTES_MAX: usize = 1_000;
/// Turns that are best by words, of which one search takes its hits.
pub const RANKED_TURNS_MAX: usize = 512;
/// Bytes of what was said in a turn that a hit holds.
pub const TURN_BYTES_MAX: usize = 4_000;
/// Files that a hit names.
pub const HIT_FILES_MAX: usize = 8;
/// Turns that a question about work looks at.
pub const MINED_TURNS_MAX: usize = 400;
