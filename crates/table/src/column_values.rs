//! Column values that wait to become an array in a batch.

use std::sync::Arc;

use arrow_array::types::Int32Type;
use arrow_array::{
    Array as _, ArrayRef, BinaryArray, BooleanArray, Decimal128Array, DictionaryArray, FixedSizeBinaryArray,
    Float32Array, Float64Array, Int8Array, Int16Array, Int32Array, Int64Array, ListArray, PrimitiveArray,
    StringArray, UInt8Array, UInt16Array, UInt32Array, UInt64Array,
};
use arrow_buffer::{BooleanBuffer, BooleanBufferBuilder, Buffer, NullBuffer, OffsetBuffer, ScalarBuffer};
use arrow_schema::{ArrowError, Field as ArrowField};
use ichnos_model::decode::FieldLoad;
use ichnos_model::field::{StringEncoding, Text, Wide};
use ichnos_model::lower::LossCounts;

use crate::cell_type::{CellType, LabelNames};
use crate::validity::ValidityBuilder;

/// Maximum number of elements, and of text bytes, in one column of a batch. Arrow offsets have 32 bits.
const MOST_VALUES: usize = 1 << 27;
const MOST_BYTES: usize = 1 << 30;

/// Number of cached enumeration names. Most enumerations use few values.
const LAST_LABELS: usize = 16;

/// Column values, and the lists that contain them if the field is in arrays.
#[derive(Debug)]
pub(crate) struct ColumnValues {
    cell_type: CellType,
    values: ColumnBuffer,
    validity: ValidityBuilder,
    /// Lists, the outermost first.
    lists: Vec<Lists>,
    /// The current row has more values than the column can hold.
    is_too_long: bool,
    /// `false` if each row has one value of a fixed size, which always fits.
    can_be_long: bool,
    pub(crate) losses: LossCounts<ColumnLoss>,
}

ichnos_model::loss_set! {
    /// Loss in a column value.
    pub(crate) enum ColumnLoss {
        InvalidText => Rounded("invalid text: U+FFFD instead"),
        FurtherLabel => Dropped("additional names of a value"),
        WideInteger => Dropped("integer of more than 64 bits"),
        TooLong => Dropped("too many elements or bytes for a column"),
    }
}

/// Lists at one nesting level.
#[derive(Debug)]
struct Lists {
    /// 0, then the end of each list.
    offsets: Vec<i32>,
    validity: ValidityBuilder,
}

impl Lists {
    fn new() -> Self {
        Self { offsets: vec![0], validity: ValidityBuilder::new() }
    }

    fn len(&self) -> usize {
        self.offsets.len() - 1
    }
}

/// Numeric type in [`ColumnBuffer::Words`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum WordKind {
    Unsigned,
    Signed,
    /// `Int64`. Also holds unsigned integers with up to 63 bits.
    Integer,
    Boolean,
    Single,
    Double,
}

#[derive(Debug)]
enum ColumnBuffer {
    /// Values with up to 64 bits that are not in lists, the usual case. They get their own size when they become an
    /// array, because a size check for each value would be slower.
    Words(WordKind, Vec<u64>),
    Boolean(BooleanBufferBuilder),
    Int8(Vec<i8>),
    Int16(Vec<i16>),
    Int32(Vec<i32>),
    Int64(Vec<i64>),
    UInt8(Vec<u8>),
    UInt16(Vec<u16>),
    UInt32(Vec<u32>),
    UInt64(Vec<u64>),
    /// Number of digits, and the values.
    Decimal(u8, Vec<i128>),
    Float32(Vec<f32>),
    Float64(Vec<f64>),
    /// 0, then the end of each text or BLOB. The bytes follow.
    Bytes(Vec<i32>, Vec<u8>),
    Fixed(usize, Vec<u8>),
    Labels(Box<LabelKeys>),
}

/// Dictionary keys for enumeration values.
#[derive(Debug)]
struct LabelKeys {
    names: Arc<LabelNames>,
    keys: Vec<i32>,
    /// Cache of recent values and their keys, by the lowest bits of the value. `None` is a value without a name.
    last: [Option<(i128, Option<i32>)>; LAST_LABELS],
}

