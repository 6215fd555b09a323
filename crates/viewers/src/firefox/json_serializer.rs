//! Serializer for compact JSON: the bytes of `serde_json`, but faster for plain strings and whole numbers.

use std::fmt;

use ichnos_json::write::{push_plain, push_signed, push_unsigned};
use serde::ser::{
    Error as _, Serialize, SerializeMap, SerializeSeq, SerializeStruct, SerializeStructVariant,
    SerializeTuple, SerializeTupleStruct, SerializeTupleVariant, Serializer,
};
use serde_json::Error;

/// Largest whole number that is written as an integer and `.0`.
const MOST_WHOLE: f64 = 1e15;

/// Structure that stands for a number in `serde_json`, if it keeps numbers as texts. Its only field has the text.
const NUMBER: &str = "$serde_json::private::Number";

/// Serializer that appends a value to a buffer.
pub(super) struct JsonSerializer<'o>(pub(super) &'o mut Vec<u8>);

/// Array or object that is being written.
pub(super) struct Compound<'o> {
    out: &'o mut Vec<u8>,
    has_members: bool,
    /// Closing brackets. Empty for a [`NUMBER`].
    end: &'static [u8],
}

impl<'o> JsonSerializer<'o> {
    fn unsigned(self, value: u64) {
        push_unsigned(self.0, value);
    }

    fn signed(self, value: i64) {
        push_signed(self.0, value);
    }

    /// Appends a value in the way of `serde_json`.
    #[inline(never)]
    fn fallback(self, value: &(impl Serialize + ?Sized)) -> Result<(), Error> {
        serde_json::to_writer(self.0, value)
    }

    fn compound(self, begin: u8, end: &'static [u8]) -> Compound<'o> {
        self.0.push(begin);
        Compound { out: self.0, has_members: false, end }
    }

    /// Starts an object with one member, whose value is an array or object.
    fn variant(self, name: &str, begin: u8, end: &'static [u8]) -> Result<Compound<'o>, Error> {
        let Self(out) = self;
        out.push(b'{');
        JsonSerializer(out).serialize_str(name)?;
        out.push(b':');
        Ok(JsonSerializer(out).compound(begin, end))
    }
}

impl Compound<'_> {
    #[inline]
    fn separate(&mut self) {
        if std::mem::replace(&mut self.has_members, true) {
            self.out.push(b',');
        }
    }

    #[inline]
    fn element<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Error> {
        self.separate();
        value.serialize(JsonSerializer(self.out))
    }

    #[inline]
    fn key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), Error> {
        self.separate();
        let begin = self.out.len();
        key.serialize(JsonSerializer(self.out))?;
        if self.out.get(begin) != Some(&b'"') {
            return Err(Error::custom("key must be a string"));
        }
        self.out.push(b':');
        Ok(())
    }

    /// Appends the text of a number.
    fn number<T: Serialize + ?Sized>(&mut self, text: &T) -> Result<(), Error> {
        let begin = self.out.len();
        text.serialize(JsonSerializer(self.out))?;
        if self.out.get(begin) == Some(&b'"') {
            self.out.remove(begin);
            self.out.pop();
        }
        Ok(())
    }

    fn close(self) {
        self.out.extend_from_slice(self.end);
    }
}

macro_rules! integers {
    ($($method:ident($type:ty) -> $as:ident;)*) => {
        $(
            #[inline]
            fn $method(self, value: $type) -> Result<(), Error> {
                self.$as(value.into());
                Ok(())
            }
        )*
    };
}

impl<'o> Serializer for JsonSerializer<'o> {
    type Ok = ();
    type Error = Error;
    type SerializeSeq = Compound<'o>;
    type SerializeTuple = Compound<'o>;
    type SerializeTupleStruct = Compound<'o>;
    type SerializeTupleVariant = Compound<'o>;
    type SerializeMap = Compound<'o>;
    type SerializeStruct = Compound<'o>;
    type SerializeStructVariant = Compound<'o>;

    integers! {
        serialize_u8(u8) -> unsigned;
        serialize_u16(u16) -> unsigned;
        serialize_u32(u32) -> unsigned;
        serialize_u64(u64) -> unsigned;
        serialize_i8(i8) -> signed;
        serialize_i16(i16) -> signed;
        serialize_i32(i32) -> signed;
        serialize_i64(i64) -> signed;
    }

    fn serialize_bool(self, value: bool) -> Result<(), Error> {
        self.0.extend_from_slice(if value { b"true" } else { b"false" });
        Ok(())
    }

    fn serialize_f32(self, value: f32) -> Result<(), Error> {
        self.fallback(&value)
    }

    #[inline]
    fn serialize_f64(self, value: f64) -> Result<(), Error> {
        let whole = value as i64;
        // Comparing bits tells -0 from 0.
        if value.abs() < MOST_WHOLE && (whole as f64).to_bits() == value.to_bits() {
            push_signed(self.0, whole);
            self.0.extend_from_slice(b".0");
            return Ok(());
        }
        self.fallback(&value)
    }

    fn serialize_char(self, value: char) -> Result<(), Error> {
        self.fallback(&value)
    }

    #[inline]
    fn serialize_str(self, value: &str) -> Result<(), Error> {
        if push_plain(self.0, value.as_bytes()) {
            return Ok(());
        }
        self.fallback(value)
    }

    fn serialize_bytes(self, value: &[u8]) -> Result<(), Error> {
        self.fallback(value)
    }

