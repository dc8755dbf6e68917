//! Every bound of the past, with its name.

/// Bytes of items in a segment before it is closed. A turn more writes the open one anew, so it is not larger; with one
/// item more it has, nearly always, no more than the 128 KiB for which zstd is best at a level that costs little.
pub const SEGMENT_BYTES_MAX: usize = 124 << 10;
/// Bytes of items in one compressed block of a segment, which is unpacked as a whole for a turn in it: half of a
/// segment. All of it would take a fiftieth less room, and a question a sixth more time.
pub const BLOCK_BYTES_MAX: usize = 62 << 10;
/// Bytes of a block when it is unpacked. One item can be larger than a block by its longest texts.
pub const UNPACKED_BYTES_MAX: usize = 1 << 20;
/// Items of a session that are read to answer a question about it.
pub const ITEMS_MAX: usize = 200_000;
/// Files below the roots of one agent.
pub const FILES_MAX: usize = 200_000;
/// Folders between a root and a file.
pub const DEPTH_MAX: usize = 8;
/// Bytes of source that are read before the catalogue and the index are made current.
pub const SLICE_BYTES: u64 = 64 << 20;
/// Bytes at the beginning of a source, and before the place that was reached, by which it is known again.
pub const FINGERPRINT_BYTES: u64 = 4 << 10;
/// Milliseconds for which a folder that changed is looked through for new sources, by whoever follows.
pub const FRESH_FOLDER_MS: i64 = 30_000;
/// Hits of one search.
pub const HITS_MAX: usize = 200;
/// Terms of one question.
pub const TERMS_MAX: usize = 64;
/// Blocks of text that one search unpacks to judge turns.
pub const SEARCH_BLOCKS_MAX: usize = 64;
/// Parts of the index before they are merged.
pub const PARTS_MAX: usize = 8;
/// Turns of a session among the first ten hits of a question that is asked of everything.
pub const TURNS_OF_SESSION: usize = 2;
/// The same where it is asked of one folder: few sessions are about it, and what answers often lies in one of them.
pub const TURNS_OF_SESSION_IN_FOLDER: usize = 6;
/// Bytes of a preview.
pub const PREVIEW_BYTES_MAX: usize = 600;
/// Postings in memory before they become a part of the index.
pub const POSTINGS_MAX: usize = 2_000_000;
/// Bytes of an output that went well whose words are counted.
pub const OUTPUT_WORDS_BYTES_MAX: usize = 160;
/// Bytes of what an edit removed, and of what it added, whose words are counted.
pub const EDIT_WORDS_BYTES_MAX: usize = 400;
/// Turns whose texts one search judges.
pub const JUDGED_TURNS_MAX: usize = 80;
/// Bytes of what was said in a turn that are judged, and of its prompt where it was answered.
pub const JUDGED_BYTES_MAX: usize = 3_000;
pub const JUDGED_PROMPT_BYTES_MAX: usize = 1_000;
/// Turns that are best by words, of which one search takes its hits.
pub const RANKED_TURNS_MAX: usize = 512;
/// Bytes of what was said in a turn that a hit holds.
pub const TURN_BYTES_MAX: usize = 4_000;
/// Files that a hit names.
pub const HIT_FILES_MAX: usize = 8;
/// Turns that a question about work looks at.
pub const MINED_TURNS_MAX: usize = 400;
