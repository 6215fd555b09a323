//! Embedded page files.

use crate::response::Response;

/// Contents of the page files.
pub(crate) const HTML: &str = include_str!("../dist/index.html");
pub(crate) const SCRIPT: &str = include_str!("../dist/app.js");
pub(crate) const STYLE: &str = include_str!("../dist/app.css");

/// Files by name.
const FILES: [(&str, &str, &[u8]); 3] = [
    ("", "text/html; charset=utf-8", HTML.as_bytes()),
    ("app.js", "text/javascript; charset=utf-8", SCRIPT.as_bytes()),
    ("app.css", "text/css; charset=utf-8", STYLE.as_bytes()),
];

/// Returns the response for a file name.
pub(crate) fn file(name: &str) -> Option<Response> {
    let (_, kind, bytes) = FILES.iter().find(|(known, ..)| *known == name)?;
    Some(Response { status: 200, kind, body: bytes.to_vec() })
}
