//! A tiny model of the same architecture, written as a real folder, against vectors made by
//! `tools/model/minilm_reference.py`.

use std::path::Path;

use serde_json::{Map, Value, json};

use super::*;
use recall::embedding::{ONE, StaticEmbedder};

fn golden() -> Value {
    serde_json::from_str(include_str!("golden.json")).unwrap()
}

fn size(name: &str) -> usize {
    usize::try_from(golden()["config"][name].as_u64().unwrap()).unwrap()
}

/// The tensors of the tiny model in the order of the script, which numbers them.
fn shapes() -> Vec<(String, Vec<usize>)> {
    let (h, i) = (size("hidden_size"), size("intermediate_size"));
    let mut all = vec![
        ("embeddings.word_embeddings.weight".to_owned(), vec![size("vocab_size"), h]),
        ("embeddings.position_embeddings.weight".into(), vec![size("max_position_embeddings"), h]),
        ("embeddings.token_type_embeddings.weight".into(), vec![size("type_vocab_size"), h]),
        ("embeddings.LayerNorm.weight".into(), vec![h]),
        ("embeddings.LayerNorm.bias".into(), vec![h]),
    ];
    for n in 0..size("num_hidden_layers") {
        for (part, o, w) in [
            ("attention.self.query", h, h),
            ("attention.self.key", h, h),
            ("attention.self.value", h, h),
            ("attention.output.dense", h, h),
            ("intermediate.dense", i, h),
            ("output.dense", h, i),
        ] {
            all.push((format!("encoder.layer.{n}.{part}.weight"), vec![o, w]));
            all.push((format!("encoder.layer.{n}.{part}.bias"), vec![o]));
        }
        for part in ["attention.output.LayerNorm", "output.LayerNorm"] {
            all.push((format!("encoder.layer.{n}.{part}.weight"), vec![h]));
            all.push((format!("encoder.layer.{n}.{part}.bias"), vec![h]));
        }
    }
    all
}

fn value(tensor: u64, element: u64, norm: bool) -> f32 {
    let mut z = (tensor << 32 | element).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^= z >> 31;
    let whole = i32::try_from(z >> 40).unwrap() - (1 << 23);
    let part = f64::from(whole) / f64::from(1 << 25);
    #[expect(clippy::cast_possible_truncation, reason = "the file holds f32")]
    let value = if norm { 1.0 + part } else { part } as f32;
    value
}

/// A safetensors file of these tensors, with their values.
fn weights(shapes: &[(String, Vec<usize>)]) -> Vec<u8> {
    let (mut table, mut data) = (Map::new(), Vec::new());
    for (t, (name, shape)) in (0u64..).zip(shapes) {
        let from = data.len();
        for element in 0..shape.iter().product::<usize>() as u64 {
            data.extend(value(t, element, name.ends_with("LayerNorm.weight")).to_le_bytes());
        }
        let entry = json!({"dtype": "F32", "shape": shape, "data_offsets": [from, data.len()]});
        table.insert(name.clone(), entry);
    }
    table.insert("__metadata__".into(), json!({"format": "pt"}));
    let table = serde_json::to_vec(&table).unwrap();
    [&(table.len() as u64).to_le_bytes()[..], &table, &data].concat()
}

fn vocabulary() -> String {
    let table = StaticEmbedder::shared().table();
    let pieces = (0..).map_while(|id| table.piece(id)).take(size("vocab_size"));
    pieces.flat_map(|piece| [piece, "\n"]).collect()
}

fn folder(weights: &[u8]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let put = |name: &str, bytes: &[u8]| std::fs::write(folder.path().join(name), bytes).unwrap();
    put("config.json", golden()["config"].to_string().as_bytes());
    put("vocab.txt", vocabulary().as_bytes());
    put("model.safetensors", weights);
    folder
}

fn tiny() -> MiniLm {
    MiniLm::open(folder(&weights(&shapes())).path(), None).unwrap()
}

fn code(folder: &Path) -> &'static str {
    MiniLm::open(folder, None).unwrap_err().code()
}

