//! Names as formats can have them.

use std::borrow::Cow;
use std::collections::HashSet;

/// Whether a name is an identifier of C.
pub(super) fn is_identifier(name: &str) -> bool {
    let is_letter = |c: char| c.is_ascii_alphabetic() || c == '_';
    name.starts_with(is_letter) && name.chars().all(|c| is_letter(c) || c.is_ascii_digit())
}

/// The identifier that a name becomes, and which is no reserved word.
pub(super) fn identifier(name: &str, is_reserved: impl Fn(&str) -> bool) -> Cow<'_, str> {
    if is_identifier(name) && !is_reserved(name) {
        return Cow::Borrowed(name);
    }
    let mut identifier: String =
        name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
    if !identifier.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') {
        identifier.insert(0, '_');
    }
    if is_reserved(&identifier) {
        identifier.push('_');
    }
    Cow::Owned(identifier)
}

/// The name, or one like it that there is not yet.
pub(super) fn unique(name: &str, names: &mut HashSet<String>) -> String {
    let mut unique = name.to_owned();
    let mut number = 2u64;
    while !names.insert(unique.clone()) {
        unique = format!("{name}_{number}");
        number += 1;
    }
    unique
}
