//! Parameters on the command line: `NAME=VALUE,...`.
//!
//! A value is `null`, a boolean, an integer, a real number, a text with or without quotes, an array `[1, 2]` or a map
//! `{a=1, b=2}`. A `+` before an integer makes it unsigned.

mod scanner;

use self::scanner::{Scanner, Token};
use crate::command::Failure;
use crate::value::{Map, ParameterValue};

/// Maximum nesting depth.
const MAX_DEPTH: usize = 100;

/// Parses parameters.
///
/// # Errors
/// An error message with an arrow below the position.
pub(crate) fn parse_parameters(text: &str) -> Result<Map, String> {
    let mut parser = Parser { text, scanner: Scanner::new(text) };
    let mut parameters = Map::default();
    loop {
        let name = match parser.scanner.advance() {
            Token::Identifier(name) => name.clone(),
            _ => return Err(parser.expecting("unquoted map key")),
        };
        match parser.scanner.advance() {
            Token::Byte(b'=') => {}
            Token::End => return Err(parser.expecting("`=`")),
            _ => return Err(parser.expecting("'='")),
        }
        parser.scanner.advance();
        let value = parser.value(0)?;
        parameters.insert(name, value);
        match parser.scanner.advance() {
            Token::End => return Ok(parameters),
            Token::Byte(b',') => {}
            _ => return Err(parser.expecting("','")),
        }
    }
}

/// Parses an option argument.
///
/// # Errors
/// If it does not have parameters.
pub(crate) fn parse_option(argument: &str, option: &str) -> Result<Map, Failure> {
    parse_parameters(argument).map_err(|error| {
        Failure::from_cause(format!("Invalid format for {option} option's argument:\n    {error}"))
    })
}

/// Adds parameters, which replace those with the same names.
pub(crate) fn extend(parameters: &mut Map, others: Map) {
    for (name, value) in others.iter() {
        parameters.insert(name, value.clone());
    }
}

struct Parser<'a> {
    text: &'a str,
    scanner: Scanner<'a>,
}

impl Parser<'_> {
    /// Returns the error that something is expected at the current token.
    fn expecting(&self, what: &str) -> String {
        let heading = format!("Expecting {what}:\n");
        if self.text.is_empty() || self.text.contains('\n') {
            return heading;
        }
        let indent = " ".repeat(self.scanner.error_column().saturating_add(4));
        format!("{heading}\n    {}\n{indent}^", self.text)
    }

    /// Parses the value that starts at the current token.
    fn value(&mut self, depth: usize) -> Result<ParameterValue, String> {
        if depth > MAX_DEPTH {
            return Err(format!("Arrays and maps are nested more than {MAX_DEPTH} levels deep\n"));
        }
        match self.scanner.token() {
            Token::Byte(b'-') => self.negative_number(),
            Token::Byte(b'+') => match *self.scanner.advance() {
                Token::Integer(number) => Ok(ParameterValue::Unsigned(number)),
                _ => Err(self.expecting("integer value")),
            },
            Token::Byte(b'[') => self.array(depth),
            Token::Byte(b'{') => self.map(depth),
            Token::Integer(number) => {
                i64::try_from(*number).map(ParameterValue::Signed).map_err(|_| too_large("", *number))
            }
            Token::Real(number) => Ok(ParameterValue::Real(*number)),
            Token::Text(text) => Ok(ParameterValue::Text(text.clone())),
            Token::Identifier(name) => Ok(match name.as_str() {
                "null" | "NULL" | "nul" => ParameterValue::Null,
                "true" | "TRUE" | "yes" | "YES" => ParameterValue::Boolean(true),
                "false" | "FALSE" | "no" | "NO" => ParameterValue::Boolean(false),
                name => ParameterValue::Text(name.to_owned()),
            }),
            Token::Byte(_) | Token::Invalid | Token::End => Err(self.expecting("value")),
        }
    }

    fn negative_number(&mut self) -> Result<ParameterValue, String> {
        match *self.scanner.advance() {
            Token::Integer(number) => 0_i64
                .checked_sub_unsigned(number)
                .map(ParameterValue::Signed)
                .ok_or_else(|| too_large("-", number)),
            Token::Real(number) => Ok(ParameterValue::Real(-number)),
            _ => Err(self.expecting("value")),
        }
    }

    /// Parses an array after `[`. The last item can be followed by a comma.
    fn array(&mut self, depth: usize) -> Result<ParameterValue, String> {
        let mut items = Vec::new();
        self.scanner.advance();
        while *self.scanner.token() != Token::Byte(b']') {
            items.push(self.value(depth.saturating_add(1))?);
            self.separator(b']', "`,` or `]`")?;
        }
        Ok(ParameterValue::Array(items))
    }

    /// Parses a map after `{`. The last entry can be followed by a comma.
    fn map(&mut self, depth: usize) -> Result<ParameterValue, String> {
        let mut entries = Map::default();
        self.scanner.advance();
        while *self.scanner.token() != Token::Byte(b'}') {
            let Token::Identifier(name) = self.scanner.token() else {
                return Err(self.expecting("unquoted map key"));
            };
            let name = name.clone();
            if *self.scanner.advance() != Token::Byte(b'=') {
                return Err(self.expecting("'='"));
            }
            self.scanner.advance();
            let value = self.value(depth.saturating_add(1))?;
            entries.insert(name, value);
            self.separator(b'}', "`,` or `}`")?;
        }
        Ok(ParameterValue::Map(entries))
    }

    /// Goes to the next item or the end.
    fn separator(&mut self, end: u8, what: &str) -> Result<(), String> {
        match self.scanner.advance() {
            Token::Byte(b',') => {
                self.scanner.advance();
                Ok(())
            }
            Token::Byte(byte) if *byte == end => Ok(()),
            _ => Err(self.expecting(what)),
        }
    }
}

fn too_large(sign: &str, number: u64) -> String {
    format!("Integer value {sign}{number} is outside the range of a 64-bit signed integer\n")
}

#[cfg(test)]
mod tests;
