//! Tokens of an expression.

use std::ops::Range;

use super::error::FilterError;
use super::syntax::Literal;

/// Token.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Token {
    /// Name or keyword. With `quoted` (in back quotes), it is never a keyword.
    Name {
        name: String,
        quoted: bool,
    },
    Integer(i128),
    Float(f64),
    /// Duration in nanoseconds.
    Duration(i128),
    /// Time as written.
    Time,
    /// String: byte range between the quotes.
    Text(Range<usize>),
    /// Operator or bracket.
    Sign(&'static str),
    End,
}

/// Signs. Longer signs come before their prefixes.
const SIGNS: [&str; 32] = [
    "&&", "||", "==", "!=", "<=", ">=", "=~", "!~", "<<", ">>", "..", "(", ")", "[", "]", ",", ".", "!", "<",
    ">", "+", "-", "*", "/", "%", "&", "|", "^", "~", "$", "=", "@",
];

/// Splits a text into tokens with positions. The last token is [`Token::End`].
pub(super) fn tokens(source: &str) -> Result<Vec<(Token, Range<usize>)>, FilterError> {
    let mut lexer = Lexer { source, at: 0 };
    let mut tokens = Vec::new();
    loop {
        lexer.skip(char::is_whitespace);
        let begin = lexer.at;
        let token = lexer.token()?;
        let is_end = token == Token::End;
        tokens.push((token, begin..lexer.at));
        if is_end {
            return Ok(tokens);
        }
    }
}

struct Lexer<'s> {
    source: &'s str,
    at: usize,
}

