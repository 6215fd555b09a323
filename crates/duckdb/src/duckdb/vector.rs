//! Chunks of rows and their vectors.

use std::ffi::c_void;
use std::marker::PhantomData;
use std::ops::Range;

use libduckdb_sys as ffi;

use super::ColumnType;

/// Chunk of rows to fill.
pub(crate) struct Chunk<'c> {
    raw: ffi::duckdb_data_chunk,
    types: &'c [Option<ColumnType>],
    capacity: usize,
}

/// Rows of a vector.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Rows<'r> {
    /// All rows from one to another.
    Range(usize, usize),
    /// Some rows. The first number becomes row 0.
    Some(&'r [u32], u32),
}

impl<'r> Rows<'r> {
    /// Returns these rows, sorted. The row `first` becomes row 0.
    pub(crate) fn new(rows: &'r [u32], first: u32) -> Self {
        match (rows.first(), rows.last()) {
            (Some(begin), Some(last)) if (last - begin) as usize + 1 == rows.len() => {
                let begin = begin.saturating_sub(first) as usize;
                Self::Range(begin, begin + rows.len())
            }
            _ => Self::Some(rows, first),
        }
    }

    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Range(begin, end) => end - begin,
            Self::Some(rows, _) => rows.len(),
        }
    }

    /// Returns the index of the row at a place.
    #[inline]
    pub(crate) fn get(&self, at: usize) -> usize {
        match self {
            Self::Range(begin, _) => begin + at,
            Self::Some(rows, first) => rows.get(at).map_or(0, |row| row.saturating_sub(*first) as usize),
        }
    }

    fn end(&self) -> usize {
        match self {
            Self::Range(_, end) => *end,
            Self::Some(rows, first) => rows.last().map_or(0, |row| row.saturating_sub(*first) as usize + 1),
        }
    }
}

/// Value of fixed size.
///
/// # Safety
/// A vector of such a type must consist of these values.
pub(crate) unsafe trait Fixed: Copy {
    fn fits(of: &ColumnType) -> bool;
}

macro_rules! fixed {
    ($($value:ty: $($of:ident)|+;)*) => { $(
        // SAFETY: DuckDB documents the type of the values.
        unsafe impl Fixed for $value {
            fn fits(of: &ColumnType) -> bool {
                matches!(of, $(ColumnType::$of)|+)
            }
        }
    )* };
}

fixed! {
    bool: Boolean;
    i8: Int8;
    i16: Int16;
    i32: Int32;
    i64: Int64 | TimestampTz | TimestampNs;
    u8: UInt8;
    u16: UInt16;
    u32: UInt32;
    u64: UInt64;
    f32: Float32;
    f64: Float64;
}

/// Number with 128 bits, aligned as in DuckDB.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct Huge {
    low: u64,
    high: i64,
}

impl From<i128> for Huge {
    fn from(value: i128) -> Self {
        Self { low: value as u64, high: (value >> 64) as i64 }
    }
}

// SAFETY: decimals with 19 to 38 digits are stored in 128 bits.
unsafe impl Fixed for Huge {
    fn fits(of: &ColumnType) -> bool {
        matches!(of, ColumnType::Decimal(_))
    }
}

impl<'c> Chunk<'c> {
    /// # Safety
    /// The chunk must be valid as long as this value, and have columns of these types.
    pub(super) unsafe fn new(raw: ffi::duckdb_data_chunk, types: &'c [Option<ColumnType>]) -> Self {
        // SAFETY: always.
        let capacity = unsafe { ffi::duckdb_vector_size() } as usize;
        Self { raw, types, capacity }
    }

    /// Returns the maximum number of rows.
    pub(crate) fn capacity(&self) -> usize {
        self.capacity
    }

    /// Returns a column, `None` if its values do not matter.
    pub(crate) fn column(&mut self, column: usize) -> Option<Vector<'_>> {
        let of = self.types.get(column)?.as_ref()?;
        // SAFETY: the chunk is valid, and has this column.
        let raw = unsafe {
            if column as u64 >= ffi::duckdb_data_chunk_get_column_count(self.raw) {
                return None;
            }
            ffi::duckdb_data_chunk_get_vector(self.raw, column as u64)
        };
        // SAFETY: the vector is valid.
        let data = unsafe { ffi::duckdb_vector_get_data(raw) };
        Some(Vector { raw, data, of, capacity: self.capacity, mask: None, lifetime: PhantomData })
    }
}

