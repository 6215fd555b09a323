//! A small data stream for unit tests.

use std::sync::Arc;

use ichnos_io::{Entry, Tree};

use crate::stream_input::StreamInput;
use crate::trace::{CtfOptions, open};

/// All fields are bytes, except the sizes and the texts. The clock has 1 GHz and starts at 0.
pub(crate) const METADATA: &str = r#"/* CTF 1.8 */
typealias integer { size = 8; } := u8;
typealias integer { size = 16; align = 8; } := u16;
typealias integer { size = 8; map = clock.c.value; } := time;
trace { major = 1; minor = 8; byte_order = le; packet.header := struct { u8 zero; }; };
clock { name = c; freq = 1000000000; };
stream {
    packet.context := struct {
        time timestamp_begin; time timestamp_end; u16 content_size; u16 packet_size;
        u8 packet_seq_num; u8 events_discarded;
    };
    event.header := struct { u8 id; time timestamp; };
};
event { name = number; id = 0; fields := struct { u8 value; }; };
event { name = text; id = 1; fields := struct { u8 length; u8 bytes[length]; string text; }; };
"#;

/// Size in bytes of a packet header and context.
pub(crate) const HEAD: usize = 9;

/// Packet fields other than sizes.
#[derive(Clone, Copy)]
pub(crate) struct PacketFields {
    pub(crate) begin: u8,
    pub(crate) end: u8,
    pub(crate) sequence: u8,
    pub(crate) discarded: u8,
}

/// Encodes a packet with these bytes after its context.
pub(crate) fn packet(fields: PacketFields, events: &[u8]) -> Vec<u8> {
    let bits = (8 * (HEAD + events.len()) as u16).to_le_bytes();
    let PacketFields { begin, end, sequence, discarded } = fields;
    let head = [0, begin, end, bits[0], bits[1], bits[0], bits[1], sequence, discarded];
    [&head, events].concat()
}

/// Opens a data stream from a file's bytes.
pub(crate) fn stream(bytes: Vec<u8>) -> Arc<StreamInput> {
    let entries =
        vec![Entry::from_bytes("metadata", METADATA.as_bytes().to_vec()), Entry::from_bytes("stream", bytes)];
    let tree = Tree { name: "test".to_owned(), entries, problems: Vec::new() };
    let mut opened = open(&[&tree], &CtfOptions::default());
    assert!(opened.errors.is_empty(), "{:?}", opened.errors);
    opened.traces.remove(0).streams.remove(0)
}
