//! The chronicle: days made of segments, what was recorded in them, and what talents wrote about them.
//!
//! `chronicle/<day>/<segment>/` holds sources (transcripts, percepts) and the outputs of segment talents;
//! `chronicle/<day>/talents/` those of daily ones. Facets are in `facets/<name>/facet.json`. What must stay true: a
//! file that cannot be read costs only itself and is named; nothing here writes outside of the home; two facets
//! never write to one path.

mod add;
mod facets;
mod files;
mod render;
mod segments;
mod sources;

use std::path::PathBuf;

use thiserror::Error;

pub use add::{AddContent, AddReport, Addition, add};
pub use facets::{
    Activity, FacetFile, active_facets, add_facet, list_facets, mute_facet, read_facet,
    segment_facets,
};
pub use files::{confined, output_path, span_path, write_atomic};
pub use render::{RenderScope, Rendering, render};
pub use segments::{
    ChronicleEntry, ChronicleEntryKind, days, entries, segments, sources_print, span_outputs,
};
pub use sources::{DaySource, SegmentLine, SourceSegment, TakenIn, take_in};

use crate::names::NameError;

#[derive(Debug, Error)]
pub enum ChronicleError {
    #[error("{}: {source}", path.display())]
    Io { path: PathBuf, source: std::io::Error },
    #[error("{}: {reason}", path.display())]
    Unreadable { path: PathBuf, reason: String },
    #[error("{0}")]
    Name(#[from] NameError),
    #[error("there is no segment {segment} on {day}")]
    NoSegment { day: String, segment: String },
    #[error("facet {0:?} exists already")]
    FacetExists(String),
    #[error("there is no facet {name:?}{hint}")]
    NoFacet { name: String, hint: String },
    #[error(
        "outputs may be in chronicle/ and facets/ of the home, and where the talent's \"files.write\" says; \
         {path:?} is elsewhere"
    )]
    Outside { path: String },
    #[error("there is nothing to add: {0}")]
    Empty(String),
}

impl ChronicleError {
    pub fn code(&self) -> &'static str {
        match self {
            ChronicleError::Io { .. } => "io",
            ChronicleError::Unreadable { .. } => "unreadable",
            ChronicleError::Name(_) => "bad_name",
            ChronicleError::NoSegment { .. } => "no_segment",
            ChronicleError::FacetExists(_) => "facet_exists",
            ChronicleError::NoFacet { .. } => "no_facet",
            ChronicleError::Outside { .. } => "outside_home",
            ChronicleError::Empty(_) => "empty",
        }
    }

    fn io(path: impl Into<PathBuf>) -> impl FnOnce(std::io::Error) -> ChronicleError {
        let path = path.into();
        move |source| ChronicleError::Io { path, source }
    }
}
