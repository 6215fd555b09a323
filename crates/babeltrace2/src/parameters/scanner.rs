//! Parameter language tokens.

/// Token.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Token {
    /// Letters, digits, `_`, `-`, `.` and `:` after a letter or `_`.
    Identifier(String),
    /// Integer without its sign. Larger numbers become the largest one.
    Integer(u64),
    Real(f64),
    /// Quoted text.
    Text(String),
    /// Any other byte.
    Byte(u8),
    /// Invalid number or unfinished text.
    Invalid,
    End,
}

/// Splits a text into tokens.
#[derive(Debug)]
pub(crate) struct Scanner<'a> {
    bytes: &'a [u8],
    at: usize,
    /// Terminal column before the next byte, from 0 on, with a tab stop every 8 columns.
    column: usize,
    token: Token,
}

/// Number form.
#[derive(Clone, Copy, PartialEq)]
enum Form {
    Binary,
    Octal,
    Decimal,
    Hexadecimal,
    Real,
}

impl<'a> Scanner<'a> {
    /// Creates a scanner. Its first token must still be read.
    pub(crate) fn new(text: &'a str) -> Self {
        Self { bytes: text.as_bytes(), at: 0, column: 0, token: Token::Byte(b' ') }
    }

    /// Returns the current token.
    pub(crate) fn token(&self) -> &Token {
        &self.token
    }

    /// Returns the arrow column for an error message: the last byte in the current token, or the place after an
    /// incomplete one.
    pub(crate) fn error_column(&self) -> usize {
        match self.token {
            Token::End | Token::Invalid => self.column,
            _ => self.column.saturating_sub(1),
        }
    }

    /// Reads the next token.
    pub(crate) fn advance(&mut self) -> &Token {
        while let Some(b' ' | b'\t' | b'\n') = self.peek() {
            self.take();
        }
        self.token = match self.take() {
            None => Token::End,
            Some(first @ (b'a'..=b'z' | b'A'..=b'Z' | b'_')) => self.identifier(first),
            Some(b'"') => self.quoted(),
            Some(b'.') => self.number_after_point(),
            Some(b'0') => self.number_after_zero(),
            Some(first @ b'1'..=b'9') => self.number(Form::Decimal, vec![first]),
            Some(byte) => Token::Byte(byte),
        };
        &self.token
    }

    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn take(&mut self) -> Option<u8> {
        let byte = self.peek()?;
        self.at = self.at.saturating_add(1);
        self.column = match byte {
            b'\n' => 0,
            b'\t' => self.column.saturating_add(8) & !7,
            _ => self.column.saturating_add(1),
        };
        Some(byte)
    }

    /// Returns an invalid token because the text ends too early.
    fn unfinished(&mut self) -> Token {
        self.column = self.column.saturating_add(1);
        Token::Invalid
    }

    fn identifier(&mut self, first: u8) -> Token {
        let mut name = String::from(char::from(first));
        while let Some(b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'_' | b'-' | b'.' | b':') = self.peek() {
            name.extend(self.take().map(char::from));
        }
        Token::Identifier(name)
    }

    fn quoted(&mut self) -> Token {
        let mut text = Vec::new();
        loop {
            let Some(byte) = self.take() else { return self.unfinished() };
            match byte {
                b'"' => break,
                b'\\' => match self.take() {
                    None => return self.unfinished(),
                    Some(byte) => text.push(self.escaped(byte)),
                },
                byte => text.push(byte),
            }
        }
        // Babeltrace's texts end at a zero byte.
        let end = text.iter().position(|byte| *byte == 0).unwrap_or(text.len());
        text.truncate(end);
        Token::Text(String::from_utf8_lossy(&text).into_owned())
    }

    /// Returns the byte for an escape sequence, after its first byte.
    fn escaped(&mut self, byte: u8) -> u8 {
        match byte {
            b'n' => b'\n',
            b't' => b'\t',
            b'r' => b'\r',
            b'b' => 8,
            b'f' => 12,
            b'0'..=b'7' => {
                let mut code = byte.wrapping_sub(b'0');
                for _ in 0..2 {
                    let Some(digit @ b'0'..=b'7') = self.peek() else { break };
                    self.take();
                    code = code.wrapping_mul(8).wrapping_add(digit.wrapping_sub(b'0'));
                }
                code
            }
            byte => byte,
        }
    }

    fn number_after_point(&mut self) -> Token {
        let mut digits = b"0.".to_vec();
        digits.extend(self.take());
        self.number(Form::Real, digits)
    }

    fn number_after_zero(&mut self) -> Token {
        let (form, is_digit): (_, fn(&u8) -> bool) = match self.peek() {
            Some(b'x' | b'X') => (Form::Hexadecimal, u8::is_ascii_hexdigit),
            Some(b'b' | b'B') => (Form::Binary, u8::is_ascii_digit),
            _ => return self.number(Form::Octal, vec![b'0']),
        };
        self.take();
        match self.take() {
            None => self.unfinished(),
            Some(first) if is_digit(&first) => self.number(form, vec![first]),
            Some(_) => Token::Invalid,
        }
    }

    /// Reads the remaining digits.
    fn number(&mut self, mut form: Form, mut digits: Vec<u8>) -> Token {
        loop {
            let is_exponent = form == Form::Real && matches!(digits.last(), Some(b'e' | b'E'));
            match self.peek() {
                Some(byte) if byte.is_ascii_alphanumeric() || byte == b'.' => {}
                Some(b'+' | b'-') if is_exponent => {}
                _ => break,
            }
            let Some(byte) = self.take() else { break };
            form = match (byte, form) {
                (b'0'..=b'9' | b'+' | b'-', form) => form,
                (b'.', Form::Decimal | Form::Octal) => Form::Real,
                (b'a'..=b'z' | b'A'..=b'Z', Form::Hexadecimal) => form,
                (b'e' | b'E', Form::Decimal | Form::Octal | Form::Real) => Form::Real,
                _ => return Token::Invalid,
            };
            digits.push(byte);
        }
        let base = match form {
            Form::Real => {
                let text = std::str::from_utf8(&digits).unwrap_or_default();
                return text.parse().map_or(Token::Invalid, Token::Real);
            }
            Form::Binary => 2,
            Form::Octal => 8,
            Form::Decimal => 10,
            Form::Hexadecimal => 16,
        };
        let number = digits.iter().try_fold(0_u64, |number, digit| {
            let digit = char::from(*digit).to_digit(base)?;
            let number = number.checked_mul(u64::from(base));
            Some(number.and_then(|number| number.checked_add(u64::from(digit))).unwrap_or(u64::MAX))
        });
        number.map_or(Token::Invalid, Token::Integer)
    }
}
