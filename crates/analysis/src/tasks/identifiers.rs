//! Identifier search by leading digits.

use ichnos_model::meaning::Identifier;

/// Returns the indexes of identifiers that start with these hexadecimal digits. Case and hyphens are ignored, and so
/// are leading zero bytes, with which some formats pad shorter identifiers. A complete identifier matches only itself.
#[must_use]
pub fn find_identifiers(ids: impl Iterator<Item = Identifier> + Clone, digits: &str) -> Vec<usize> {
    // Identifiers that are not digits are also found by their text.
    let of_text = Identifier::from_text(digits.as_bytes());
    let same = (0..).zip(ids.clone()).filter(|(_, id)| Some(*id) == of_text);
    let same: Vec<usize> = same.map(|(index, _)| index).collect();
    if !same.is_empty() {
        return same;
    }
    let digits = digits.chars().filter(|c| !matches!(c, '-' | '{' | '}'));
    let digits: String = digits.map(|c| c.to_ascii_uppercase()).collect();
    if digits.is_empty() {
        return Vec::new();
    }
    let without_zeros = significant(&digits);
    let (mut all, mut exact) = (Vec::new(), Vec::new());
    for (index, id) in ids.enumerate() {
        let id = id.to_string();
        if id == digits {
            exact.push(index);
        }
        let is_named = id.starts_with(&digits)
            || (!without_zeros.is_empty() && significant(&id).starts_with(without_zeros));
        if is_named {
            all.push(index);
        }
    }
    // A complete identifier must not match longer identifiers.
    if exact.is_empty() { all } else { exact }
}

/// Returns hexadecimal digits without leading zero bytes.
fn significant(digits: &str) -> &str {
    let zeros = digits.as_bytes().chunks(2).take_while(|byte| *byte == b"00").count();
    digits.get(2 * zeros..).unwrap_or_default()
}
