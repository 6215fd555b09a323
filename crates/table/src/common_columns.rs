//! Columns of all event record classes in a dataset.
//!
//! Some programs read a dataset directory as one table with the columns of its first file. So the first file has all
//! columns, but no rows.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_schema::{DataType, Field as ArrowField, Schema, SchemaRef};

use crate::cell_type::INTEGER_KEY;
use crate::table_plan::{MOST_COLUMNS, MOST_NAMES, PROPERTIES};

/// File with all columns of a dataset. Its name is before the directories with events.
pub(crate) const COLUMNS_FILE: &str = "columns.parquet";

/// Start of the metadata keys in this file for columns that are left out.
const LEFT_OUT_KEY: &str = "ichnos.left_out";

/// Two types without a common type for all values.
type Unlike = (DataType, DataType);

/// Columns of all tables.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct CommonColumns {
    pub(crate) schema: SchemaRef,
    /// Columns that are left out, with two of their types.
    pub(crate) left_out: Vec<(String, Unlike)>,
}

impl CommonColumns {
    /// Returns the columns that are left out, and why, as metadata of the file.
    pub(crate) fn metadata(&self) -> impl Iterator<Item = (String, String)> {
        let described = |(name, (a, b)): &(String, Unlike)| {
            (format!("{LEFT_OUT_KEY}.{name}"), format!("no type has all values of the types {a} and {b}"))
        };
        self.left_out.iter().map(described)
    }
}

/// Returns the columns of all tables, except the event name: readers take it from the names of the directories, as a text
/// or as a dictionary. `None` if the columns are too many. Without a type that can represent all its values, a column is
/// left out: programs could not read it with any other type.
pub(crate) fn common_columns<'s>(tables: impl IntoIterator<Item = &'s SchemaRef>) -> Option<CommonColumns> {
    let mut columns: Vec<(&str, Result<DataType, Unlike>, Option<&String>)> = Vec::new();
    let (mut indexes, mut length) = (HashMap::<&str, usize>::new(), 0);
    for field in tables.into_iter().flat_map(|table| table.fields()).filter(|field| field.name() != "event") {
        let name = field.name().as_str();
        let integer_kind = field.metadata().get(INTEGER_KEY);
        if let Some((_, known, kind)) = indexes.get(name).and_then(|index| columns.get_mut(*index)) {
            // Bytes of different kinds of integers are only bytes.
            kind.take_if(|kind| Some(*kind) != integer_kind);
            if let Ok(before) = known {
                let of = field.data_type();
                *known = common_type(before, of).ok_or_else(|| (before.clone(), of.clone()));
            }
            continue;
        }
        length += name.len();
        if columns.len() >= MOST_COLUMNS || length > MOST_NAMES {
            return None;
        }
        indexes.insert(name, columns.len());
        columns.push((name, Ok(field.data_type().clone()), integer_kind));
    }
    // Event properties first, as in the tables.
    columns.sort_by_key(|(name, ..)| PROPERTIES.iter().position(|known| known == name).unwrap_or(usize::MAX));
    let (mut fields, mut left_out) = (Vec::new(), Vec::new());
    for (name, found, integer_kind) in columns {
        let metadata = integer_kind.map(|kind| (INTEGER_KEY.to_owned(), kind.clone()));
        match found {
            Ok(of) => {
                fields.push(ArrowField::new(name, of, true).with_metadata(metadata.into_iter().collect()));
            }
            Err(types) => left_out.push((name.to_owned(), types)),
        }
    }
    Some(CommonColumns { schema: Arc::new(Schema::new(fields)), left_out })
}

/// Returns a type to which all values of both types can be converted. `None` for a list and a single value, and for bytes
/// and a number.
#[must_use]
pub fn common_type(a: &DataType, b: &DataType) -> Option<DataType> {
    use DataType::{Binary, Decimal128, Dictionary, FixedSizeBinary, Float32, Float64, List, Utf8};
    let are = |is: fn(&DataType) -> bool| is(a) && is(b);
    if a == b {
        return Some(a.clone());
    }
    if let (List(a), List(b)) = (a, b) {
        let element = common_type(a.data_type(), b.data_type())?;
        return Some(List(Arc::new(ArrowField::new_list_field(element, true))));
    }
    if matches!(a, List(_)) || matches!(b, List(_)) {
        return None;
    }
    let is_bytes = |of: &DataType| matches!(of, Binary | FixedSizeBinary(_));
    if is_bytes(a) || is_bytes(b) {
        return are(|of| matches!(of, Binary | FixedSizeBinary(_) | Utf8 | Dictionary(..))).then_some(Binary);
    }
    if are(|of| of.is_integer() || matches!(of, Decimal128(..))) {
        return Some(common_integer(a, b));
    }
    // A 64-bit integer may not be exact as a floating-point number.
    Some(if are(|of| matches!(of, Float32 | Float64)) { Float64 } else { Utf8 })
}