impl WordKind {
    /// Returns the numeric type for values with up to 64 bits.
    fn from_cell_type(cell_type: &CellType) -> Option<Self> {
        Some(match cell_type {
            CellType::Boolean => Self::Boolean,
            CellType::Int8 | CellType::Int16 | CellType::Int32 => Self::Signed,
            CellType::UInt8 | CellType::UInt16 | CellType::UInt32 | CellType::UInt64 => Self::Unsigned,
            CellType::Int64 => Self::Integer,
            CellType::Float32 => Self::Single,
            CellType::Float64 => Self::Double,
            _ => return None,
        })
    }
}

impl ColumnBuffer {
    /// Creates an empty column for values nested in this number of arrays.
    fn new(cell_type: &CellType, lists: usize) -> Self {
        if let Some(kind) = WordKind::from_cell_type(cell_type).filter(|_| lists == 0) {
            return Self::Words(kind, Vec::new());
        }
        match cell_type {
            CellType::Boolean => Self::Boolean(BooleanBufferBuilder::new(0)),
            CellType::Int8 => Self::Int8(Vec::new()),
            CellType::Int16 => Self::Int16(Vec::new()),
            CellType::Int32 => Self::Int32(Vec::new()),
            CellType::Int64 => Self::Int64(Vec::new()),
            CellType::UInt8 => Self::UInt8(Vec::new()),
            CellType::UInt16 => Self::UInt16(Vec::new()),
            CellType::UInt32 => Self::UInt32(Vec::new()),
            CellType::UInt64 => Self::UInt64(Vec::new()),
            CellType::Decimal(digits) => Self::Decimal(*digits, Vec::new()),
            CellType::Float32 => Self::Float32(Vec::new()),
            CellType::Float64 => Self::Float64(Vec::new()),
            CellType::Text | CellType::Bytes => Self::Bytes(vec![0], Vec::new()),
            CellType::FixedBytes(width, _) => Self::Fixed(usize::from(*width), Vec::new()),
            CellType::Labels(names) => {
                let (names, last) = (Arc::clone(names), [None; LAST_LABELS]);
                Self::Labels(Box::new(LabelKeys { names, keys: Vec::new(), last }))
            }
        }
    }

    /// Reserves space for this number of fixed-size values.
    fn reserve(&mut self, count: usize) {
        match self {
            Self::Words(_, words) => words.reserve(count),
            Self::Boolean(values) => values.reserve(count),
            Self::Int8(values) => values.reserve(count),
            Self::Int16(values) => values.reserve(count),
            Self::Int32(values) => values.reserve(count),
            Self::Int64(values) => values.reserve(count),
            Self::UInt8(values) => values.reserve(count),
            Self::UInt16(values) => values.reserve(count),
            Self::UInt32(values) => values.reserve(count),
            Self::UInt64(values) => values.reserve(count),
            Self::Decimal(_, values) => values.reserve(count),
            Self::Float32(values) => values.reserve(count),
            Self::Float64(values) => values.reserve(count),
            Self::Bytes(offsets, _) => offsets.reserve(count),
            Self::Fixed(width, bytes) => bytes.reserve(count * *width),
            Self::Labels(labels) => labels.keys.reserve(count),
        }
    }

    fn len(&self) -> usize {
        match self {
            Self::Words(_, words) => words.len(),
            Self::Boolean(values) => values.len(),
            Self::Int8(values) => values.len(),
            Self::Int16(values) => values.len(),
            Self::Int32(values) => values.len(),
            Self::Int64(values) => values.len(),
            Self::UInt8(values) => values.len(),
            Self::UInt16(values) => values.len(),
            Self::UInt32(values) => values.len(),
            Self::UInt64(values) => values.len(),
            Self::Decimal(_, values) => values.len(),
            Self::Float32(values) => values.len(),
            Self::Float64(values) => values.len(),
            Self::Bytes(offsets, _) => offsets.len() - 1,
            Self::Fixed(width, bytes) => bytes.len() / (*width).max(1),
            Self::Labels(labels) => labels.keys.len(),
        }
    }

