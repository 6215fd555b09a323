//! CTF 2 metadata dialects in JSON.
//!
//! ```text
//! text (JSON with positions) -> object (checked access)
//!   -> stream (fragments of PROP-2.0 and SPEC-2.0) -> field_class, location, roles
//!   -> prop1 (fragments of PROP-1.0: field_type, field_path, tag)
//! shared: class_counter, class_parts, labels, stream_ids
//! ```
//!
//! Every reader continues after a problem. It drops unreadable parts, but does not report the consequences.

pub(super) mod attributes;
mod aux_stream;
mod class_counter;
mod class_parts;
mod field_class;
mod labels;
mod location;
mod object;
mod prop1;
mod prop2;
pub(super) mod roles;
mod root;
mod spec2;
mod stream;
mod stream_ids;
mod text;
pub(super) mod vocabulary;

use ichnos_model::class::Value;
use ichnos_model::trace::Limits;

pub use aux_stream::{apply_aux_streams, parse_aux_stream};
pub use prop1::parse_prop1;
pub(super) use prop1::{SCOPES, STANDARD, TAGS, standard_base, standard_name};
pub use prop2::parse_prop2;
pub use spec2::parse_spec2;

use super::Dialect;

/// Recognizes the JSON dialect from the start of a text. Returns `None` for other texts.
///
/// * `[` and a string: PROP-1.0, whose array begins with the string "CTF 2".
/// * `[` without a string: PROP-2.0, an array of fragments.
/// * The RFC 7464 record separator, or `{` if it is missing: SPEC-2.0.
///
/// ```
/// use ichnos_ctf::metadata::{Dialect, json::recognize};
/// assert_eq!(recognize(b"[\"CTF 2\", {}]"), Some(Dialect::Prop1));
/// assert_eq!(recognize(b"[{\"type\": \"preamble\"}]"), Some(Dialect::Prop2));
/// assert_eq!(recognize(b"\x1e{\"type\": \"preamble\"}"), Some(Dialect::Spec2));
/// assert_eq!(recognize(b"/* CTF 1.8 */"), None);
/// ```
#[must_use]
pub fn recognize(text: &[u8]) -> Option<Dialect> {
    let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text).trim_ascii_start();
    match text.split_first()? {
        (&text::RECORD_SEPARATOR | b'{', _) => Some(Dialect::Spec2),
        (b'[', rest) => match rest.trim_ascii_start().first() {
            Some(b'"') => Some(Dialect::Prop1),
            _ => Some(Dialect::Prop2),
        },
        _ => None,
    }
}

/// Returns the JSON value of a text, or `None` if it is invalid.
pub(crate) fn value_of_text(text: &str, limits: &Limits) -> Option<Value> {
    let mut problems = crate::metadata::Problems::new(limits);
    let node = text::single_value(text.as_bytes(), limits, &mut problems)?;
    (problems.errors() == 0).then(|| node.to_value())
}
