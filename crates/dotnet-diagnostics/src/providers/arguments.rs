//! Provider arguments: `key=value;key="other; value"`.

use super::provider_error::ProviderError;

/// Splits a text at a separator outside quotes. Leaves out blank parts.
pub(super) fn split(text: &str, separator: char) -> impl Iterator<Item = &str> {
    let mut is_quoted = false;
    text.split(move |letter| {
        is_quoted ^= letter == '"';
        letter == separator && !is_quoted
    })
    .filter(|part| !part.trim().is_empty())
}

/// Parses the arguments of a provider.
pub(super) fn parse(name: &str, text: &str) -> Result<Vec<(String, String)>, ProviderError> {
    let text = unescape(name, text)?;
    if text.matches('"').count() % 2 == 1 {
        return Err(ProviderError::Quote { name: name.to_owned() });
    }
    let mut arguments: Vec<(String, String)> = Vec::new();
    for argument in split(&text, ';') {
        let invalid = || ProviderError::Argument { name: name.to_owned(), argument: argument.to_owned() };
        let at = equals_sign(argument).ok_or_else(invalid)?;
        let (key, value) = (argument[..at].trim(), &argument[at + 1..]);
        let key = unquote(key);
        if key.is_empty() {
            return Err(invalid());
        }
        if arguments.iter().any(|(other, _)| other == key) {
            return Err(ProviderError::Values { name: name.to_owned(), argument: key.to_owned() });
        }
        arguments.push((key.to_owned(), unquote(value).to_owned()));
    }
    Ok(arguments)
}

/// Finds the first `=` outside quotes.
fn equals_sign(argument: &str) -> Option<usize> {
    let mut is_quoted = false;
    argument.find(|letter| {
        is_quoted ^= letter == '"';
        letter == '=' && !is_quoted
    })
}

fn unquote(text: &str) -> &str {
    text.strip_prefix('"').and_then(|text| text.strip_suffix('"')).unwrap_or(text)
}

/// Replaces escape sequences, before quotes are read: shells often leave `\"`.
fn unescape(name: &str, text: &str) -> Result<String, ProviderError> {
    let mut result = String::with_capacity(text.len());
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        if letter != '\\' {
            result.push(letter);
            continue;
        }
        let escaped = letters.next();
        result.push(match escaped {
            Some('n') => '\n',
            Some('r') => '\r',
            Some('t') => '\t',
            Some(other) if !other.is_alphanumeric() => other,
            other => {
                let letter = other.map(String::from).unwrap_or_default();
                return Err(ProviderError::Escape { name: name.to_owned(), letter });
            }
        });
    }
    Ok(result)
}

/// Joins arguments to the text that the runtime reads. Keys and values with `;` or `=` are quoted.
pub(super) fn join(arguments: &[(String, String)]) -> String {
    let quoted = |text: &str| match text.contains([';', '=']) {
        true => format!("\"{text}\""),
        false => text.to_owned(),
    };
    let pairs: Vec<String> =
        arguments.iter().map(|(key, value)| format!("{}={}", quoted(key), quoted(value))).collect();
    pairs.join(";")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_parsed_and_joined() {
        for (text, expected) in [
            ("", ""),
            (";", ""),
            ("EventCounterIntervalSec=1", "EventCounterIntervalSec=1"),
            ("a=1;b=2;", "a=1;b=2"),
            (r#"a="x;y=z";b=2"#, r#"a="x;y=z";b=2"#),
            (r#"a=\"x;y\""#, r#"a="x;y""#),
            (r#"a="plain""#, "a=plain"),
            (r"a=x\r\ny\\", "a=x\r\ny\\"),
            ("a=", "a="),
            ("a=b=c", r#"a="b=c""#),
            (r#""k;l"=1"#, r#""k;l"=1"#),
        ] {
            assert_eq!(join(&parse("A", text).unwrap()), expected, "{text}");
        }
    }

    #[test]
    fn errors_name_the_argument() {
        for (text, error) in [
            ("a", "provider `A`: argument `a` is not `key=value`"),
            ("=1", "provider `A`: argument `=1` is not `key=value`"),
            ("a=1;a=2", "provider `A`: two values for the argument `a`"),
            (r#"a="1"#, "provider `A`: missing quote `\"`"),
            (r"a=\d", r"provider `A`: unknown escape sequence `\d`"),
            (r"a=\", r"provider `A`: unknown escape sequence `\`"),
        ] {
            assert_eq!(parse("A", text).unwrap_err().to_string(), error, "{text}");
        }
    }

    #[test]
    fn lists_are_split_outside_quotes() {
        let parts: Vec<&str> = split(r#"A:1:4:k="x,y",B,, C"#, ',').collect();
        assert_eq!(parts, [r#"A:1:4:k="x,y""#, "B", " C"]);
    }
}
