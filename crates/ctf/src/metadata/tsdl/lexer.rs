//! Lexer for TSDL words, constants and punctuation (CTF 1.8, section C.1), each with its position.

use ichnos_model::trace::TextPosition;

/// Token kind and value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Lexeme<'a> {
    /// Identifier or keyword, depending on its context.
    Word(&'a str),
    /// Integer constant. `None`: more than 64 bits.
    Integer(Option<u64>),
    /// Unescaped string or character constant, without quotes.
    Text(String),
    /// Punctuation.
    Mark(&'static str),
    /// Invalid token, with the reason.
    Bad(String),
    /// End of text.
    End,
}

/// Token with its position.
#[derive(Clone, Debug)]
pub(super) struct TsdlToken<'a> {
    pub(super) lexeme: Lexeme<'a>,
    /// Position of its first byte.
    pub(super) at: TextPosition,
    /// Position after its last byte.
    pub(super) end: TextPosition,
}

impl TsdlToken<'_> {
    /// Describes the token for messages.
    pub(super) fn describe(&self) -> String {
        match &self.lexeme {
            Lexeme::Word(word) => format!("`{word}`"),
            Lexeme::Integer(Some(value)) => format!("the integer {value}"),
            Lexeme::Integer(None) => "an integer of more than 64 bits".to_owned(),
            Lexeme::Text(text) if text.chars().count() <= 40 => format!("the string {text:?}"),
            Lexeme::Text(_) => "a long string".to_owned(),
            Lexeme::Mark(mark) => format!("`{mark}`"),
            Lexeme::Bad(_) => "something unreadable".to_owned(),
            Lexeme::End => "the end of the text".to_owned(),
        }
    }
}

/// Returns the punctuation at the start of a text.
fn mark(text: &[u8]) -> Option<&'static str> {
    Some(match text {
        [b'.', b'.', b'.', ..] => "...",
        [b':', b'=', ..] => ":=",
        [b'-', b'>', ..] => "->",
        [b'[', ..] => "[",
        [b']', ..] => "]",
        [b'(', ..] => "(",
        [b')', ..] => ")",
        [b'{', ..] => "{",
        [b'}', ..] => "}",
        [b'.', ..] => ".",
        [b'*', ..] => "*",
        [b'+', ..] => "+",
        [b'-', ..] => "-",
        [b'<', ..] => "<",
        [b'>', ..] => ">",
        [b':', ..] => ":",
        [b';', ..] => ";",
        [b'=', ..] => "=",
        [b',', ..] => ",",
        [b'~', ..] => "~",
        _ => return None,
    })
}

/// Splits a text into tokens.
pub(super) struct TsdlLexer<'a> {
    text: &'a [u8],
    offset: usize,
    line: u32,
    line_start: usize,
    /// Warnings about faults with a clear meaning.
    pub(super) warnings: Vec<(TextPosition, String)>,
}

impl<'a> TsdlLexer<'a> {
    pub(super) fn new(text: &'a [u8]) -> Self {
        Self { text, offset: 0, line: 1, line_start: 0, warnings: Vec::new() }
    }

    /// Adds a warning. The number is limited, because a single string could cause very many.
    fn warning(&mut self, warning: (TextPosition, String)) {
        if self.warnings.len() < 16 {
            self.warnings.push(warning);
        }
    }

    /// Returns the current position.
    fn position(&self) -> TextPosition {
        let column = self.offset.saturating_sub(self.line_start).saturating_add(1);
        TextPosition {
            line: self.line,
            column: u32::try_from(column).unwrap_or(u32::MAX),
            offset: self.offset as u64,
        }
    }

    fn peek(&self, ahead: usize) -> Option<u8> {
        self.text.get(self.offset.checked_add(ahead)?).copied()
    }