impl<'s> Lexer<'s> {
    fn rest(&self) -> &'s str {
        &self.source[self.at..]
    }

    fn skip(&mut self, is: impl Fn(char) -> bool) -> &'s str {
        let begin = self.at;
        let rest = self.rest();
        self.at += rest.find(|c| !is(c)).unwrap_or(rest.len());
        &self.source[begin..self.at]
    }

    fn error(&self, begin: usize, message: impl Into<String>) -> FilterError {
        FilterError::syntax(self.source, begin..self.at.max(begin), message)
    }

    fn token(&mut self) -> Result<Token, FilterError> {
        let Some(first) = self.rest().chars().next() else { return Ok(Token::End) };
        let begin = self.at;
        if first.is_ascii_digit() {
            return self.number();
        }
        if is_name_start(first) {
            let name = self.skip(|c| is_name_start(c) || c.is_numeric());
            return Ok(Token::Name { name: name.to_owned(), quoted: false });
        }
        if matches!(first, '"' | '\'' | '`') {
            return self.quoted(first);
        }
        if first == '@' {
            self.at += 1;
            let sign = usize::from(self.rest().starts_with('-'));
            self.at += sign;
            if self.skip(|c| c.is_ascii_digit()).is_empty() {
                return Err(self.error(begin, "expected a number of nanoseconds after `@`"));
            }
            return Ok(Token::Time);
        }
        match SIGNS.into_iter().find(|sign| self.rest().starts_with(sign)) {
            Some(sign) => {
                self.at += sign.len();
                match sign {
                    "=" => Err(self.error(begin, "`=` is not an operator").help("to compare, write `==`")),
                    sign => Ok(Token::Sign(sign)),
                }
            }
            None => {
                self.at += first.len_utf8();
                let error = self.error(begin, format!("unexpected `{}`", first.escape_debug()));
                Err(match unquoted(self.source, begin) {
                    Some(word) => FilterError { span: word.clone(), ..error }.help(quote(self.source, &word)),
                    None if first == '{' => error.help("lists are written in brackets: `x in [1, 2, 5..7]`"),
                    None => error,
                })
            }
        }
    }

    fn quoted(&mut self, quote: char) -> Result<Token, FilterError> {
        let begin = self.at;
        self.at += 1;
        let content = self.at;
        loop {
            let Some(c) = self.rest().chars().next() else {
                return Err(self.error(begin, format!("the closing `{quote}` is missing")));
            };
            self.at += c.len_utf8();
            if c == quote {
                break;
            }
            if c == '\\' && quote != '`' {
                self.at += self.rest().chars().next().map_or(0, char::len_utf8);
            }
        }
        let content = content..self.at - 1;
        match &self.source[content.clone()] {
            "" if quote == '`' => Err(self.error(begin, "expected a name between the back quotes")),
            name if quote == '`' => Ok(Token::Name { name: name.to_owned(), quoted: true }),
            _ => Ok(Token::Text(content)),
        }
    }

    /// Reads a number, a duration, a date, or a time of day.
    fn number(&mut self) -> Result<Token, FilterError> {
        let begin = self.at;
        if let Some(length) = time_length(self.rest()) {
            self.at += length;
            return Ok(Token::Time);
        }
        let radix = match self.rest().get(..2) {
            Some("0x" | "0X") => 16,
            Some("0o" | "0O") => 8,
            Some("0b" | "0B") => 2,
            _ => 10,
        };
        if radix != 10 {
            self.at += 2;
            let digits = self.skip(|c| c.is_ascii_alphanumeric() || c == '_').replace('_', "");
            let value = i128::from_str_radix(&digits, radix).ok();
            return value.map(Token::Integer).ok_or_else(|| {
                self.error(
                    begin,
                    format!("expected a number of base {radix} that fits in 128 bits with a sign"),
                )
            });
        }
        let is_digit = |c: char| c.is_ascii_digit() || c == '_';
        let whole = self.skip(is_digit).replace('_', "");
        let mut fraction = String::new();
        let mut is_float = false;
        if self.rest().strip_prefix('.').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit())) {
            self.at += 1;
            fraction = self.skip(is_digit).replace('_', "");
            is_float = true;
        }
        let exponent = exponent_length(self.rest());
        let exponent_begin = self.at;
        self.at += exponent;
        if self.rest().starts_with(is_name_start) {
            if exponent > 0 {
                self.skip(is_name_start);
                return Err(self.error(begin, "a number with an exponent cannot have a unit"));
            }
            self.at = begin;
            return self.duration();
        }
        if is_float || exponent > 0 {
            let exponent = &self.source[exponent_begin..exponent_begin + exponent];
            let value: Option<f64> = format!("{whole}.{fraction}0{exponent}").parse().ok();
            let value = value.filter(|value| value.is_finite());
            return value.map(Token::Float).ok_or_else(|| self.error(begin, "the number is too large"));
        }
        let value = whole.parse().ok().map(Token::Integer);
        value.ok_or_else(|| self.error(begin, "the number does not fit in 128 bits with a sign"))
    }

    /// Reads a duration such as `5ms` or `1min30.5s`. It must be a whole number of nanoseconds.
    fn duration(&mut self) -> Result<Token, FilterError> {
        let begin = self.at;
        let mut total = 0i128;
        while self.rest().starts_with(|c: char| c.is_ascii_digit()) {
            let whole = self.skip(|c| c.is_ascii_digit() || c == '_').replace('_', "");
            let mut fraction = "";
            if self
                .rest()
                .strip_prefix('.')
                .is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
            {
                self.at += 1;
                fraction = self.skip(|c| c.is_ascii_digit());
            }
            let name = self.skip(|c| c.is_alphabetic() || c == '_');
            let scale: i128 = match name {
                "ns" => 1,
                "us" | "µs" | "μs" => 1_000,
                "ms" => 1_000_000,
                "s" => 1_000_000_000,
                "m" | "min" => 60_000_000_000,
                "h" => 3_600_000_000_000,
                _ => {
                    let error = self.error(begin, format!("`{name}` is not a unit of time"));
                    return Err(error.help("units are ns, us, ms, s, min and h"));
                }
            };
            let part = nanoseconds(&whole, fraction, scale).and_then(|part| total.checked_add(part));
            total =
                part.ok_or_else(|| self.error(begin, "the duration is not a whole number of nanoseconds"))?;
        }
        if self.rest().starts_with(is_name_start) {
            self.skip(is_name_start);
            return Err(self.error(begin, "the unit of a duration must follow its number without a space"));
        }
        Ok(Token::Duration(total))
    }
}

