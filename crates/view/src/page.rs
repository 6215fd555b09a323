//! Files of the page.

use crate::response::Response;

/// Parts of the page.
pub(crate) const HTML: &str = include_str!("../dist/index.html");
pub(crate) const SCRIPT: &str = include_str!("../dist/app.js");
pub(crate) const STYLE: &str = include_str!("../dist/app.css");

/// Files, by their names.
const FILES: [(&str, &str, &[u8]); 3] = [
    ("", "text/html; charset=utf-8", HTML.as_bytes()),
    ("app.js", "text/javascript; charset=utf-8", SCRIPT.as_bytes()),
    ("app.css", "text/css; charset=utf-8", STYLE.as_bytes()),
];

/// Returns the file with a name.
pub(crate) fn file(name: &str) -> Option<Response> {
    let (_, kind, bytes) = FILES.iter().find(|(known, ..)| *known == name)?;
    Some(Response { status: 200, kind, body: bytes.to_vec() })
}
