//! Recognizes files with requests, and finds the requests in them.

use std::ops::Range;

use ichnos_io::{Entry, ReadOptions};
use ichnos_json::read::Reader;

use crate::fault::RequestFault;
use crate::input::RequestEncoding;
use crate::schema::request;
use crate::signal_guess::is_element;
use crate::wire::WireReader;
use crate::wire_schema::{is_resource, is_scope};

/// Number of file bytes to recognize requests.
const PROBED: usize = 64 << 10;

/// Number of bytes that rule out most other files.
const FIRST: usize = 64;

/// Size of the length before each request in files of the Collector, in bytes.
const LENGTH: usize = 4;

/// Form of a file with requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FileForm {
    /// JSON objects, mostly one a line.
    Json,
    /// One request in protobuf. Concatenated requests are one request, too.
    Protobuf,
    /// Requests in protobuf, each after its length as 4 bytes, the most significant byte first.
    Lengths,
}

impl FileForm {
    /// Recognizes the form of a file.
    pub(crate) fn of_file(entry: &Entry, options: &ReadOptions) -> Option<Self> {
        let first = entry.beginning(FIRST).ok()?;
        let form = match Self::can_be_requests(&first) {
            true => Self::recognize(&entry.beginning(PROBED).ok()?),
            false => None,
        };
        let forced = || match first.trim_ascii_start() {
            [b'{', ..] => Self::Json,
            _ => Self::Protobuf,
        };
        form.or_else(|| (options.force && !first.is_empty()).then(forced))
    }

    fn can_be_requests(first: &[u8]) -> bool {
        let text = without_mark(first).trim_ascii_start();
        matches!(text, [] | [b'{', ..]) || matches!(first, [0x0a, ..] | [_, _, _, _, 0x0a, ..])
    }

    /// Recognizes the form by the beginning of a file.
    pub(crate) fn recognize(beginning: &[u8]) -> Option<Self> {
        // A request of 123 bytes in protobuf also begins with a line break and `{`.
        if without_mark(beginning).trim_ascii_start().first() == Some(&b'{')
            && is_json(without_mark(beginning))
        {
            return Some(Self::Json);
        }
        let of_length = || {
            let (length, rest) = beginning.split_first_chunk::<LENGTH>()?;
            let length = u32::from_be_bytes(*length) as usize;
            (length > 0 && is_protobuf(rest.get(..length).unwrap_or(rest))).then_some(Self::Lengths)
        };
        if is_protobuf(beginning) { Some(Self::Protobuf) } else { of_length() }
    }

    /// Returns the encoding of the requests.
    pub(crate) fn encoding(self) -> RequestEncoding {
        if self == Self::Json { RequestEncoding::Json } else { RequestEncoding::Protobuf }
    }

    /// Returns the range of the next request, and the offset after it. `None` at the end of the file.
    pub(crate) fn next_request(self, bytes: &[u8], at: usize) -> Option<NextRequest> {
        match self {
            Self::Json => next_json(bytes, at),
            Self::Protobuf => (at < bytes.len()).then_some(Ok((at..bytes.len(), bytes.len()))),
            Self::Lengths => next_after_length(bytes, at),
        }
    }
}

/// Range of a request and the offset after it, or a fault and the offset where reading resumes.
type NextRequest = Result<(Range<usize>, usize), (RequestFault, usize)>;

fn next_json(bytes: &[u8], at: usize) -> Option<NextRequest> {
    let mut reader = Reader::new(bytes);
    reader.seek(if at == 0 { bytes.len() - without_mark(bytes).len() } else { at });
    let first = reader.peek()?;
    let begin = reader.offset();
    let read = match first {
        b'{' => reader.skip().map(drop),
        _ => reader.expect(b'{', "an object"),
    };
    Some(match read {
        Ok(()) => Ok((begin..reader.offset(), reader.offset())),
        Err(error) => {
            // Objects in later lines can be read.
            let rest = bytes.get(error.offset..).unwrap_or_default();
            let line = memchr::memchr(b'\n', rest).map_or(bytes.len(), |length| error.offset + length + 1);
            Err((error.into(), line.max(begin + 1)))
        }
    })
}

fn next_after_length(bytes: &[u8], at: usize) -> Option<NextRequest> {
    let rest = bytes.get(at..).filter(|rest| !rest.is_empty())?;
    let length = rest.split_first_chunk::<LENGTH>().map(|(length, _)| u32::from_be_bytes(*length) as usize);
    let left = rest.len().saturating_sub(LENGTH);
    Some(match length {
        Some(length) if length <= left => {
            let begin = at + LENGTH;
            Ok((begin..begin + length, begin + length))
        }
        Some(length) => {
            let message = format!("expected a request of {length} bytes, found {left}");
            Err((RequestFault::new(at, message), bytes.len()))
        }
        None => {
            let message = format!("expected a length of {LENGTH} bytes, found {}", rest.len());
            Err((RequestFault::new(at, message), bytes.len()))
        }
    })
}

/// Returns a text without its byte order mark.
fn without_mark(text: &[u8]) -> &[u8] {
    text.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(text)
}

/// Returns `true` if an object with a member of a request begins a text, which can be cut off.
fn is_json(text: &[u8]) -> bool {
    let mut reader = Reader::new(text);
    let mut is_first = true;
    if !reader.take(b'{') {
        return false;
    }
    while let Ok(Some(key)) = reader.key(&mut is_first) {
        let name = key.text().replace('_', "");
        if request::JSON.iter().any(|(known, _)| known.eq_ignore_ascii_case(&name)) {
            return reader.peek().is_none_or(|first| first == b'[');
        }
        if reader.skip().is_err() {
            return false;
        }
    }
    false
}

