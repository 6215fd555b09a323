//! Type attributes: the bodies of integers, floating-point numbers and strings (CTF 1.8, section 4.1).

use ichnos_model::class::{ByteOrder, DisplayBase};
use ichnos_model::trace::{Severity, TextPosition};

use super::ast::{FloatType, IntegerType};
use super::parser::{ParseResult, SeenAttributes, Stop, TsdlExpression, TsdlOperand, TsdlParser};

impl TsdlParser<'_> {
    /// Reads a type attribute. Returns `None` if it is unknown.
    pub(super) fn attribute(
        &mut self,
        seen: &mut SeenAttributes,
        known: &[&'static str],
    ) -> ParseResult<Option<(&'static str, TsdlExpression)>> {
        let name = self.names("an attribute")?;
        if !self.peek_mark("=") {
            return Err(self.unexpected("`=`"));
        }
        let found = seen.add(self, &name.names.join("."), name.at, known)?;
        if found.is_none() {
            self.unknown_attribute(&name, known, Severity::Warning);
        }
        self.take();
        let value = self.expression()?;
        Ok(found.map(|found| (found, value)))
    }

    /// Reports a missing attribute, unless earlier problems explain it.
    pub(super) fn missing(&mut self, at: TextPosition, name: &str, clean: bool) -> Stop {
        if clean {
            self.problems.error(at, format!("the attribute `{name}` is missing"));
        }
        Stop
    }

    pub(super) fn alignment(&mut self, value: i128, at: TextPosition) -> ParseResult<u64> {
        match u64::try_from(value) {
            Ok(value) if value.is_power_of_two() => Ok(value),
            _ => Err(self.stop(at, format!("an alignment must be a power of two, not {value}"))),
        }
    }

    /// Reads `native`, `network`, `be` or `le`. `None` means the trace's byte order.
    pub(super) fn byte_order(&mut self, value: &TsdlExpression) -> ParseResult<Option<ByteOrder>> {
        match self.word_value("byte_order", value)?.as_str() {
            "native" => Ok(None),
            "network" | "be" => Ok(Some(ByteOrder::BigEndian)),
            "le" => Ok(Some(ByteOrder::LittleEndian)),
            _ => Err(self.wrong("byte_order", "`native`, `network`, `be` or `le`", value)),
        }
    }

    /// Returns `true` if the value is an encoding, `false` for `none`.
    pub(super) fn encoding(&mut self, value: &TsdlExpression) -> ParseResult<bool> {
        let name = match &value.value {
            TsdlOperand::Names(names) => names.join("."),
            TsdlOperand::Text(text) => text.clone(),
            TsdlOperand::Integer(_) => String::new(),
        };
        match name.as_str() {
            "none" | "NONE" => Ok(false),
            "UTF8" | "utf8" | "UTF-8" | "utf-8" | "ASCII" | "ascii" => Ok(true),
            _ => Err(self.wrong("encoding", "`none`, `UTF8` or `ASCII`", value)),
        }
    }

    pub(super) fn word_value(&mut self, name: &str, value: &TsdlExpression) -> ParseResult<String> {
        match &value.value {
            TsdlOperand::Names(names) => Ok(names.join(".")),
            _ => Err(self.wrong(name, "a name", value)),
        }
    }

    pub(super) fn integer_body(&mut self, at: TextPosition) -> ParseResult<IntegerType> {
        const KNOWN: [&str; 7] = ["size", "align", "signed", "byte_order", "base", "encoding", "map"];
        let mut seen = SeenAttributes::default();
        let (mut size, mut align) = (None, None);
        let mut integer = IntegerType {
            size: 0,
            align: 1,
            signed: false,
            byte_order: None,
            base: DisplayBase::Decimal,
            encoded: false,
            clock: None,
        };
        let clean = self.body(|parser| {
            let Some((name, value)) = parser.attribute(&mut seen, &KNOWN)? else {
                return parser.expect(";");
            };
            match name {
                "size" => size = Some(parser.integer_size(&value)?),
                "align" => {
                    let bits = parser.unsigned(name, &value)?;
                    align = Some(parser.alignment(i128::from(bits), value.at)?);
                }
                "signed" => integer.signed = parser.boolean(name, &value)?,
                "byte_order" => integer.byte_order = parser.byte_order(&value)?,
                "base" => integer.base = parser.display_base(&value)?,
                "encoding" => integer.encoded = parser.encoding(&value)?,
                _ => integer.clock = Some(Box::new((parser.clock_name(&value)?, value.at))),
            }
            parser.expect(";")
        })?;
        let Some(size) = size else { return Err(self.missing(at, "size", clean)) };
        integer.size = size;
        integer.align = align.unwrap_or(if size % 8 == 0 { 8 } else { 1 });
        Ok(integer)
    }

    pub(super) fn integer_size(&mut self, value: &TsdlExpression) -> ParseResult<u64> {
        let size = self.unsigned("size", value)?;
        if size == 0 {
            return Err(self.stop(value.at, "an integer must have at least one bit"));
        }
        if size > self.limits.integer_bits {
            let most = self.limits.integer_bits;
            let message = format!("an integer of {size} bits is wider than the limit of {most}");
            self.problems.limit(value.at, "integer_bits", message);
            return Err(Stop);
        }
        Ok(size)
    }

    pub(super) fn display_base(&mut self, value: &TsdlExpression) -> ParseResult<DisplayBase> {
        let base = match &value.value {
            TsdlOperand::Integer(radix) => u32::try_from(*radix).ok().and_then(DisplayBase::from_radix),
            TsdlOperand::Names(names) => match names.join(".").as_str() {
                "decimal" | "dec" | "d" | "i" | "u" => Some(DisplayBase::Decimal),
                "hexadecimal" | "hex" | "x" | "X" | "p" => Some(DisplayBase::Hexadecimal),
                "octal" | "oct" | "o" => Some(DisplayBase::Octal),
                "binary" | "bin" | "b" => Some(DisplayBase::Binary),
                _ => None,
            },
            TsdlOperand::Text(_) => None,
        };
        base.ok_or_else(|| self.wrong("base", "2, 8, 10, 16 or the name of such a base", value))
    }

    /// Reads `clock.NAME.value`.
    pub(super) fn clock_name(&mut self, value: &TsdlExpression) -> ParseResult<String> {
        if let TsdlOperand::Names(names) = &value.value
            && let [clock, name, last] = names.as_slice()
            && clock == "clock"
            && last == "value"
        {
            return Ok(name.clone());
        }
        Err(self.wrong("map", "`clock.NAME.value`", value))
    }

    pub(super) fn float_body(&mut self, at: TextPosition) -> ParseResult<FloatType> {
        const KNOWN: [&str; 4] = ["exp_dig", "mant_dig", "byte_order", "align"];
        let mut seen = SeenAttributes::default();
        let (mut exponent, mut mantissa) = (None, None);
        let (mut byte_order, mut align) = (None, 8);
        let clean = self.body(|parser| {
            let Some((name, value)) = parser.attribute(&mut seen, &KNOWN)? else {
                return parser.expect(";");
            };
            match name {
                "exp_dig" => exponent = Some(parser.unsigned(name, &value)?),
                "mant_dig" => mantissa = Some(parser.unsigned(name, &value)?),
                "byte_order" => byte_order = parser.byte_order(&value)?,
                _ => {
                    let bits = parser.unsigned(name, &value)?;
                    align = parser.alignment(i128::from(bits), value.at)?;
                }
            }
            parser.expect(";")
        })?;
        let Some(exponent) = exponent else { return Err(self.missing(at, "exp_dig", clean)) };
        let Some(mantissa) = mantissa else { return Err(self.missing(at, "mant_dig", clean)) };
        let size = exponent.checked_add(mantissa).filter(|size| is_float(*size, exponent));
        let Some(size) = size.filter(|size| *size <= self.limits.integer_bits) else {
            let message = format!(
                "{exponent} and {mantissa} digits are not an interchange format of IEEE 754 (5/11, 8/24, \
                11/53, 15/113 and wider formats are)"
            );
            return Err(self.stop(at, message));
        };
        Ok(FloatType { size, align, byte_order })
    }

    pub(super) fn string_body(&mut self) -> ParseResult<()> {
        let mut seen = SeenAttributes::default();
        self.body(|parser| {
            if let Some((_, value)) = parser.attribute(&mut seen, &["encoding"])? {
                parser.encoding(&value)?;
            }
            parser.expect(";")
        })
        .map(|_| ())
    }
}

/// Returns `true` if a float of this size has this number of exponent digits (IEEE 754-2008, table 3.5).
fn is_float(size: u64, exponent: u64) -> bool {
    match size {
        16 => exponent == 5,
        32 => exponent == 8,
        64 => exponent == 11,
        _ if size >= 128 && size.is_multiple_of(32) => {
            exponent as f64 == ((size as f64).log2() * 4.0).round() - 13.0
        }
        _ => false,
    }
}
