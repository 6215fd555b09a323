//! Parses metadata from bytes and text.

use super::error::{MetadataError, Rule};
use super::{MAX_LENGTH, MAX_TEXT_LENGTH, Metadata, MetadataRef, flag, op_length, task_length};
use crate::hex;
use crate::option::Severity;

/// Parsing strictness.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Mode {
    /// Checks every rule of the document.
    #[default]
    Strict,
    /// Accepts the same input as the original C++ library, with the same result:
    ///
    /// - Bytes after the metadata are ignored.
    /// - Version 0 with 8-byte operation identifiers becomes version 1.
    /// - An empty option list is removed.
    /// - All padding bytes become zeros.
    /// - Only the low three bits of a severity are kept.
    Lenient,
}

/// Checks the metadata at the start of `bytes`, and returns its length.
#[inline]
fn check(bytes: &[u8], mode: Mode) -> Result<usize, MetadataError> {
    let error = |rule, offset, expected, found| Err(MetadataError::new(rule, offset, expected, found));
    let Some(&flags) = bytes.first() else {
        return error(Rule::FlagsMissing, 0, 1, 0);
    };
    let version = flags >> 4;
    if version > 1 {
        let rule = if version == 15 { Rule::VersionReserved } else { Rule::VersionUnknown };
        return error(rule, 0, 1, usize::from(version));
    }
    if version == 0 && flags & flag::OP_LENGTH != 0 && mode == Mode::Strict {
        return error(Rule::VersionOpId, 0, 4, usize::from(flags));
    }
    let task_end = 1 + task_length(flags);
    if bytes.len() < task_end {
        return error(Rule::TaskIdTruncated, 1, task_end - 1, bytes.len() - 1);
    }
    let op_end = task_end + op_length(flags);
    if bytes.len() < op_end {
        return error(Rule::OpIdTruncated, task_end, op_end - task_end, bytes.len() - task_end);
    }
    let end = if flags & flag::OPTIONS == 0 { op_end } else { check_options(bytes, op_end, mode)? };
    if bytes.len() > end && mode == Mode::Strict {
        return error(Rule::TrailingBytes, end, 0, bytes.len() - end);
    }
    Ok(end)
}

/// Checks the options and returns their end. `at` is the offset of their length byte.
fn check_options(bytes: &[u8], at: usize, mode: Mode) -> Result<usize, MetadataError> {
    let error = |rule, offset, expected, found| Err(MetadataError::new(rule, offset, expected, found));
    let Some((&length, rest)) = bytes.get(at..).and_then(<[u8]>::split_first) else {
        return error(Rule::OptionsLengthMissing, at, 1, 0);
    };
    if length == 0 && mode == Mode::Strict {
        return error(Rule::OptionsLengthZero, at, 1, 0);
    }
    let begin = at + 1;
    let Some(mut options) = rest.get(..usize::from(length)) else {
        return error(Rule::OptionsTruncated, begin, usize::from(length), rest.len());
    };
    let end = begin + options.len();
    while let [number, ref after @ ..] = *options
        && number != 0
    {
        let Some((&length, after)) = after.split_first() else {
            return error(Rule::OptionLengthMissing, end, 1, 0);
        };
        let Some(rest) = after.get(usize::from(length)..) else {
            return error(Rule::OptionTruncated, end - after.len(), usize::from(length), after.len());
        };
        options = rest;
    }
    Ok(end)
}

impl<'a> MetadataRef<'a> {
    /// Parses metadata from bytes with every rule of the document.
    ///
    /// # Errors
    /// If a rule is broken. The error is the first violation in byte order.
    #[inline]
    pub fn parse_bytes(bytes: &'a [u8]) -> Result<Self, MetadataError> {
        check(bytes, Mode::Strict)?;
        Ok(Self { bytes })
    }

    /// Parses the metadata at the start of `bytes`, and returns the rest. Checks every rule of the document except the
    /// rule against trailing bytes. For protocols without a metadata length.
    ///
    /// # Errors
    /// If a rule is broken.
    pub fn split_from(bytes: &'a [u8]) -> Result<(Self, &'a [u8]), MetadataError> {
        let mut length = bytes.len().min(MAX_LENGTH);
        loop {
            match check(&bytes[..length], Mode::Strict) {
                Ok(_) => break,
                Err(error) if error.rule == Rule::TrailingBytes => length = usize::from(error.offset),
                Err(error) => return Err(error),
            }
        }
        let (bytes, rest) = bytes.split_at(length);
        Ok((Self { bytes }, rest))
    }

    /// Parses metadata from text with every rule of the document, using a buffer for its bytes.
    ///
    /// Takes half as long as [`Metadata::parse`], because nothing is cleared or moved.
    ///
    /// # Errors
    /// If a rule is broken. Text rules are checked first.
    pub fn parse_text(text: &[u8], buffer: &'a mut [u8; MAX_LENGTH]) -> Result<Self, MetadataError> {
        let length = decode_and_check(text, Mode::Strict, buffer)?;
        Ok(Self { bytes: &buffer[..usize::from(length)] })
    }

    /// Wraps bytes that are known to be well-formed.
    pub(super) fn from_checked(bytes: &'a [u8]) -> Self {
        Self { bytes }
    }
}

