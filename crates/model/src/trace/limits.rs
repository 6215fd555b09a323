//! Input limits for readers, since input may be hostile.

/// Input limits. Raise them if all input is trusted. The defaults are far above the output of real tracers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// Metadata text size in bytes. Default: 256 MiB.
    pub metadata_bytes: u64,
    /// Approximate memory in bytes for the description of one trace: classes, compiled classes, and temporary data
    /// while reading the metadata. Default: 256 MiB.
    pub description_bytes: u64,
    /// Memory in bytes that the description may take even if the metadata is short. Longer metadata may take ten times
    /// its size. See [`Limits::for_metadata`]. Default: 32 MiB.
    pub few_description_bytes: u64,
    /// Nesting depth of field classes and of JSON or TSDL blocks. Default: 64.
    pub depth: u32,
    /// Number of field classes in one trace after alias expansion. Default: 1,048,576.
    pub field_classes: u64,
    /// Number of field classes allowed even if the metadata is short. Each byte allows four more. See
    /// [`Limits::for_metadata`]. Default: 4,096.
    pub few_field_classes: u64,
    /// Number of event record classes in one trace. Default: 1,048,576.
    pub event_record_classes: u64,
    /// Number of event record classes in one data stream class that are discovered while reading. All further records
    /// share one class. Default: 65,536.
    pub dynamic_event_record_classes: u64,
    /// Integer width in bits, fixed or variable length. Default: 65,536.
    pub integer_bits: u64,
    /// Zero-size array elements in one packet, in addition to one per preceding bit. More elements are an error. If a
    /// trace has many packets, each may have at most its share of [`Limits::few_fields`]. Default: 65,536.
    pub zero_size_elements: u64,
    /// Field classes in one root field whose fields may have no bits. An event record can have all of them in a single
    /// bit. Default: 65,536.
    pub empty_fields: u64,
    /// Number of fields allowed in a trace even if its data is short. Default: 1,048,576.
    pub few_fields: u64,
    /// Additional fields in packets and event records for each bit of trace data. Very long names and labels count,
    /// too. See [`Cost`](crate::event::Cost). Default: 4.
    pub fields_per_bit: u64,
    /// Number of packets in one trace. Default: 16,777,216(the index needs 72 bytes for each).
    pub packets: u64,
    /// Number of problems kept per metadata text. Further problems are only counted. Default: 100.
    pub diagnostics: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            metadata_bytes: 256 << 20,
            description_bytes: 256 << 20,
            few_description_bytes: 32 << 20,
            depth: 64,
            field_classes: 1 << 20,
            few_field_classes: 1 << 12,
            event_record_classes: 1 << 20,
            dynamic_event_record_classes: 1 << 16,
            integer_bits: 1 << 16,
            zero_size_elements: 1 << 16,
            empty_fields: 1 << 16,
            fields_per_bit: 4,
            few_fields: 1 << 20,
            packets: 1 << 24,
            diagnostics: 100,
        }
    }
}

/// Bytes of description memory per byte of long metadata.
const MEMORY: u64 = 10;

impl Limits {
    /// Returns the limits for a metadata text with `bytes` bytes. If it was packed, `packed` contains the total size of
    /// all texts packed together and their packed size. A small input must not cause much work, however large its
    /// unpacked size.
    #[must_use]
    pub fn for_metadata(mut self, bytes: u64, packed: Option<(u64, u64)>) -> Self {
        let allowed = |bytes: u64| self.few_field_classes.saturating_add(bytes.saturating_mul(4));
        self.field_classes = self.field_classes.min(match packed {
            Some((all, given)) if given < all => share(allowed(given), bytes, all),
            _ => allowed(bytes),
        });
        let allowed = bytes.saturating_mul(MEMORY).max(self.few_description_bytes);
        self.description_bytes = self.description_bytes.min(allowed);
        self
    }

    /// Returns the number of fields allowed in `bytes` bytes of data. If it was packed, `packed` contains the total
    /// size of all data packed together and its packed size. The fields are then counted as if the packed data had
    /// expanded at most eight times.
    #[must_use]
    pub fn fields(&self, bytes: u64, packed: Option<(u64, u64)>) -> u64 {
        let allowed = |bytes: u64| {
            let of_bits = bytes.saturating_mul(8).saturating_mul(self.fields_per_bit);
            self.few_fields.saturating_add(of_bits)
        };
        match packed.map(|(all, given)| (all, given.saturating_mul(8))) {
            Some((all, given)) if given < all => share(allowed(given), bytes, all),
            _ => allowed(bytes),
        }
    }
}

/// Share of `whole` for `part` bytes, if `all` bytes share it.
fn share(whole: u64, part: u64, all: u64) -> u64 {
    u64::try_from(u128::from(whole) * u128::from(part) / u128::from(all.max(1))).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_metadata_have_few_classes() {
        let most = |bytes, packed| Limits::default().for_metadata(bytes, packed).field_classes;
        assert_eq!((most(0, None), most(1000, None), most(u64::MAX, None)), (4096, 8096, 1 << 20));
        // Two texts from an archive of 1,000 bytes, and a text from an archive larger than its content.
        assert_eq!((most(75_000, Some((100_000, 1000))), most(25_000, Some((100_000, 1000)))), (6072, 2024));
        assert_eq!(most(75_000, Some((100_000, 200_000))), 4096 + 300_000);
    }

    #[test]
    fn short_metadata_have_short_descriptions() {
        let most = |bytes| Limits::default().for_metadata(bytes, None).description_bytes;
        assert_eq!((most(0), most(3 << 20), most(10 << 20)), (32 << 20, 32 << 20, 100 << 20));
        assert_eq!((most(60 << 20), most(u64::MAX)), (256 << 20, 256 << 20));
    }

    #[test]
    fn packed_data_has_few_fields() {
        const FEW: u64 = 1 << 20;
        let most = |bytes, packed| Limits::default().fields(bytes, packed);
        assert_eq!((most(0, None), most(1000, None)), (FEW, FEW + 32_000));
        assert_eq!(most(u64::MAX, None), u64::MAX);
        // Eightfold expansion is allowed, hundredfold is not.
        assert_eq!(most(8000, Some((8000, 1000))), FEW + 8 * 32_000);
        assert_eq!(most(100_000, Some((100_000, 1000))), FEW + 8 * 32_000);
        assert_eq!(most(25_000, Some((100_000, 1000))), (FEW + 8 * 32_000) / 4);
    }
}
