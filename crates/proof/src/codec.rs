//! Canonical CBOR: one record, one byte string.
//!
//! Records derive `minicbor` with integer map keys, which already writes shortest integers, definite lengths and
//! ascending keys. Its decoder is lenient, so everything read back is encoded again and compared: a byte string that is
//! not exactly what we would have written is refused. Hashed records hold no floats.

use minicbor::{Decode, Encode};

use crate::error::{Error, Result};

/// Encodes a record to its only byte string.
pub fn encode<T: Encode<()>>(record: &T) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(256);
    minicbor::encode(record, &mut bytes).expect("encoding to a Vec cannot fail");
    bytes
}

/// Decodes a record and refuses every encoding but the canonical one.
pub fn decode<'b, T: Decode<'b, ()> + Encode<()>>(
    what: &'static str,
    bytes: &'b [u8],
) -> Result<T> {
    let record: T = decode_derived(what, bytes)?;
    if encode(&record) != bytes {
        let reason = "not the shortest, ordered encoding".into();
        return Err(Error::NonCanonical { what, reason });
    }
    Ok(record)
}

/// Decodes a record that we wrote ourselves and that no hash covers by its bytes. Verification compares such rows with
/// what the journal gives, so reading them need not encode them again.
pub fn decode_derived<'b, T: Decode<'b, ()>>(what: &'static str, bytes: &'b [u8]) -> Result<T> {
    let non_canonical = |reason: String| Error::NonCanonical { what, reason };
    let mut decoder = minicbor::Decoder::new(bytes);
    let record: T = decoder.decode().map_err(|e| non_canonical(e.to_string()))?;
    if decoder.position() != bytes.len() {
        return Err(non_canonical(format!("{} bytes follow", bytes.len() - decoder.position())));
    }
    Ok(record)
}
