//! How much a reader accepts before it refuses: input is hostile.

/// Limits of what is read. Raise them where all input is trusted; the defaults are far
/// above what real tracers write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// Size of a metadata text in bytes. Default: 256 MiB.
    pub metadata_bytes: u64,
    /// Memory that the description of one trace may take, in bytes: its classes, what is compiled of
    /// them, and what reading the metadata takes meanwhile, about. Default: 256 MiB.
    pub description_bytes: u64,
    /// Memory, in bytes, that the description may take however short the metadata is; longer ones may
    /// take ten times their size. See [`Limits::for_metadata`]. Default: 32 MiB.
    pub few_description_bytes: u64,
    /// Depth of nested field classes and of nested JSON or TSDL blocks. Default: 64.
    pub depth: u32,
    /// Number of field classes of one trace after aliases were expanded. Default: 1,048,576.
    pub field_classes: u64,
    /// Number of those that metadata may have however short they are; each byte allows four more.
    /// See [`Limits::for_metadata`]. Default: 4,096.
    pub few_field_classes: u64,
    /// Number of event record classes of one trace. Default: 1,048,576.
    pub event_record_classes: u64,
    /// Number of event record classes of one data stream class that are only met while reading. Further
    /// records are all of one class. Default: 65,536.
    pub dynamic_event_record_classes: u64,
    /// Width of an integer in bits, fixed or variable length. Default: 65,536.
    pub integer_bits: u64,
    /// Array elements of zero size in one packet, beside one for each bit before them; more are an
    /// error. Where a trace may have many packets, each may have its share of
    /// [`Limits::few_fields`] at most. Default: 65,536.
    pub zero_size_elements: u64,
    /// Field classes of one root field whose fields may have no bits: an event record can have all
    /// of them in a single bit. Default: 65,536.
    pub empty_fields: u64,
    /// Fields that all data of a trace may have, however short it is. Default: 1,048,576.
    pub few_fields: u64,
    /// Fields that packets and event records may have beyond that for each bit of the data of a trace;
    /// names and labels that are very long count, too. See [`Cost`](crate::Cost). Default: 4.
    pub fields_per_bit: u64,
    /// Number of packets of one trace. Default: 16,777,216, of which the index takes 72 bytes each.
    pub packets: u64,
    /// Problems kept per metadata text; the rest is counted only. Default: 100.
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

/// How many bytes of memory the description may take for each byte of long metadata.
const MEMORY: u64 = 10;

impl Limits {
    /// The limits for a metadata text of `bytes` bytes. Where it was packed, `packed` is the size of all
    /// texts that were packed together and of what they were packed in: little that was given to the
    /// program should not cause much work, whatever it unpacks to.
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

    /// How many fields may be in `bytes` bytes of data. Where they were packed, `packed` is the size of
    /// all data that was packed together and of what it was packed in; the fields are then counted as if
    /// it had become eight times larger at most.
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

/// What a part has of what is for all.
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
        // Two texts out of an archive of 1,000 bytes, or of more than they have.
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
        // Eight times larger are not too many, a hundred times are.
        assert_eq!(most(8000, Some((8000, 1000))), FEW + 8 * 32_000);
        assert_eq!(most(100_000, Some((100_000, 1000))), FEW + 8 * 32_000);
        assert_eq!(most(25_000, Some((100_000, 1000))), (FEW + 8 * 32_000) / 4);
    }
}
