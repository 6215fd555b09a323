//! Rust types as fields.

use crate::description::FieldDescription;
use crate::field_order::FieldOrder;
use crate::packet::aligned;
use crate::shown_text::{put_shown, shown_size};
use crate::variable_part::VariablePart;

/// A Rust type as a field of an event.
///
/// An event has a *fixed part*, which is one array of bytes, and after it a *variable part*. A string, for example, has
/// its length in the fixed part, and its bytes in the variable part.
///
/// # For implementations
///
/// Derive it for enumerations and structures with `#[derive(TraceField)]`. Other types can delegate to one of the types
/// here. The bytes must follow [`DESCRIPTION`](Self::DESCRIPTION), or readers see other values.
pub trait TraceField {
    /// Field class.
    const DESCRIPTION: FieldDescription;
    /// Number of bytes in the fixed part.
    const FIXED: usize;
    /// `true` if the type can have bytes in the variable part.
    const IS_VARIABLE: bool = false;
    /// Alignment of the fixed part in bytes.
    const ALIGNMENT: usize = 1;

    /// Writes the fixed part, [`FIXED`](Self::FIXED) bytes.
    fn write_fixed(&self, order: FieldOrder, out: &mut [u8]);

    /// Returns the number of bytes in the variable part.
    #[inline]
    fn variable_size(&self) -> usize {
        0
    }

    /// Writes the variable part.
    #[inline]
    fn write_variable(&self, order: FieldOrder, out: &mut VariablePart<'_>) {
        let _ = (order, out);
    }
}

macro_rules! numbers {
    ($($type:ty: $description:expr;)*) => {
        $(impl TraceField for $type {
            const DESCRIPTION: FieldDescription = $description;
            const FIXED: usize = size_of::<$type>();

            #[inline]
            fn write_fixed(&self, order: FieldOrder, out: &mut [u8]) {
                if let Some(out) = out.first_chunk_mut() {
                    *out = match order {
                        FieldOrder::Little => self.to_le_bytes(),
                        FieldOrder::Big => self.to_be_bytes(),
                    };
                }
            }
        })*
    };
}

numbers! {
    u8: FieldDescription::unsigned(8);
    u16: FieldDescription::unsigned(16);
    u32: FieldDescription::unsigned(32);
    u64: FieldDescription::unsigned(64);
    usize: FieldDescription::unsigned(8 * size_of::<usize>() as u8);
    i8: FieldDescription::signed(8);
    i16: FieldDescription::signed(16);
    i32: FieldDescription::signed(32);
    i64: FieldDescription::signed(64);
    isize: FieldDescription::signed(8 * size_of::<usize>() as u8);
    f32: FieldDescription::Float { bits: 32 };
    f64: FieldDescription::Float { bits: 64 };
}

impl TraceField for bool {
    const DESCRIPTION: FieldDescription = FieldDescription::Boolean;
    const FIXED: usize = 1;

    #[inline]
    fn write_fixed(&self, order: FieldOrder, out: &mut [u8]) {
        u8::from(*self).write_fixed(order, out);
    }
}

/// Bytes of a length in the fixed part.
const LENGTH: usize = 4;

/// Writes a length. An event with a longer string or slice does not fit into any packet.
#[inline]
fn write_length(length: usize, order: FieldOrder, out: &mut [u8]) {
    (length as u32).write_fixed(order, out);
}

/// Readers would stop at a zero, so that `␀` takes its place.
impl TraceField for str {
    const DESCRIPTION: FieldDescription = FieldDescription::String;
    const FIXED: usize = LENGTH;
    const IS_VARIABLE: bool = true;

    #[inline]
    fn write_fixed(&self, order: FieldOrder, out: &mut [u8]) {
        write_length(shown_size(self.as_bytes()), order, out);
    }

    #[inline]
    fn variable_size(&self) -> usize {
        shown_size(self.as_bytes())
    }

    #[inline]
    fn write_variable(&self, _: FieldOrder, out: &mut VariablePart<'_>) {
        put_shown(self.as_bytes(), |part| out.put(part));
    }
}

/// Returns the description of an element. It has a fixed size, or is a structure with a variable part, which has its
/// lengths in itself.
const fn element<T: TraceField>() -> FieldDescription {
    assert!(
        !T::IS_VARIABLE || T::FIXED == 0,
        "elements of arrays and slices have a fixed size, or are structures"
    );
    T::DESCRIPTION
}

/// Returns a description. Only the fixed part is aligned, so the type must not need alignment.
const fn unaligned<T: TraceField>(description: FieldDescription) -> FieldDescription {
    assert!(T::ALIGNMENT == 1, "only the fixed part of an event can be aligned");
    description
}

/// Writes elements to the variable part.
#[inline]
fn write_elements<T: TraceField>(elements: &[T], order: FieldOrder, out: &mut VariablePart<'_>) {
    for element in elements {
        match T::IS_VARIABLE {
            true => element.write_variable(order, out),
            false => element.write_fixed(order, out.take(T::FIXED)),
        }
    }
}