impl Metadata {
    /// Parses metadata from bytes with every rule of the document.
    ///
    /// # Errors
    /// If a rule is broken. The error is the first violation in byte order.
    #[inline]
    pub fn parse_bytes(bytes: &[u8]) -> Result<Self, MetadataError> {
        let mut result = Ok(Self { bytes: [0; MAX_LENGTH], length: 0 });
        match (check(bytes, Mode::Strict), &mut result) {
            (Ok(end), Ok(metadata)) => {
                metadata.bytes[..end].copy_from_slice(bytes);
                metadata.length = end as u16;
            }
            (Err(error), _) => result = Err(error),
            _ => {}
        }
        result
    }

    /// Parses metadata from text with every rule of the document: only hexadecimal digits in any case, without
    /// surrounding spaces.
    ///
    /// # Errors
    /// If a rule is broken. Text rules are checked first.
    #[inline(always)]
    pub fn parse(text: impl AsRef<[u8]>) -> Result<Self, MetadataError> {
        Self::parse_with(text.as_ref(), Mode::Strict)
    }

    /// Parses metadata from text in a mode.
    ///
    /// # Errors
    /// If a rule of this mode is broken.
    #[inline(always)]
    pub fn parse_with(text: &[u8], mode: Mode) -> Result<Self, MetadataError> {
        // The result is filled in place, because moving metadata takes longer than reading it.
        let mut result = Ok(Self { bytes: [0; MAX_LENGTH], length: 0 });
        if let Ok(metadata) = &mut result {
            match decode_and_check(text, mode, &mut metadata.bytes) {
                Ok(length) => {
                    metadata.length = length;
                    if mode == Mode::Lenient {
                        metadata.make_lenient();
                    }
                }
                Err(error) => result = Err(error),
            }
        }
        result
    }

    /// Parses metadata from bytes in a mode.
    ///
    /// # Errors
    /// If a rule of this mode is broken.
    pub fn parse_bytes_with(bytes: &[u8], mode: Mode) -> Result<Self, MetadataError> {
        let end = check(bytes, mode)?;
        let mut metadata = Self::copy_of(MetadataRef { bytes: &bytes[..end] });
        if mode == Mode::Lenient {
            metadata.make_lenient();
        }
        Ok(metadata)
    }

    /// Parses metadata from text without errors, like the original C++ library. Unreadable text becomes nine bytes of
    /// invalid metadata.
    #[must_use]
    pub fn parse_lenient(text: &[u8]) -> Self {
        Self::parse_with(text, Mode::Lenient).unwrap_or_else(|_| {
            let mut metadata = Self::ZERO;
            let mut flags = [0];
            let readable = text.len() % 2 == 0
                && text.len() >= 2 * super::MIN_LENGTH
                && text.iter().all(|byte| hex::is_digit(*byte));
            let _ = hex::decode(text, &mut flags);
            // The version that remains in its recorded output.
            let is_version_0 = match flags[0] >> 4 {
                0 => flags[0] & flag::OP_LENGTH == 0,
                version => version != 1,
            };
            metadata.bytes[0] = if readable && is_version_0 { 0 } else { 0x10 };
            metadata
        })
    }

    /// Changes input beyond the document in the same way as the original library.
    fn make_lenient(&mut self) {
        let flags = self.bytes[0];
        if flags & flag::OP_LENGTH != 0 {
            self.bytes[0] = flags & 0x0F | 1 << 4;
        }
        let op_end = 1 + task_length(flags) + op_length(flags);
        if flags & flag::OPTIONS != 0 && self.bytes[op_end] == 0 {
            self.bytes[0] &= !flag::OPTIONS;
            self.length = op_end as u16;
        }
        let end = usize::from(self.length);
        let padding = self.as_ref().padding().len();
        self.bytes[end - padding..end].fill(0);
        // It keeps the low three bits of a severity, enough for syslog levels.
        let mut at = op_end + 1;
        while let Some([number, length, payload, ..]) = self.bytes.get(at..end - padding) {
            let (number, length) = (*number, *length);
            if number == Severity::NUMBER && length == 1 {
                self.bytes[at + 2] = *payload & 7;
            }
            at += 2 + usize::from(length);
        }
    }
}

/// Decodes text and checks the bytes. Returns the metadata length in bytes.
fn decode_and_check(text: &[u8], mode: Mode, out: &mut [u8]) -> Result<u16, MetadataError> {
    let length = decode_text(text, out)?;
    match check(&out[..length.min(MAX_LENGTH)], mode) {
        Ok(_) if length > MAX_LENGTH && mode == Mode::Strict => {
            Err(MetadataError::new(Rule::TrailingBytes, MAX_LENGTH, 0, length - MAX_LENGTH))
        }
        Err(error) if error.rule == Rule::TrailingBytes => {
            let found = length - usize::from(error.offset);
            Err(MetadataError::new(error.rule, usize::from(error.offset), 0, found))
        }
        result => result.map(|end| end as u16),
    }
}

/// Decodes text as far as it fits, and returns its length in bytes.
#[inline]
fn decode_text(text: &[u8], out: &mut [u8]) -> Result<usize, MetadataError> {
    let fits = text.len() <= MAX_TEXT_LENGTH;
    if text.len() % 2 == 0 && hex::decode(text, out).is_some() && (fits || all_digits(text)) {
        return Ok(text.len() / 2);
    }
    Err(match text.iter().position(|byte| !hex::is_digit(*byte)) {
        Some(offset) => MetadataError::new(Rule::TextDigits, offset, 0, usize::from(text[offset])),
        None => MetadataError::new(Rule::TextPairs, text.len() - 1, text.len() + 1, text.len()),
    })
}

fn all_digits(text: &[u8]) -> bool {
    text.iter().all(|byte| hex::is_digit(*byte))
}
