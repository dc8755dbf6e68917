//! Every bound of the kernel, by name. What happens at a bound is an error that names the field, never a cut.

/// Title of a memory, in bytes.
pub const TITLE_BYTES_MAX: usize = 1_024;
/// Content of a memory, a prompt or a session summary, in bytes.
pub const CONTENT_BYTES_MAX: usize = 1_048_576;
/// One short text field inside a typed body (name, subject, topic, uri …), in bytes.
pub const FIELD_BYTES_MAX: usize = 2_048;
/// One list inside a typed body (aliases, criteria, evidence …), in items.
pub const FIELD_ITEMS_MAX: usize = 64;
/// The caller's word for what a memory is, in bytes.
pub const KIND_BYTES_MAX: usize = 32;
/// Tags on one memory.
pub const TAGS_MAX: usize = 32;
/// One tag, in bytes.
pub const TAG_BYTES_MAX: usize = 64;
/// A topic key, in bytes.
pub const TOPIC_KEY_BYTES_MAX: usize = 120;
/// A project, session, channel, author, intent, step, run or idempotency key, in bytes.
pub const NAME_BYTES_MAX: usize = 128;
/// A reason given for a change, in bytes.
pub const REASON_BYTES_MAX: usize = 1_024;
/// Memories one memory may be derived from.
pub const DERIVED_FROM_MAX: usize = 64;
/// Edges from one memory, and edges to one memory.
pub const EDGES_PER_MEMORY_MAX: u32 = 10_000;
/// Citations in one attestation.
pub const CITATIONS_MAX: usize = 256;
/// Memories in one batch of accesses.
pub const TOUCHES_MAX: usize = 1_024;
/// Digests of one tombstone of the past; what has more becomes several.
pub const PAST_MEMBERS_MAX: usize = 4_096;
/// Memories in one compaction.
pub const COMPACT_ITEMS_MAX: usize = 4_096;

/// Items a find or a walk may return.
pub const FIND_LIMIT_MAX: u32 = 1_000;
/// Rows a find may examine unless the caller asks for fewer.
pub const ROWS_EXAMINED_MAX: u32 = 20_000;
/// Token budget of a find or context.
pub const BUDGET_TOKENS_MAX: u32 = 200_000;
/// Token budget of a context when none is given.
pub const BUDGET_TOKENS_DEFAULT: u32 = 3_000;
/// Nodes in one predicate.
pub const PREDICATE_NODES_MAX: usize = 128;
/// Depth of one predicate.
pub const PREDICATE_DEPTH_MAX: usize = 16;
/// A pattern in a predicate, in bytes.
pub const PATTERN_BYTES_MAX: usize = 512;
/// Compiled size of such a pattern, in bytes.
pub const PATTERN_COMPILED_BYTES_MAX: usize = 262_144;
/// Candidates with a similarity that a find accepts from outside.
pub const NEAR_MAX: usize = 4_096;

/// Weight of an edge, in parts per million: ten.
pub const EDGE_WEIGHT_MAX: u32 = 10_000_000;
/// Projects one listing names.
pub const PROJECTS_MAX: usize = 10_000;

/// Depth of a graph walk.
pub const WALK_DEPTH_MAX: u32 = 10;
/// Memories a graph walk may reach.
pub const WALK_NODES_MAX: u32 = 1_000;
/// Edges a graph walk may read.
pub const WALK_EDGES_MAX: u32 = 20_000;

/// Commands joined into one commit.
pub const GROUP_COMMANDS_MAX: usize = 512;
/// Staged bytes after which a group is committed although more commands wait.
pub const GROUP_BYTES_MAX: usize = 16 * 1_048_576;
/// Commands that may wait for one actor's writer.
pub const QUEUE_COMMANDS_MAX: usize = 4_096;
/// Commands in one bulk request.
pub const BULK_COMMANDS_MAX: usize = 16_384;
/// Bytes of text in one bulk request.
pub const BULK_BYTES_MAX: usize = 64 * 1_048_576;
/// Memories in one slice file.
pub const SLICE_RECORDS_MAX: usize = 100_000;
/// How far the time of a command may lie behind the last entry, in milliseconds, and be taken for a caller that waited.
/// A clock that is further behind was set back.
pub const CLOCK_LAG_MS_MAX: i64 = 10 * 60_000;
/// Jumps of the clock that a store names, the last ones.
pub const CLOCK_JUMPS_NAMED_MAX: usize = 16;
/// Entries a rebuild applies per commit.
pub const REBUILD_ENTRIES_PER_COMMIT: usize = 4_096;

/// Bytes after which a segment of the ledger is closed. A frame that is larger has a segment of its own.
pub const SEGMENT_BYTES_MAX: u64 = 64 * 1_048_576;
/// Entries after which everything derived is made durable: what a crash leaves to be replayed at open is less than
/// this, and the last frame.
pub const UNSYNCED_ENTRIES_MAX: u64 = 512;

/// Bytes of commits that may wait for a copy of the derived store. If more come, the copy is made while they wait.
pub const REWRITE_PENDING_BYTES_MAX: usize = 64 * 1_048_576;
/// Bytes of a derived store that are kept in memory when the disk has no room for them.
pub const SPILL_BYTES_MAX: u64 = 512 * 1_048_576;
/// Bytes of a disk that a copy of the derived store leaves to others.
pub const COPY_ROOM_LEFT_BYTES: u64 = 1_048_576;
/// New entries from which on the derived store is packed, if they are also half as many as it was last packed with.
pub const PACK_ENTRIES_MIN: u64 = 2_048;
/// Bytes of a derived store whose pages the engine checks while everybody waits, which takes about as long as to read
/// them. Of a larger one only rows are compared.
pub const ENGINE_CHECK_BYTES_MAX: u64 = 64 * 1_048_576;
/// How often a check begins anew since a memory was erased meanwhile.
pub const VERIFY_ROUNDS_MAX: usize = 5;
/// Damaged places that one open actor names.
pub const DAMAGE_NOTES_MAX: usize = 1_024;

/// Attestations of one intent that count before the limiter refuses more within a second.
pub const ATTEST_BURST: u32 = 5;
/// Violations of one grant within a second; with more, the grant is refused until the clock moves on.
pub const VIOLATION_BURST: u32 = 20;
/// Links in a chain of attenuated grants.
pub const GRANT_CHAIN_MAX: usize = 8;
/// Types, tags and projects in one selector.
pub const SELECTOR_ITEMS_MAX: usize = 64;
/// Clock difference between a delegate's signed request and now, in milliseconds.
pub const REQUEST_SKEW_MS_MAX: i64 = 60_000;