    /// Changes the number of values. New values are 0.
    fn resize(&mut self, len: usize) {
        match self {
            Self::Words(_, words) => words.resize(len, 0),
            Self::Boolean(values) => values.resize(len),
            Self::Int8(values) => values.resize(len, 0),
            Self::Int16(values) => values.resize(len, 0),
            Self::Int32(values) => values.resize(len, 0),
            Self::Int64(values) => values.resize(len, 0),
            Self::UInt8(values) => values.resize(len, 0),
            Self::UInt16(values) => values.resize(len, 0),
            Self::UInt32(values) => values.resize(len, 0),
            Self::UInt64(values) => values.resize(len, 0),
            Self::Decimal(_, values) => values.resize(len, 0),
            Self::Float32(values) => values.resize(len, 0.0),
            Self::Float64(values) => values.resize(len, 0.0),
            Self::Bytes(offsets, bytes) => {
                let end = offsets.last().copied().unwrap_or(0);
                offsets.resize(len + 1, end);
                let end = offsets.last().copied().unwrap_or(0);
                bytes.truncate(usize::try_from(end).unwrap_or(0));
            }
            Self::Fixed(width, bytes) => bytes.resize(len * *width, 0),
            Self::Labels(labels) => labels.keys.resize(len, 0),
        }
    }
}

impl ColumnValues {
    /// Creates an empty column for values nested in this number of arrays.
    pub(crate) fn new(cell_type: &CellType, lists: usize) -> Self {
        Self {
            cell_type: cell_type.clone(),
            values: ColumnBuffer::new(cell_type, lists),
            validity: ValidityBuilder::new(),
            lists: std::iter::repeat_with(Lists::new).take(lists).collect(),
            is_too_long: false,
            can_be_long: lists > 0 || !cell_type.is_fixed(),
            losses: LossCounts::default(),
        }
    }

    /// Reserves space for a number of rows, if each row has one fixed-size value.
    pub(crate) fn reserve(&mut self, rows: usize) {
        if self.lists.is_empty() {
            self.values.reserve(rows);
        }
    }

    /// Returns `true` if another value with this number of bytes fits.
    #[inline]
    fn has_room(&mut self, bytes: usize) -> bool {
        !self.can_be_long || self.check_room(bytes)
    }

    fn check_room(&mut self, bytes: usize) -> bool {
        let has_room = !self.is_too_long
            && match &self.values {
                ColumnBuffer::Bytes(offsets, all) => {
                    offsets.len() <= MOST_VALUES && all.len() + bytes <= MOST_BYTES
                }
                // Only lists have more values than a batch has rows.
                _ => self.lists.is_empty() || self.values.len() < MOST_VALUES,
            };
        self.is_too_long |= !has_room;
        has_room
    }

    /// Appends the value of a field in each block of `size` bytes.
    pub(crate) fn load(&mut self, field: &FieldLoad, blocks: &[u8], size: usize) {
        if let Some(element) = field.element_size() {
            for bytes in field.bytes(blocks, size) {
                self.push_integers(element, bytes);
                self.end_list(0);
            }
        } else if field.is_text() {
            field.texts(blocks, size).for_each(|text| self.push_text(text));
        } else if let ColumnBuffer::Words(_, words) = &mut self.values {
            field.append_words(blocks, size, words);
        }
    }

    /// Appends the name for the value of a field in each block of `size` bytes.
    pub(crate) fn load_labels(&mut self, field: &FieldLoad, blocks: &[u8], size: usize) {
        let ColumnBuffer::Labels(labels) = &self.values else { return };
        let names = Arc::clone(&labels.names);
        let mut words = Vec::new();
        field.append_words(blocks, size, &mut words);
        for word in words {
            let value = if field.is_signed() { i128::from(word as i64) } else { word.into() };
            self.push_label(Some(value), || names.mappings.names_of(value));
        }
    }

    #[inline]
    pub(crate) fn push_unsigned(&mut self, value: u64) {
        match &mut self.values {
            ColumnBuffer::Words(WordKind::Unsigned | WordKind::Integer, words) => words.push(value),
            _ => self.push_other_unsigned(value),
        }
    }

