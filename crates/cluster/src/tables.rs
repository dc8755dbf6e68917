//! What is known of the tables where they are used: their version, and the statements of every append and read.

/// The version of the tables.
pub(crate) const VERSION: i32 = 1;

/// Entries and bodies of one commit, behind entry `$2` if its bytes are `$3`. Nothing is written otherwise.
///
/// What erases bodies has a statement of its own: with a deletion in it the server plans for all parts of the table
/// anew each time, which costs it more than the append.
pub(crate) fn append(erases: bool) -> String {
    let erased = if erases { ERASED } else { "" };
    format!("{WRITTEN}{erased}\nSELECT count(*) FROM written")
}

const WRITTEN: &str = "
WITH written AS (
  INSERT INTO cortex.journal (actor, seq, entry)
  SELECT $1::text, fresh.seq, fresh.entry FROM unnest($4::int8[], $5::bytea[]) AS fresh (seq, entry)
  WHERE $2::int8 = 0
     OR EXISTS (SELECT 1 FROM cortex.journal AS past WHERE past.actor = $1 AND past.seq = $2 AND past.entry = $3::bytea)
  RETURNING seq
), bodies AS (
  INSERT INTO cortex.body (actor, seq, sealed)
  SELECT $1, fresh.seq, fresh.sealed FROM unnest($6::int8[], $7::bytea[]) AS fresh (seq, sealed)
  WHERE EXISTS (SELECT 1 FROM written)
)";
const ERASED: &str = ", erased AS (
  DELETE FROM cortex.body WHERE actor = $1 AND seq = ANY ($8::int8[]) AND EXISTS (SELECT 1 FROM written)
)";

/// Entries from `$2` on, at most `$3` of them and `$4` bytes; the first comes whatever it has. A body is asked for by
/// its entry: a join may read every body of the actor for one entry, where the server has not counted them yet.
pub(crate) const READ: &str = "
SELECT seq, entry, sealed FROM (
  SELECT seq, entry, sealed, sum(octet_length(entry) + coalesce(octet_length(sealed), 0)) OVER (ORDER BY seq) AS bytes
  FROM (
    SELECT j.seq, j.entry, (SELECT b.sealed FROM cortex.body AS b WHERE b.actor = $1 AND b.seq = j.seq) AS sealed
    FROM cortex.journal AS j WHERE j.actor = $1::text AND j.seq >= $2::int8 ORDER BY j.seq LIMIT $3::int8
  ) AS found
) AS part WHERE bytes <= $4::int8 OR seq = $2 ORDER BY seq";

/// Every statement finds its rows by their key, however many there are. A server that may choose plans each one anew
/// for all parts of the tables, which takes longer than to run it, and chooses badly for what it has not counted yet.
pub(crate) const BY_KEY: &str = "
SELECT set_config(wish.name, wish.value, false)
FROM (VALUES ('plan_cache_mode', 'force_generic_plan'), ('enable_seqscan', 'off'), ('enable_bitmapscan', 'off'))
  AS wish (name, value)
WHERE current_setting(wish.name, true) IS NOT NULL";
