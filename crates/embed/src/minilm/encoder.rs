//! The forward pass of a BERT encoder: rows of tokens in, one mean row for each text out.
//!
//! Texts of a batch are packed one after the other without padding: the linear layers see all rows at once, attention
//! sees each text alone. What must stay true: a text's vector does not depend on what else is in the batch, up to the
//! last bits.

use std::ops::Range;

use ndarray::linalg::general_mat_mul;
use ndarray::{Array2, ArrayView2, ArrayViewMut2, Axis, Slice};

use super::ModelError;
use super::config::ModelConfig;
use super::math::{Norm, count, gelu, softmax};
use super::weights::Tensors;

/// y = x W + b.
#[derive(Debug)]
struct Linear {
    /// One row for each input, where the file has one for each output: the product reads it in this order, twice as
    /// fast.
    weight: Array2<f32>,
    bias: Vec<f32>,
}

impl Linear {
    fn read(
        tensors: &Tensors<'_>,
        names: &[String],
        outputs: usize,
        inputs: usize,
    ) -> Result<Linear, ModelError> {
        let (mut weight, mut bias) = (Vec::new(), Vec::new());
        for name in names {
            weight.extend(tensors.floats(&format!("{name}.weight"), &[outputs, inputs])?);
            bias.extend(tensors.floats(&format!("{name}.bias"), &[outputs])?);
        }
        let weight = Array2::from_shape_vec((bias.len(), inputs), weight)
            .map_err(|error| ModelError::Damaged(error.to_string()))?;
        Ok(Linear { weight: weight.t().as_standard_layout().into_owned(), bias })
    }

    fn apply(&self, x: &ArrayView2<'_, f32>, y: &mut Array2<f32>) {
        for mut row in y.rows_mut() {
            row.iter_mut().zip(&self.bias).for_each(|(value, bias)| *value = *bias);
        }
        general_mat_mul(1.0, x, &self.weight, 1.0, y);
    }
}

#[derive(Debug)]
struct Layer {
    /// Query, key and value in one matrix: one large product is faster than three small ones.
    attention: Linear,
    mixed: Linear,
    mixed_norm: Norm,
    up: Linear,
    down: Linear,
    norm: Norm,
}

#[derive(Debug)]
pub(super) struct Encoder {
    words: Array2<f32>,
    /// Position and segment are one vector here: all our texts are of the first segment.
    places: Array2<f32>,
    norm: Norm,
    layers: Vec<Layer>,
    heads: usize,
    hidden: usize,
    inner: usize,
}

fn read_norm(tensors: &Tensors<'_>, name: &str, config: &ModelConfig) -> Result<Norm, ModelError> {
    let dims = [config.hidden_size];
    Ok(Norm {
        weight: tensors.floats(&format!("{name}.weight"), &dims)?,
        bias: tensors.floats(&format!("{name}.bias"), &dims)?,
        epsilon: config.layer_norm_eps,
    })
}

fn table(
    tensors: &Tensors<'_>,
    name: &str,
    rows: usize,
    config: &ModelConfig,
) -> Result<Array2<f32>, ModelError> {
    let shape = [rows, config.hidden_size];
    let values = tensors.floats(&format!("embeddings.{name}_embeddings.weight"), &shape)?;
    Array2::from_shape_vec((rows, config.hidden_size), values)
        .map_err(|error| ModelError::Damaged(error.to_string()))
}

impl Encoder {
    pub(super) fn read(tensors: &Tensors<'_>, config: &ModelConfig) -> Result<Encoder, ModelError> {
        let (hidden, inner) = (config.hidden_size, config.intermediate_size);
        let mut places = table(tensors, "position", config.max_position_embeddings, config)?;
        let segments = table(tensors, "token_type", config.type_vocab_size, config)?;
        places += &segments.row(0);
        let mut layers = Vec::with_capacity(config.num_hidden_layers);
        for n in 0..config.num_hidden_layers {
            let name = |part: &str| format!("encoder.layer.{n}.{part}");
            let linear = |parts: &[&str], outputs, inputs| {
                let names: Vec<String> = parts.iter().map(|part| name(part)).collect();
                Linear::read(tensors, &names, outputs, inputs)
            };
            let read = ["attention.self.query", "attention.self.key", "attention.self.value"];
            layers.push(Layer {
                attention: linear(&read, hidden, hidden)?,
                mixed: linear(&["attention.output.dense"], hidden, hidden)?,
                mixed_norm: read_norm(tensors, &name("attention.output.LayerNorm"), config)?,
                up: linear(&["intermediate.dense"], inner, hidden)?,
                down: linear(&["output.dense"], hidden, inner)?,
                norm: read_norm(tensors, &name("output.LayerNorm"), config)?,
            });
        }
        Ok(Encoder {
            words: table(tensors, "word", config.vocab_size, config)?,
            places,
            norm: read_norm(tensors, "embeddings.LayerNorm", config)?,
            layers,
            heads: config.num_attention_heads,
            hidden,
            inner,
        })
    }

