//! Texts for terminals and notebooks.

use arrow_schema::Schema;

/// Maximum length of a name or value.
const MOST: usize = 200;

/// Returns a name without characters that change a terminal. A long one is cut.
pub(crate) fn shown(name: &str) -> String {
    let end = name.floor_char_boundary(MOST);
    let mut text: String = name[..end].chars().flat_map(safe).collect();
    if end < name.len() {
        text.push('…');
    }
    text
}

/// Returns the text of a value, which Python has escaped. A long one is cut.
pub(crate) fn quoted(value: &str) -> String {
    shown(value)
}

/// Escapes the characters of a message, which can have several lines.
pub(crate) fn lines(message: &str) -> String {
    let escape = |character| if character == '\n' { vec![character] } else { safe(character) };
    message.chars().flat_map(escape).collect()
}

/// Escapes the characters of a line. Names in it can have line breaks.
pub(crate) fn line(text: &str) -> String {
    text.chars().flat_map(safe).collect()
}

/// Escapes control and invisible characters, and those that change the direction of a text.
fn safe(character: char) -> Vec<char> {
    let changes = matches!(
        character,
        '\u{61c}' | '\u{200b}' | '\u{200e}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
            | '\u{feff}'
    );
    if character.is_control() || changes { character.escape_unicode().collect() } else { vec![character] }
}

/// Escapes a text for HTML.
pub(crate) fn html(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in shown(text).chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            other => escaped.push(other),
        }
    }
    escaped
}

/// Maximum number of columns in a text.
const COLUMNS: usize = 40;

/// Returns names and types of the columns.
pub(crate) fn columns(schema: &Schema) -> String {
    let fields = schema.fields();
    let mut names: Vec<String> = fields
        .iter()
        .take(COLUMNS)
        .map(|field| format!("{}: {}", shown(field.name()), field.data_type()))
        .collect();
    if fields.len() > COLUMNS {
        names.push(format!("and {} more", fields.len() - COLUMNS));
    }
    names.join(", ")
}
