//! Test helpers: recorded data, document tables, and random metadata.

use std::fmt::Write as _;

use ichnos_testing::Random;
use ichnos_xtrace::{Metadata, OpId, TaskId};

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        write!(text, "{byte:02X}").unwrap();
        text
    })
}

pub(crate) fn bytes(random: &mut Random, length: usize) -> Vec<u8> {
    (0..length).map(|_| random.number() as u8).collect()
}

pub(crate) fn task(random: &mut Random) -> TaskId {
    let length = random.pick(TaskId::LENGTHS);
    TaskId::from_bytes(&bytes(random, length)).unwrap()
}

pub(crate) fn op(random: &mut Random) -> OpId {
    let length = random.pick(OpId::LENGTHS);
    OpId::from_bytes(&bytes(random, length)).unwrap()
}

/// Returns any well-formed metadata, built without the crate's parser or writer.
pub(crate) fn metadata_bytes(random: &mut Random) -> Vec<u8> {
    let id_length = random.index(4);
    let version = random.index(2);
    let has_long_op = version == 1 && random.below(2) == 0;
    let mut options = Vec::new();
    if random.below(2) == 0 {
        while random.below(8) > 0 {
            let any = 1 + random.below(255) as u8;
            let number = random.pick(&[1, 0xC0, 0xC1, 0xCE, 0xCF, 255, any]);
            let most = 253usize.saturating_sub(options.len());
            let usual = if random.below(10) == 0 { 254 } else { 9 };
            let length = random.index(most.min(usual) + 1);
            if options.len() + 2 + length > 255 {
                break;
            }
            options.extend([number, length as u8]);
            options.extend(bytes(random, length));
        }
        if random.below(3) == 0 && options.len() < 255 {
            options.push(0);
            let length = random.index(256 - options.len());
            let rest = if random.below(2) == 0 { vec![0; length] } else { bytes(random, length) };
            options.extend(rest);
        }
    }
    let flags =
        version << 4 | usize::from(has_long_op) << 3 | usize::from(!options.is_empty()) << 2 | id_length;
    let mut all = vec![flags as u8];
    all.extend(bytes(random, [4, 8, 12, 20][id_length]));
    all.extend(bytes(random, if has_long_op { 8 } else { 4 }));
    if !options.is_empty() {
        all.push(options.len() as u8);
        all.extend(options);
    }
    all
}

/// Returns metadata with any options.
pub(crate) fn metadata(random: &mut Random) -> Metadata {
    Metadata::parse_bytes(&metadata_bytes(random)).unwrap()
}