/// Returns the size of elements with a variable part.
#[inline]
fn elements_size<T: TraceField>(elements: &[T]) -> usize {
    elements.iter().fold(0, |size, element| size.saturating_add(element.variable_size()))
}

impl<T: TraceField> TraceField for [T] {
    const DESCRIPTION: FieldDescription =
        FieldDescription::Slice { element: &unaligned::<T>(element::<T>()) };
    const FIXED: usize = LENGTH;
    const IS_VARIABLE: bool = true;

    #[inline]
    fn write_fixed(&self, order: FieldOrder, out: &mut [u8]) {
        write_length(self.len(), order, out);
    }

    #[inline]
    fn variable_size(&self) -> usize {
        if T::IS_VARIABLE { elements_size(self) } else { self.len().saturating_mul(T::FIXED) }
    }

    #[inline]
    fn write_variable(&self, order: FieldOrder, out: &mut VariablePart<'_>) {
        write_elements(self, order, out);
    }
}

impl<T: TraceField, const N: usize> TraceField for [T; N] {
    const DESCRIPTION: FieldDescription = FieldDescription::Array { length: N, element: &element::<T>() };
    const FIXED: usize = match N {
        0 => 0,
        // There is padding between elements, and none after the last one.
        _ => (N - 1) * aligned(T::FIXED, T::ALIGNMENT) + T::FIXED,
    };
    const IS_VARIABLE: bool = T::IS_VARIABLE;
    const ALIGNMENT: usize = T::ALIGNMENT;

    #[inline]
    fn write_fixed(&self, order: FieldOrder, out: &mut [u8]) {
        if T::IS_VARIABLE {
            return;
        }
        let mut out = VariablePart::new(out);
        for (index, element) in self.iter().enumerate() {
            if index > 0 {
                out.take(aligned(T::FIXED, T::ALIGNMENT) - T::FIXED);
            }
            element.write_fixed(order, out.take(T::FIXED));
        }
    }

    #[inline]
    fn variable_size(&self) -> usize {
        if T::IS_VARIABLE { elements_size(self) } else { 0 }
    }

    #[inline]
    fn write_variable(&self, order: FieldOrder, out: &mut VariablePart<'_>) {
        if T::IS_VARIABLE {
            write_elements(self, order, out);
        }
    }
}

/// Returns the description of an optional value, which must not be optional itself.
const fn optional<T: TraceField>() -> FieldDescription {
    assert!(!matches!(T::DESCRIPTION, FieldDescription::Optional { .. }), "an option of an option");
    T::DESCRIPTION
}

/// The fixed part says whether there is a value, and has the length of a string or slice. The value itself is in the
/// variable part.
impl<T: TraceField> TraceField for Option<T> {
    const DESCRIPTION: FieldDescription =
        FieldDescription::Optional { value: &unaligned::<T>(optional::<T>()) };
    const FIXED: usize = 1 + if T::IS_VARIABLE { T::FIXED } else { 0 };
    const IS_VARIABLE: bool = true;

    #[inline]
    fn write_fixed(&self, order: FieldOrder, out: &mut [u8]) {
        let Some((present, length)) = out.split_first_mut() else { return };
        *present = u8::from(self.is_some());
        if T::IS_VARIABLE
            && let Some(value) = self
        {
            value.write_fixed(order, length);
        }
    }

    #[inline]
    fn variable_size(&self) -> usize {
        self.as_ref().map_or(0, |value| if T::IS_VARIABLE { value.variable_size() } else { T::FIXED })
    }

    #[inline]
    fn write_variable(&self, order: FieldOrder, out: &mut VariablePart<'_>) {
        match self {
            Some(value) if T::IS_VARIABLE => value.write_variable(order, out),
            Some(value) => value.write_fixed(order, out.take(T::FIXED)),
            None => {}
        }
    }
}

/// Implements the trait for a type that contains another one.
macro_rules! delegate {
    ($([$($generics:tt)*] $type:ty => $inner:ty;)*) => {
        $(impl<$($generics)*> TraceField for $type {
            const DESCRIPTION: FieldDescription = <$inner>::DESCRIPTION;
            const FIXED: usize = <$inner>::FIXED;
            const IS_VARIABLE: bool = <$inner>::IS_VARIABLE;
            const ALIGNMENT: usize = <$inner>::ALIGNMENT;

            #[inline]
            fn write_fixed(&self, order: FieldOrder, out: &mut [u8]) {
                <$inner>::write_fixed(self, order, out);
            }

            #[inline]
            fn variable_size(&self) -> usize {
                <$inner>::variable_size(self)
            }

            #[inline]
            fn write_variable(&self, order: FieldOrder, out: &mut VariablePart<'_>) {
                <$inner>::write_variable(self, order, out);
            }
        })*
    };
}

delegate! {
    [T: TraceField + ?Sized] &T => T;
}

#[cfg(feature = "std")]
delegate! {
    [] String => str;
    [T: TraceField] Vec<T> => [T];
    [T: TraceField + ?Sized] Box<T> => T;
}
