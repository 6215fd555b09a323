//! Format strings: text and conversions.

/// A section of a format string.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FormatSection<'f> {
    /// Literal text.
    Text(&'f [u8]),
    /// A conversion.
    Conversion(Conversion),
    /// The format string ends within a conversion, or the conversion is invalid.
    Unfinished,
}

/// A width or a precision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FormatCount {
    Number(usize),
    /// `*`: taken from an argument.
    Argument,
}

/// A conversion.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Conversion {
    /// `-`
    pub(super) left: bool,
    /// `+`
    pub(super) plus: bool,
    /// A space.
    pub(super) space: bool,
    /// `#`
    pub(super) alternative: bool,
    /// `0`
    pub(super) zero: bool,
    pub(super) width: Option<FormatCount>,
    pub(super) precision: Option<FormatCount>,
    /// Integer size in bits for this length modifier.
    pub(super) bits: u32,
    /// `true` if the length modifier is `l`.
    pub(super) is_long: bool,
    /// Conversion letter.
    pub(super) letter: u8,
}

/// Maximum width and precision, limited by C's `int`.
const MAX_COUNT: usize = i32::MAX as usize;

/// Splits a format string into sections.
#[derive(Clone, Debug)]
pub(super) struct FormatSections<'f> {
    format: &'f [u8],
    /// Offset of the next section.
    at: usize,
}

impl<'f> FormatSections<'f> {
    pub(super) const fn new(format: &'f [u8]) -> Self {
        Self { format, at: 0 }
    }

    fn rest(&self) -> &'f [u8] {
        // The position is at most the length of the format.
        self.format.get(self.at..).unwrap_or_default()
    }

    fn next_byte(&self) -> Option<u8> {
        self.format.get(self.at).copied()
    }

    fn take(&mut self, byte: u8) -> bool {
        let takes = self.next_byte() == Some(byte);
        self.at += usize::from(takes);
        takes
    }

    fn number(&mut self) -> usize {
        let mut number = 0usize;
        while let Some(digit @ b'0'..=b'9') = self.next_byte() {
            number = (number * 10 + usize::from(digit - b'0')).min(MAX_COUNT);
            self.at += 1;
        }
        number
    }

    fn count(&mut self) -> Option<FormatCount> {
        match self.next_byte() {
            Some(b'*') => {
                self.at += 1;
                Some(FormatCount::Argument)
            }
            Some(b'0'..=b'9') => Some(FormatCount::Number(self.number())),
            _ => None,
        }
    }

    /// Reads the conversion after a `%`.
    fn conversion(&mut self) -> FormatSection<'f> {
        let mut conversion = Conversion { bits: 32, ..Conversion::default() };
        while let Some(flag) = self.next_byte() {
            match flag {
                b'-' => conversion.left = true,
                b'+' => conversion.plus = true,
                b' ' => conversion.space = true,
                b'#' => conversion.alternative = true,
                b'0' => conversion.zero = true,
                // Digit grouping has no effect, because the locale of logs lacks a thousands separator.
                b'\'' => {}
                _ => break,
            }
            self.at += 1;
        }
        conversion.width = self.count();
        if self.take(b'.') {
            conversion.precision = Some(self.count().unwrap_or(FormatCount::Number(0)));
        }
        match self.next_byte() {
            Some(b'h') => {
                self.at += 1;
                conversion.bits = if self.take(b'h') { 8 } else { 16 };
            }
            Some(modifier @ (b'l' | b'j' | b'z' | b't' | b'L' | b'q')) => {
                self.at += 1;
                conversion.bits = 64;
                conversion.is_long = modifier == b'l';
                if conversion.is_long {
                    self.take(b'l');
                }
            }
            _ => {}
        }
        match self.next_byte() {
            Some(letter) if letter.is_ascii_graphic() => {
                self.at += 1;
                conversion.letter = letter;
                FormatSection::Conversion(conversion)
            }
            _ => FormatSection::Unfinished,
        }
    }
}

impl<'f> Iterator for FormatSections<'f> {
    /// Byte offset in the format string, and section.
    type Item = (usize, FormatSection<'f>);

    fn next(&mut self) -> Option<Self::Item> {
        let (begin, rest) = (self.at, self.rest());
        match rest.iter().position(|byte| *byte == b'%') {
            Some(0) => {
                self.at += 1;
                Some((begin, self.conversion()))
            }
            end => {
                // The end was found in the rest.
                let text = rest.get(..end.unwrap_or(rest.len())).unwrap_or_default();
                self.at += text.len();
                (!text.is_empty()).then_some((begin, FormatSection::Text(text)))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_a_format_string() {
        let parts: Vec<_> = FormatSections::new(b"a%-+ #0'*.7hhdb%99999999999.*lls% \xc3\xa4%").collect();
        let first = Conversion {
            left: true,
            plus: true,
            space: true,
            alternative: true,
            zero: true,
            width: Some(FormatCount::Argument),
            precision: Some(FormatCount::Number(7)),
            bits: 8,
            is_long: false,
            letter: b'd',
        };
        let second = Conversion {
            width: Some(FormatCount::Number(MAX_COUNT)),
            precision: Some(FormatCount::Argument),
            bits: 64,
            is_long: true,
            letter: b's',
            ..Conversion::default()
        };
        let expected = [
            (0, FormatSection::Text(b"a")),
            (1, FormatSection::Conversion(first)),
            (14, FormatSection::Text(b"b")),
            (15, FormatSection::Conversion(second)),
            (32, FormatSection::Unfinished),
            (34, FormatSection::Text("ä".as_bytes())),
            (36, FormatSection::Unfinished),
        ];
        assert_eq!(parts, expected);
    }
}
