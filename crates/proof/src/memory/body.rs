//! What a memory says: title, content and the fields of its type.
//!
//! A body is sealed with a random salt and kept beside its journal entry; the entry holds only the hash. Erasing
//! deletes salt and bytes, and nobody can test a guess against the hash that stays.

use minicbor::encode::{Error as EncodeError, Write as EncodeWrite};
use minicbor::{Decode, Encode, Encoder};

use super::types::MemoryType;
use super::{MemoryId, Millis};
use crate::codec;
use crate::digest::Digest;
use crate::error::{Error, Result};

#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
#[cbor(map)]
pub struct Body {
    #[n(0)]
    pub title: String,
    /// Markdown.
    #[n(1)]
    pub content: String,
    #[n(2)]
    pub fields: Fields,
}

/// The fields of each type; all optional.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub enum Fields {
    #[n(1)]
    Identity(#[n(0)] Identity),
    #[n(2)]
    Goal(#[n(0)] Goal),
    #[n(3)]
    Preference(#[n(0)] Preference),
    #[n(4)]
    Constraint(#[n(0)] Constraint),
    #[n(5)]
    Decision(#[n(0)] Decision),
    #[n(6)]
    Fact(#[n(0)] Fact),
    #[n(7)]
    Pattern(#[n(0)] Pattern),
    #[n(8)]
    Event(#[n(0)] Event),
    #[n(9)]
    ArtifactRef(#[n(0)] ArtifactRef),
}

impl Fields {
    pub fn memory_type(&self) -> MemoryType {
        match self {
            Fields::Identity(_) => MemoryType::Identity,
            Fields::Goal(_) => MemoryType::Goal,
            Fields::Preference(_) => MemoryType::Preference,
            Fields::Constraint(_) => MemoryType::Constraint,
            Fields::Decision(_) => MemoryType::Decision,
            Fields::Fact(_) => MemoryType::Fact,
            Fields::Pattern(_) => MemoryType::Pattern,
            Fields::Event(_) => MemoryType::Event,
            Fields::ArtifactRef(_) => MemoryType::ArtifactRef,
        }
    }

    /// The fields of a type with none of them set.
    pub fn empty(memory_type: MemoryType) -> Fields {
        match memory_type {
            MemoryType::Identity => Fields::Identity(Identity::default()),
            MemoryType::Goal => Fields::Goal(Goal::default()),
            MemoryType::Preference => Fields::Preference(Preference::default()),
            MemoryType::Constraint => Fields::Constraint(Constraint::default()),
            MemoryType::Decision => Fields::Decision(Decision::default()),
            MemoryType::Fact => Fields::Fact(Fact::default()),
            MemoryType::Pattern => Fields::Pattern(Pattern::default()),
            MemoryType::Event => Fields::Event(Event::default()),
            MemoryType::ArtifactRef => Fields::ArtifactRef(ArtifactRef::default()),
        }
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Encode, Decode)]
#[cbor(map)]
pub struct Identity {
    #[n(0)]
    pub name: Option<String>,
    #[n(1)]
    pub aliases: Vec<String>,
    #[n(2)]
    pub role: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Encode, Decode)]
#[cbor(map)]
pub struct Goal {
    #[n(0)]
    pub status: GoalStatus,
    #[n(1)]
    pub due: Option<Millis>,
    #[n(2)]
    pub criteria: Vec<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Encode, Decode)]
#[cbor(map)]
pub struct Preference {
    #[n(0)]
    pub topic: Option<String>,
    #[n(1)]
    pub polarity: Polarity,
    /// Parts per million.
    #[n(2)]
    pub strength: Option<u32>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Encode, Decode)]
#[cbor(map)]
pub struct Constraint {
    #[n(0)]
    pub strength: Strength,
    #[n(1)]
    pub trigger: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Encode, Decode)]
#[cbor(map)]
pub struct Decision {
    #[n(0)]
    pub rationale: Option<String>,
    #[n(1)]
    pub alternatives: Vec<String>,
    #[n(2)]
    pub status: DecisionStatus,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Encode, Decode)]
#[cbor(map)]
pub struct Fact {
    #[n(0)]
    pub subject: Option<String>,
    #[n(1)]
    pub predicate: Option<String>,
    #[n(2)]
    pub object: Option<String>,
    #[n(3)]
    pub as_of: Option<Millis>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Encode, Decode)]
#[cbor(map)]
pub struct Pattern {
    /// Parts per million.
    #[n(0)]
    pub strength: Option<u32>,
    /// How many cases it was seen in.
    #[n(1)]
    pub coverage: Option<u32>,
    #[n(2)]
    pub evidence: Vec<MemoryId>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Encode, Decode)]
#[cbor(map)]
pub struct Event {
    #[n(0)]
    pub happened_at: Option<Millis>,
    #[n(1)]
    pub outcome: Option<Outcome>,
    #[n(2)]
    pub participants: Vec<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Encode, Decode)]
