//! Server-sent events out of bytes that come in any pieces.
//!
//! Text is only made of whole lines, so a character that was cut in two by the network is never seen broken. A line
//! and an event have a largest size.

/// One `data` of a service is a few kilobytes; a tool's arguments may be more.
pub(super) const EVENT_BYTES_MAX: usize = 8 * 1024 * 1024;

#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(super) struct SseEvent {
    pub(super) event: String,
    pub(super) data: String,
}

#[derive(Debug, Default)]
pub(super) struct SseReader {
    line: Vec<u8>,
    pending: SseEvent,
    has_data: bool,
    after_cr: bool,
}

impl SseReader {
    /// Takes a piece and gives the events that became complete.
    pub(super) fn push(&mut self, piece: &[u8], out: &mut Vec<SseEvent>) -> Result<(), String> {
        for &byte in piece {
            let after_cr = std::mem::take(&mut self.after_cr);
            match byte {
                b'\n' if after_cr => {}
                b'\n' | b'\r' => {
                    self.after_cr = byte == b'\r';
                    self.end_line(out)?;
                }
                _ => self.line.push(byte),
            }
            if self.line.len() > EVENT_BYTES_MAX {
                return Err(format!("a line of the stream is longer than {EVENT_BYTES_MAX} bytes"));
            }
        }
        Ok(())
    }

    /// What is left when the stream ends: some servers leave out the last empty line.
    pub(super) fn end(&mut self, out: &mut Vec<SseEvent>) -> Result<(), String> {
        if !self.line.is_empty() {
            self.end_line(out)?;
        }
        self.dispatch(out);
        Ok(())
    }

    fn end_line(&mut self, out: &mut Vec<SseEvent>) -> Result<(), String> {
        let bytes = std::mem::take(&mut self.line);
        let line = String::from_utf8(bytes).map_err(|_| "the stream is not UTF-8".to_owned())?;
        if line.is_empty() {
            self.dispatch(out);
            return Ok(());
        }
        let (field, value) = line.split_once(':').unwrap_or((&line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "event" => value.clone_into(&mut self.pending.event),
            "data" => {
                if self.has_data {
                    self.pending.data.push('\n');
                }
                self.pending.data.push_str(value);
                self.has_data = true;
                if self.pending.data.len() > EVENT_BYTES_MAX {
                    return Err(format!("an event is larger than {EVENT_BYTES_MAX} bytes"));
                }
            }
            // Comments keep connections open; ids and pauses are for browsers.
            _ => {}
        }
        Ok(())
    }

    fn dispatch(&mut self, out: &mut Vec<SseEvent>) {
        let event = std::mem::take(&mut self.pending);
        if std::mem::take(&mut self.has_data) {
            out.push(event);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(pieces: &[&[u8]]) -> Vec<SseEvent> {
        let mut reader = SseReader::default();
        let mut out = Vec::new();
        for piece in pieces {
            reader.push(piece, &mut out).unwrap();
        }
        reader.end(&mut out).unwrap();
        out
    }

    const STREAM: &[u8] =
        "event: a\r\ndata: {\"t\": \"ä€𝄞\"}\r\n\r\n: ping\n\ndata: one\ndata:two\n\nid: 7\n\
                           event: b\rdata: x\r\rdata: last"
            .as_bytes();

    #[test]
    fn events_are_read_as_the_standard_says() {
        let events = read(&[STREAM]);
        let told: Vec<(&str, &str)> =
            events.iter().map(|event| (event.event.as_str(), event.data.as_str())).collect();
        assert_eq!(told, [("a", "{\"t\": \"ä€𝄞\"}"), ("", "one\ntwo"), ("b", "x"), ("", "last")]);
    }

    proptest! {
        #[test]
        fn where_the_bytes_are_cut_makes_no_difference(cuts in proptest::collection::vec(0..STREAM.len(), 0..12)) {
            let mut cuts = cuts;
            cuts.sort_unstable();
            let mut pieces = Vec::new();
            let mut from = 0;
            for cut in cuts {
                pieces.push(&STREAM[from..cut]);
                from = cut;
            }
            pieces.push(&STREAM[from..]);
            prop_assert_eq!(read(&pieces), read(&[STREAM]));
        }
    }

    #[test]
    fn what_is_no_text_and_what_has_no_end_is_refused() {
        let mut reader = SseReader::default();
        let mut out = Vec::new();
        assert!(reader.push(b"data: \xff\n", &mut out).is_err());
        let mut reader = SseReader::default();
        let chunk = vec![b'a'; 1024 * 1024];
        let refused = (0..9).any(|_| reader.push(&chunk, &mut out).is_err());
        assert!(refused);
    }
}
