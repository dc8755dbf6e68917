//! A model folder of a few kilobytes: the architecture of MiniLM with made-up weights. It knows letters.

use std::path::Path;

use serde_json::{Map, Value, json};

const HIDDEN: usize = 8;
const INNER: usize = 16;
const POSITIONS: usize = 32;

fn vocabulary() -> Vec<String> {
    let mut pieces: Vec<String> = (0..104).map(|n| format!("[unused{n}]")).collect();
    for (id, piece) in [(100, "[UNK]"), (101, "[CLS]"), (102, "[SEP]"), (103, "[MASK]")] {
        pieces[id] = piece.into();
    }
    pieces.extend(('a'..='z').map(String::from));
    pieces.extend(('a'..='z').map(|c| format!("##{c}")));
    pieces
}

fn weights(vocabulary: usize) -> Vec<u8> {
    let (mut table, mut data) = (Map::<String, Value>::new(), Vec::new());
    let mut state = 1u64;
    let mut add = |name: String, shape: &[usize]| {
        let from = data.len();
        for _ in 0..shape.iter().product::<usize>() {
            state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
            let value = f32::from(u16::try_from(state >> 48).unwrap()) / 65_536.0 - 0.5;
            data.extend(value.to_le_bytes());
        }
        let entry = json!({"dtype": "F32", "shape": shape, "data_offsets": [from, data.len()]});
        table.insert(name, entry);
    };
    for (name, rows) in [("word", vocabulary), ("position", POSITIONS), ("token_type", 2)] {
        add(format!("embeddings.{name}_embeddings.weight"), &[rows, HIDDEN]);
    }
    for name in ["embeddings", "encoder.layer.0.attention.output", "encoder.layer.0.output"] {
        add(format!("{name}.LayerNorm.weight"), &[HIDDEN]);
        add(format!("{name}.LayerNorm.bias"), &[HIDDEN]);
    }
    for (name, outputs, inputs) in [
        ("attention.self.query", HIDDEN, HIDDEN),
        ("attention.self.key", HIDDEN, HIDDEN),
        ("attention.self.value", HIDDEN, HIDDEN),
        ("attention.output.dense", HIDDEN, HIDDEN),
        ("intermediate.dense", INNER, HIDDEN),
        ("output.dense", HIDDEN, INNER),
    ] {
        add(format!("encoder.layer.0.{name}.weight"), &[outputs, inputs]);
        add(format!("encoder.layer.0.{name}.bias"), &[outputs]);
    }
    let table = serde_json::to_vec(&table).unwrap();
    [&(table.len() as u64).to_le_bytes()[..], &table, &data].concat()
}

/// The three files of the model.
pub(crate) fn files() -> [(&'static str, Vec<u8>); 3] {
    let pieces = vocabulary();
    let config = json!({
        "hidden_size": HIDDEN, "num_hidden_layers": 1, "num_attention_heads": 2,
        "intermediate_size": INNER, "max_position_embeddings": POSITIONS, "type_vocab_size": 2,
        "vocab_size": pieces.len(), "layer_norm_eps": 1e-12, "hidden_act": "gelu", "model_type": "bert",
    });
    [
        ("config.json", config.to_string().into_bytes()),
        ("vocab.txt", format!("{}\n", pieces.join("\n")).into_bytes()),
        ("model.safetensors", weights(pieces.len())),
    ]
}

pub(crate) fn write(folder: &Path) {
    std::fs::create_dir_all(folder).unwrap();
    for (name, bytes) in files() {
        std::fs::write(folder.join(name), bytes).unwrap();
    }
}
