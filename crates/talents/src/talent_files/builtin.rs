//! The talents that are in the binary.

/// Name and file of each.
pub(super) const TALENTS: &[(&str, &str)] = &[
    ("activity", include_str!("builtin/activity.md")),
    ("admin", include_str!("builtin/admin.md")),
    ("branch", include_str!("builtin/branch.md")),
    ("channel", include_str!("builtin/channel.md")),
    ("compaction", include_str!("builtin/compaction.md")),
    ("daily_brief", include_str!("builtin/daily_brief.md")),
    ("decisions", include_str!("builtin/decisions.md")),
    ("default", include_str!("builtin/default.md")),
    ("facets", include_str!("builtin/facets.md")),
    ("followups", include_str!("builtin/followups.md")),
    ("knowledge", include_str!("builtin/knowledge.md")),
];

/// The text that every run begins with. It never varies, so that providers can keep it in their caches.
pub(super) const SYSTEM: &str = include_str!("builtin/system.txt");
