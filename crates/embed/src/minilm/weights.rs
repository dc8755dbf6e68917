//! `model.safetensors`: a length, a JSON table of tensors, then their bytes.
//!
//! What must stay true: nothing in the file is believed before it is checked; no length in it makes us reserve memory.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::ModelError;

/// A table for a few hundred tensors has some tens of kilobytes.
const TABLE_MAX: usize = 1 << 20;

#[derive(Debug, Deserialize)]
struct Entry {
    dtype: String,
    shape: Vec<usize>,
    data_offsets: [usize; 2],
}

/// The tensors of a file, by name.
#[derive(Debug)]
pub(super) struct Tensors<'f> {
    table: BTreeMap<String, Entry>,
    data: &'f [u8],
}

impl<'f> Tensors<'f> {
    pub(super) fn read(file: &'f [u8]) -> Result<Tensors<'f>, ModelError> {
        let damaged = |why: &str| ModelError::Damaged(why.to_owned());
        let (length, rest) =
            file.split_first_chunk::<8>().ok_or_else(|| damaged("it is too short"))?;
        let length = usize::try_from(u64::from_le_bytes(*length))
            .ok()
            .filter(|length| *length <= TABLE_MAX)
            .ok_or_else(|| damaged("its table of tensors is too long"))?;
        let (table, data) =
            rest.split_at_checked(length).ok_or_else(|| damaged("it ends inside its table"))?;
        let values: BTreeMap<String, serde_json::Value> =
            serde_json::from_slice(table).map_err(|error| damaged(&format!("table: {error}")))?;
        let mut table = BTreeMap::new();
        for (name, value) in values {
            if name == "__metadata__" {
                continue;
            }
            let entry = Entry::deserialize(value)
                .map_err(|error| damaged(&format!("tensor {name}: {error}")))?;
            table.insert(name, entry);
        }
        Ok(Tensors { table, data })
    }

    /// The values of a tensor, if it has this shape and is made of finite floats.
    pub(super) fn floats(&self, name: &str, shape: &[usize]) -> Result<Vec<f32>, ModelError> {
        let damaged = |why: String| ModelError::Damaged(format!("tensor {name}: {why}"));
        let entry =
            self.table.get(name).ok_or_else(|| ModelError::MissingTensor(name.to_owned()))?;
        if entry.shape != shape {
            let (found, wanted) = (entry.shape.clone(), shape.to_vec());
            return Err(ModelError::Shape { name: name.to_owned(), found, wanted });
        }
        if entry.dtype != "F32" {
            return Err(damaged(format!("its type is {}, not F32", entry.dtype)));
        }
        let [from, to] = entry.data_offsets;
        let bytes = self.data.get(from..to).ok_or_else(|| damaged("outside the file".into()))?;
        let (words, rest) = bytes.as_chunks::<4>();
        if words.len() != shape.iter().product::<usize>() || !rest.is_empty() {
            return Err(damaged(format!("{} bytes do not fill its shape", bytes.len())));
        }
        let values: Vec<f32> = words.iter().map(|word| f32::from_le_bytes(*word)).collect();
        if values.iter().all(|value| value.is_finite()) {
            Ok(values)
        } else {
            Err(damaged("holds values that are no numbers".into()))
        }
    }
}
