//! Words that several texts share: how many, when, how often, and what was done.

/// "1 change", "2 changes": the second word is for all counts but one.
pub(super) fn count(number: impl Into<u64>, one: &str, many: &str) -> String {
    let number = number.into();
    if number == 1 { format!("1 {one}") } else { format!("{number} {many}") }
}

/// The number of things in a list.
pub(super) fn count_of(number: usize, one: &str, many: &str) -> String {
    count(u64::try_from(number).unwrap_or(u64::MAX), one, many)
}

/// A moment to the minute: `2026-11-18 17:03 UTC`. What is no moment stays as it is.
pub(super) fn moment(rfc3339: &str) -> String {
    match (rfc3339.get(..10), rfc3339.get(11..16)) {
        (Some(day), Some(minute)) if rfc3339.ends_with('Z') => format!("{day} {minute} UTC"),
        _ => rfc3339.to_owned(),
    }
}

/// How often something happens.
pub(super) fn every(seconds: i64) -> String {
    let of = |number: i64, one: &str| match number {
        1 => format!("every {one}"),
        number => format!("every {number} {one}s"),
    };
    match seconds {
        ..=0 => "never".to_owned(),
        _ if seconds % 86_400 == 0 => of(seconds / 86_400, "day"),
        _ if seconds % 3_600 == 0 => of(seconds / 3_600, "hour"),
        _ if seconds % 60 == 0 => of(seconds / 60, "minute"),
        _ => of(seconds, "second"),
    }
}

/// What an entry of the journal did, in a person's words.
pub(super) fn did(kind: &str) -> &str {
    match kind {
        "write" => "saved",
        "update" => "rewrote",
        "update_head" => "changed",
        "tombstone" | "forget" | "past_forget" => "forgot",
        "restore" => "brought back",
        "erase" => "erased",
        "add_edge" => "linked",
        "remove_edge" => "unlinked",
        "touch" => "read",
        "attest" => "heard about",
        "learn_weights" => "learned",
        "session_start" => "began session",
        "session_end" => "ended session",
        "prompt" => "was asked",
        "mind_run" => "tended",
        "scope_grant" => "granted",
        "scope_revoke" => "revoked",
        "scope_violation" => "refused",
        "find_late" => "answered",
        "compact" => "shortened a conversation:",
        "snapshot" => "kept the state:",
        "migration" => "migrated",
        "past_restore" => "allowed again:",
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_moments_and_intervals_read_as_people_say_them() {
        assert_eq!(count(1_u64, "change", "changes"), "1 change");
        assert_eq!(count_of(0, "change", "changes"), "0 changes");
        assert_eq!(moment("2026-11-18T17:03:26.697Z"), "2026-11-18 17:03 UTC");
        assert_eq!(moment("never"), "never");
        assert_eq!(every(3_600), "every hour");
        assert_eq!(every(604_800), "every 7 days");
        assert_eq!(every(1_800), "every 30 minutes");
        assert_eq!(every(10), "every 10 seconds");
    }
}