#[test]
fn agrees_with_the_reference() {
    let model = tiny();
    let golden = golden();
    let cases = golden["cases"].as_array().unwrap();
    assert!(cases.len() > 20);
    let texts: Vec<&str> = cases.iter().map(|case| case["text"].as_str().unwrap()).collect();
    for ((case, text), got) in cases.iter().zip(&texts).zip(model.embed_many(&texts)) {
        assert_eq!(json!(model.token_ids(text)), case["ids"], "{text}");
        let want: Vec<f64> =
            case["vector"].as_array().unwrap().iter().map(|v| v.as_f64().unwrap()).collect();
        for (got, want) in got.values().iter().zip(&want) {
            // Half a step of i16, and what f32 loses.
            assert!((f64::from(*got) - want * 32_767.0).abs() < 1.0, "{text}: {got} {want}");
        }
    }
}

#[test]
fn a_batch_changes_nothing_but_the_time() {
    let model = tiny();
    let golden = golden();
    let texts: Vec<String> = golden["cases"]
        .as_array()
        .unwrap()
        .iter()
        .map(|case| case["text"].as_str().unwrap().to_owned())
        .chain([String::new(), "\u{1f600}".into()])
        .cycle()
        .take(300)
        .collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    for (text, together) in texts.iter().zip(model.embed_many(&texts)) {
        let alone = model.embed(text);
        let apart = alone.values().iter().zip(together.values()).map(|(a, b)| a.abs_diff(*b)).max();
        assert!(apart <= Some(1), "{text}");
    }
    assert!(model.embed_many(&[]).is_empty());
}

#[test]
fn nothing_known_is_zero_and_long_texts_are_cut() {
    let model = tiny();
    assert!(model.embed("").is_zero() && model.embed("\u{1f600} \u{1f601}").is_zero());
    let (long, longer) = ("one two three ".repeat(20), "one two three ".repeat(2_000));
    assert!(model.cuts(&long) && !model.cuts("one two three"));
    assert_eq!(model.embed(&long), model.embed(&longer));
    assert_eq!(model.token_ids(&longer).len(), size("max_position_embeddings"));
    let same = model.embed(&long);
    assert!((same.dot(&same) - ONE).abs() < ONE / 1_000);
}

#[test]
fn the_id_names_what_the_numbers_depend_on() {
    let model = tiny();
    let bytes = weights(&shapes());
    let digest = hex(&Sha256::digest(&bytes));
    assert_eq!(model.digest(), digest);
    assert!(model.model().starts_with(&format!("minilm/{}/", &digest[..16])));
    let mut config = golden()["config"].clone();
    config["num_attention_heads"] = json!(8);
    let config = config.to_string().into_bytes();
    let other = MiniLm::from_bytes(&config, vocabulary().into_bytes(), &bytes, None).unwrap();
    assert_ne!(other.model(), model.model());
}

#[test]
fn a_damaged_folder_is_named() {
    let good = weights(&shapes());
    let whole = folder(&good);
    assert!(MiniLm::open(whole.path(), Some(&hex(&Sha256::digest(&good)))).is_ok());
    let wrong = MiniLm::open(whole.path(), Some(&"0".repeat(64))).unwrap_err();
    assert_eq!(wrong.code(), "model_digest");

    let mut without = shapes();
    without.pop();
    assert_eq!(code(folder(&weights(&without)).path()), "model_tensor_missing");
    let mut reshaped = shapes();
    reshaped[5].1 = vec![16, 64];
    assert_eq!(code(folder(&weights(&reshaped)).path()), "model_tensor_shape");
    for damaged in [&good[..4], &good[..100], &good[..good.len() - 1], &[255; 64]] {
        assert_eq!(code(folder(damaged).path()), "model_damaged");
    }
    let mut infinite = good.clone();
    let last = infinite.len() - 4;
    infinite[last..].copy_from_slice(&f32::NAN.to_le_bytes());
    assert_eq!(code(folder(&infinite).path()), "model_damaged");

    let put = |name: &str, text: &str| std::fs::write(whole.path().join(name), text).unwrap();
    put("vocab.txt", "only\nthree\npieces\n");
    assert_eq!(code(whole.path()), "model_vocabulary");
    put("vocab.txt", &vocabulary().replace("[CLS]", "[cls]"));
    assert_eq!(code(whole.path()), "model_vocabulary");
    put("config.json", "{}");
    assert_eq!(code(whole.path()), "model_config");
    let relu = golden()["config"].to_string().replace("gelu", "relu");
    put("config.json", &relu);
    assert_eq!(code(whole.path()), "model_config");
    std::fs::remove_file(whole.path().join("vocab.txt")).unwrap();
    assert_eq!(code(whole.path()), "model_missing");
    assert_eq!(code(&whole.path().join("nowhere")), "model_missing");
}
