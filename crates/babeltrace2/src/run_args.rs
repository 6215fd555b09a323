//! `run` arguments as text: `--run-args` and `--run-args-0`.

use crate::value::ParameterValue;

/// Text form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RunArgsForm {
    /// For a shell.
    Shell,
    /// For `xargs -0`.
    ZeroBytes,
}

/// Returns arguments as text.
pub(crate) fn run_args_text(arguments: &[String], form: RunArgsForm) -> String {
    match form {
        RunArgsForm::Shell => {
            let quoted: Vec<String> = arguments.iter().map(|argument| shell_quoted(argument)).collect();
            quoted.join(" ")
        }
        RunArgsForm::ZeroBytes => arguments.join("\0"),
    }
}

/// Returns a word for a shell, in single quotes if it needs them.
fn shell_quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_@%+=:,./-".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\"'\"'"))
}

/// Appends an option with a parameter.
pub(crate) fn push_parameter(arguments: &mut Vec<String>, name: &str, value: &ParameterValue) {
    let mut parameter = format!("{name}=");
    push_value(&mut parameter, value);
    arguments.extend(["--params".to_owned(), parameter]);
}

/// Appends an option with a parameter that is a text.
pub(crate) fn push_text_parameter(arguments: &mut Vec<String>, name: &str, text: &str) {
    push_parameter(arguments, name, &ParameterValue::Text(text.to_owned()));
}

/// Appends a value in the parameter language.
fn push_value(parameter: &mut String, value: &ParameterValue) {
    let mut push_items =
        |begin: char, items: &mut dyn Iterator<Item = (Option<&str>, &ParameterValue)>, end: char| {
            parameter.push(begin);
            for (index, (name, item)) in items.enumerate() {
                if index > 0 {
                    parameter.push_str(", ");
                }
                if let Some(name) = name {
                    parameter.push_str(name);
                    parameter.push('=');
                }
                push_value(parameter, item);
            }
            parameter.push(end);
        };
    match value {
        ParameterValue::Array(items) => push_items('[', &mut items.iter().map(|item| (None, item)), ']'),
        ParameterValue::Map(map) => {
            push_items('{', &mut map.iter().map(|(name, item)| (Some(name), item)), '}')
        }
        ParameterValue::Null => parameter.push_str("null"),
        ParameterValue::Boolean(value) => parameter.push_str(if *value { "yes" } else { "no" }),
        ParameterValue::Unsigned(value) => *parameter += &format!("+{value}"),
        ParameterValue::Signed(value) => *parameter += &value.to_string(),
        // The language has numbers that are too large, but not infinity.
        ParameterValue::Real(value) if value.is_infinite() => {
            parameter.push_str(if value.is_sign_negative() { "-1e999" } else { "1e999" });
        }
        ParameterValue::Real(value) => *parameter += &format!("{value:e}"),
        ParameterValue::Text(text) => {
            parameter.push('"');
            for character in text.chars() {
                if matches!(character, '"' | '\\') {
                    parameter.push('\\');
                }
                parameter.push(character);
            }
            parameter.push('"');
        }
    }
}

/// Returns the `--connect` argument for two components.
pub(crate) fn connection_argument(upstream: &str, downstream: &str) -> String {
    let escaped = |name: &str| {
        name.chars().fold(String::new(), |mut escaped, character| {
            if matches!(character, '\\' | '.' | ':') {
                escaped.push('\\');
            }
            escaped.push(character);
            escaped
        })
    };
    format!("{}:{}", escaped(upstream), escaped(downstream))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parameters::parse_parameters;

    #[test]
    fn words_are_quoted() {
        let cases = [
            ("a-b_c@d%e+f=g:h,i.j/k9", "a-b_c@d%e+f=g:h,i.j/k9"),
            ("", "''"),
            ("a b", "'a b'"),
            ("it's", "'it'\"'\"'s'"),
            (r"a\.b", r"'a\.b'"),
            ("é", "'é'"),
        ];
        for (word, expected) in cases {
            assert_eq!(shell_quoted(word), expected, "{word}");
        }
        let arguments = ["a".to_owned(), "b c".to_owned()];
        assert_eq!(run_args_text(&arguments, RunArgsForm::Shell), "a 'b c'");
        assert_eq!(run_args_text(&arguments, RunArgsForm::ZeroBytes), "a\0b c");
        assert_eq!(run_args_text(&[], RunArgsForm::Shell), "");
    }

    #[test]
    fn parameters_can_be_parsed_again() {
        for (value, expected) in [
            ("null", "null"),
            ("true", "yes"),
            ("no", "no"),
            ("+5", "+5"),
            ("-5", "-5"),
            ("1.5", "1.5e0"),
            ("-2e400", "-1e999"),
            ("abc", "\"abc\""),
            (r#""a\"\\b""#, r#""a\"\\b""#),
            ("[a,[],1]", "[\"a\", [], 1]"),
            ("{a=1,b={c=no}}", "{a=1, b={c=no}}"),
        ] {
            let parameters = parse_parameters(&format!("x={value}")).unwrap();
            let mut arguments = Vec::new();
            push_parameter(&mut arguments, "x", parameters.get("x").unwrap());
            assert_eq!(arguments, ["--params".to_owned(), format!("x={expected}")]);
            assert_eq!(parse_parameters(&arguments[1]), Ok(parameters));
        }
    }

    /// Parameters of random characters are parsed, or refused, in little time. If they are parsed, they are printed and
    /// parsed again.
    #[test]
    fn random_parameters() {
        let alphabet: Vec<char> = "ab=,[]{}\"\\019xe.+-_: \té\n".chars().collect();
        let mut state = 7_u64;
        let mut next = |limit: usize| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            usize::try_from(state >> 40).unwrap() % limit
        };
        let mut parsed = 0;
        for _ in 0..50_000 {
            let length = next(12);
            let value: String = (0..length).map(|_| alphabet[next(alphabet.len())]).collect();
            let Ok(parameters) = parse_parameters(&format!("a={value}")) else { continue };
            parsed += 1;
            let mut arguments = Vec::new();
            push_parameter(&mut arguments, "a", parameters.get("a").unwrap());
            let again = parse_parameters(&arguments[1]).unwrap();
            assert_eq!(again.get("a"), parameters.get("a"), "{value:?}");
        }
        assert!(parsed > 100, "{parsed}");
    }

    #[test]
    fn connections_are_escaped() {
        assert_eq!(connection_argument(r"a.b:c\", "d"), r"a\.b\:c\\:d");
    }
}