    fn serialize_none(self) -> Result<(), Error> {
        self.serialize_unit()
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<(), Error> {
        value.serialize(self)
    }

    fn serialize_unit(self) -> Result<(), Error> {
        self.0.extend_from_slice(b"null");
        Ok(())
    }

    fn serialize_unit_struct(self, _: &'static str) -> Result<(), Error> {
        self.serialize_unit()
    }

    fn serialize_unit_variant(self, _: &'static str, _: u32, variant: &'static str) -> Result<(), Error> {
        self.serialize_str(variant)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        value: &T,
    ) -> Result<(), Error> {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        value: &T,
    ) -> Result<(), Error> {
        let mut object = self.compound(b'{', b"}");
        object.key(variant)?;
        value.serialize(JsonSerializer(object.out))?;
        object.close();
        Ok(())
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<Compound<'o>, Error> {
        Ok(self.compound(b'[', b"]"))
    }

    fn serialize_tuple(self, _: usize) -> Result<Compound<'o>, Error> {
        Ok(self.compound(b'[', b"]"))
    }

    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<Compound<'o>, Error> {
        Ok(self.compound(b'[', b"]"))
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<Compound<'o>, Error> {
        self.variant(variant, b'[', b"]}")
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Compound<'o>, Error> {
        Ok(self.compound(b'{', b"}"))
    }

    fn serialize_struct(self, name: &'static str, _: usize) -> Result<Compound<'o>, Error> {
        match name {
            NUMBER => Ok(Compound { out: self.0, has_members: false, end: b"" }),
            _ => Ok(self.compound(b'{', b"}")),
        }
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<Compound<'o>, Error> {
        self.variant(variant, b'{', b"}}")
    }

    fn collect_str<T: fmt::Display + ?Sized>(self, value: &T) -> Result<(), Error> {
        self.serialize_str(&value.to_string())
    }
}

macro_rules! arrays {
    ($($trait:ident::$method:ident;)*) => {
        $(impl $trait for Compound<'_> {
            type Ok = ();
            type Error = Error;

            #[inline]
            fn $method<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Error> {
                self.element(value)
            }

            fn end(self) -> Result<(), Error> {
                self.close();
                Ok(())
            }
        })*
    };
}

arrays! {
    SerializeSeq::serialize_element;
    SerializeTuple::serialize_element;
    SerializeTupleStruct::serialize_field;
    SerializeTupleVariant::serialize_field;
}

impl SerializeMap for Compound<'_> {
    type Ok = ();
    type Error = Error;

    #[inline]
    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), Error> {
        self.key(key)
    }

    #[inline]
    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Error> {
        value.serialize(JsonSerializer(self.out))
    }

    fn end(self) -> Result<(), Error> {
        self.close();
        Ok(())
    }
}

macro_rules! structures {
    ($($trait:ident;)*) => {
        $(impl $trait for Compound<'_> {
            type Ok = ();
            type Error = Error;

            fn serialize_field<T: Serialize + ?Sized>(
                &mut self,
                key: &'static str,
                value: &T,
            ) -> Result<(), Error> {
                if self.end.is_empty() {
                    return self.number(value);
                }
                self.key(key)?;
                value.serialize(JsonSerializer(self.out))
            }

            fn end(self) -> Result<(), Error> {
                self.close();
                Ok(())
            }
        })*
    };
}

structures! {
    SerializeStruct;
    SerializeStructVariant;
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    fn assert_equal(value: &impl Serialize) {
        let mut out = Vec::new();
        value.serialize(JsonSerializer(&mut out)).unwrap();
        assert_eq!(String::from_utf8(out).unwrap(), serde_json::to_string(value).unwrap());
    }

    #[test]
    fn numbers_are_those_of_serde_json() {
        let mut seed = 0x2545_f491_4f6c_dd1d_u64;
        for round in 0..40_000_u32 {
            seed ^= seed << 13;
            seed ^= seed >> 7;
            seed ^= seed << 17;
            let shifted = seed >> (round % 64);
            assert_equal(&(shifted, shifted.cast_signed(), seed as f32));
            assert_equal(&[f64::from_bits(seed), shifted as f64, -(shifted as f64), shifted as f64 / 1e6]);
        }
        for value in [0.0, 1.0, 0.5, 1e14, 999_999_999_999_999.0, 1e15, 1e16, 1e17, 1e300, f64::MIN_POSITIVE]
        {
            assert_equal(&[value, -value]);
        }
        assert_equal(&[f64::NAN, f64::INFINITY, f64::NEG_INFINITY]);
        assert_equal(&(1_u8, -1_i8, 1_u16, -1_i16, 1_u32, -1_i32, u64::MAX, i64::MIN, true, false));
    }

    #[test]
    fn texts_and_containers_are_those_of_serde_json() {
        let controls: String = (0..0x100_u32).filter_map(char::from_u32).collect();
        let texts = ["", "plain", "quote \" and \\", "h\u{e9}llo \u{1f600}", &controls];
        assert_equal(&texts);
        let map: BTreeMap<&str, Vec<Option<u32>>> =
            texts.into_iter().map(|text| (text, vec![None, Some(text.len() as u32)])).collect();
        assert_equal(&(
            map,
            (),
            'x',
            [0_u8; 0],
            serde_json::json!({"a": [{}, [], {"b": null}], "c": 1.5, "d": [24, -3, 1e300]}),
        ));
        assert_equal(&(std::net::IpAddr::from([1, 2, 3, 4]), Ok::<u8, u8>(1)));
    }
}
