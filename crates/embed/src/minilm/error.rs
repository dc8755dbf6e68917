//! Why a model folder cannot be used. Each reason has a stable code; a folder is used as a whole or not at all.

use std::path::PathBuf;

#[derive(Debug, thiserror::Error)]
pub enum ModelError {
    #[error("{}: {error}", file.display())]
    Unreadable { file: PathBuf, error: std::io::Error },
    #[error("{}: {size} bytes, more than the {max} a model of this kind can have", file.display())]
    TooLarge { file: PathBuf, size: u64, max: u64 },
    #[error("config.json: {0}")]
    Config(String),
    #[error("vocab.txt: {0}")]
    Vocabulary(String),
    #[error("model.safetensors: {0}")]
    Damaged(String),
    #[error("model.safetensors has no tensor {0}")]
    MissingTensor(String),
    #[error("model.safetensors: tensor {name} has the shape {found:?}, not {wanted:?}")]
    Shape { name: String, found: Vec<usize>, wanted: Vec<usize> },
    #[error("model.safetensors has the SHA-256 {found}, not {wanted}")]
    Digest { found: String, wanted: String },
}

impl ModelError {
    pub fn code(&self) -> &'static str {
        match self {
            ModelError::Unreadable { error, .. }
                if error.kind() == std::io::ErrorKind::NotFound =>
            {
                "model_missing"
            }
            ModelError::Unreadable { .. } => "model_unreadable",
            ModelError::TooLarge { .. } => "model_too_large",
            ModelError::Config(_) => "model_config",
            ModelError::Vocabulary(_) => "model_vocabulary",
            ModelError::Damaged(_) => "model_damaged",
            ModelError::MissingTensor(_) => "model_tensor_missing",
            ModelError::Shape { .. } => "model_tensor_shape",
            ModelError::Digest { .. } => "model_digest",
        }
    }
}
