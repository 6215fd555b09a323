//! Record text, with printf formatting.
//!
//! A printf record has a first argument named `printf` with the unsigned value 0. Its message is a C format string. The
//! printf arguments have empty names. They end at the first user-defined pair: an argument with a name but without a
//! [meaning](Meaning).

mod conversion;
mod number;
mod output;

use core::fmt::{self, Write};

use self::conversion::{Conversion, FormatCount, FormatSection, FormatSections};
use self::number::NumberLayout;
use self::output::BoundedOutput;
use super::argument::{Argument, Arguments, Meaning, Value, kind};
use super::error::Rule;
use super::record::Record;
use super::text::{Text, write_lossy};

/// Role of an argument in its record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Role {
    /// The argument `printf`, which makes the message a format string.
    Marker,
    /// A printf argument, which is inserted into the message.
    Positional,
    /// An argument with a meaning in Fuchsia logs. Never [`Meaning::Other`].
    Known(Meaning),
    /// A name and a value.
    Pair,
}

/// Iterator over the readable arguments of a record with their roles.
#[derive(Clone, Debug)]
pub struct Roles<'a> {
    arguments: Arguments<'a>,
    state: ArgumentPhase,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ArgumentPhase {
    Begin,
    /// The message is a format string, and no pair has been read yet.
    Printf,
    Pairs,
}

impl<'a> Iterator for Roles<'a> {
    type Item = (Role, Argument<'a>);

    fn next(&mut self) -> Option<Self::Item> {
        let argument = self.arguments.next()?.ok()?;
        if self.state == ArgumentPhase::Begin {
            if argument.name.is("printf") && argument.value == Value::Unsigned(0) {
                self.state = ArgumentPhase::Printf;
                return Some((Role::Marker, argument));
            }
            self.state = ArgumentPhase::Pairs;
        }
        let role = match argument.meaning() {
            Meaning::Other if self.state == ArgumentPhase::Printf && argument.name.is_empty() => {
                Role::Positional
            }
            Meaning::Other => {
                self.state = ArgumentPhase::Pairs;
                Role::Pair
            }
            meaning => Role::Known(meaning),
        };
        Some((role, argument))
    }
}

/// Default limit of a [`RecordText`] in bytes. Only printf formatting can exceed it.
const LIMIT: usize = 128 << 10;

impl<'a> Record<'a> {
    /// Returns an iterator over the arguments with their roles.
    #[must_use]
    pub fn roles(&self) -> Roles<'a> {
        Roles { arguments: self.arguments(), state: ArgumentPhase::Begin }
    }

    /// Returns `true` if the message is a printf format string.
    #[must_use]
    pub fn is_printf(&self) -> bool {
        self.roles().next().is_some_and(|(role, _)| role == Role::Marker)
    }

    /// Returns the message followed by the pairs.
    #[must_use]
    pub fn text(&self) -> RecordText<'a> {
        RecordText { record: *self, pairs: true, limit: LIMIT }
    }
}

/// Record text: the message, then ` NAME=VALUE` for each pair.
///
/// A printf message is formatted as in C. The modifier `l` means 64 bits, and pointers look as in glibc. Problems are
/// shown in the text:
///
/// | text | problem |
/// |---|---|
/// | `%!d(str=abc)` | the conversion does not take an argument of this type |
/// | `%!d(MISSING)` | missing argument |
/// | `%!(BADWIDTH str=abc)`, `%!(BADPREC MISSING)` | the same for a `*` |
/// | `%!y(UNKNOWN)` | unknown conversion, takes no argument |
/// | `%!(NOVERB)` | the format string ends within a conversion, or a conversion has no letter |
/// | `%!(EXTRA u64=5, str=abc)` | unused arguments |
/// | `%!(TRUNCATED)` | the text is longer than the limit |
#[derive(Clone, Copy, Debug)]
pub struct RecordText<'a> {
    record: Record<'a>,
    pairs: bool,
    limit: usize,
}

impl RecordText<'_> {
    /// Writes only the message.
    #[must_use]
    pub const fn without_pairs(mut self) -> Self {
        self.pairs = false;
        self
    }

    /// Writes at most this many bytes, then a mark if the text was cut.
    #[must_use]
    pub const fn with_limit(mut self, bytes: usize) -> Self {
        self.limit = bytes;
        self
    }
}

