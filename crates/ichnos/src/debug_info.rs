//! Debug information for addresses in events: see [`OpenOptions::debug_info`](crate::OpenOptions::debug_info).

use std::io::Read as _;
use std::sync::Arc;

pub use ichnos_debuginfo::*;

/// Creates debug information that also reads compressed sections.
#[must_use]
pub fn debug_info(mut options: DebugInfoOptions) -> Arc<DebugInfo> {
    options.decompress.get_or_insert(decompress);
    Arc::new(DebugInfo::new(&options))
}

/// Decompresses a section.
fn decompress(compression: Compression, bytes: &[u8], size: usize) -> Option<Vec<u8>> {
    match compression {
        Compression::Zlib => {
            let mut unpacked = Vec::new();
            let decoder = flate2::read::ZlibDecoder::new(bytes);
            decoder.take(size as u64).read_to_end(&mut unpacked).ok()?;
            Some(unpacked)
        }
        Compression::Zstandard => ichnos_io::unpack_zstd(bytes, size as u64),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    #[test]
    fn sections_are_unpacked_up_to_their_size() {
        let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(b"section").unwrap();
        let packed = encoder.finish().unwrap();
        assert_eq!(decompress(Compression::Zlib, &packed, 7).unwrap(), b"section");
        assert_eq!(decompress(Compression::Zlib, &packed, 3).unwrap(), b"sec");
        for compression in [Compression::Zlib, Compression::Zstandard] {
            assert_eq!(decompress(compression, b"nonsense", 7), None);
        }
    }
}
