//! JSON of model types, for `--json` of all verbs; `docs/cli-json.md` describes it.

use ichnos::export::{Integers, with_integers};
use ichnos::json::write::{ObjectWriter, ValueWriter};
use ichnos::model::{Attributes, Diagnostic, TextPosition, Value};
use serde_json::{Map, Number, Value as Json, json};

/// Version of all JSON that the command writes; only raised for incompatible changes.
pub(crate) const VERSION: u32 = 1;

/// Returns the outermost object of a kind of output.
pub(crate) fn document(kind: &str) -> JsonObject {
    let mut object = JsonObject::default();
    object.put("ichnos", json!({ "output": kind, "version": VERSION }));
    object
}

/// Writes a whole document of a kind, whose members `write` writes.
pub(crate) fn write_document(out: &mut Vec<u8>, kind: &str, write: impl FnOnce(&mut ObjectWriter<'_>)) {
    let mut object = ValueWriter::new(out).object();
    let mut ichnos = object.member("ichnos").object();
    ichnos.member("output").string(kind);
    ichnos.member("version").unsigned(VERSION.into());
    ichnos.end();
    write(&mut object);
    object.end();
}

/// An object filled from top to bottom, without absent values.
#[derive(Debug, Default)]
pub(crate) struct JsonObject(Map<String, Json>);

impl JsonObject {
    pub(crate) fn put(&mut self, name: &str, value: impl Into<Json>) {
        self.0.insert(name.to_owned(), value.into());
    }

    pub(crate) fn put_some(&mut self, name: &str, value: Option<impl Into<Json>>) {
        if let Some(value) = value {
            self.put(name, value);
        }
    }

    pub(crate) fn put_integer(&mut self, name: &str, value: Option<i128>) {
        self.put_some(name, value.map(integer));
    }

    /// Moves all members of `other` to the end of this object.
    pub(crate) fn append(&mut self, other: &mut Self) {
        self.0.append(&mut other.0);
    }

    /// Returns the object with another member at its end.
    pub(crate) fn with(mut self, name: &str, value: Json) -> Json {
        self.put(name, value);
        self.json()
    }

    pub(crate) fn json(self) -> Json {
        Json::Object(self.0)
    }
}

impl From<JsonObject> for Json {
    fn from(object: JsonObject) -> Self {
        object.json()
    }
}

/// Returns an integer of any size as a JSON number.
pub(crate) fn integer(value: i128) -> Json {
    Json::Number(Number::from_i128(value).unwrap_or_else(|| Number::from(0)))
}

/// Returns a value of an attribute or of the environment.
pub(crate) fn value(value: &Value) -> Json {
    match value {
        Value::Null => Json::Null,
        Value::Boolean(boolean) => Json::Bool(*boolean),
        Value::Integer(number) => integer(*number),
        Value::Number(text) => match text.parse::<Number>() {
            Ok(number) => Json::Number(number),
            Err(_) => Json::String(text.clone()),
        },
        Value::Text(text) => Json::String(text.clone()),
        Value::Array(values) => Json::Array(values.iter().map(self::value).collect()),
        Value::Map(entries) => map(entries),
    }
}

/// Returns names and values. The last of several equal names counts, as in JSON readers.
pub(crate) fn map(entries: &[(String, Value)]) -> Json {
    Json::Object(entries.iter().map(|(name, value)| (name.clone(), self::value(value))).collect())
}

/// Returns attributes, or `None` if there are none.
pub(crate) fn attributes(attributes: &Attributes) -> Option<Json> {
    (!attributes.is_empty()).then(|| map(attributes.entries()))
}

/// Returns a position in a metadata text, or `None` if it is unknown.
pub(crate) fn place(place: TextPosition) -> Option<Json> {
    (!place.is_unknown()).then(|| {
        let mut object = JsonObject::default();
        object.put("line", place.line);
        object.put("column", place.column);
        object.put("offset", place.offset);
        object.json()
    })
}

/// Returns a problem of a metadata text.
pub(crate) fn diagnostic(diagnostic: &Diagnostic) -> JsonObject {
    let mut object = JsonObject::default();
    object.put("severity", diagnostic.severity.to_string());
    object.put_some("place", place(diagnostic.position));
    if !diagnostic.within.is_empty() {
        object.put("within", diagnostic.within.clone());
    }
    object.put("message", diagnostic.message.as_str());
    object.put_some("expected", diagnostic.expected.as_deref());
    object.put_some("found", diagnostic.found.as_deref());
    object.put_some("limit", diagnostic.limit);
    object
}

/// Returns a document as text, over several lines, with the final newline.
pub(crate) fn text(json: &Json, integers: Integers) -> String {
    let mut text = with_integers(&format!("{json:#}"), integers).into_owned();
    text.push('\n');
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_large_numbers() {
        assert_eq!(integer(i128::MIN).to_string(), i128::MIN.to_string());
        assert_eq!(value(&Value::Number("1.50".into())).to_string(), "1.50");
        assert_eq!(value(&Value::Number("NaN".into())).to_string(), "\"NaN\"");
    }
}
