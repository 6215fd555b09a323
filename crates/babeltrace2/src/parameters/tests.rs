use super::*;

fn text(value: &str) -> ParameterValue {
    ParameterValue::Text(value.to_owned())
}

#[test]
fn values() {
    let array = |items: &[ParameterValue]| ParameterValue::Array(items.to_vec());
    let map = |entries: &[(&str, ParameterValue)]| {
        let mut map = Map::default();
        for (name, value) in entries {
            map.insert(*name, value.clone());
        }
        ParameterValue::Map(map)
    };
    let cases = [
        ("null", ParameterValue::Null),
        ("nul", ParameterValue::Null),
        ("NULL", ParameterValue::Null),
        ("Null", text("Null")),
        ("true", ParameterValue::Boolean(true)),
        ("TRUE", ParameterValue::Boolean(true)),
        ("yes", ParameterValue::Boolean(true)),
        ("YES", ParameterValue::Boolean(true)),
        ("false", ParameterValue::Boolean(false)),
        ("FALSE", ParameterValue::Boolean(false)),
        ("no", ParameterValue::Boolean(false)),
        ("NO", ParameterValue::Boolean(false)),
        ("0", ParameterValue::Signed(0)),
        ("23", ParameterValue::Signed(23)),
        ("022", ParameterValue::Signed(18)),
        ("0b110", ParameterValue::Signed(6)),
        ("0B110", ParameterValue::Signed(6)),
        ("0x22", ParameterValue::Signed(0x22)),
        ("0XfF", ParameterValue::Signed(0xff)),
        ("0xe5", ParameterValue::Signed(0xe5)),
        ("-0x22", ParameterValue::Signed(-0x22)),
        ("- 5", ParameterValue::Signed(-5)),
        ("+022", ParameterValue::Unsigned(18)),
        ("+18446744073709551616", ParameterValue::Unsigned(u64::MAX)),
        ("9223372036854775807", ParameterValue::Signed(i64::MAX)),
        ("-9223372036854775808", ParameterValue::Signed(i64::MIN)),
        ("1.234", ParameterValue::Real(1.234)),
        ("17.", ParameterValue::Real(17.0)),
        (".28", ParameterValue::Real(0.28)),
        ("-18.28", ParameterValue::Real(-18.28)),
        ("0.5", ParameterValue::Real(0.5)),
        ("10.5e6", ParameterValue::Real(10.5e6)),
        ("10.5E-6", ParameterValue::Real(10.5e-6)),
        ("1e+2", ParameterValue::Real(100.0)),
        ("00.5", ParameterValue::Real(0.5)),
        (".", ParameterValue::Real(0.0)),
        ("1e400", ParameterValue::Real(f64::INFINITY)),
        ("a-b.c:d_2", text("a-b.c:d_2")),
        ("_", text("_")),
        ("\"\"", text("")),
        ("\"a, b=c\"", text("a, b=c")),
        (r#""\"\\\n\t\r\b\f\q""#, text("\"\\\n\t\r\u{8}\u{c}q")),
        (r#""\101\7\1012""#, text("A\u{7}A2")),
        (r#""a\0b""#, text("a")),
        ("\"é\"", text("é")),
        ("[]", array(&[])),
        ("[1, [[\"hi\",]]]", array(&[ParameterValue::Signed(1), array(&[array(&[text("hi")])])])),
        ("{}", map(&[])),
        ("{a=1,b={c=x},a=[],}", map(&[("a", array(&[])), ("b", map(&[("c", text("x"))]))])),
    ];
    for (value, expected) in cases {
        let parameters = parse_parameters(&format!("a={value}"));
        assert_eq!(parameters.unwrap().get("a"), Some(&expected), "{value}");
    }
}

#[test]
fn several_parameters() {
    let parameters = parse_parameters(" a = 1 ,\n\tb.c:d-e=x,a=2").unwrap();
    let expected = [("a", ParameterValue::Signed(2)), ("b.c:d-e", text("x"))];
    assert!(parameters.iter().eq(expected.iter().map(|(name, value)| (*name, value))));
    let mut all = parse_parameters("a=1,b=2").unwrap();
    extend(&mut all, parse_parameters("c=4,b=3").unwrap());
    assert_eq!(all, parse_parameters("a=1,b=3,c=4").unwrap());
}

/// The last column is the arrow column.
#[test]
fn errors_have_an_arrow() {
    let cases = [
        ("a", "`=`", 1),
        ("a=", "value", 2),
        ("a=3,", "unquoted map key", 4),
        ("a=-", "value", 3),
        ("a=-x", "value", 3),
        ("a=+", "integer value", 3),
        ("a=+3.5", "integer value", 5),
        ("a=0x", "value", 5),
        ("a=0b", "value", 5),
        ("a=0b2", "value", 5),
        ("a=0xg", "value", 5),
        ("a=08", "value", 4),
        ("a=1.2.3", "value", 6),
        ("a=1e", "value", 4),
        ("a=1x", "value", 4),
        ("a=0x1.8", "value", 6),
        ("a=0b1.1", "value", 6),
        ("a=0b1e1", "value", 6),
        ("a=...", "value", 5),
        ("a=..", "value", 4),
        ("a=.x", "value", 4),
        ("a=\"x", "value", 5),
        ("a=\"x\\", "value", 6),
        ("a=[1", "`,` or `]`", 4),
        ("a=[1 2]", "`,` or `]`", 5),
        ("a=[1,", "value", 5),
        ("a={x", "'='", 4),
        ("a={x=}", "value", 5),
        ("a={3=4}", "unquoted map key", 3),
        ("a={b=1", "`,` or `}`", 6),
        ("a=$", "value", 2),
        ("a=]", "value", 2),
        ("a=b c", "','", 4),
        ("a=1-2", "','", 3),
        ("a='x'", "value", 2),
        ("a=é", "value", 2),
        ("=3", "unquoted map key", 0),
        ("3=4", "unquoted map key", 0),
        ("a,b", "'='", 1),
        ("a b", "'='", 2),
        ("a=b,,c=d", "unquoted map key", 4),
        ("a=\t$", "value", 8),
    ];
    for (parameters, what, column) in cases {
        let expected = format!("Expecting {what}:\n\n    {parameters}\n    {}^", " ".repeat(column));
        assert_eq!(parse_parameters(parameters), Err(expected), "{parameters}");
    }
    let without_arrow = [
        ("", "Expecting unquoted map key:\n"),
        ("a\n=", "Expecting value:\n"),
        (
            "a=9223372036854775808",
            "Integer value 9223372036854775808 is outside the range of a 64-bit signed integer\n",
        ),
        (
            "a=-9223372036854775809",
            "Integer value -9223372036854775809 is outside the range of a 64-bit signed integer\n",
        ),
        (
            "a=99999999999999999999",
            "Integer value 18446744073709551615 is outside the range of a 64-bit signed integer\n",
        ),
    ];
    for (parameters, expected) in without_arrow {
        assert_eq!(parse_parameters(parameters), Err(expected.to_owned()), "{parameters}");
    }
}

#[test]
fn nesting_is_limited() {
    let nested = |depth: usize| parse_parameters(&format!("a={}{}", "[".repeat(depth), "]".repeat(depth)));
    assert!(nested(100).is_ok());
    assert!(nested(102).unwrap_err().contains("100 levels"));
    assert!(nested(100_000).is_err());
    assert!(parse_parameters(&"a={".repeat(100_000)).is_err());
}
