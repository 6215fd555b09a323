//! How much a reader accepts before it refuses: input is hostile.

/// Limits of what is read. Whoever reads only trusted input may raise them; the defaults are far
/// above what real tracers write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// Size of a metadata text in bytes. Default: 256 MiB.
    pub metadata_bytes: u64,
    /// Depth of nested field classes and of nested JSON or TSDL blocks. Default: 64.
    pub depth: u32,
    /// Number of field classes of one trace after aliases were expanded. Default: 1,048,576.
    pub field_classes: u64,
    /// Number of event record classes of one trace. Default: 1,048,576.
    pub event_record_classes: u64,
    /// Number of event record classes of one data stream class that are only met while reading. Further
    /// records are all of one class. Default: 65,536.
    pub late_event_record_classes: u64,
    /// Width of an integer in bits, fixed or variable length. Default: 65,536.
    pub integer_bits: u64,
    /// Array elements of zero size in one packet, beside one for each bit before them; more are an
    /// error. Default: 4,096.
    pub zero_size_elements: u64,
    /// Field classes of one root field whose fields may have no bits: an event record can have all
    /// of them in a single bit. Default: 65,536.
    pub empty_fields: u64,
    /// Number of packets of one trace. Default: 16,777,216, of which the index takes 72 bytes each.
    pub packets: u64,
    /// Problems kept per metadata text; the rest is counted only. Default: 100.
    pub diagnostics: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            metadata_bytes: 256 << 20,
            depth: 64,
            field_classes: 1 << 20,
            event_record_classes: 1 << 20,
            late_event_record_classes: 1 << 16,
            integer_bits: 1 << 16,
            zero_size_elements: 1 << 12,
            empty_fields: 1 << 16,
            packets: 1 << 24,
            diagnostics: 100,
        }
    }
}
