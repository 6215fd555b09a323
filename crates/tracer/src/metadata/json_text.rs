//! Text in JSON.

use core::fmt::{self, Display, Formatter, Write as _};

/// Displays a text as a JSON string.
pub(super) struct JsonText<'a>(pub(super) &'a str);

impl Display for JsonText<'_> {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        out.write_char('"')?;
        escape(out, self.0)?;
        out.write_char('"')
    }
}

/// Displays the name of an added member, as LTTng names it. It is an identifier in CTF 1.8, too.
pub(super) struct AddedName<'a> {
    pub(super) member: &'a str,
    pub(super) what: &'static str,
}

impl Display for AddedName<'_> {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        out.write_str("\"_")?;
        escape(out, self.member)?;
        write!(out, "_{}\"", self.what)
    }
}

fn escape(out: &mut Formatter<'_>, text: &str) -> fmt::Result {
    for character in text.chars() {
        match character {
            '"' => out.write_str("\\\"")?,
            '\\' => out.write_str("\\\\")?,
            // A record separator would begin another fragment.
            '\0'..='\u{1f}' | '\u{7f}' => write!(out, "\\u{:04x}", u32::from(character))?,
            _ => out.write_char(character)?,
        }
    }
    Ok(())
}
