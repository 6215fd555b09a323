//! JSON object members. The same code reads and writes them, so that names and defaults agree.

use ichnos_export::documents::write_ranges;
use ichnos_json::write::{ObjectWriter, ValueWriter};
use ichnos_model::class::{Attributes, IntegerRange, RangeSet, Value};

/// Result, or an error in a description.
pub(crate) type DescriptionResult<T> = Result<T, String>;

/// Any integer type.
pub(crate) trait JsonInteger: Copy + PartialEq + TryFrom<i128> + Into<i128> {}

impl<T: Copy + PartialEq + TryFrom<i128> + Into<i128>> JsonInteger for T {}

/// Reader or writer for an object's members.
///
/// Each function writes a value as a member, or reads the member into the value. Members with their usual value are not
/// written.
pub(crate) enum Members<'m, 'o> {
    /// Object to read.
    Read(&'m Value),
    /// Object to write.
    Write(&'m mut ObjectWriter<'o>),
}

impl Members<'_, '_> {
    /// Returns the object to read.
    pub(crate) fn source(&self) -> Option<&Value> {
        match self {
            Self::Read(source) => Some(source),
            Self::Write(_) => None,
        }
    }

    /// Returns `true` when reading.
    pub(crate) fn is_read(&self) -> bool {
        self.source().is_some()
    }

    /// Required number, always written. `what` names the object in errors.
    pub(crate) fn number<T: JsonInteger>(
        &mut self,
        name: &'static str,
        value: &mut T,
        what: &str,
    ) -> DescriptionResult<()> {
        let mut found = Some(*value);
        self.optional_number(name, &mut found)?;
        found.map(|found| *value = found).ok_or_else(|| format!("{what} without `{name}`"))
    }

    /// Number that is always written. A missing member reads as `missing`.
    pub(crate) fn number_or<T: JsonInteger>(
        &mut self,
        name: &'static str,
        value: &mut T,
        missing: T,
    ) -> DescriptionResult<()> {
        let mut found = Some(*value);
        self.optional_number(name, &mut found)?;
        *value = found.unwrap_or(missing);
        Ok(())
    }

    /// Number that is only written if it differs from `usual`.
    pub(crate) fn usual_number<T: JsonInteger>(
        &mut self,
        name: &'static str,
        value: &mut T,
        usual: T,
    ) -> DescriptionResult<()> {
        let mut found = Some(*value).filter(|value| *value != usual);
        self.optional_number(name, &mut found)?;
        *value = found.unwrap_or(usual);
        Ok(())
    }

    pub(crate) fn optional_number<T: JsonInteger>(
        &mut self,
        name: &'static str,
        value: &mut Option<T>,
    ) -> DescriptionResult<()> {
        match (self, *value) {
            (Self::Read(source), _) => *value = number(source, name)?,
            (Self::Write(object), Some(value)) => object.member(name).integer(value.into()),
            (Self::Write(_), None) => {}
        }
        Ok(())
    }

    /// Alignment in bits.
    pub(crate) fn alignment(
        &mut self,
        name: &'static str,
        value: &mut u64,
        usual: u64,
    ) -> DescriptionResult<()> {
        self.usual_number(name, value, usual)?;
        match self.is_read() && !value.is_power_of_two() {
            true => Err(format!("`{name}` that is not a power of two")),
            false => Ok(()),
        }
    }

    /// Boolean. Missing or other values read as `usual`.
    pub(crate) fn flag(&mut self, name: &'static str, value: &mut bool, usual: bool) {
        match self {
            Self::Read(source) => {
                *value = match source.get(name) {
                    Some(Value::Boolean(found)) => *found,
                    _ => usual,
                }
            }
            Self::Write(object) if *value != usual => object.member(name).boolean(*value),
            Self::Write(_) => {}
        }
    }

    /// Text that is always written. A missing member reads as `missing`.
    pub(crate) fn text(&mut self, name: &'static str, value: &mut String, missing: &str) {
        match self {
            Self::Read(source) => *value = text(source, name).unwrap_or(missing).to_owned(),
            Self::Write(object) => object.member(name).string(value),
        }
    }

    /// Required text. `what` names the object in errors.
    pub(crate) fn needed_text(
        &mut self,
        name: &'static str,
        value: &mut String,
        what: &str,
    ) -> DescriptionResult<()> {
        match self {
            Self::Read(source) if text(source, name).is_none() => Err(format!("{what} without `{name}`")),
            _ => {
                self.text(name, value, "");
                Ok(())
            }
        }
    }

    pub(crate) fn optional_text(&mut self, name: &'static str, value: &mut Option<String>) {
        match self {
            Self::Read(source) => *value = text(source, name).map(str::to_owned),
            Self::Write(object) => object.string(name, value.as_deref()),
        }
    }

    /// One of several named values. `what` names the property in errors.
    pub(crate) fn named<T: Copy + PartialEq>(
        &mut self,
        name: &'static str,
        value: &mut Option<T>,
        all: &[T],
        name_of: fn(T) -> &'static str,
        what: &str,
    ) -> DescriptionResult<()> {
        match self {
            Self::Read(source) => {
                let of_name = |name: &str| {
                    let found = all.iter().copied().find(|value| name_of(*value) == name);
                    found.ok_or_else(|| format!("an unknown {what} `{name}`"))
                };
                *value = text(source, name).map(of_name).transpose()?;
            }
            Self::Write(object) => object.string(name, value.map(name_of)),
        }
        Ok(())
    }

