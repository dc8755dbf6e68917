//! Evaluation: how well searches find what people marked as the answers.
//!
//! [`LabelledSet`] is a set of memories and questions with their answers, and [`measure`] the measures of one ranking
//! against them. What must stay true: this module only asks searches through their ordinary functions, and nothing else
//! in recall uses it.

mod calibration;
mod features;
mod labelled;
mod measure;

pub use calibration::{Calibration, ReliabilityStep, Separation};
pub use features::{AskedGroup, features_head, features_of};
pub use labelled::{ANSWERS, CORPUS, CorpusLine, LabelledQuestion, LabelledSet, QUESTIONS};
pub use measure::{Difference, Means, MeansTable, measure, paired};