/// Column of a chunk.
pub(crate) struct Vector<'c> {
    raw: ffi::duckdb_vector,
    data: *mut c_void,
    of: &'c ColumnType,
    capacity: usize,
    /// Bits of the values that are not missing, if some can be missing.
    mask: Option<*mut u64>,
    lifetime: PhantomData<&'c mut ()>,
}

impl Vector<'_> {
    /// Returns the type.
    pub(crate) fn of(&self) -> &ColumnType {
        self.of
    }

    /// Makes the first rows missing.
    pub(crate) fn clear(&mut self, rows: usize) {
        if let Some(mask) = self.mask() {
            // SAFETY: the mask has a bit for each row.
            unsafe { std::ptr::write_bytes(mask, 0, rows.min(self.capacity).div_ceil(64)) };
        }
    }

    fn mask(&mut self) -> Option<*mut u64> {
        if self.mask.is_none() {
            // SAFETY: the vector is valid.
            let mask = unsafe {
                ffi::duckdb_vector_ensure_validity_writable(self.raw);
                ffi::duckdb_vector_get_validity(self.raw)
            };
            self.mask = (!mask.is_null()).then_some(mask);
        }
        self.mask
    }

    /// Makes a row missing or present.
    #[inline]
    pub(crate) fn set_valid(&mut self, row: usize, is_valid: bool) {
        if row >= self.capacity || is_valid && self.mask.is_none() {
            return;
        }
        let Some(mask) = self.mask() else { return };
        // SAFETY: the mask has a bit for each row.
        unsafe {
            let word = mask.add(row / 64);
            let bit = 1u64 << (row % 64);
            *word = if is_valid { *word | bit } else { *word & !bit };
        }
    }

    /// Makes rows present.
    pub(crate) fn set_all_valid(&mut self, rows: Rows<'_>) {
        if self.mask.is_some() {
            (0..rows.len()).for_each(|at| self.set_valid(rows.get(at), true));
        }
    }

    #[inline]
    fn data<T>(&self, rows: Rows<'_>) -> Option<*mut T> {
        (rows.end() <= self.capacity && !self.data.is_null()).then_some(self.data.cast())
    }

    /// Writes values. Returns `false` for another type or too many values.
    #[must_use]
    pub(crate) fn write<T: Fixed>(
        &mut self,
        rows: Rows<'_>,
        values: impl ExactSizeIterator<Item = T>,
    ) -> bool {
        let data = if T::fits(self.of) { self.data::<T>(rows) } else { None };
        let Some(data) = data.filter(|_| values.len() == rows.len()) else { return false };
        match rows {
            // SAFETY: the vector has these rows, of this type.
            Rows::Range(begin, _) => values
                .take(rows.len())
                .enumerate()
                .for_each(|(at, value)| unsafe { data.add(begin + at).write(value) }),
            Rows::Some(..) => {
                for (at, value) in values.take(rows.len()).enumerate() {
                    let row = rows.get(at);
                    if row < self.capacity {
                        // SAFETY: the vector has this row, of this type.
                        unsafe { data.add(row).write(value) };
                    }
                }
            }
        }
        true
    }

    /// Writes values that are stored one after the other.
    #[must_use]
    pub(crate) fn write_slice<T: Fixed>(&mut self, rows: Rows<'_>, values: &[T]) -> bool {
        let Rows::Range(begin, _) = rows else { return self.write(rows, values.iter().copied()) };
        let data = if T::fits(self.of) { self.data::<T>(rows) } else { None };
        let Some(data) = data.filter(|_| values.len() == rows.len()) else { return false };
        // SAFETY: the vector has these rows, of this type.
        unsafe { std::ptr::copy_nonoverlapping(values.as_ptr(), data.add(begin), values.len()) };
        true
    }

    fn is_bytes(&self) -> bool {
        matches!(self.of, ColumnType::Text | ColumnType::Blob)
    }

    /// Writes a text or bytes. A text must be valid UTF-8.
    #[inline]
    pub(crate) fn write_bytes(&mut self, row: usize, bytes: &[u8]) {
        let Some(data) = self.data::<StringWords>(Rows::Range(row, row + 1)).filter(|_| self.is_bytes())
        else {
            return;
        };
        match StringWords::short(bytes) {
            // SAFETY: the vector has this row, of this type.
            Some(words) => unsafe { data.add(row).write(words) },
            // SAFETY: the vector has this row, and DuckDB copies the bytes.
            None => unsafe {
                ffi::duckdb_vector_assign_string_element_len(
                    self.raw,
                    row as u64,
                    bytes.as_ptr().cast(),
                    bytes.len() as u64,
                );
            },
        }
    }

    /// Writes the same text or bytes to rows.
    pub(crate) fn write_same(&mut self, rows: Rows<'_>, bytes: &[u8]) {
        if rows.len() == 0 || rows.end() > self.capacity {
            return;
        }
        let first = rows.get(0);
        self.write_bytes(first, bytes);
        self.repeat(first, rows);
    }

    /// Writes the text or the bytes of a row to other rows.
    pub(crate) fn repeat(&mut self, row: usize, rows: Rows<'_>) {
        let Some(data) = self.data::<StringWords>(rows).filter(|_| self.is_bytes() && row < self.capacity)
        else {
            return;
        };
        // SAFETY: the vector has these rows. It owns the bytes of all of them, and never changes them.
        unsafe {
            let words = *data.add(row);
            for at in 0..rows.len() {
                data.add(rows.get(at).min(self.capacity - 1)).write(words);
            }
        }
    }

    /// Appends lists with these numbers of items. `write` receives the items of all lists as one vector, and their rows.
    pub(crate) fn write_lists(
        &mut self,
        rows: Rows<'_>,
        lengths: impl ExactSizeIterator<Item = usize>,
        write: impl FnOnce(&mut Vector<'_>, Rows<'_>) -> Result<(), String>,
    ) -> Result<(), String> {
        let unfit = || "lists do not fit".to_owned();
        let ColumnType::List(item) = self.of else { return Err(unfit()) };
        let entries = self.data::<ffi::duckdb_list_entry>(rows).filter(|_| lengths.len() == rows.len());
        let entries = entries.ok_or_else(unfit)?;
        // SAFETY: the vector is a list.
        let begin = unsafe { ffi::duckdb_list_vector_get_size(self.raw) };
        let mut end = begin;
        for (at, length) in lengths.enumerate() {
            let row = rows.get(at);
            if row >= self.capacity {
                return Err(unfit());
            }
            let entry = ffi::duckdb_list_entry { offset: end, length: length as u64 };
            // SAFETY: the vector has this row.
            unsafe { entries.add(row).write(entry) };
            end += length as u64;
        }
        // SAFETY: the vector is a list. Reserved items can be written.
        let child = unsafe {
            if ffi::duckdb_list_vector_reserve(self.raw, end) != ffi::duckdb_state_DuckDBSuccess
                || ffi::duckdb_list_vector_set_size(self.raw, end) != ffi::duckdb_state_DuckDBSuccess
            {
                return Err(unfit());
            }
            ffi::duckdb_list_vector_get_child(self.raw)
        };
        // SAFETY: the child is valid. Without missing items, the mask is null.
        let (data, mask) =
            unsafe { (ffi::duckdb_vector_get_data(child), ffi::duckdb_vector_get_validity(child)) };
        let mut child = Vector {
            raw: child,
            data,
            of: item,
            capacity: end as usize,
            mask: (!mask.is_null()).then_some(mask),
            lifetime: PhantomData,
        };
        let Range { start, end } = begin as usize..end as usize;
        write(&mut child, Rows::Range(start, end))
    }
}

/// Text or bytes as DuckDB stores them: up to 12 bytes are in place.
#[derive(Clone, Copy)]
#[repr(C)]
struct StringWords {
    words: [u64; 2],
}

impl StringWords {
    #[inline]
    fn short(bytes: &[u8]) -> Option<Self> {
        let mut place = [0u8; 16];
        let length = u32::try_from(bytes.len()).ok().filter(|length| *length <= 12)?;
        let (head, tail) = place.split_at_mut(4);
        head.copy_from_slice(&length.to_ne_bytes());
        tail.get_mut(..bytes.len())?.copy_from_slice(bytes);
        let word = |at: usize| {
            let mut word = [0u8; 8];
            word.copy_from_slice(&place[at..at + 8]);
            u64::from_ne_bytes(word)
        };
        Some(Self { words: [word(0), word(8)] })
    }
}
