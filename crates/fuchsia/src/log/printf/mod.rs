//! Messages as text; those of printf with their arguments in them.
//!
//! A record whose first argument is `printf`, unsigned and 0, has a format string of C's printf for its
//! message. The arguments of printf are those with empty names, up to the first argument that is a
//! pair of the user's own: any with another name, other than those with a [meaning](Meaning).

mod conversion;
mod number;
mod output;

use core::fmt::{self, Write};

use self::conversion::{Conversion, Count, Part, Parts};
use self::number::Layout;
use self::output::Bounded;
use super::argument::{Argument, Arguments, Meaning, Value, kind};
use super::error::Rule;
use super::record::Record;
use super::text::{Text, write_lossy};

/// What an argument is in its record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Role {
    /// The argument `printf` that makes the message a format string.
    Marker,
    /// An argument of printf, to be put into the message.
    Positional,
    /// One with a meaning to the logs of Fuchsia, never [`Meaning::Other`].
    Known(Meaning),
    /// A pair of a name and a value.
    Pair,
}

/// The arguments of a record that can be read, in order, and what each is.
#[derive(Clone, Debug)]
pub struct Roles<'a> {
    arguments: Arguments<'a>,
    state: State,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Begin,
    /// The message is a format string, and there was no pair yet.
    Printf,
    Pairs,
}

impl<'a> Iterator for Roles<'a> {
    type Item = (Role, Argument<'a>);

    fn next(&mut self) -> Option<Self::Item> {
        let argument = self.arguments.next()?.ok()?;
        if self.state == State::Begin {
            if argument.name.is("printf") && argument.value == Value::Unsigned(0) {
                self.state = State::Printf;
                return Some((Role::Marker, argument));
            }
            self.state = State::Pairs;
        }
        let role = match argument.meaning() {
            Meaning::Other if self.state == State::Printf && argument.name.is_empty() => Role::Positional,
            Meaning::Other => {
                self.state = State::Pairs;
                Role::Pair
            }
            meaning => Role::Known(meaning),
        };
        Some((role, argument))
    }
}

/// What [`RecordText`] writes at most by default, in bytes: more than any record without printf has.
const LIMIT: usize = 128 << 10;

impl<'a> Record<'a> {
    /// What each argument is.
    #[must_use]
    pub fn roles(&self) -> Roles<'a> {
        Roles { arguments: self.arguments(), state: State::Begin }
    }

    /// Whether its message is a format string of printf.
    #[must_use]
    pub fn is_printf(&self) -> bool {
        self.roles().next().is_some_and(|(role, _)| role == Role::Marker)
    }

    /// Its message, and the pairs behind it.
    #[must_use]
    pub fn text(&self) -> RecordText<'a> {
        RecordText { record: *self, pairs: true, limit: LIMIT }
    }
}

/// The text of a record: its message, then ` NAME=VALUE` for each pair.
///
/// The message of a record of printf is written as C's printf would, with integers of 64 bits for `l`
/// and pointers as the C library of GNU writes them. What cannot be is shown:
///
/// | text | what is wrong |
/// |---|---|
/// | `%!d(str=abc)` | the argument is of a type that this conversion does not take |
/// | `%!d(MISSING)` | there is no argument left |
/// | `%!(BADWIDTH str=abc)`, `%!(BADPREC MISSING)` | the same for a `*` |
/// | `%!y(UNKNOWN)` | there is no such conversion; it takes no argument |
/// | `%!(NOVERB)` | the format string ends within a conversion, or something comes that is no letter |
/// | `%!(EXTRA u64=5, str=abc)` | arguments that are left over |
/// | `%!(TRUNCATED)` | the text is longer than the limit |
#[derive(Clone, Copy, Debug)]
pub struct RecordText<'a> {
    record: Record<'a>,
    pairs: bool,
    limit: usize,
}

impl RecordText<'_> {
    /// The message alone.
    #[must_use]
    pub const fn without_pairs(mut self) -> Self {
        self.pairs = false;
        self
    }

    /// Writes at most this many bytes, and a mark if that is not all.
    #[must_use]
    pub const fn with_limit(mut self, bytes: usize) -> Self {
        self.limit = bytes;
        self
    }
}

