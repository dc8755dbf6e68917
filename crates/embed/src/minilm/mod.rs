//! all-MiniLM-L6-v2 from a local folder: the optional better model, with a forward pass of its own.
//!
//! A folder holds `config.json`, `vocab.txt` and `model.safetensors`. The model reads at most 256 tokens of a text, the
//! two marks around it included, as its own authors set it: what comes later in a long text is not in its vector. The
//! work is in f32, whose last bits differ between processors, so these vectors live in a cache and never in a root; the
//! built-in model is the one whose numbers are the same everywhere. What must stay true: the model's id names the
//! weights, the vocabulary and every setting the numbers depend on.

mod config;
mod encoder;
mod error;
mod math;
#[cfg(test)]
mod tests;
mod weights;

use std::borrow::Cow;
use std::fmt;
use std::path::Path;

use recall::embedding::{Embedder, Embedding, UNKNOWN, WordPiece};
use sha2::{Digest, Sha256};

use config::ModelConfig;
use encoder::Encoder;
use weights::Tensors;

pub use error::ModelError;

/// Tokens of one text that the model reads, the two marks included.
const TOKENS_MAX: usize = 256;

/// Tokens in one pass: enough to keep the processor busy, and a bound on memory (some 50 MB for MiniLM).
const PASS_TOKENS: usize = 2_048;

/// Counts changes of the arithmetic.
const ARITHMETIC: u32 = 1;

/// The marks at the beginning and the end of every text, as BERT's vocabularies number them.
const START: u32 = 101;
const END: u32 = 102;

const CONFIG_BYTES_MAX: u64 = 1 << 20;
const VOCABULARY_BYTES_MAX: u64 = 16 << 20;
const WEIGHTS_BYTES_MAX: u64 = 2 << 30;

pub struct MiniLm {
    id: String,
    digest: String,
    pieces: WordPiece,
    encoder: Encoder,
    dims: usize,
    tokens_max: usize,
}

impl MiniLm {
    /// Reads a folder. `wanted` is the SHA-256 the weights must have, where it is known.
    pub fn open(folder: &Path, wanted: Option<&str>) -> Result<MiniLm, ModelError> {
        let config = read(folder, "config.json", CONFIG_BYTES_MAX)?;
        let vocabulary = read(folder, "vocab.txt", VOCABULARY_BYTES_MAX)?;
        let weights = read(folder, "model.safetensors", WEIGHTS_BYTES_MAX)?;
        MiniLm::from_bytes(&config, vocabulary, &weights, wanted)
    }

    pub fn from_bytes(
        config: &[u8],
        vocabulary: Vec<u8>,
        weights: &[u8],
        wanted: Option<&str>,
    ) -> Result<MiniLm, ModelError> {
        let digest = hex(&Sha256::digest(weights));
        if let Some(wanted) = wanted.filter(|wanted| *wanted != digest) {
            return Err(ModelError::Digest { found: digest, wanted: wanted.to_owned() });
        }
        let config = ModelConfig::parse(config)?;
        let mut settings = Sha256::new();
        settings.update(Sha256::digest(&vocabulary));
        settings.update((config.num_attention_heads as u64).to_be_bytes());
        settings.update(config.layer_norm_eps.to_be_bytes());
        let settings = hex(&settings.finalize());
        let pieces = read_vocabulary(vocabulary, &config)?;
        let encoder = Encoder::read(&Tensors::read(weights)?, &config)?;
        Ok(MiniLm {
            id: format!("minilm/{}/{}/{ARITHMETIC}", &digest[..16], &settings[..8]),
            digest,
            pieces,
            dims: config.hidden_size,
            tokens_max: TOKENS_MAX.min(encoder.positions()),
            encoder,
        })
    }

    /// The SHA-256 of the weights.
    pub fn digest(&self) -> &str {
        &self.digest
    }

    /// The ids of a text as the model reads them: between their marks, cut to what it can read.
    pub fn token_ids(&self, text: &str) -> Vec<u32> {
        let mut ids = self.pieces.ids(text);
        ids.truncate(self.tokens_max - 2);
        ids.insert(0, START);
        ids.push(END);
        ids
    }

    /// True if the model reads only the beginning of this text.
    pub fn cuts(&self, text: &str) -> bool {
        self.pieces.ids(text).len() > self.tokens_max - 2
    }

    /// Many texts at once, which is several times as fast as one by one. The result has their order.
    pub fn embed_many(&self, texts: &[&str]) -> Vec<Embedding> {
        let mut out = vec![Embedding::zero(self.dims); texts.len()];
        let mut pass: Vec<(usize, Vec<u32>)> = Vec::new();
        let mut tokens = 0;
        for (at, text) in texts.iter().enumerate() {
            let ids = self.token_ids(text);
            // Nothing the model knows: two such texts are not alike, so they get no direction.
            if ids[1..ids.len() - 1].iter().all(|id| *id == UNKNOWN) {
                continue;
            }
            if tokens + ids.len() > PASS_TOKENS {
                self.run(&mut pass, &mut out);
                tokens = 0;
            }
            tokens += ids.len();
            pass.push((at, ids));
        }
        self.run(&mut pass, &mut out);
        out
    }

    fn run(&self, pass: &mut Vec<(usize, Vec<u32>)>, out: &mut [Embedding]) {
        let (places, texts): (Vec<usize>, Vec<Vec<u32>>) = pass.drain(..).unzip();
        if texts.is_empty() {
            return;
        }
        for (mean, place) in self.encoder.means(&texts).rows().into_iter().zip(places) {
            let values: Vec<f32> = mean.iter().copied().collect();
            out[place] = Embedding::from_floats(&values);
        }
    }
}

impl fmt::Debug for MiniLm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MiniLm").field("id", &self.id).finish_non_exhaustive()
    }
}

impl Embedder for MiniLm {
    fn model(&self) -> &str {
        &self.id
    }

    fn dims(&self) -> usize {
        self.dims
    }

    fn embed(&self, text: &str) -> Embedding {
        self.embed_many(&[text]).pop().unwrap_or_else(|| Embedding::zero(self.dims))
    }
}

fn read_vocabulary(bytes: Vec<u8>, config: &ModelConfig) -> Result<WordPiece, ModelError> {
    let refused = |why: String| ModelError::Vocabulary(why);
    let text = String::from_utf8(bytes).map_err(|error| refused(error.to_string()))?;
    let pieces = WordPiece::new(Cow::Owned(text));
    if pieces.len() != config.vocab_size {
        let (found, wanted) = (pieces.len(), config.vocab_size);
        return Err(refused(format!("{found} pieces, but config.json says {wanted}")));
    }
    for (id, wanted) in [(UNKNOWN, "[UNK]"), (START, "[CLS]"), (END, "[SEP]")] {
        if pieces.piece(id) != Some(wanted) {
            return Err(refused(format!("piece {id} is not {wanted}")));
        }
    }
    Ok(pieces)
}

fn read(folder: &Path, name: &str, max: u64) -> Result<Vec<u8>, ModelError> {
    let file = folder.join(name);
    let unreadable = |error| ModelError::Unreadable { file: file.clone(), error };
    let size = std::fs::metadata(&file).map_err(unreadable)?.len();
    if size > max {
        return Err(ModelError::TooLarge { file, size, max });
    }
    std::fs::read(&file).map_err(unreadable)
}

fn hex(bytes: &[u8]) -> String {
    kernel::digest::encode_hex(bytes)
}
