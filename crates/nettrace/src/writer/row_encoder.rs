//! Encodes block rows.

use crate::wire_writer::{push_u16, push_u64, push_varuint};

/// Row header to write.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct RowHeader {
    /// 0 for metadata rows.
    pub(super) metadata_id: u32,
    pub(super) sequence: u32,
    /// Id, or index in the thread table (version 6).
    pub(super) thread: u64,
    pub(super) capture_thread: u64,
    pub(super) processor: u32,
    pub(super) stack_id: u32,
    pub(super) timestamp: u64,
    /// All zeros without an activity (up to version 5).
    pub(super) activity: [u8; 16],
    pub(super) related_activity: [u8; 16],
    /// 0 without labels (version 6).
    pub(super) label_list: u32,
}

/// Block header size in bytes.
const HEADER: usize = 20;

/// Block rows with compressed headers.
#[derive(Debug)]
pub(super) struct RowEncoder {
    is_v6: bool,
    rows: Vec<u8>,
    /// Previous header, and the size of its payload.
    last: RowHeader,
    last_payload: usize,
    times: Option<(u64, u64)>,
}

impl RowEncoder {
    pub(super) fn new(is_v6: bool) -> Self {
        Self { is_v6, rows: Vec::new(), last: RowHeader::default(), last_payload: 0, times: None }
    }

    /// Returns the total row size in bytes.
    pub(super) fn len(&self) -> usize {
        self.rows.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Appends a row. The first row in a thread's run is marked as sorted: later rows must not be earlier. Returns
    /// `true` for such a row.
    #[inline(always)]
    pub(super) fn push(&mut self, row: &RowHeader, payload: &[u8]) -> bool {
        let Self { is_v6, rows, last, last_payload, .. } = self;
        let counts = *is_v6 || row.metadata_id != 0;
        let is_other_thread = row.capture_thread != last.capture_thread;
        let is_sorted = is_other_thread || rows.is_empty();
        let has_origin = is_other_thread
            || row.sequence != last.sequence.wrapping_add(counts.into())
            || row.processor != last.processor;
        let flags = u8::from(row.metadata_id != last.metadata_id)
            | u8::from(has_origin) << 1
            | u8::from(row.thread != last.thread) << 2
            | u8::from(row.stack_id != last.stack_id) << 3
            | u8::from(row.activity != last.activity || row.label_list != last.label_list) << 4
            | u8::from(row.related_activity != last.related_activity) << 5
            | u8::from(is_sorted) << 6
            | u8::from(payload.len() != *last_payload) << 7;
        rows.push(flags);
        if flags & 1 != 0 {
            push_varuint(rows, row.metadata_id.into());
        }
        if has_origin {
            push_varuint(rows, row.sequence.wrapping_sub(last.sequence).wrapping_sub(1).into());
            push_varuint(rows, row.capture_thread);
            push_varuint(rows, row.processor.into());
        }
        if flags & 4 != 0 {
            push_varuint(rows, row.thread);
        }
        if flags & 8 != 0 {
            push_varuint(rows, row.stack_id.into());
        }
        push_varuint(rows, row.timestamp.wrapping_sub(last.timestamp));
        if flags & 16 != 0 {
            match *is_v6 {
                true => push_varuint(rows, row.label_list.into()),
                false => rows.extend_from_slice(&row.activity),
            }
        }
        if flags & 32 != 0 {
            rows.extend_from_slice(&row.related_activity);
        }
        if flags & 128 != 0 {
            push_varuint(rows, payload.len() as u64);
        }
        rows.extend_from_slice(payload);
        self.last = *row;
        self.last_payload = payload.len();
        let (first, latest) = self.times.unwrap_or((row.timestamp, row.timestamp));
        self.times = Some((first.min(row.timestamp), latest.max(row.timestamp)));
        is_sorted
    }

    /// Appends block content with all rows to `out`, and starts another block.
    pub(super) fn finish(&mut self, out: &mut Vec<u8>) {
        let (first, last) = self.times.take().unwrap_or_default();
        push_u16(out, HEADER as u16);
        // Headers are compressed.
        push_u16(out, 1);
        push_u64(out, first);
        push_u64(out, last);
        out.append(&mut self.rows);
        (self.last, self.last_payload) = (RowHeader::default(), 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{EventRows, RowEncoding};

    fn row(number: u32, thread: u64, timestamp: u64) -> RowHeader {
        RowHeader {
            metadata_id: 1 + number % 3,
            sequence: number,
            thread: thread + u64::from(number == 4),
            capture_thread: thread,
            processor: if number.is_multiple_of(5) { u32::MAX } else { number / 2 },
            stack_id: number / 4,
            timestamp,
            ..RowHeader::default()
        }
    }

    /// Whatever members change, the row can be read again.
    #[test]
    fn rows_are_read_as_they_were() {
        for is_v6 in [false, true] {
            let mut encoder = RowEncoder::new(is_v6);
            let rows: Vec<RowHeader> = (1..200u32)
                .map(|number| {
                    let mut row = row(number, (number / 7).into(), (u64::from(number) * 977) % 5_000);
                    match is_v6 {
                        true => row.label_list = number / 9,
                        false => {
                            row.activity = [(number / 10) as u8; 16];
                            row.related_activity = [(number / 20) as u8; 16];
                        }
                    }
                    row
                })
                .collect();
            let payloads: Vec<Vec<u8>> = (0..rows.len()).map(|index| vec![index as u8; index / 3]).collect();
            for (row, payload) in rows.iter().zip(&payloads) {
                encoder.push(row, payload);
            }
            let mut block = Vec::new();
            encoder.finish(&mut block);
            assert!(encoder.is_empty());
            let encoding = RowEncoding::Compressed { labels: is_v6 };
            let mut read = EventRows::new(encoding, HEADER..block.len(), 0);
            let guid = |at: usize| if at == 0 { [0; 16] } else { block[at..at + 16].try_into().unwrap() };
            for (row, payload) in rows.iter().zip(&payloads) {
                let found = read.next(&block).unwrap();
                let header = RowHeader {
                    metadata_id: found.metadata_id,
                    sequence: found.sequence,
                    thread: found.thread,
                    capture_thread: found.capture_thread,
                    processor: found.processor,
                    stack_id: found.stack_id,
                    timestamp: found.timestamp,
                    activity: guid(found.activity),
                    related_activity: guid(found.related_activity),
                    label_list: found.label_list,
                };
                assert_eq!((&header, &block[found.payload.clone()]), (row, &payload[..]));
            }
            assert!(read.next(&block).is_none());
        }
    }
}
