//! Values for records beyond the class limit, which share one class.

use ichnos_model::Scope;
use ichnos_model::event::EventValues;
use ichnos_model::field::FieldValue;

use crate::log::{Argument, Message, Record, Value};

/// Returns the extension of an extended record as arguments.
pub(super) fn behind<'a>(
    message: &Message<'a>,
) -> impl Iterator<Item = (&'a str, Value<'a>)> + Clone + use<'a> {
    let attribution = message.attribution();
    let arguments = attribution.map(|attribution| {
        [
            (ROLLED_OUT, Value::Unsigned(attribution.rolled_out)),
            (MONIKER, Value::Text(attribution.moniker.unwrap_or_else(|| "".into()))),
            (URL, Value::Text(attribution.url.unwrap_or_else(|| "".into()))),
        ]
    });
    arguments.into_iter().flatten()
}

/// Appends a record payload for [`any_class`](super::class::any_class): an array of all arguments, including extension
/// arguments.
pub(super) fn push(message: &Message<'_>, record: &Record<'_>, values: &mut EventValues) {
    values.begin(Scope::Payload);
    values.begin_array();
    let own = record.arguments().map_while(Result::ok);
    let own = own.map(|Argument { name, value, .. }| (name.as_bytes(), value));
    for (name, value) in own.chain(behind(message).map(|(name, value)| (name.as_bytes(), value))) {
        values.begin_structure();
        values.push(FieldValue::Text(name));
        // Options in class order.
        let (option, value) = match &value {
            Value::Null => (0, FieldValue::Null),
            Value::Signed(value) => (1, FieldValue::Signed(*value)),
            Value::Unsigned(value) => (2, FieldValue::Unsigned(*value)),
            Value::Float(value) => (3, (*value).into()),
            Value::Text(value) => (4, FieldValue::Text(value.as_bytes())),
            Value::Bool(value) => (5, FieldValue::Boolean(*value)),
        };
        values.push_variant(option);
        values.push(value);
        values.end();
    }
    values.end();
}

/// Extension member names, the same as for the arguments that the archivist appends.
pub(crate) const ROLLED_OUT: &str = "$__rolled_out";

pub(crate) const MONIKER: &str = "$__moniker";

pub(crate) const URL: &str = "$__url";