/// Returns a type for all integers of both types.
fn common_integer(a: &DataType, b: &DataType) -> DataType {
    use DataType::{Decimal128, Int16, Int32, Int64, UInt16, UInt32, UInt64};
    let bits = |of: &DataType| of.primitive_width().map_or(128, |bytes| bytes * 8);
    let both_unsigned = a.is_unsigned_integer() && b.is_unsigned_integer();
    // A signed type needs one more bit.
    let needed = |of: &DataType| bits(of) * if of.is_unsigned_integer() && !both_unsigned { 2 } else { 1 };
    match (needed(a).max(needed(b)), both_unsigned) {
        (..=16, true) => UInt16,
        (..=32, true) => UInt32,
        (..=64, true) => UInt64,
        (..=16, false) => Int16,
        (..=32, false) => Int32,
        (..=64, false) => Int64,
        _ => Decimal128(38, 0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn schema(columns: &[(&str, DataType)]) -> SchemaRef {
        let fields = columns.iter().map(|(name, of)| ArrowField::new(*name, of.clone(), true));
        Arc::new(Schema::new(fields.collect::<Vec<_>>()))
    }

    #[test]
    fn values_of_both_types_fit() {
        use DataType::{Binary, Boolean, Decimal128, FixedSizeBinary, Float32, Float64, Utf8};
        use DataType::{Int8, Int16, Int32, Int64, UInt8, UInt16, UInt32, UInt64};
        let list = |of: DataType| DataType::List(Arc::new(ArrowField::new_list_field(of, true)));
        let labels = || DataType::Dictionary(Box::new(Int32), Box::new(Utf8));
        for (a, b, wanted) in [
            (Int8, UInt8, Some(Int16)),
            (UInt8, UInt16, Some(UInt16)),
            (UInt16, Int8, Some(Int32)),
            (Int32, UInt32, Some(Int64)),
            (Int64, UInt32, Some(Int64)),
            (Int64, UInt64, Some(Decimal128(38, 0))),
            (UInt64, Decimal128(20, 0), Some(Decimal128(38, 0))),
            (Float32, Float64, Some(Float64)),
            (Float64, Int32, Some(Utf8)),
            (Boolean, Utf8, Some(Utf8)),
            (labels(), Utf8, Some(Utf8)),
            (FixedSizeBinary(9), FixedSizeBinary(10), Some(Binary)),
            (Binary, labels(), Some(Binary)),
            (Binary, Int8, None),
            (list(Int8), list(UInt32), Some(list(Int64))),
            (list(Int8), list(Binary), None),
            (list(Int8), Int8, None),
        ] {
            assert_eq!(common_type(&a, &b), wanted, "{a} {b}");
            assert_eq!(common_type(&b, &a), wanted, "{b} {a}");
        }
    }

    #[test]
    fn properties_come_first_and_columns_without_a_type_are_missing() {
        let list = DataType::List(Arc::new(ArrowField::new_list_field(DataType::Int8, true)));
        let tables = [
            schema(&[("ts", DataType::Int64), ("fds", list.clone()), ("event", DataType::Utf8)]),
            schema(&[("fds", DataType::Int8), ("thread", DataType::Int32), ("name", DataType::Utf8)]),
            schema(&[("fds", DataType::Int8), ("ts", DataType::Int64)]),
        ];
        let wanted =
            schema(&[("ts", DataType::Int64), ("thread", DataType::Int32), ("name", DataType::Utf8)]);
        let left_out = vec![("fds".to_owned(), (list, DataType::Int8))];
        let expected = CommonColumns { schema: wanted, left_out };
        let found = common_columns(&tables).unwrap();
        assert_eq!(found, expected);
        let (key, why) = found.metadata().next().unwrap();
        assert_eq!(key, "ichnos.left_out.fds");
        assert!(
            why.starts_with("no type has all values of the types List(") && why.ends_with(" and Int8"),
            "{why}"
        );
    }

    #[test]
    fn integers_in_bytes_keep_their_kind_if_all_tables_agree() {
        let table = |bytes: i32, kind: &str| {
            let metadata = [(INTEGER_KEY.to_owned(), kind.to_owned())].into();
            let field = ArrowField::new("n", DataType::FixedSizeBinary(bytes), true);
            Arc::new(Schema::new(vec![field.with_metadata(metadata)]))
        };
        let kind = |tables: &[SchemaRef]| {
            common_columns(tables).unwrap().schema.field(0).metadata().get(INTEGER_KEY).cloned()
        };
        let (signed, unsigned) = (table(17, "signed"), table(17, "unsigned"));
        assert_eq!(kind(&[Arc::clone(&signed), table(30, "signed")]).as_deref(), Some("signed"));
        assert_eq!(kind(&[Arc::clone(&signed), Arc::clone(&unsigned), Arc::clone(&signed)]), None);
        assert_eq!(kind(&[schema(&[("n", DataType::Binary)]), unsigned]), None);
    }

    #[test]
    fn very_many_columns_have_no_file() {
        let tables = (0..=MOST_COLUMNS).map(|i| schema(&[(&format!("x{i}"), DataType::Int8)]));
        assert_eq!(common_columns(&tables.collect::<Vec<_>>()), None);
    }
}
