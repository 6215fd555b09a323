//! Checks component parameters against the list.

use crate::component_list::{ClassInfo, ParameterKind};
use crate::value::{Map, ParameterValue};

/// Checks that parameters exist, have the right type, and that none is missing.
///
/// # Errors
/// The first problem.
pub(crate) fn check_parameters(class: &ClassInfo, parameters: &Map) -> Result<(), String> {
    for (name, value) in parameters.iter() {
        let Some(parameter) = class.parameters.iter().find(|parameter| parameter.name == name) else {
            return Err(format!("Error validating parameters: unexpected key `{name}`."));
        };
        check_value(parameter.kind, value)
            .map_err(|(place, problem)| format!("Error validating parameter `{name}{place}`: {problem}"))?;
    }
    let is_missing = |name| parameters.get(name).is_none();
    match class.parameters.iter().find(|parameter| parameter.is_required && is_missing(parameter.name)) {
        Some(missing) => {
            Err(format!("Error validating parameters: missing mandatory entry `{}`", missing.name))
        }
        None => Ok(()),
    }
}

/// Checks a value. An error has the place in the value and the problem.
fn check_value(kind: ParameterKind, value: &ParameterValue) -> Result<(), (String, String)> {
    let here = |problem| Err((String::new(), problem));
    match (kind, value) {
        (ParameterKind::Boolean, ParameterValue::Boolean(_))
        | (ParameterKind::Signed, ParameterValue::Signed(_))
        | (ParameterKind::Unsigned, ParameterValue::Unsigned(_))
        | (ParameterKind::Text, ParameterValue::Text(_))
        | (ParameterKind::Time, ParameterValue::Signed(_) | ParameterValue::Text(_)) => Ok(()),
        (ParameterKind::Choice(choices), ParameterValue::Text(text)) => {
            if choices.contains(&text.as_str()) {
                return Ok(());
            }
            let choices = choices.join(", ");
            let problem = "string is not amongst the available choices";
            here(format!("{problem}: string={text}, choices=[{choices}]"))
        }
        (ParameterKind::Texts(maximum), ParameterValue::Array(items)) => {
            let length = items.len();
            if length == 0 {
                let problem = "array is smaller than the minimum length";
                return here(format!("{problem}: array-length=0, min-length=1"));
            }
            if length > maximum {
                let problem = "array is larger than the maximum length";
                return here(format!("{problem}: array-length={length}, max-length={maximum}"));
            }
            for (index, item) in items.iter().enumerate() {
                check_value(ParameterKind::Text, item)
                    .map_err(|(_, problem)| (format!("[{index}]"), problem))?;
            }
            Ok(())
        }
        (ParameterKind::Time, value) => {
            let actual = value_type_name(value);
            here(format!("unexpected type: expected-types=[SIGNED_INTEGER, STRING], actual-type={actual}"))
        }
        (kind, value) => {
            let expected = match kind {
                ParameterKind::Boolean => "BOOL",
                ParameterKind::Signed => "SIGNED_INTEGER",
                ParameterKind::Unsigned => "UNSIGNED_INTEGER",
                ParameterKind::Texts(_) => "ARRAY",
                ParameterKind::Text | ParameterKind::Choice(_) | ParameterKind::Time => "STRING",
            };
            let actual = value_type_name(value);
            here(format!("unexpected type: expected-type={expected}, actual-type={actual}"))
        }
    }
}

fn value_type_name(value: &ParameterValue) -> &'static str {
    match value {
        ParameterValue::Null => "NULL",
        ParameterValue::Boolean(_) => "BOOL",
        ParameterValue::Unsigned(_) => "UNSIGNED_INTEGER",
        ParameterValue::Signed(_) => "SIGNED_INTEGER",
        ParameterValue::Real(_) => "REAL",
        ParameterValue::Text(_) => "STRING",
        ParameterValue::Array(_) => "ARRAY",
        ParameterValue::Map(_) => "MAP",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arguments::class_name::parse_named_class;
    use crate::component_list::class_info;
    use crate::parameters::parse_parameters;

    #[test]
    fn problems_name_the_parameter() {
        let type_error = |name: &str, expected: &str, actual: &str| {
            format!("Error validating parameter `{name}`: unexpected type: {expected}, actual-type={actual}")
        };
        let cases = [
            ("src.ctf.fs", "inputs=[\"a\"],clock-class-offset-s=-5", String::new()),
            ("flt.utils.trimmer", "begin=5,end=\"5\",gmt=yes", String::new()),
            ("sink.utils.counter", "step=+5", String::new()),
            ("sink.text.pretty", "color=auto,name-default=hide", String::new()),
            ("src.ctf.fs", "trace-name=x", "Error validating parameters: missing mandatory entry `inputs`".into()),
            ("sink.utils.dummy", "x=1", "Error validating parameters: unexpected key `x`.".into()),
            ("src.ctf.fs", "inputs=a", type_error("inputs", "expected-type=ARRAY", "STRING")),
            ("src.ctf.fs", "inputs=[a,{}]", type_error("inputs[1]", "expected-type=STRING", "MAP")),
            (
                "src.ctf.fs",
                "inputs=[]",
                "Error validating parameter `inputs`: array is smaller than the minimum length: array-length=0, \
                 min-length=1"
                    .into(),
            ),
            (
                "src.ctf.lttng-live",
                "inputs=[a,b]",
                "Error validating parameter `inputs`: array is larger than the maximum length: array-length=2, \
                 max-length=1"
                    .into(),
            ),
            (
                "sink.text.details",
                "color=red",
                "Error validating parameter `color`: string is not amongst the available choices: string=red, \
                 choices=[never, auto, always]"
                    .into(),
            ),
            ("sink.utils.counter", "step=5", type_error("step", "expected-type=UNSIGNED_INTEGER", "SIGNED_INTEGER")),
            ("sink.utils.counter", "hide-zero=null", type_error("hide-zero", "expected-type=BOOL", "NULL")),
            (
                "flt.utils.trimmer",
                "begin=1.5",
                type_error("begin", "expected-types=[SIGNED_INTEGER, STRING]", "REAL"),
            ),
        ];
        for (class, parameters, expected) in cases {
            let class = class_info(&parse_named_class(class, "").unwrap().class).unwrap();
            let parameters = parse_parameters(parameters).unwrap();
            let problem = check_parameters(class, &parameters).err().unwrap_or_default();
            assert_eq!(problem, expected, "{parameters:?}");
        }
    }
}
