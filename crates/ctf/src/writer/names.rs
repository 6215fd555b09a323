//! File and directory names, and trace identities.

use ichnos_io::FileNames;
use ichnos_model::class::Uuid;

/// Returns an output data stream file's name: the source file's name, if it is allowed.
pub(super) fn file_name(source: &str, names: &mut FileNames) -> String {
    let last = source.rsplit(['/', '\\']).next().unwrap_or_default();
    let name = names.add(if last.is_empty() { NO_NAME } else { last });
    let is_reserved = matches!(&*name, "metadata" | "index") || name.ends_with(".json");
    if is_reserved { names.add(&format!("{name}-stream")) } else { name }
}

/// Returns the name of a data stream's further file. `first` is its first file, and `part` counts further files from 0.
pub(super) fn part_name(first: &str, part: usize, names: &mut FileNames) -> String {
    names.add(&format!("{first}_{}", part + 1))
}

/// Returns a trace's directory name among other traces.
pub(super) fn directory_name(path: &str, names: &mut FileNames) -> String {
    let mut parts = path.split('/').filter(|part| !matches!(*part, "" | "." | ".."));
    names.add(parts.next_back().unwrap_or(NO_NAME))
}

/// Returns a UUID derived from other UUIDs and from words (RFC 9562, version 8).
pub(super) fn derived_uuid(of: impl Iterator<Item = Uuid>, words: &[String]) -> Uuid {
    // 128-bit FNV-1a: a cryptographic hash is not needed, but equal traces must produce equal results.
    const PRIME: u128 = 0x0000_0000_0100_0000_0000_0000_0000_013b;
    let mut hash = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d_u128;
    let mut add = |byte: u8| hash = (hash ^ u128::from(byte)).wrapping_mul(PRIME);
    of.for_each(|uuid| uuid.into_bytes().into_iter().for_each(&mut add));
    for word in words {
        word.bytes().chain([0]).for_each(&mut add);
    }
    uuid::Builder::from_custom_bytes(hash.to_be_bytes()).into_uuid()
}

/// Name of streams without a source name.
const NO_NAME: &str = "stream";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_safe_and_differ() {
        let mut names = FileNames::default();
        let mut name = |source| file_name(source, &mut names);
        assert_eq!(name("/a/b/channel0_0"), "channel0_0");
        assert_eq!(name("c/channel0_0"), "channel0_0_2");
        assert_eq!(name("Channel0_0"), "Channel0_0_3");
        assert_eq!(name("metadata"), "metadata-stream");
        assert_eq!(name("x/.."), "_.");
        assert_eq!(name(""), "stream");
        assert_eq!(name("a\u{1b}[2J.json"), "a__2J.json-stream");
        assert_eq!(part_name("channel0_0", 1, &mut names), "channel0_0_2_2");
        assert_eq!(part_name("channel0_0", 3, &mut names), "channel0_0_4");
    }
}