    #[inline(never)]
    fn push_other_unsigned(&mut self, value: u64) {
        if !self.has_room(8) {
            return;
        }
        // The type is as wide as the field.
        match &mut self.values {
            ColumnBuffer::UInt8(values) => values.push(value as u8),
            ColumnBuffer::UInt16(values) => values.push(value as u16),
            ColumnBuffer::UInt32(values) => values.push(value as u32),
            ColumnBuffer::UInt64(values) => values.push(value),
            ColumnBuffer::Int64(values) => values.push(value as i64),
            ColumnBuffer::Decimal(_, values) => values.push(value.into()),
            _ => self.push_null(),
        }
    }

    #[inline]
    pub(crate) fn push_signed(&mut self, value: i64) {
        match &mut self.values {
            ColumnBuffer::Words(WordKind::Signed | WordKind::Integer, words) => words.push(value as u64),
            _ => self.push_other_signed(value),
        }
    }

    #[inline(never)]
    fn push_other_signed(&mut self, value: i64) {
        if !self.has_room(8) {
            return;
        }
        match &mut self.values {
            ColumnBuffer::Int8(values) => values.push(value as i8),
            ColumnBuffer::Int16(values) => values.push(value as i16),
            ColumnBuffer::Int32(values) => values.push(value as i32),
            ColumnBuffer::Int64(values) => values.push(value),
            ColumnBuffer::Decimal(_, values) => values.push(value.into()),
            _ => self.push_null(),
        }
    }

    /// Appends list elements of `size` bytes each. Returns `false` if the column's values have another size.
    pub(crate) fn push_integers(&mut self, size: usize, bytes: &[u8]) -> bool {
        macro_rules! extend {
            ($values:ident, $type:ty) => {
                $values.extend(bytes.as_chunks().0.iter().map(|value| <$type>::from_le_bytes(*value)))
            };
        }
        if self.is_too_long || self.values.len() + bytes.len() / size.max(1) > MOST_VALUES {
            self.is_too_long = true;
            return true;
        }
        match (&mut self.values, size) {
            (ColumnBuffer::Int8(values), 1) => extend!(values, i8),
            (ColumnBuffer::Int16(values), 2) => extend!(values, i16),
            (ColumnBuffer::Int32(values), 4) => extend!(values, i32),
            (ColumnBuffer::Int64(values), 8) => extend!(values, i64),
            (ColumnBuffer::UInt8(values), 1) => extend!(values, u8),
            (ColumnBuffer::UInt16(values), 2) => extend!(values, u16),
            (ColumnBuffer::UInt32(values), 4) => extend!(values, u32),
            (ColumnBuffer::UInt64(values), 8) => extend!(values, u64),
            _ => return false,
        }
        true
    }

    /// Appends a number with more than 64 bits.
    pub(crate) fn push_wide(&mut self, value: Wide<'_>) {
        if !self.has_room(8) {
            return;
        }
        match &mut self.values {
            ColumnBuffer::Decimal(_, values) => match value.as_i128() {
                Some(value) => values.push(value),
                None => self.push_null(),
            },
            ColumnBuffer::Fixed(width, bytes) => {
                let fill = if value.is_negative() { u64::MAX } else { 0 };
                bytes.extend((0..*width).rev().map(|at| {
                    let word = value.words.get(at / 8).copied().unwrap_or(fill);
                    (word >> (at % 8 * 8)) as u8
                }));
            }
            _ => {
                self.losses.add(ColumnLoss::WideInteger, 1);
                self.push_null();
            }
        }
    }

    #[inline]
    pub(crate) fn push_boolean(&mut self, value: bool) {
        if !self.has_room(1) {
            return;
        }
        match &mut self.values {
            ColumnBuffer::Words(WordKind::Boolean, words) => words.push(value.into()),
            ColumnBuffer::Boolean(values) => values.append(value),
            _ => self.push_null(),
        }
    }

    #[inline]
    pub(crate) fn push_real(&mut self, value: f64) {
        if !self.has_room(8) {
            return;
        }
        match &mut self.values {
            ColumnBuffer::Words(WordKind::Single, words) => words.push((value as f32).to_bits().into()),
            ColumnBuffer::Words(WordKind::Double, words) => words.push(value.to_bits()),
            ColumnBuffer::Float32(values) => values.push(value as f32),
            ColumnBuffer::Float64(values) => values.push(value),
            _ => self.push_null(),
        }
    }

