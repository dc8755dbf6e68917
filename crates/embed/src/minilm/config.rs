//! `config.json`: the sizes of the model. Whatever this forward pass does not do is refused, never ignored.

use recall::embedding::DIMS_MAX;
use serde::Deserialize;

use super::ModelError;

/// Bounds of what is read from a file somebody else wrote.
const LAYERS_MAX: usize = 64;
const INNER_MAX: usize = 4 * DIMS_MAX;
const VOCABULARY_MAX: usize = 1 << 20;
const POSITIONS_MAX: usize = 1 << 16;

#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(super) struct ModelConfig {
    pub(super) hidden_size: usize,
    pub(super) num_hidden_layers: usize,
    pub(super) num_attention_heads: usize,
    pub(super) intermediate_size: usize,
    pub(super) max_position_embeddings: usize,
    pub(super) type_vocab_size: usize,
    pub(super) vocab_size: usize,
    pub(super) layer_norm_eps: f32,
    hidden_act: String,
    model_type: String,
    #[serde(default = "absolute")]
    position_embedding_type: String,
}

fn absolute() -> String {
    "absolute".into()
}

impl ModelConfig {
    pub(super) fn parse(bytes: &[u8]) -> Result<ModelConfig, ModelError> {
        let config: ModelConfig =
            serde_json::from_slice(bytes).map_err(|error| ModelError::Config(error.to_string()))?;
        config.check()?;
        Ok(config)
    }

    fn check(&self) -> Result<(), ModelError> {
        for (name, value, wanted) in [
            ("model_type", &self.model_type, "bert"),
            ("hidden_act", &self.hidden_act, "gelu"),
            ("position_embedding_type", &self.position_embedding_type, "absolute"),
        ] {
            if value != wanted {
                return Err(ModelError::Config(format!("{name} is {value:?}, not {wanted:?}")));
            }
        }
        for (name, value, min, max) in [
            ("hidden_size", self.hidden_size, 1, DIMS_MAX),
            ("num_hidden_layers", self.num_hidden_layers, 1, LAYERS_MAX),
            ("num_attention_heads", self.num_attention_heads, 1, self.hidden_size),
            ("intermediate_size", self.intermediate_size, 1, INNER_MAX),
            ("max_position_embeddings", self.max_position_embeddings, 3, POSITIONS_MAX),
            ("type_vocab_size", self.type_vocab_size, 1, 16),
            ("vocab_size", self.vocab_size, 104, VOCABULARY_MAX),
        ] {
            if !(min..=max).contains(&value) {
                let why = format!("{name} is {value}, not between {min} and {max}");
                return Err(ModelError::Config(why));
            }
        }
        if !self.hidden_size.is_multiple_of(self.num_attention_heads) {
            return Err(ModelError::Config("the heads do not divide hidden_size".into()));
        }
        if !(self.layer_norm_eps > 0.0 && self.layer_norm_eps < 1.0) {
            return Err(ModelError::Config("layer_norm_eps is not between 0 and 1".into()));
        }
        Ok(())
    }
}
