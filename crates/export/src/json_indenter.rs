//! Indentation of streamed JSON.

use std::io::{self, Write};

use crate::{Integers, with_integers};

/// Writer that indents JSON like `serde_json`, with integers in a given form. The input can have any white space.
#[derive(Debug)]
pub struct JsonIndenter<W> {
    out: W,
    integers: Integers,
    /// Number of enclosing objects and lists.
    depth: usize,
    /// `true` at the start of an object or list.
    is_empty: bool,
    /// First bytes of a string, number or word.
    token: Vec<u8>,
    /// `true` if the token is a string.
    is_string: bool,
    /// `true` if the next byte of a string is escaped.
    is_escaped: bool,
}

impl<W: Write> JsonIndenter<W> {
    /// Creates a writer to `out`.
    pub fn new(out: W, integers: Integers) -> Self {
        Self {
            out,
            integers,
            depth: 0,
            is_empty: false,
            token: Vec::new(),
            is_string: false,
            is_escaped: false,
        }
    }

    /// Writes the remaining text.
    ///
    /// # Errors
    /// If the writer fails.
    pub fn finish(mut self) -> io::Result<()> {
        self.write_token()
    }

    fn write_token(&mut self) -> io::Result<()> {
        if self.token.is_empty() {
            return Ok(());
        }
        match std::mem::take(&mut self.is_string) {
            true => self.out.write_all(&self.token)?,
            false => {
                let token = String::from_utf8_lossy(&self.token);
                self.out.write_all(with_integers(&token, self.integers).as_bytes())?;
            }
        }
        self.token.clear();
        Ok(())
    }

    fn new_line(&mut self) -> io::Result<()> {
        write!(self.out, "\n{:1$}", "", 2 * self.depth)
    }

    /// Starts a value or a key.
    fn begin(&mut self) -> io::Result<()> {
        match std::mem::take(&mut self.is_empty) {
            true => self.new_line(),
            false => Ok(()),
        }
    }

    /// Takes the bytes of a string up to its end, and returns their number.
    fn take_string(&mut self, bytes: &[u8]) -> io::Result<usize> {
        for (at, byte) in bytes.iter().enumerate() {
            let was_escaped = std::mem::take(&mut self.is_escaped);
            match byte {
                b'\\' => self.is_escaped = !was_escaped,
                b'"' if !was_escaped => {
                    self.token.extend_from_slice(bytes.get(..=at).unwrap_or_default());
                    self.write_token()?;
                    return Ok(at + 1);
                }
                _ => {}
            }
        }
        self.token.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn take(&mut self, byte: u8) -> io::Result<()> {
        match byte {
            b' ' | b'\n' | b'\r' | b'\t' => self.write_token(),
            b'"' => {
                self.begin()?;
                self.token.push(byte);
                self.is_string = true;
                Ok(())
            }
            b'{' | b'[' => {
                self.begin()?;
                self.depth += 1;
                self.is_empty = true;
                self.out.write_all(&[byte])
            }
            b'}' | b']' => {
                self.write_token()?;
                self.depth = self.depth.saturating_sub(1);
                if !std::mem::take(&mut self.is_empty) {
                    self.new_line()?;
                }
                self.out.write_all(&[byte])
            }
            b',' => {
                self.write_token()?;
                self.out.write_all(b",")?;
                self.new_line()
            }
            b':' => self.out.write_all(b": "),
            _ => {
                if self.token.is_empty() {
                    self.begin()?;
                }
                self.token.push(byte);
                Ok(())
            }
        }
    }
}

impl<W: Write> Write for JsonIndenter<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut rest = bytes;
        while let Some((byte, behind)) = rest.split_first() {
            rest = match self.is_string {
                true => {
                    let taken = self.take_string(rest)?;
                    rest.get(taken..).unwrap_or_default()
                }
                false => {
                    self.take(*byte)?;
                    behind
                }
            };
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn it_is_as_a_whole_document() {
        let big = 1u64 << 60;
        for value in [
            json!({}),
            json!([]),
            json!(null),
            json!(-12),
            json!("a\\\"{[, :\n\u{1}\u{7F}é"),
            json!([1, "1", big, -1.5e300, [], {}, [[]], true]),
            json!({ "a": { "b": [{ "c": big, "\\": "\\" }, { "d": {} }] }, "e": "x, y: {}" }),
        ] {
            for integers in [Integers::Number, Integers::String, Integers::Auto] {
                for compact in [value.to_string(), format!("{value:#}\n")] {
                    for piece in [1, 3, 1_000] {
                        let mut out = Vec::new();
                        let mut indenter = JsonIndenter::new(&mut out, integers);
                        compact.as_bytes().chunks(piece).for_each(|bytes| indenter.write_all(bytes).unwrap());
                        indenter.finish().unwrap();
                        let expected = format!("{value:#}");
                        let expected = with_integers(&expected, integers);
                        assert_eq!(String::from_utf8(out).unwrap(), expected);
                    }
                }
            }
        }
    }
}