    /// Appends a binary32 number unchanged, including the bits of a NaN.
    #[inline]
    pub(crate) fn push_single(&mut self, value: f32) {
        match &mut self.values {
            ColumnBuffer::Words(WordKind::Single, words) => words.push(value.to_bits().into()),
            _ => self.push_real(value.into()),
        }
    }

    /// Appends bytes, or a UTF-8 text.
    #[inline]
    pub(crate) fn push_bytes(&mut self, value: &[u8]) {
        match &mut self.values {
            ColumnBuffer::Bytes(offsets, bytes)
                if !self.is_too_long
                    && offsets.len() <= MOST_VALUES
                    && bytes.len() + value.len() <= MOST_BYTES =>
            {
                bytes.extend_from_slice(value);
                // At most 2^30.
                offsets.push(bytes.len() as i32);
            }
            ColumnBuffer::Bytes(..) => self.is_too_long = true,
            _ => self.push_missing(),
        }
    }

    /// Appends a text. UTF-8 texts may be invalid. All texts are checked together when they become an array, which
    /// takes a fraction of the time.
    #[inline]
    pub(crate) fn push_text(&mut self, value: Text<'_>) {
        match value.encoding {
            StringEncoding::Utf8 => self.push_bytes(value.bytes),
            _ => self.push_other_text(value),
        }
    }

    #[inline(never)]
    fn push_other_text(&mut self, value: Text<'_>) {
        // A UTF-16 code unit takes at most three bytes in UTF-8.
        if !self.has_room(value.bytes.len().saturating_mul(3)) {
            return;
        }
        match &mut self.values {
            ColumnBuffer::Bytes(offsets, bytes) => {
                self.losses.add(ColumnLoss::InvalidText, u64::from(!value.write_utf8(bytes)));
                offsets.push(bytes.len() as i32);
            }
            _ => self.push_null(),
        }
    }

    /// Appends the name for a value. `names` returns all its names.
    #[inline]
    pub(crate) fn push_label<'n, I: Iterator<Item = &'n str>>(
        &mut self,
        value: Option<i128>,
        names: impl FnOnce() -> I,
    ) {
        if !self.has_room(4) {
            return;
        }
        let ColumnBuffer::Labels(labels) = &mut self.values else { return self.push_null() };
        let mut unknown = None;
        let last = match value {
            Some(value) => labels.last.get_mut(value as usize % LAST_LABELS).unwrap_or(&mut unknown),
            None => &mut unknown,
        };
        let key = match *last {
            Some((last, key)) if Some(last) == value => key,
            _ => {
                let mut names = names();
                let key = names.next().and_then(|name| labels.names.key(name));
                let is_ambiguous = names.next().is_some();
                self.losses.add(ColumnLoss::FurtherLabel, u64::from(is_ambiguous));
                *last = value.filter(|_| !is_ambiguous).map(|value| (value, key));
                key
            }
        };
        match key {
            Some(key) => {
                labels.keys.push(key);
            }
            None => self.push_null(),
        }
    }

    /// Appends a missing value instead of a value with another type, if there is space.
    #[cold]
    fn push_missing(&mut self) {
        if self.has_room(0) {
            self.push_null();
        }
    }

    /// Appends a missing value.
    #[inline]
    pub(crate) fn push_null(&mut self) {
        let len = self.values.len();
        self.values.resize(len + 1);
        self.validity.push_null(len);
    }

    /// Drops the current row, which has too many elements.
    pub(crate) fn give_up_row(&mut self) {
        self.is_too_long = true;
    }

    /// Appends a missing item nested in `level` arrays: a list, or a value if there are no more lists.
    #[inline]
    pub(crate) fn push_null_at(&mut self, level: usize) {
        if self.is_too_long {
            return;
        }
        if let Some(lists) = self.lists.get_mut(level) {
            let end = lists.offsets.last().copied().unwrap_or(0);
            lists.validity.push_null(lists.len());
            lists.offsets.push(end);
        } else if self.has_room(0) {
            self.push_null();
        }
    }