    /// Tokens of one text that have a place.
    pub(super) fn positions(&self) -> usize {
        self.places.nrows()
    }

    /// The mean of the last layer's rows, one for each text. Ids and lengths were checked by the caller.
    pub(super) fn means(&self, texts: &[Vec<u32>]) -> Array2<f32> {
        let mut spans: Vec<Range<usize>> = Vec::with_capacity(texts.len());
        let mut rows = 0;
        for text in texts {
            spans.push(rows..rows + text.len());
            rows += text.len();
        }
        let mut x = Array2::zeros((rows, self.hidden));
        self.look_up(texts, &mut x);
        let mut read = Array2::zeros((rows, 3 * self.hidden));
        let mut mixed = Array2::zeros((rows, self.hidden));
        let mut out = Array2::zeros((rows, self.hidden));
        let mut inner = Array2::zeros((rows, self.inner));
        for layer in &self.layers {
            layer.attention.apply(&x.view(), &mut read);
            for span in &spans {
                let rows = Slice::from(span.clone());
                let from = read.slice_axis(Axis(0), rows);
                self.attend(&from, mixed.slice_axis_mut(Axis(0), rows));
            }
            layer.mixed.apply(&mixed.view(), &mut out);
            x += &out;
            each_row(&mut x, |row| layer.mixed_norm.apply(row));
            layer.up.apply(&x.view(), &mut inner);
            each_row(&mut inner, gelu);
            layer.down.apply(&inner.view(), &mut out);
            x += &out;
            each_row(&mut x, |row| layer.norm.apply(row));
        }
        let mut means = Array2::zeros((texts.len(), self.hidden));
        for (mut mean, span) in means.rows_mut().into_iter().zip(&spans) {
            for row in x.slice_axis(Axis(0), Slice::from(span.clone())).rows() {
                mean += &row;
            }
            mean /= count(span.len()).max(1.0);
        }
        means
    }

    fn look_up(&self, texts: &[Vec<u32>], x: &mut Array2<f32>) {
        let tokens = texts.iter().flat_map(|text| text.iter().enumerate());
        for (mut row, (place, id)) in x.rows_mut().into_iter().zip(tokens) {
            let word = usize::try_from(*id).unwrap_or(0);
            row += &self.words.row(word);
            row += &self.places.row(place);
        }
        each_row(x, |row| self.norm.apply(row));
    }

    /// Attention within one text: each row of `mixed` becomes a mean of the values, weighted by how keys answer its
    /// query.
    fn attend(&self, read: &ArrayView2<'_, f32>, mut mixed: ArrayViewMut2<'_, f32>) {
        let (tokens, width) = (read.nrows(), self.hidden / self.heads);
        let scale = 1.0 / count(width).sqrt();
        let mut shares = Array2::zeros((tokens, tokens));
        for head in 0..self.heads {
            let part = |which: usize| {
                let from = which * self.hidden + head * width;
                read.slice_axis(Axis(1), Slice::from(from..from + width))
            };
            general_mat_mul(scale, &part(0), &part(1).t(), 0.0, &mut shares);
            each_row(&mut shares, softmax);
            let columns = Slice::from(head * width..(head + 1) * width);
            let mut target = mixed.slice_axis_mut(Axis(1), columns);
            general_mat_mul(1.0, &shares, &part(2), 0.0, &mut target);
        }
    }
}

fn each_row(rows: &mut Array2<f32>, change: impl Fn(&mut [f32])) {
    let width = rows.ncols();
    if let Some(values) = rows.as_slice_mut() {
        values.chunks_exact_mut(width).for_each(change);
    }
}
