//! The memory graph of one actor: a journal, everything that follows from it, and proofs of both.
//!
//! The journal and the bodies beside it are the truth. One pure function, `apply`, derives all other state from it, in
//! the same atomic commit; it can be dropped and made again to the same bytes. Nothing here reads a clock, draws a
//! random number or looks at the environment: time and salts come in with each command, the time of a read with its
//! query.
//!
//! A tour, in the order in which a change travels:
//!
//! - [`Cortex`] is the facade. [`command`] is what may be asked of it, [`Error`] what can go wrong, [`limits`] every
//!   bound.
//! - `admit` turns a command into complete entries or refuses it; `validate` has the checks of single fields.
//!   [`journal`] is what an entry looks like.
//! - `apply` derives rows from an entry. [`memory`] are the records, [`keys`] where they lie, [`state`] how they are
//!   read.
//! - [`hook`] lets a layer derive rows of its own in the same commit; `commitments` is the one that keeps the trees.
//! - `writer` is the one thread that writes: it joins what waits into one `batch` and answers when that is on disk.
//! - `scrub` rewrites the derived file after an erasure, while others go on.
//! - [`ledger`] is where the truth is: segments of checksummed frames. [`store`] is an ordered key-value file behind a
//!   narrow trait, where everything derived is.
//!
//! And back:
//!
//! - [`Reading`] is a consistent state; `rows` reads one memory from it. [`find`] answers typed questions, [`graph`]
//!   walks edges, [`context`] puts together what an intent should know, [`compact`] shrinks it again, [`render`] makes
//!   their texts, [`salience`] is what ranks them.
//! - [`prove`] makes the files that leave the store; the crate `proof` has their trees and checks them. `rebuild`
//!   rebuilds and verifies.
//! - [`grants`] lets delegates see and change a slice, by signed grants.
//! - [`home`] holds many actors. [`actor`] and [`uri`] are their names and those of their memories.
//!
//! The records, their canonical bytes ([`codec`], [`digest`]) and the errors about them come from the crate `proof`, so
//! that a verifier needs no store; they are re-exported here, and whoever uses the kernel takes them from the kernel.
//!
//! ```
//! use kernel::actor::ActorName;
//! use kernel::command::{Draft, Stamp};
//! use kernel::find::Query;
//! use kernel::memory::{Body, Fact, Fields, MemoryType, Millis, Salt};
//! use kernel::prove::{Subject, prove};
//! use kernel::{Cortex, Options};
//! use proof::{ProvedFact, check};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let folder = tempfile::tempdir()?;
//! let cortex = Cortex::open(folder.path(), &ActorName::parse("ada")?, Options::default())?;
//!
//! // Who, when and sixteen random bytes come from outside; here they are fixed.
//! let now = Millis(1_767_225_600_000);
//! let body = Body {
//!     title: "The build needs clang".into(),
//!     content: "gcc 9 miscompiles the parser.".into(),
//!     fields: Fields::Fact(Fact::default()),
//! };
//! let receipt = cortex.write(Stamp::new(now, "ada"), Draft::new(body, Salt([7; 16])))?;
//! let id = receipt.id.expect("a write names its memory");
//!
//! let found = cortex.find(&Query::of_types(&[MemoryType::Fact], 10), now)?;
//! assert_eq!(found.items[0].head.id, id);
//!
//! // A proof is checked without the store, against a root one trusts.
//! let reading = cortex.read()?;
//! let file = prove(&reading.view(), cortex.actor(), Subject::Memory(id), None)?;
//! let checked = check(&file)?;
//! assert_eq!(checked.root, cortex.root()?);
//! assert!(matches!(checked.fact, ProvedFact::Memory { .. }));
//!
//! // Everything derived can be made again: the root is the same.
//! let root = cortex.root()?;
//! cortex.rebuild(Box::new(|_, _| {}))?;
//! assert_eq!(cortex.root()?, root);
//! # Ok(())
//! # }
//! ```

mod admit;
mod apply;
mod background;
mod batch;
mod birth;
pub mod command;
mod commitments;
pub mod compact;
pub mod context;
mod cortex;
mod error;
pub mod find;
pub mod grants;
pub mod graph;
pub mod home;
pub mod hook;
pub mod keys;
pub mod ledger;
pub mod limits;
pub mod prove;
mod rebuild;
pub mod render;
mod rows;
pub mod salience;
mod scrub;
pub mod state;
pub mod store;
pub mod uri;
mod validate;
mod writer;

pub use apply::{EdgeChange, EntryChanges, HeadChange};
pub use batch::ProgressFn;
pub use birth::birth;
pub use cortex::{
    BackupManifest, BackupReport, CheckpointState, Cortex, HookFactory, Options, Reading,
    RenewalWatch, ResolvedMemory, RestoreReport,
};
pub use error::{Error, KernelFault, Result, StorageFailure};
pub use proof::merkle::Roots;
pub use proof::{Digest, Error as ProofError, actor, codec, digest, journal, memory};
pub use rebuild::{PROBLEMS_MAX, RebuildReport, VerifyProblem, VerifyReport};
pub use scrub::ScrubState;
pub use writer::Submission;