/// Returns `whole.fraction` times `scale`, if the product is a whole number.
fn nanoseconds(whole: &str, fraction: &str, scale: i128) -> Option<i128> {
    let whole: i128 = whole.parse().ok()?;
    let fraction = fraction.trim_end_matches('0');
    let divisor = 10i128.checked_pow(u32::try_from(fraction.len()).ok()?)?;
    let fraction: i128 = if fraction.is_empty() { 0 } else { fraction.parse().ok()? };
    let part = fraction.checked_mul(scale)?;
    (part % divisor == 0).then_some(())?;
    whole.checked_mul(scale)?.checked_add(part / divisor)
}

/// Returns the length of an exponent such as `e5` or `E-5`, or 0.
fn exponent_length(text: &str) -> usize {
    let Some(rest) = text.strip_prefix(['e', 'E']) else { return 0 };
    let digits = rest.strip_prefix(['+', '-']).unwrap_or(rest);
    let count = digits.bytes().take_while(u8::is_ascii_digit).count();
    if count == 0 { 0 } else { text.len() - digits.len() + count }
}

/// Returns the length of a date (with or without a time) or a time of day at the start of a text.
fn time_length(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    let matches = |begin: usize, pattern: &[u8]| {
        pattern.iter().enumerate().all(|(i, wanted)| {
            bytes.get(begin + i).is_some_and(|byte| match wanted {
                b'0' => byte.is_ascii_digit(),
                wanted => byte == wanted,
            })
        })
    };
    let clock = |begin: usize| {
        let is_digit = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_digit);
        // Two points are a range operator.
        let is_part = |at: &usize| match bytes.get(*at) {
            Some(b'.') => is_digit(at + 1),
            byte => byte == Some(&b':') || is_digit(*at),
        };
        begin + (begin..bytes.len()).take_while(is_part).count()
    };
    if matches(0, b"0000-00-00") {
        let separated = matches!(bytes.get(10), Some(b' ' | b'T' | b't')) && matches(11, b"00:00");
        if !separated {
            return Some(10);
        }
        let end = clock(11);
        return Some(match bytes.get(end) {
            Some(b'Z' | b'z') => end + 1,
            Some(b'+' | b'-') if matches(end + 1, b"00:00") => end + 6,
            _ => end,
        });
    }
    matches(0, b"00:00").then(|| clock(0))
}

fn is_name_start(c: char) -> bool {
    c.is_alphabetic() || c == '_'
}

/// Returns the range of an unquoted string around a position, such as `lttng:tick` or `sched_*`.
pub(super) fn unquoted(source: &str, at: usize) -> Option<Range<usize>> {
    /// Maximum word length in a message.
    const LONGEST: usize = 100;
    let is_end = |c: char| c.is_whitespace() || "()[]{},\"'`=<>!~&|$".contains(c);
    let begin = source
        .get(..at)?
        .rfind(is_end)
        .map_or(0, |end| end + source[end..].chars().next().map_or(0, char::len_utf8));
    let rest = source.get(at..)?;
    let end = at + rest.find(is_end).unwrap_or(rest.len());
    let word = source.get(begin..end)?;
    (word.len() <= LONGEST && word.contains(is_name_start)).then_some(begin..end)
}

/// Suggests quotes around a word.
pub(super) fn quote(source: &str, word: &Range<usize>) -> String {
    format!("put it in quotes: `\"{}\"`", source.get(word.clone()).unwrap_or_default())
}