    /// Ends a list nested in `level` lists. It contains all items since the end of the previous list.
    #[inline]
    pub(crate) fn end_list(&mut self, level: usize) {
        let end = self.len_at(level + 1);
        if self.is_too_long
            || end > MOST_VALUES
            || self.lists.get(level).is_some_and(|lists| lists.len() >= MOST_VALUES)
        {
            self.is_too_long = true;
            return;
        }
        if let Some(lists) = self.lists.get_mut(level) {
            // At most 2^27.
            lists.offsets.push(end as i32);
        }
    }

    /// Returns the number of rows.
    pub(crate) fn len(&self) -> usize {
        self.len_at(0)
    }

    /// Returns the number of items within `level` arrays.
    #[inline]
    fn len_at(&self, level: usize) -> usize {
        self.lists.get(level).map_or_else(|| self.values.len(), Lists::len)
    }

    /// Completes a row. A row without exactly one item becomes missing: it could not be decoded, or has too many
    /// elements.
    #[inline]
    pub(crate) fn end_row(&mut self, row: usize) {
        if self.is_too_long || self.len_at(0) != row + 1 {
            self.drop_row(row);
        }
    }

    #[cold]
    fn drop_row(&mut self, row: usize) {
        self.losses.add(ColumnLoss::TooLong, u64::from(self.is_too_long));
        self.is_too_long = false;
        let mut len = row;
        for lists in &mut self.lists {
            if lists.len() > len {
                lists.offsets.truncate(len + 1);
                lists.validity.truncate(len);
            }
            len = lists.offsets.last().and_then(|end| usize::try_from(*end).ok()).unwrap_or(0);
        }
        if self.values.len() > len {
            self.values.resize(len);
            self.validity.truncate(len);
        }
        if self.len_at(0) == row {
            self.push_null_at(0);
        }
    }

    /// Returns all values as an array, and resets the column.
    ///
    /// # Errors
    /// If the values do not form an array, which would be a bug.
    pub(crate) fn finish(&mut self) -> Result<ArrayRef, ArrowError> {
        let nulls = self.validity.finish(self.values.len());
        let values =
            std::mem::replace(&mut self.values, ColumnBuffer::new(&self.cell_type, self.lists.len()));
        let mut array: ArrayRef = match values {
            ColumnBuffer::Words(_, words) => word_array(words, nulls, &self.cell_type)?,
            ColumnBuffer::Boolean(mut values) => Arc::new(BooleanArray::new(values.finish(), nulls)),
            ColumnBuffer::Int8(values) => Arc::new(Int8Array::try_new(values.into(), nulls)?),
            ColumnBuffer::Int16(values) => Arc::new(Int16Array::try_new(values.into(), nulls)?),
            ColumnBuffer::Int32(values) => Arc::new(Int32Array::try_new(values.into(), nulls)?),
            ColumnBuffer::Int64(values) => Arc::new(Int64Array::try_new(values.into(), nulls)?),
            ColumnBuffer::UInt8(values) => Arc::new(UInt8Array::try_new(values.into(), nulls)?),
            ColumnBuffer::UInt16(values) => Arc::new(UInt16Array::try_new(values.into(), nulls)?),
            ColumnBuffer::UInt32(values) => Arc::new(UInt32Array::try_new(values.into(), nulls)?),
            ColumnBuffer::UInt64(values) => Arc::new(UInt64Array::try_new(values.into(), nulls)?),
            ColumnBuffer::Decimal(digits, values) => {
                let array = Decimal128Array::try_new(values.into(), nulls)?;
                Arc::new(array.with_precision_and_scale(digits, 0)?)
            }
            ColumnBuffer::Float32(values) => Arc::new(Float32Array::try_new(values.into(), nulls)?),
            ColumnBuffer::Float64(values) => Arc::new(Float64Array::try_new(values.into(), nulls)?),
            ColumnBuffer::Bytes(offsets, bytes) => {
                let (offsets, bytes) =
                    (OffsetBuffer::new(ScalarBuffer::from(offsets)), Buffer::from_vec(bytes));
                match self.cell_type {
                    CellType::Text => self.text_array(offsets, bytes, nulls)?,
                    _ => Arc::new(BinaryArray::try_new(offsets, bytes, nulls)?),
                }
            }
            ColumnBuffer::Fixed(width, bytes) => {
                let width = i32::try_from(width).unwrap_or(i32::MAX);
                Arc::new(FixedSizeBinaryArray::try_new(width, Buffer::from_vec(bytes), nulls)?)
            }
            ColumnBuffer::Labels(labels) => {
                let LabelKeys { names, keys, .. } = *labels;
                let keys = PrimitiveArray::<Int32Type>::try_new(keys.into(), nulls)?;
                Arc::new(DictionaryArray::try_new(keys, Arc::clone(&names.array) as ArrayRef)?)
            }
        };
        for lists in self.lists.iter_mut().rev() {
            let len = lists.len();
            let Lists { offsets, mut validity } = std::mem::replace(lists, Lists::new());
            let item = Arc::new(ArrowField::new_list_field(array.data_type().clone(), true));
            let offsets = OffsetBuffer::new(ScalarBuffer::from(offsets));
            array = Arc::new(ListArray::try_new(item, offsets, array, validity.finish(len))?);
        }
        Ok(array)
    }
}

