//! What is known of the tables where they are used: their version, and the two statements of every append and read.

/// The version of the tables.
pub(crate) const VERSION: i32 = 1;

/// Entries and bodies of one commit, behind entry `$2` if its bytes are `$3`. Nothing is written otherwise.
pub(crate) const APPEND: &str = "
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
), erased AS (
  DELETE FROM cortex.body WHERE actor = $1 AND seq = ANY ($8::int8[]) AND EXISTS (SELECT 1 FROM written)
)
SELECT count(*) FROM written";

/// Entries from `$2` on, at most `$3` of them and `$4` bytes; the first comes whatever it has.
pub(crate) const READ: &str = "
SELECT seq, entry, sealed FROM (
  SELECT j.seq, j.entry, b.sealed,
         sum(octet_length(j.entry) + coalesce(octet_length(b.sealed), 0)) OVER (ORDER BY j.seq) AS bytes
  FROM cortex.journal AS j LEFT JOIN cortex.body AS b ON b.actor = j.actor AND b.seq = j.seq
  WHERE j.actor = $1::text AND j.seq >= $2::int8 ORDER BY j.seq LIMIT $3::int8
) AS part WHERE bytes <= $4::int8 OR seq = $2 ORDER BY seq";
