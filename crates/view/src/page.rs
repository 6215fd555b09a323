//! Files of the page.

use crate::response::Response;

/// Files, by their names.
const FILES: [(&str, &str, &[u8]); 3] = [
    ("", "text/html; charset=utf-8", include_bytes!("../dist/index.html")),
    ("app.js", "text/javascript; charset=utf-8", include_bytes!("../dist/app.js")),
    ("app.css", "text/css; charset=utf-8", include_bytes!("../dist/app.css")),
];

/// Returns the file with a name.
pub(crate) fn file(name: &str) -> Option<Response> {
    let (_, kind, bytes) = FILES.iter().find(|(known, ..)| *known == name)?;
    Some(Response { status: 200, kind, body: bytes.to_vec() })
}