impl ColumnValues {
    /// Creates a text array, with U+FFFD for invalid parts.
    fn text_array(
        &mut self,
        offsets: OffsetBuffer<i32>,
        bytes: Buffer,
        nulls: Option<NullBuffer>,
    ) -> Result<ArrayRef, ArrowError> {
        // Shares the values instead of copying them.
        if let Ok(array) = StringArray::try_new(offsets.clone(), bytes.clone(), nulls.clone()) {
            return Ok(Arc::new(array));
        }
        let texts = BinaryArray::try_new(offsets, bytes, nulls)?;
        let (mut ends, mut valid, mut validity) = (vec![0], Vec::new(), ValidityBuilder::new());
        for (index, text) in texts.iter().enumerate() {
            let bytes = text.unwrap_or_default();
            let begin = valid.len();
            let is_valid = Text { bytes, raw: bytes, encoding: StringEncoding::Utf8 }.write_utf8(&mut valid);
            self.losses.add(ColumnLoss::InvalidText, u64::from(!is_valid));
            // An invalid byte becomes three bytes.
            let is_too_long = valid.len() > MOST_BYTES;
            if is_too_long {
                valid.truncate(begin);
                self.losses.add(ColumnLoss::TooLong, 1);
            }
            if is_too_long || text.is_none() {
                validity.push_null(index);
            }
            // At most 2^30.
            ends.push(valid.len() as i32);
        }
        let offsets = OffsetBuffer::new(ScalarBuffer::from(ends));
        let nulls = validity.finish(texts.len());
        Ok(Arc::new(StringArray::try_new(offsets, Buffer::from_vec(valid), nulls)?))
    }
}

/// Creates an array from the bits of values with up to 64 bits.
fn word_array(
    words: Vec<u64>,
    nulls: Option<NullBuffer>,
    cell_type: &CellType,
) -> Result<ArrayRef, ArrowError> {
    macro_rules! array {
        ($array:ty, $value:expr) => {
            Arc::new(<$array>::try_new(words.into_iter().map($value).collect::<Vec<_>>().into(), nulls)?)
        };
    }
    // Does not copy.
    macro_rules! whole {
        ($array:ty) => {
            Arc::new(<$array>::try_new(ScalarBuffer::from(Buffer::from_vec(words)), nulls)?)
        };
    }
    Ok(match cell_type {
        CellType::Boolean => {
            let is_true = |index| words.get(index).is_some_and(|word: &u64| *word != 0);
            Arc::new(BooleanArray::new(BooleanBuffer::collect_bool(words.len(), is_true), nulls))
        }
        // The type is as wide as the field.
        CellType::Int8 => array!(Int8Array, |word| word as i8),
        CellType::Int16 => array!(Int16Array, |word| word as i16),
        CellType::Int32 => array!(Int32Array, |word| word as i32),
        CellType::UInt8 => array!(UInt8Array, |word| word as u8),
        CellType::UInt16 => array!(UInt16Array, |word| word as u16),
        CellType::UInt32 => array!(UInt32Array, |word| word as u32),
        CellType::Float32 => array!(Float32Array, |word| f32::from_bits(word as u32)),
        CellType::Float64 => whole!(Float64Array),
        CellType::Int64 => whole!(Int64Array),
        _ => whole!(UInt64Array),
    })
}
