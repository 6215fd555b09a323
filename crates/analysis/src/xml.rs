//! Text in XML.

use ichnos_export::is_printable;

/// Text with XML's special characters escaped, and invalid or invisible characters replaced.
pub(crate) struct Escaped<'a>(pub(crate) &'a str);

impl std::fmt::Display for Escaped<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        use std::fmt::Write as _;
        for c in self.0.chars() {
            match c {
                '&' => f.write_str("&amp;")?,
                '<' => f.write_str("&lt;")?,
                '>' => f.write_str("&gt;")?,
                '"' => f.write_str("&quot;")?,
                c if is_printable(c) => f.write_char(c)?,
                _ => f.write_char('\u{fffd}')?,
            }
        }
        Ok(())
    }
}
