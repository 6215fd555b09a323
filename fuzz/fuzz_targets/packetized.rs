//! Metadata in packets. Mutation hardly ever keeps the headers whole, so input that does not
//! begin like one is put into packets whose sizes it chooses.
#![no_main]

use ichnos::ctf::metadata::packetized;

fn packed(bytes: &[u8]) -> Option<Vec<u8>> {
    let (flags, mut rest) = bytes.split_first()?;
    let word = |value: u32| if flags & 1 == 0 { value.to_le_bytes() } else { value.to_be_bytes() };
    let mut packets = Vec::new();
    while let Some(([content, padding], after)) = rest.split_first_chunk::<2>() {
        let content = usize::from(*content).min(after.len());
        let (text, after) = after.split_at(content);
        packets.extend(word(0x75d1_1d57));
        packets.extend([7; 16]);
        packets.extend(word(0));
        packets.extend(word((37 + content as u32) * 8));
        packets.extend(word((37 + content as u32 + u32::from(padding & 7)) * 8 + u32::from(*padding == 255)));
        packets.extend([0, 0, 0, 1, 8]);
        packets.extend(text);
        packets.extend(vec![0; usize::from(padding & 7)]);
        rest = after;
    }
    Some(packets)
}

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    if packetized::packet_byte_order(bytes).is_some() {
        ichnos_fuzz::metadata(bytes, None);
    } else if let Some(packets) = packed(bytes) {
        ichnos_fuzz::metadata(&packets, None);
    }
});
