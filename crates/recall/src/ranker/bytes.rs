//! Reads numbers, little-endian, and never past the end.

#[derive(Clone, Copy, Debug)]
pub(super) struct ModelBytes<'b>(&'b [u8]);

impl<'b> ModelBytes<'b> {
    pub(super) fn new(bytes: &'b [u8]) -> ModelBytes<'b> {
        ModelBytes(bytes)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (taken, rest) = self.0.split_first_chunk::<N>()?;
        self.0 = rest;
        Some(*taken)
    }

    pub(super) fn u8(&mut self) -> Option<u8> {
        self.take().map(u8::from_le_bytes)
    }

    pub(super) fn i8(&mut self) -> Option<i8> {
        self.take().map(i8::from_le_bytes)
    }

    pub(super) fn u16(&mut self) -> Option<u16> {
        self.take().map(u16::from_le_bytes)
    }

    pub(super) fn i32(&mut self) -> Option<i32> {
        self.take().map(i32::from_le_bytes)
    }

    pub(super) fn i64(&mut self) -> Option<i64> {
        self.take().map(i64::from_le_bytes)
    }
}