impl fmt::Display for RecordText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = BoundedOutput::new(f, self.limit);
        let message = self.record.known().message;
        if self.record.is_printf() {
            let format = message.map_or(&b""[..], Text::as_bytes);
            Printf::new(&self.record, &mut |_| {}).write(format, &mut out)?;
        } else if let Some(message) = message {
            write_lossy(message.as_bytes(), &mut out)?;
        }
        if self.pairs {
            for (_, pair) in self.record.roles().filter(|(role, _)| *role == Role::Pair) {
                let space = if out.is_empty() { "" } else { " " };
                write!(out, "{space}{}={}", pair.name, pair.value)?;
            }
        }
        out.finish()
    }
}

/// Problem of a format string or its arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PrintfProblem {
    pub(super) rule: Rule,
    pub(super) position: ProblemPosition,
    pub(super) expected: u64,
    pub(super) found: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ProblemPosition {
    /// Offset in the format string.
    Format(usize),
    /// Offset in the record.
    Record(usize),
}

/// Formats a message with its arguments.
struct Printf<'a, 'p> {
    roles: Roles<'a>,
    problem: &'p mut dyn FnMut(PrintfProblem),
}

/// Reports problems in the format string and the arguments of a printf record.
pub(super) fn check(record: &Record<'_>, format: &[u8], problem: &mut dyn FnMut(PrintfProblem)) {
    struct Nothing;
    impl Write for Nothing {
        fn write_str(&mut self, _: &str) -> fmt::Result {
            Ok(())
        }
    }
    // Writing nothing cannot fail.
    let _ = Printf::new(record, problem).write(format, &mut BoundedOutput::nowhere(&mut Nothing));
}

impl<'a, 'p> Printf<'a, 'p> {
    fn new(record: &Record<'a>, problem: &'p mut dyn FnMut(PrintfProblem)) -> Self {
        Self { roles: record.roles(), problem }
    }

