//! A small data stream as LTTng writes them, with its index.

/// Its metadata: those of the example.
pub const METADATA: &[u8] = include_bytes!("../../examples/hello-lttng/trace/ust/uid/65534/64-bit/metadata");

const UUID: [u8; 16] = 0x9f573d8d_dc6d_4bcd_a9d0_03fb43d62d51_u128.to_be_bytes();

/// Five packets of one or two events, and their index.
#[must_use]
pub fn stream_and_index() -> (Vec<u8>, Vec<u8>) {
    let mut stream = Vec::new();
    let mut index = Vec::new();
    for word in [0xc1f1_dcc1_u32, 1, 1, 72] {
        index.extend(word.to_be_bytes());
    }
    for packet in 0..5u64 {
        let begin = 1000 * packet;
        let mut events = Vec::new();
        for event in 0..1 + packet % 2 + 1 {
            events.extend(0u16.to_le_bytes());
            events.extend((begin as u32 + 10 * event as u32 + 1).to_le_bytes());
            events.extend([0; 8]);
            events.extend(*b"fuzz\0\0\0\0\0\0\0\0\0\0\0\0\0");
            events.extend((packet as u32 * 2 + event as u32).to_le_bytes());
        }
        let content = 8 * (32 + 52 + events.len() as u64);
        let total = content + 64;
        let context = [begin, begin + 900, content, total, packet, packet / 3];
        let entry = [stream.len() as u64, total, content, begin, begin + 900, packet / 3, 0, 7, packet];
        entry.iter().for_each(|number| index.extend(number.to_be_bytes()));
        stream.extend(0xc1fc_1fc1_u32.to_le_bytes());
        stream.extend(UUID);
        stream.extend(0u32.to_le_bytes());
        stream.extend(7u64.to_le_bytes());
        context.iter().for_each(|number| stream.extend(number.to_le_bytes()));
        stream.extend(3u32.to_le_bytes());
        stream.extend(events);
        stream.extend([0; 8]);
    }
    (stream, index)
}