impl fmt::Display for RecordText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = Bounded::new(f, self.limit);
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

/// Something about a format string and its arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Problem {
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

/// Puts arguments into a format string.
struct Printf<'a, 'p> {
    roles: Roles<'a>,
    problem: &'p mut dyn FnMut(Problem),
}

/// Reports what is wrong with the format string of a record of printf and its arguments.
pub(super) fn check(record: &Record<'_>, format: &[u8], problem: &mut dyn FnMut(Problem)) {
    struct Nothing;
    impl Write for Nothing {
        fn write_str(&mut self, _: &str) -> fmt::Result {
            Ok(())
        }
    }
    // Nothing to write cannot fail.
    let _ = Printf::new(record, problem).write(format, &mut Bounded::nowhere(&mut Nothing));
}

impl<'a, 'p> Printf<'a, 'p> {
    fn new(record: &Record<'a>, problem: &'p mut dyn FnMut(Problem)) -> Self {
        Self { roles: record.roles(), problem }
    }

    /// The next argument for a conversion at `at`.
    fn argument(&mut self, at: usize) -> Option<Argument<'a>> {
        let next = self.roles.find(|(role, _)| *role == Role::Positional);
        if next.is_none() {
            let position = ProblemPosition::Format(at);
            (self.problem)(Problem { rule: Rule::PrintfArgumentMissing, position, expected: 1, found: 0 });
        }
        next.map(|(_, argument)| argument)
    }

    fn write(&mut self, format: &[u8], out: &mut Bounded<'_>) -> fmt::Result {
        for (at, part) in Parts::new(format) {
            match part {
                Part::Text(text) => write_lossy(text, out)?,
                Part::Conversion(conversion) => self.conversion(&conversion, at, out)?,
                Part::Unfinished => {
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
        (self.problem)(Problem { rule, position, expected: 0, found: letter.into() });
    }

    /// The arguments that are left over.
    fn extra(&mut self, out: &mut Bounded<'_>) -> fmt::Result {
        let mut count = 0;
        let mut position = None;
        for (_, argument) in self.roles.by_ref().filter(|(role, _)| *role == Role::Positional) {
            position.get_or_insert(ProblemPosition::Record(argument.offset()));
            out.write_str(if count == 0 { "%!(EXTRA " } else { ", " })?;
            write_typed(&argument, out)?;
            count += 1;
        }
        let Some(position) = position else { return Ok(()) };
        (self.problem)(Problem { rule: Rule::PrintfArgumentExtra, position, expected: 0, found: count });
        out.write_str(")")
    }

    /// A width or precision that an argument may say. `name` is what it is called if that cannot be.
    fn count(
        &mut self,
        count: Option<Count>,
        at: usize,
        name: &str,
        out: &mut Bounded<'_>,
    ) -> Result<Option<i32>, fmt::Error> {
        match count {
            None => Ok(None),
            Some(Count::Number(number)) => Ok(i32::try_from(number).ok()),
            Some(Count::Argument) => {
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
        (self.problem)(Problem { rule, position, expected, found });
    }

    fn conversion(&mut self, conversion: &Conversion, at: usize, out: &mut Bounded<'_>) -> fmt::Result {
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
        let layout = Layout {
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

/// The bits of an integer of either kind: C takes one for the other.
fn integer(value: Value<'_>) -> Option<u64> {
    match value {
        Value::Signed(value) => Some(value as u64),
        Value::Unsigned(value) => Some(value),
        _ => None,
    }
}

/// The bytes of a string up to a precision; wide strings are not cut within characters.
fn cut(bytes: &[u8], precision: Option<usize>, is_wide: bool) -> &[u8] {
    let end = precision.unwrap_or(bytes.len()).min(bytes.len());
    let end = match core::str::from_utf8(bytes) {
        Ok(text) if is_wide => text.floor_char_boundary(end),
        _ => end,
    };
    bytes.get(..end).unwrap_or_default()
}

/// A value that does not go into the message where it should.
fn write_typed(argument: &Argument<'_>, out: &mut Bounded<'_>) -> fmt::Result {
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