    /// Returns the next argument, for the conversion at `at`.
    fn argument(&mut self, at: usize) -> Option<Argument<'a>> {
        let next = self.roles.find(|(role, _)| *role == Role::Positional);
        if next.is_none() {
            let position = ProblemPosition::Format(at);
            (self.problem)(PrintfProblem {
                rule: Rule::PrintfArgumentMissing,
                position,
                expected: 1,
                found: 0,
            });
        }
        next.map(|(_, argument)| argument)
    }

    fn write(&mut self, format: &[u8], out: &mut BoundedOutput<'_>) -> fmt::Result {
        for (at, part) in FormatSections::new(format) {
            match part {
                FormatSection::Text(text) => write_lossy(text, out)?,
                FormatSection::Conversion(conversion) => self.conversion(&conversion, at, out)?,
                FormatSection::Unfinished => {
                    self.unknown(at, 0);
                    out.write_str("%!(NOVERB)")?;
                }
            }
        }
        self.extra(out)
    }

    fn unknown(&mut self, at: usize, letter: u8) {
        let position = ProblemPosition::Format(at);
        let rule = Rule::PrintfConversion;
        (self.problem)(PrintfProblem { rule, position, expected: 0, found: letter.into() });
    }

    /// Writes the unused arguments.
    fn extra(&mut self, out: &mut BoundedOutput<'_>) -> fmt::Result {
        let mut count = 0;
        let mut position = None;
        for (_, argument) in self.roles.by_ref().filter(|(role, _)| *role == Role::Positional) {
            position.get_or_insert(ProblemPosition::Record(argument.offset()));
            out.write_str(if count == 0 { "%!(EXTRA " } else { ", " })?;
            write_typed(&argument, out)?;
            count += 1;
        }
        let Some(position) = position else { return Ok(()) };
        (self.problem)(PrintfProblem {
            rule: Rule::PrintfArgumentExtra,
            position,
            expected: 0,
            found: count,
        });
        out.write_str(")")
    }

    /// Returns a width or precision, possibly from an argument. An error is reported under `name`.
    fn count(
        &mut self,
        count: Option<FormatCount>,
        at: usize,
        name: &str,
        out: &mut BoundedOutput<'_>,
    ) -> Result<Option<i32>, fmt::Error> {
        match count {
            None => Ok(None),
            Some(FormatCount::Number(number)) => Ok(i32::try_from(number).ok()),
            Some(FormatCount::Argument) => {
                let Some(argument) = self.argument(at) else {
                    write!(out, "%!({name} MISSING)")?;
                    return Ok(None);
                };
                if let Some(number) = integer(argument.value) {
                    return Ok(Some(number as i32));
                }
                self.wrong_type(&argument, kind::SIGNED);
                write!(out, "%!({name} ")?;
                write_typed(&argument, out)?;
                out.write_str(")")?;
                Ok(None)
            }
        }
    }

    fn wrong_type(&mut self, argument: &Argument<'_>, expected: u8) {
        let position = ProblemPosition::Record(argument.offset());
        let found = argument.value.kind();
        let (rule, expected, found) = (Rule::PrintfArgumentType, expected.into(), found.into());
        (self.problem)(PrintfProblem { rule, position, expected, found });
    }

    fn conversion(&mut self, conversion: &Conversion, at: usize, out: &mut BoundedOutput<'_>) -> fmt::Result {
        let letter = conversion.letter;
        let expected = match letter {
            b'%' => return out.write_str("%"),
            b'd' | b'i' => kind::SIGNED,
            b'o' | b'u' | b'x' | b'X' | b'b' | b'B' | b'c' | b'p' => kind::UNSIGNED,
            b'f' | b'F' | b'e' | b'E' | b'g' | b'G' | b'a' | b'A' => kind::FLOAT,
            b's' => kind::TEXT,
            _ => {
                self.unknown(at, letter);
                return write!(out, "%!{}(UNKNOWN)", char::from(letter));
            }
        };
        let width = self.count(conversion.width, at, "BADWIDTH", out)?;
        let precision = self.count(conversion.precision, at, "BADPREC", out)?;
        let Some(argument) = self.argument(at) else {
            return write!(out, "%!{}(MISSING)", char::from(letter));
        };
        let layout = NumberLayout {
            left: conversion.left || width.is_some_and(i32::is_negative),
            plus: conversion.plus,
            space: conversion.space,
            alternative: conversion.alternative,
            zero: conversion.zero,
            width: width.unwrap_or(0).unsigned_abs() as usize,
            precision: precision.and_then(|precision| usize::try_from(precision).ok()),
        };
        let unused = 64 - conversion.bits;
        match (letter, integer(argument.value), argument.value) {
            (b'd' | b'i', Some(value), _) => layout.signed(out, (value << unused) as i64 >> unused),
            (b'p', Some(value), _) => layout.pointer(out, value),
            (b'c', Some(value), _) => {
                let character = match conversion.is_long {
                    true => char::from_u32(value as u32),
                    false => Some(char::from(value as u8)).filter(char::is_ascii),
                };
                let character = character.unwrap_or(char::REPLACEMENT_CHARACTER);
                let length = if conversion.is_long { character.len_utf8() } else { 1 };
                layout.padded(out, length, |out| out.write_char(character))
            }
            (_, Some(value), _) if expected == kind::UNSIGNED => {
                layout.unsigned(out, value << unused >> unused, letter)
            }
            (_, _, Value::Float(value)) if expected == kind::FLOAT => layout.float(out, value, letter),
            (b's', _, Value::Text(text)) => {
                let bytes = cut(text.as_bytes(), layout.precision, conversion.is_long);
                layout.padded(out, bytes.len(), |out| write_lossy(bytes, out))
            }
            _ => {
                self.wrong_type(&argument, expected);
                write!(out, "%!{}(", char::from(letter))?;
                write_typed(&argument, out)?;
                out.write_str(")")
            }
        }
    }
}

/// Returns the bits of an integer. C accepts signed and unsigned integers in place of each other.
fn integer(value: Value<'_>) -> Option<u64> {
    match value {
        Value::Signed(value) => Some(value as u64),
        Value::Unsigned(value) => Some(value),
        _ => None,
    }
}

/// Returns the string bytes up to a precision. Wide strings are not cut within characters.
fn cut(bytes: &[u8], precision: Option<usize>, is_wide: bool) -> &[u8] {
    let end = precision.unwrap_or(bytes.len()).min(bytes.len());
    let end = match core::str::from_utf8(bytes) {
        Ok(text) if is_wide => text.floor_char_boundary(end),
        _ => end,
    };
    // The end was found in these bytes.
    bytes.get(..end).unwrap_or_default()
}

/// Writes a value that does not fit its conversion.
fn write_typed(argument: &Argument<'_>, out: &mut BoundedOutput<'_>) -> fmt::Result {
    let name = match argument.value {
        Value::Null => "null",
        Value::Signed(_) => "i64",
        Value::Unsigned(_) => "u64",
        Value::Float(_) => "f64",
        Value::Text(_) => "str",
        Value::Bool(_) => "bool",
    };
    write!(out, "{name}={}", argument.value)
}
