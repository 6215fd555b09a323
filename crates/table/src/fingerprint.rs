//! Hashes that are equal on all machines and in all runs.

use arrow_schema::{DataType, Field, TimeUnit};

use crate::cell_type::INTEGER_KEY;

/// FNV-1a with 64 bits, and a final mixing step.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fingerprint(u64);

impl Fingerprint {
    pub(crate) fn new() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }

    /// Adds bytes and their number.
    #[must_use]
    pub(crate) fn with(self, bytes: &[u8]) -> Self {
        let mut hash = self.0;
        for byte in bytes.iter().chain(&(bytes.len() as u64).to_le_bytes()) {
            hash = (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
        Self(hash)
    }

    /// Adds a column.
    #[must_use]
    pub(crate) fn with_field(self, field: &Field) -> Self {
        let name = Self::new().with(field.name().as_bytes()).hash();
        let hash = self.with(&name.to_le_bytes()).with_type(field.data_type());
        field.metadata().get(INTEGER_KEY).map_or(hash, |kind| hash.with(kind.as_bytes()))
    }

    /// Adds a type. Its number does not depend on the Arrow version.
    fn with_type(self, data_type: &DataType) -> Self {
        let number: u8 = match data_type {
            DataType::Boolean => 1,
            DataType::Int8 => 2,
            DataType::Int16 => 3,
            DataType::Int32 => 4,
            DataType::Int64 => 5,
            DataType::UInt8 => 6,
            DataType::UInt16 => 7,
            DataType::UInt32 => 8,
            DataType::UInt64 => 9,
            DataType::Decimal128(digits, _) => return self.with(&[10]).with(&[*digits]),
            DataType::Float32 => 11,
            DataType::Float64 => 12,
            DataType::Utf8 => 13,
            DataType::Binary => 14,
            DataType::Dictionary(..) => 15,
            DataType::Timestamp(TimeUnit::Microsecond, _) => 18,
            DataType::Timestamp(TimeUnit::Nanosecond, _) => 19,
            DataType::FixedSizeBinary(width) => return self.with(&[16]).with(&width.to_le_bytes()),
            DataType::List(item) => return self.with(&[17]).with_type(item.data_type()),
            _ => 0,
        };
        self.with(&[number])
    }

    /// Returns the hash for all added data.
    pub(crate) fn hash(self) -> u64 {
        // MurmurHash3 finalizer.
        let mut hash = self.0;
        hash = (hash ^ (hash >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
        hash = (hash ^ (hash >> 33)).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
        hash ^ (hash >> 33)
    }
}