    /// Constant text, which is written but never read.
    pub(crate) fn constant(&mut self, name: &'static str, value: &str) {
        if let Self::Write(object) = self {
            object.member(name).string(value);
        }
    }

    /// Member that is an object.
    pub(crate) fn object(
        &mut self,
        name: &'static str,
        members: impl FnOnce(&mut Members<'_, '_>) -> DescriptionResult<()>,
    ) -> DescriptionResult<()> {
        match self {
            Self::Read(source) => members(&mut Members::Read(source.get(name).unwrap_or(&Value::Null))),
            Self::Write(object) => {
                let mut inner = object.member(name).object();
                members(&mut Members::Write(&mut inner))?;
                inner.end();
                Ok(())
            }
        }
    }

    /// List of objects. `make` creates each element before it is read. Returns `false` if there is no list to read.
    pub(crate) fn objects<T>(
        &mut self,
        name: &'static str,
        items: &mut Vec<T>,
        make: impl Fn() -> T,
        mut members: impl FnMut(&mut Members<'_, '_>, &mut T) -> DescriptionResult<()>,
    ) -> DescriptionResult<bool> {
        match self {
            Self::Read(source) => {
                let Some(Value::Array(list)) = source.get(name) else { return Ok(false) };
                for value in list {
                    let mut item = make();
                    members(&mut Members::Read(value), &mut item)?;
                    items.push(item);
                }
            }
            Self::Write(object) => {
                let mut list = object.member(name).array();
                for item in items {
                    let mut inner = list.element().object();
                    members(&mut Members::Write(&mut inner), item)?;
                    inner.end();
                }
                list.end();
            }
        }
        Ok(true)
    }

    /// List of integer pairs.
    pub(crate) fn ranges(&mut self, name: &'static str, ranges: &mut RangeSet) -> DescriptionResult<()> {
        match self {
            Self::Read(source) => {
                let list = match source.get(name) {
                    Some(Value::Array(list)) => &list[..],
                    _ => &[],
                };
                let range = |range: &Value| {
                    let bound = |index: usize| match range {
                        Value::Array(bounds) => integer_of(bounds.get(index)?),
                        _ => None,
                    };
                    let (lower, upper) = bound(0).zip(bound(1)).ok_or("a range that is not two integers")?;
                    Ok(IntegerRange { lower, upper })
                };
                ranges.0 = list.iter().map(range).collect::<DescriptionResult<_>>()?;
            }
            Self::Write(object) => write_ranges(object.member(name), ranges.0.iter().copied()),
        }
        Ok(())
    }

    /// Attributes, unchanged.
    pub(crate) fn attributes(&mut self, value: &mut Attributes) {
        match self {
            Self::Read(source) => *value = attributes(source.get("attributes")),
            Self::Write(object) if !value.is_empty() => {
                write_map(object.member("attributes"), value.entries());
            }
            Self::Write(_) => {}
        }
    }
}

/// Returns a member's text.
pub(crate) fn text<'a>(value: &'a Value, name: &str) -> Option<&'a str> {
    value.get(name)?.as_text()
}

/// Reads an integer from a number, or from a string of digits.
pub(crate) fn integer_of(value: &Value) -> Option<i128> {
    match value {
        Value::Integer(integer) => Some(*integer),
        Value::Text(text) => text.parse().ok(),
        // An identifier with more than 64 bits.
        Value::Map(_) => value.get("$int")?.as_text()?.parse().ok(),
        _ => None,
    }
}

/// Returns the number in a member, if the member exists.
pub(crate) fn number<T: TryFrom<i128>>(value: &Value, name: &str) -> DescriptionResult<Option<T>> {
    let Some(value) = value.get(name) else { return Ok(None) };
    let number = integer_of(value).and_then(|integer| T::try_from(integer).ok());
    number.map(Some).ok_or_else(|| format!("a value of `{name}` that is not an integer of its range"))
}

/// Returns attributes unchanged.
pub(crate) fn attributes(value: Option<&Value>) -> Attributes {
    match value {
        Some(Value::Map(entries)) => entries.iter().cloned().collect(),
        _ => Attributes::default(),
    }
}

pub(crate) fn write_list(place: ValueWriter<'_>, elements: &[Value]) {
    let mut list = place.array();
    elements.iter().for_each(|element| write_value(list.element(), element));
    list.end();
}

pub(crate) fn write_map(place: ValueWriter<'_>, entries: &[(String, Value)]) {
    let mut object = place.object();
    entries.iter().for_each(|(name, value)| write_value(object.named(name), value));
    object.end();
}

/// Writes a value with any type.
pub(crate) fn write_value(place: ValueWriter<'_>, value: &Value) {
    match value {
        Value::Null => place.null(),
        Value::Boolean(value) => place.boolean(*value),
        Value::Integer(integer) => place.integer(*integer),
        Value::Number(text) => place.number(text),
        Value::Text(text) => place.string(text),
        Value::Array(elements) => write_list(place, elements),
        Value::Map(entries) => write_map(place, entries),
    }
}
