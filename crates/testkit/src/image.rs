//! The bytes of one simulated file: what was synced, what was only written, and what a power cut leaves of that.

#[derive(Clone, Debug, Default)]
pub(crate) struct Image {
    pub(crate) durable: Vec<u8>,
    pub(crate) current: Vec<u8>,
    /// Changes since the last sync, in order.
    pub(crate) pending: Vec<Change>,
}

#[derive(Clone, Debug)]
pub(crate) enum Change {
    Write { offset: usize, data: Vec<u8> },
    Length(usize),
}

/// How much of the unsynced writes survives a power cut.
#[derive(Clone, Copy, Debug)]
pub enum PowerCut {
    /// Nothing that was not synced.
    LoseUnsynced,
    /// All of it, as if the disk had been quick.
    KeepUnsynced,
    /// A part of it, chosen by a seed; single writes may be torn at 512-byte sectors.
    Some(u64),
}

impl Image {
    pub(crate) fn of(bytes: Vec<u8>) -> Image {
        Image { durable: bytes.clone(), current: bytes, pending: Vec::new() }
    }

    pub(crate) fn apply(bytes: &mut Vec<u8>, change: &Change) {
        match change {
            Change::Length(len) => bytes.resize(*len, 0),
            Change::Write { offset, data } => {
                let end = offset + data.len();
                if bytes.len() < end {
                    bytes.resize(end, 0);
                }
                bytes[*offset..end].copy_from_slice(data);
            }
        }
    }

    pub(crate) fn after(&self, cut: PowerCut) -> Vec<u8> {
        let mut bytes = self.durable.clone();
        match cut {
            PowerCut::LoseUnsynced => {}
            PowerCut::KeepUnsynced => bytes.clone_from(&self.current),
            PowerCut::Some(seed) => {
                let mut random = seed | 1;
                for change in &self.pending {
                    // xorshift: any mixture will do, but the same one for the same seed.
                    random ^= random << 13;
                    random ^= random >> 7;
                    random ^= random << 17;
                    match (random % 4, change) {
                        (0, _) => {}
                        (1, Change::Write { offset, data }) => {
                            let sectors = data.len() / 512;
                            let kept = if sectors == 0 {
                                0
                            } else {
                                (random >> 8) as usize % sectors * 512
                            };
                            let torn =
                                Change::Write { offset: *offset, data: data[..kept].to_vec() };
                            Image::apply(&mut bytes, &torn);
                        }
                        _ => Image::apply(&mut bytes, change),
                    }
                }
            }
        }
        bytes
    }
}