/// Takes a field with a length: its number, its bytes, and `false` if they are cut off.
fn field_of_length<'b>(bytes: &mut &'b [u8]) -> Option<(u32, &'b [u8], bool)> {
    let mut reader = WireReader::new(bytes, 0);
    let tag = reader.varint().ok()?;
    let length = usize::try_from(reader.varint().ok()?).ok().filter(|_| tag & 7 == 2)?;
    let content = reader.rest();
    let (found, rest) = content.split_at(length.min(content.len()));
    *bytes = rest;
    Some((u32::try_from(tag >> 3).ok()?, found, length <= content.len()))
}

/// Returns `true` if `ResourceSpans` or another such message begins a file. It consists of a resource, scopes and the
/// URL of a schema.
fn is_protobuf(mut bytes: &[u8]) -> bool {
    let Some((1, mut inner, is_whole)) = field_of_length(&mut bytes) else { return false };
    let message = inner;
    let (resource, is_resource_whole) = match field_of_length(&mut inner) {
        Some((1, resource, is_whole)) => (resource, is_whole),
        Some((2, ..)) => return is_without_resource(message, is_whole),
        _ => return false,
    };
    if !begins_resource(resource, is_resource_whole) {
        return false;
    }
    let mut has_scope = false;
    while !inner.is_empty() {
        match field_of_length(&mut inner) {
            Some((2, ..)) => has_scope = true,
            Some((3, url, _)) if std::str::from_utf8(url).is_ok() => {}
            Some(_) => return false,
            None => return !is_whole,
        }
    }
    has_scope || !is_whole || !is_resource_whole
}

/// Returns `true` if a message begins with scopes, with known fields in at least one scope or element.
fn is_without_resource(mut message: &[u8], is_whole: bool) -> bool {
    let mut is_found = false;
    while let Some((number, inner, is_inner_whole)) = field_of_length(&mut message) {
        match number {
            2 => match has_elements(inner, is_inner_whole) {
                Some(has_elements) => is_found |= has_elements,
                None => return false,
            },
            3 if std::str::from_utf8(inner).is_ok() => {}
            _ => return false,
        }
    }
    is_found && (message.is_empty() || !is_whole)
}

/// Returns `true` if `ScopeSpans` or another such message contains more than empty messages. `None` for other messages.
fn has_elements(mut scope: &[u8], is_whole: bool) -> Option<bool> {
    let mut is_found = false;
    while let Some((number, inner, is_inner_whole)) = field_of_length(&mut scope) {
        let is_known = match number {
            1 => is_scope(inner),
            2 => is_element(inner),
            3 => std::str::from_utf8(inner).is_ok(),
            _ => return None,
        };
        if is_inner_whole && !is_known && !inner.is_empty() {
            return None;
        }
        is_found |= is_inner_whole && !inner.is_empty();
    }
    (scope.is_empty() || !is_whole).then_some(is_found)
}

/// Returns `true` for the beginning of a resource: attributes with names, or other fields of a whole resource.
fn begins_resource(mut bytes: &[u8], is_whole: bool) -> bool {
    if bytes.is_empty() {
        return is_whole;
    }
    // Field 2 with a number, or field 3 with an entity.
    if matches!(bytes, [0x10 | 0x1a, ..]) {
        return is_whole && is_resource(bytes);
    }
    match field_of_length(&mut bytes) {
        Some((1, mut attribute, _)) => match field_of_length(&mut attribute) {
            Some((1, name, true)) => !name.is_empty() && std::str::from_utf8(name).is_ok(),
            Some((1, _, false)) => true,
            _ => false,
        },
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_of_files() {
        let form = |bytes: &[u8]| FileForm::recognize(bytes);
        assert_eq!(form(b"{\"resourceSpans\":[]}"), Some(FileForm::Json));
        assert_eq!(form(b"\xEF\xBB\xBF\n{ \"a\": 1, \"resource_logs\" : ["), Some(FileForm::Json));
        for other in [&b"{\"a\":1}"[..], b"{\"resourceSpans\":1}", b"[]", b"", b"\x0a\x04\x40\x01\x50\x02"] {
            assert_eq!(form(other), None, "{other:?}");
        }
        // A resource with an attribute (`a`: `b`), and a scope with spans.
        let request = b"\x0a\x0f\x0a\x0a\x0a\x08\x0a\x01a\x12\x03\x0a\x01b\x12\x01x";
        assert_eq!(form(request), Some(FileForm::Protobuf));
        assert_eq!(form(b"\x0a\x05\x0a\x00\x12\x01x"), Some(FileForm::Protobuf));
        assert_eq!(form(&[&[0, 0, 0, 17][..], request].concat()), Some(FileForm::Lengths));
        // A log record with a body (`a`), without a resource and without a scope.
        let bare = b"\x0a\x09\x12\x07\x12\x05\x2a\x03\x0a\x01a";
        assert_eq!(form(bare), Some(FileForm::Protobuf));
        assert_eq!(form(&[&[0, 0, 0, 11][..], bare].concat()), Some(FileForm::Lengths));
        // A resource with only a number of dropped attributes, or only an entity of type `a`.
        for resource in [&b"\x10\x05"[..], b"\x1a\x03\x12\x01a"] {
            let length = resource.len() as u8;
            let request = [&[0x0a, length + 4, 0x0a, length][..], resource, b"\x12\x00"].concat();
            assert_eq!(form(&request), Some(FileForm::Protobuf), "{request:?}");
        }
        // Empty records could be anything, and no element has a varint in field 1.
        for other in [&b"\x0a\x04\x12\x02\x12\x00"[..], b"\x0a\x06\x12\x04\x12\x02\x08\x01"] {
            assert_eq!(form(other), None, "{other:?}");
        }
    }
}
