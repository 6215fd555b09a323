//! Values as text: query results.

use std::borrow::Cow;

use ichnos::export::printable;

use crate::paint::Paint;
use crate::value::{Map, ParameterValue};

/// Returns a value as lines. Arrays and maps are indented, and map entries are sorted by name.
pub(crate) fn value_text(value: &ParameterValue, indent: usize, paint: Paint) -> String {
    let mut text = String::new();
    if !matches!(value, ParameterValue::Array(_) | ParameterValue::Map(_)) {
        push_indent(&mut text, indent);
    }
    push_value(&mut text, value, indent, paint);
    text
}

fn push_indent(text: &mut String, indent: usize) {
    text.extend(std::iter::repeat_n(' ', indent));
}

fn push_value(text: &mut String, value: &ParameterValue, indent: usize, paint: Paint) {
    let number = paint.bright_red();
    let (color, scalar) = match value {
        ParameterValue::Null => (paint.bold(), "null".to_owned()),
        ParameterValue::Boolean(true) => (paint.bright_cyan(), "yes".to_owned()),
        ParameterValue::Boolean(false) => (paint.bright_cyan(), "no".to_owned()),
        ParameterValue::Unsigned(value) => (number, value.to_string()),
        ParameterValue::Signed(value) => (number, value.to_string()),
        ParameterValue::Real(value) if value.is_nan() => (number, "nan".to_owned()),
        ParameterValue::Real(value) => (number, format!("{value:.6}")),
        ParameterValue::Text(value) => (paint.bright_green(), shown(value, paint).into_owned()),
        ParameterValue::Array(items) => return push_array(text, items, indent, paint),
        ParameterValue::Map(map) => return push_map(text, map, indent, paint),
    };
    *text += &format!("{color}{scalar}{}\n", paint.reset());
}

fn push_array(text: &mut String, items: &[ParameterValue], indent: usize, paint: Paint) {
    if items.is_empty() {
        push_indent(text, indent);
        text.push_str("[ ]\n");
    }
    for item in items {
        push_indent(text, indent);
        text.push_str("- ");
        push_nested(text, item, indent, paint);
    }
}

fn push_map(text: &mut String, map: &Map, indent: usize, paint: Paint) {
    let mut entries: Vec<(&str, &ParameterValue)> = map.iter().collect();
    entries.sort_by_key(|(name, _)| *name);
    if entries.is_empty() {
        push_indent(text, indent);
        text.push_str("{ }\n");
    }
    for (name, value) in entries {
        push_indent(text, indent);
        *text += &format!("{}: ", shown(name, paint));
        push_nested(text, value, indent, paint);
    }
}

/// Returns a text that changes no terminal, if it is printed in colors. Otherwise, whoever prints it takes care of that.
fn shown(text: &str, paint: Paint) -> Cow<'_, str> {
    if paint.is_on() { printable(text) } else { text.into() }
}

/// Appends a value after a dash or a name: on the same line if it is a scalar or empty.
fn push_nested(text: &mut String, value: &ParameterValue, indent: usize, paint: Paint) {
    match value {
        ParameterValue::Array(items) if items.is_empty() => text.push_str("[ ]\n"),
        ParameterValue::Map(map) if map.iter().next().is_none() => text.push_str("{ }\n"),
        ParameterValue::Array(_) | ParameterValue::Map(_) => {
            text.push('\n');
            push_value(text, value, indent.saturating_add(2), paint);
        }
        _ => push_value(text, value, indent, paint),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parameters::parse_parameters;

    #[test]
    fn values_are_indented() {
        let cases = [
            ("a=null", "a: null\n"),
            ("b=yes,a=no", "a: no\nb: yes\n"),
            ("a=+5,b=-5,c=1.5,d=\"x y\"", "a: 5\nb: -5\nc: 1.500000\nd: x y\n"),
            ("a=1e400,b=-1e400", "a: inf\nb: -inf\n"),
            ("a=[],b={}", "a: [ ]\nb: { }\n"),
            ("a=[1,[2,[]],{}]", "a: \n  - 1\n  - \n    - 2\n    - [ ]\n  - { }\n"),
            ("a={c=[x],b={d=1}}", "a: \n  b: \n    d: 1\n  c: \n    - x\n"),
        ];
        for (parameters, expected) in cases {
            let value = ParameterValue::Map(parse_parameters(parameters).unwrap());
            assert_eq!(value_text(&value, 0, Paint::off()), expected, "{parameters}");
        }
        let alone = [
            (ParameterValue::Array(vec![]), "  [ ]\n"),
            (ParameterValue::Map(Map::default()), "  { }\n"),
            (ParameterValue::Signed(1), "  1\n"),
            (ParameterValue::Array(vec![ParameterValue::Null]), "  - null\n"),
            (ParameterValue::Real(f64::NAN), "  nan\n"),
        ];
        for (value, expected) in alone {
            assert_eq!(value_text(&value, 2, Paint::off()), expected);
        }
    }
}