#[cbor(map)]
pub struct ArtifactRef {
    #[n(0)]
    pub uri: Option<String>,
    #[n(1)]
    pub digest: Option<String>,
    #[n(2)]
    pub media_type: Option<String>,
    #[n(3)]
    pub size: Option<u64>,
}

/// Declares an enum of words: CBOR code, name, strict parse.
macro_rules! words {
    ($(#[$doc:meta])* $name:ident { $($variant:ident = $code:literal $word:literal $(#[$default:meta])?),+ $(,)? }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Encode, Decode)]
        #[cbor(index_only)]
        pub enum $name { $($(#[$default])? #[n($code)] $variant = $code),+ }

        impl $name {
            pub const ALL: &'static [$name] = &[$($name::$variant),+];

            pub fn name(self) -> &'static str {
                match self { $($name::$variant => $word),+ }
            }

            pub fn parse(text: &str) -> $crate::error::Result<$name> {
                match text {
                    $($word => Ok($name::$variant),)+
                    _ => {
                        let shown: String = text.chars().take(64).collect();
                        let known = [$($word),+].join(", ");
                        let reason = format!("{shown:?} is not one of {known}");
                        Err($crate::error::Error::invalid(stringify!($name), reason))
                    }
                }
            }
        }
    };
}
pub(crate) use words;

words!(#[derive(Default)] GoalStatus {
    Active = 1 "active" #[default], Paused = 2 "paused", Done = 3 "done", Dropped = 4 "dropped"
});
words!(#[derive(Default)] Polarity { Prefer = 1 "prefer" #[default], Avoid = 2 "avoid", Neutral = 3 "neutral" });
words!(#[derive(Default)] Strength { Soft = 1 "soft", Firm = 2 "firm" #[default], Hard = 3 "hard" });
words!(#[derive(Default)] DecisionStatus {
    Proposed = 1 "proposed", Accepted = 2 "accepted" #[default], Rejected = 3 "rejected",
    Superseded = 4 "superseded"
});
words!(
    /// How an event or an intent ended.
    Outcome { Success = 1 "success", Failure = 2 "failure", Partial = 3 "partial" }
);

/// Sixteen random bytes that come in from outside with each body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Salt(pub [u8; 16]);

impl Salt {
    /// Stands for "no body": used where there is nothing to guess.
    pub const NONE: Salt = Salt([0; 16]);
}

/// A salt is chance, not part of what is asked: in the digest of a request it counts as nothing.
impl<C> Encode<C> for Salt {
    fn encode<W: EncodeWrite>(
        &self,
        e: &mut Encoder<W>,
        _: &mut C,
    ) -> std::result::Result<(), EncodeError<W::Error>> {
        e.null()?.ok()
    }
}

/// A body's bytes with the salt its hash was made with: what is stored beside the entry, and what erasure deletes.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
#[cbor(map)]
pub struct SealedBody {
    #[n(0)]
    #[cbor(with = "minicbor::bytes")]
    pub salt: [u8; 16],
    #[n(1)]
    #[cbor(with = "minicbor::bytes")]
    pub bytes: Vec<u8>,
}

impl SealedBody {
    pub fn new<T: Encode<()>>(salt: Salt, content: &T) -> SealedBody {
        SealedBody { salt: salt.0, bytes: codec::encode(content) }
    }

    pub fn hash(&self) -> Digest {
        Digest::of("cortex/body/1", &[&self.salt, &self.bytes])
    }

    pub fn open(&self) -> Result<Body> {
        codec::decode("body", &self.bytes)
    }

    pub fn open_note(&self) -> Result<Note> {
        codec::decode("note", &self.bytes)
    }

    pub fn from_bytes(bytes: &[u8]) -> Result<SealedBody> {
        codec::decode("sealed body", bytes)
    }

    /// Opens the body only if it is the one `expected` names.
    pub fn open_checked(&self, place: &str, expected: Digest) -> Result<Body> {
        if self.hash() == expected {
            self.open()
        } else {
            Err(Error::corrupt(place, "the body does not match the hash in its journal entry"))
        }
    }
}

/// A plain text kept sealed: a prompt, a session summary.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
#[cbor(map)]
pub struct Note {
    #[n(0)]
    pub text: String,
}