    fn rest(&self) -> &'a [u8] {
        // The offset is at most the length of the text.
        self.text.get(self.offset..).unwrap_or_default()
    }

    /// Takes a byte. This is the only place that counts lines.
    fn take(&mut self) -> Option<u8> {
        let byte = self.peek(0)?;
        self.offset += 1;
        if byte == b'\n' {
            self.line = self.line.saturating_add(1);
            self.line_start = self.offset;
        }
        Some(byte)
    }

    /// Takes matching bytes, which must not include newlines.
    fn take_while(&mut self, fits: impl Fn(u8) -> bool) -> &'a [u8] {
        let rest = self.rest();
        let length = rest.iter().position(|byte| !fits(*byte)).unwrap_or(rest.len());
        self.offset += length;
        // The token was found in these bytes.
        rest.get(..length).unwrap_or_default()
    }

    /// Skips to the end, because nothing after the error can be trusted.
    pub(super) fn give_up(&mut self) {
        while self.take().is_some() {}
    }

    /// Skips white space, comments and line continuations. Returns the position of an unterminated comment as an error.
    fn skip_blanks(&mut self) -> Result<(), TextPosition> {
        loop {
            let rest = self.rest();
            match rest.first() {
                Some(b' ' | b'\t' | b'\r' | 0x0b | 0x0c) => {
                    self.offset += 1;
                    continue;
                }
                Some(b'\n') => {
                    self.take();
                    continue;
                }
                Some(b'/' | b'\\') => {}
                _ => return Ok(()),
            }
            if rest.starts_with(b"/*") {
                let start = self.position();
                self.take();
                self.take();
                loop {
                    self.take_while(|byte| byte != b'*' && byte != b'\n');
                    if self.rest().starts_with(b"*/") {
                        break;
                    }
                    self.take().ok_or(start)?;
                }
                self.take();
                self.take();
            } else if rest.starts_with(b"//") {
                self.take_while(|byte| byte != b'\n');
            } else if rest.starts_with(b"\\\n") {
                self.take();
                self.take();
            } else if rest.starts_with(b"\\\r\n") {
                self.take();
                self.take();
                self.take();
            } else {
                return Ok(());
            }
        }
    }

    /// Returns the next token. At the end, always returns [`Lexeme::End`].
    pub(super) fn next(&mut self) -> TsdlToken<'a> {
        if let Err(start) = self.skip_blanks() {
            let lexeme = Lexeme::Bad("unterminated comment".to_owned());
            return TsdlToken { lexeme, at: start, end: self.position() };
        }
        let at = self.position();
        let lexeme = self.lexeme(at);
        TsdlToken { lexeme, at, end: self.position() }
    }

    fn lexeme(&mut self, at: TextPosition) -> Lexeme<'a> {
        let Some(first) = self.peek(0) else { return Lexeme::End };
        match first {
            b'"' | b'\'' => return self.quoted(at, first),
            b'L' if matches!(self.peek(1), Some(b'"' | b'\'')) => {
                self.take();
                let quote = self.peek(0).unwrap_or(b'"');
                return self.quoted(at, quote);
            }
            b'0'..=b'9' => return self.integer(),
            _ if is_word(first) => {
                let word = self.take_while(is_word);
                return match std::str::from_utf8(word) {
                    Ok(word) => Lexeme::Word(word),
                    Err(_) => Lexeme::Bad("an identifier is not valid UTF-8".to_owned()),
                };
            }
            _ => {}
        }
        if let Some(mark) = mark(self.rest()) {
            self.offset += mark.len();
            return Lexeme::Mark(mark);
        }
        self.take();
        Lexeme::Bad(match first {
            0 => "the text contains a NUL byte".to_owned(),
            b if b.is_ascii_graphic() => format!("`{}` is unexpected here", char::from(b)),
            b => format!("the byte 0x{b:02x} is unexpected here"),
        })
    }

    /// Reads an integer constant (section C.1.5). Tracers also write binary constants. Trailing characters other than a
    /// suffix are left for the next token.
    fn integer(&mut self) -> Lexeme<'a> {
        let digit = |byte: Option<u8>, radix: u32| byte.is_some_and(|b| char::from(b).is_digit(radix));
        let radix = match (self.peek(0), self.peek(1)) {
            (Some(b'0'), Some(b'x' | b'X')) if digit(self.peek(2), 16) => 16,
            (Some(b'0'), Some(b'b' | b'B')) if digit(self.peek(2), 2) => 2,
            (Some(b'0'), _) => 8,
            _ => 10,
        };
        if radix == 16 || radix == 2 {
            self.take();
            self.take();
        }
        let mut value = Some(0u64);
        while let Some(digit) = self.peek(0).and_then(|byte| char::from(byte).to_digit(radix)) {
            value = value
                .and_then(|value| value.checked_mul(u64::from(radix)))
                .and_then(|value| value.checked_add(u64::from(digit)));
            self.take();
        }
        let suffix = self.rest().iter().take(4).take_while(|byte| byte.is_ascii_alphabetic()).count();
        // The letters were found in these bytes.
        let text = self.rest().get(..suffix).unwrap_or_default().to_ascii_lowercase();
        let ends = !self.peek(suffix).is_some_and(is_word);
        if ends && matches!(text.as_slice(), b"u" | b"l" | b"ll" | b"ul" | b"ull" | b"lu" | b"llu") {
            for _ in 0..suffix {
                self.take();
            }
        }
        Lexeme::Integer(value)
    }

    /// Reads a string or a character constant (sections C.1.5 and C.1.6).
    fn quoted(&mut self, at: TextPosition, quote: u8) -> Lexeme<'a> {
        let kind = if quote == b'"' { "string" } else { "character constant" };
        self.take();
        let mut bytes = Vec::new();
        let mut nul = false;
        loop {
            let position = self.position();
            match self.take() {
                None => return Lexeme::Bad(format!("unterminated {kind}")),
                Some(byte) if byte == quote => break,
                Some(b'\\') => self.escape(position, &mut bytes),
                Some(byte) => {
                    nul |= byte == 0;
                    if byte == b'\n' {
                        self.warning((position, format!("a {kind} continues beyond the end of its line")));
                    }
                    bytes.push(byte);
                }
            }
        }
        if nul {
            return Lexeme::Bad(format!("a {kind} contains a NUL byte"));
        }
        match String::from_utf8(bytes) {
            Ok(text) => Lexeme::Text(text),
            Err(error) => {
                self.warning((at, format!("a {kind} is not valid UTF-8")));
                Lexeme::Text(String::from_utf8_lossy(error.as_bytes()).into_owned())
            }
        }
    }

    /// Reads an escape after its backslash. An unknown escape causes a warning, and means the character after the
    /// backslash, as in other readers.
    fn escape(&mut self, position: TextPosition, bytes: &mut Vec<u8>) {
        let Some(byte) = self.take() else { return };
        let plain = match byte {
            b'\\' | b'"' | b'\'' | b'?' => byte,
            b'a' => 0x07,
            b'b' => 0x08,
            b'f' => 0x0c,
            b'n' => b'\n',
            b'r' => b'\r',
            b't' => b'\t',
            b'v' => 0x0b,
            b'\n' => return,
            b'0'..=b'7' => {
                let mut value = u32::from(byte - b'0');
                for _ in 0..2 {
                    let Some(digit) = self.peek(0).and_then(|b| char::from(b).to_digit(8)) else { break };
                    value = value * 8 + digit;
                    self.take();
                }
                // Three octal digits reach 0o777. As in C, only the low byte counts.
                (value & 0xff) as u8
            }
            b'x' if self.peek(0).is_some_and(|b| b.is_ascii_hexdigit()) => {
                let mut value = 0u8;
                while let Some(digit) = self.peek(0).and_then(|b| char::from(b).to_digit(16)) {
                    value = value.wrapping_shl(4) | digit as u8;
                    self.take();
                }
                value
            }
            b'u' | b'U' => match self.universal(if byte == b'u' { 4 } else { 8 }) {
                Some(character) => {
                    bytes.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
                    return;
                }
                None => {
                    self.warning((position, "a universal character name is incomplete".to_owned()));
                    byte
                }
            },
            _ => {
                self.warning((position, format!("`\\{}` is not an escape sequence", byte.escape_ascii())));
                byte
            }
        };
        bytes.push(plain);
    }

    /// Takes a universal character name with this number of digits, if it is valid.
    fn universal(&mut self, digits: usize) -> Option<char> {
        let text = std::str::from_utf8(self.rest().get(..digits)?).ok()?;
        if !text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return None;
        }
        let character = char::from_u32(u32::from_str_radix(text, 16).ok()?)?;
        for _ in 0..digits {
            self.take();
        }
        Some(character)
    }
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn lexemes(text: &str) -> Vec<Lexeme<'_>> {
        let mut lexer = TsdlLexer::new(text.as_bytes());
        let mut all = Vec::new();
        loop {
            let token = lexer.next();
            if token.lexeme == Lexeme::End {
                return all;
            }
            all.push(token.lexeme);
        }
    }

    #[test]
    fn integers_of_every_base_and_suffix() {
        let value = |value| Lexeme::Integer(Some(value));
        assert_eq!(
            lexemes("0 10 017 0x1F 0XfFuLL 0b101 7UL 18446744073709551615"),
            [value(0), value(10), value(15), value(31), value(255), value(5), value(7), value(u64::MAX)]
        );
        assert_eq!(lexemes("18446744073709551616"), [Lexeme::Integer(None)]);
        // Not a suffix: the rest is a separate word, which the parser refuses at its position.
        assert_eq!(lexemes("1x"), [value(1), Lexeme::Word("x")]);
        assert_eq!(lexemes("0x"), [value(0), Lexeme::Word("x")]);
        assert_eq!(lexemes("1ulx"), [value(1), Lexeme::Word("ulx")]);
    }

    #[test]
    fn strings_with_escapes() {
        let text = |text: &str| Lexeme::Text(text.to_owned());
        assert_eq!(lexemes(r#""a\n\x41\101\u00e9\"" 'c' L"w""#), [text("a\nAAé\""), text("c"), text("w")]);
        let mut lexer = TsdlLexer::new(b"\"\\u yeah \\q\"");
        assert_eq!(lexer.next().lexeme, text("u yeah q"));
        assert_eq!(lexer.warnings.len(), 2);
    }

    #[test]
    fn comments_continuations_and_places() {
        let mut lexer = TsdlLexer::new(b"/* one\n two */ a // b\n\tc \\\n d");
        let positions: Vec<_> = std::iter::from_fn(|| {
            let token = lexer.next();
            (token.lexeme != Lexeme::End).then(|| token.at.to_string())
        })
        .collect();
        assert_eq!(positions, ["2:9", "3:2", "4:2"]);
    }

    #[test]
    fn what_has_no_end_or_no_meaning_is_bad() {
        for text in ["/* a", "\"abc", "'", "@", "\0", "\"a\0b\""] {
            assert!(matches!(lexemes(text)[0], Lexeme::Bad(_)), "{text:?}");
        }
    }
}