/// Returns the content of a string without escapes. `content` is the range between the quotes.
pub(super) fn unescaped(source: &str, content: &Range<usize>) -> Result<Literal, FilterError> {
    let mut literal = Literal::default();
    let mut rest = source[content.clone()].char_indices();
    while let Some((at, c)) = rest.next() {
        if c != '\\' {
            if c == '*' {
                literal.stars.push(literal.text.len());
            }
            literal.text.push(c);
            continue;
        }
        let begin = content.start + at;
        let escape = rest.next().map(|(_, c)| c);
        literal.text.push(match escape {
            Some('n') => '\n',
            Some('t') => '\t',
            Some('r') => '\r',
            Some('0') => '\0',
            Some(c @ ('"' | '\'' | '\\' | '*')) => c,
            Some('u') => {
                let digits = rest.as_str().strip_prefix('{').and_then(|digits| digits.split_once('}'));
                let digits = digits.map(|(digits, _)| digits).filter(|digits| digits.len() <= 8);
                let code = digits.and_then(|digits| u32::from_str_radix(digits, 16).ok());
                let (Some(digits), Some(c)) = (digits, code.and_then(char::from_u32)) else {
                    let error = FilterError::syntax(source, begin..begin + 2, "invalid character escape");
                    return Err(error.help("write `\\u{e9}` for the character U+00E9"));
                };
                rest.nth(digits.chars().count() + 1);
                c
            }
            _ => {
                let span = begin..begin + 1 + escape.map_or(0, char::len_utf8);
                let error = FilterError::syntax(source, span, "unknown escape");
                return Err(error.help("escapes are \\n \\t \\r \\0 \\\" \\' \\\\ \\* and \\u{...}"));
            }
        });
    }
    Ok(literal)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(text: &str) -> Vec<Token> {
        let mut tokens: Vec<Token> = tokens(text).unwrap().into_iter().map(|(token, _)| token).collect();
        assert_eq!(tokens.pop(), Some(Token::End));
        tokens
    }

    #[test]
    fn numbers() {
        let integer = |value| vec![Token::Integer(value)];
        assert_eq!(all("1_000"), integer(1000));
        assert_eq!(all("0xff"), integer(255));
        assert_eq!(all("0b1_01"), integer(5));
        assert_eq!(all("170141183460469231731687303715884105727"), integer(i128::MAX));
        assert_eq!(all("1.5e3"), [Token::Float(1500.0)]);
        assert_eq!(all("2e-1"), [Token::Float(0.2)]);
        assert_eq!(all("5ms"), [Token::Duration(5_000_000)]);
        assert_eq!(all("1min30.5s"), [Token::Duration(90_500_000_000)]);
        assert_eq!(all("0.5µs"), [Token::Duration(500)]);
        for wrong in
            ["170141183460469231731687303715884105728", "0x", "0b2", "1e400", "5parsecs", "0.5ns", "1e3s"]
        {
            assert!(tokens(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn times() {
        for time in [
            "09:22",
            "09:22:11.95",
            "2026-05-22",
            "2026-05-22 13:45:10.25",
            "2026-05-22T13:45:10Z",
            "2026-05-22T13:45:10+02:00",
            "@5",
            "@-5",
        ] {
            let found = tokens(time).unwrap();
            assert_eq!(found[0], (Token::Time, 0..time.len()), "{time}");
        }
        let range =
            [(Token::Time, 0..5), (Token::Sign(".."), 5..7), (Token::Time, 7..15), (Token::End, 15..15)];
        assert_eq!(tokens("09:22..09:23:01").unwrap(), range);
        assert_eq!(all("1..2.5"), [Token::Integer(1), Token::Sign(".."), Token::Float(2.5)]);
        assert_eq!(all("2026 - 05"), [Token::Integer(2026), Token::Sign("-"), Token::Integer(5)]);
    }

    #[test]
    fn texts_and_names() {
        let text = r#""a\"b" 'c' `d-e`"#;
        let name = |name: &str, quoted| Token::Name { name: name.to_owned(), quoted };
        assert_eq!(all(text), [Token::Text(1..5), Token::Text(8..9), name("d-e", true)]);
        let literal = |text: &str| unescaped(text, &(0..text.len())).unwrap();
        assert_eq!(literal(r#"a\"b"#).text, "a\"b");
        assert_eq!(literal(r"\u{e9}\n").text, "é\n");
        assert_eq!(literal(r"a*\*\\*"), Literal { text: r"a**\*".to_owned(), stars: vec![1, 4] });
        for wrong in [r"\", r"\d", r"\u{110000}", r"\u{", r"\u"] {
            assert!(unescaped(wrong, &(0..wrong.len())).is_err(), "{wrong}");
        }
        for wrong in ["\"a", "\"a\\\"", "``", "a = b", "#", "@x"] {
            assert!(tokens(wrong).is_err(), "{wrong}");
        }
    }
}
