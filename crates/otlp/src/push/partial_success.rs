//! Bodies of answers: partial success, and reasons of refusals.

use ichnos_json::read::Reader;

use crate::fault::Decoded;
use crate::input::{EncodedMessage, FieldName, RequestEncoding, lossy};

/// Maximum length of a reason in bytes.
const MOST_REASON: usize = 500;

/// `ExportTraceServiceResponse` and the others.
const RESPONSE: &[FieldName] = &[("partialSuccess", 1)];
const REJECTED: u32 = 1;
const MESSAGE: u32 = 2;
/// `ExportTracePartialSuccess` and the others.
const PARTIAL: &[FieldName] = &[
    ("rejectedSpans", REJECTED),
    ("rejectedLogRecords", REJECTED),
    ("rejectedDataPoints", REJECTED),
    ("errorMessage", MESSAGE),
];
/// `google.rpc.Status`
const STATUS: &[FieldName] = &[("message", MESSAGE)];

/// Elements that a receiver rejected.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct PartialSuccess {
    pub(super) rejected: u64,
    pub(super) reason: String,
}

impl PartialSuccess {
    /// Decodes the answer to an accepted request.
    ///
    /// # Errors
    /// Fails if it is not such an answer.
    pub(super) fn decode(body: &[u8], encoding: RequestEncoding) -> Decoded<Self> {
        let mut found = Self::default();
        if body.is_empty() {
            return Ok(found);
        }
        EncodedMessage::whole(body, encoding).fields(RESPONSE, |_, input| {
            let Some(input) = input.unless_null() else { return Ok(()) };
            input.fields(PARTIAL, |field, input| {
                match field {
                    REJECTED => found.rejected = u64::try_from(input.signed()?).unwrap_or(0),
                    _ => found.reason = shorten(&lossy(input.text()?)),
                }
                Ok(())
            })
        })?;
        Ok(found)
    }
}

/// Returns the reason in the body of a refusal. Empty without a reason.
pub(super) fn reason_of(body: &[u8], encoding: Option<RequestEncoding>) -> String {
    let Some(encoding) = encoding else {
        // Proxies answer with pages. Their first line is the most useful one.
        let text = String::from_utf8_lossy(body);
        let is_page = text.trim_start().starts_with('<');
        let line = text.lines().map(str::trim).find(|line| !line.is_empty());
        return shorten(line.filter(|_| !is_page).unwrap_or_default());
    };
    let mut reason = String::new();
    // A body that is something else has no reason.
    let _ = EncodedMessage::whole(body, encoding).fields(STATUS, |_, input| {
        reason = shorten(&lossy(input.text()?));
        Ok(())
    });
    if encoding == RequestEncoding::Json && Reader::new(body).skip().is_err() {
        reason.clear();
    }
    reason
}

/// Returns the beginning of a text in one line.
fn shorten(text: &str) -> String {
    let text = text.get(..text.floor_char_boundary(MOST_REASON)).unwrap_or(text);
    text.chars().map(|char| if char.is_control() { ' ' } else { char }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rejected_elements_are_counted() {
        let decode = |body: &[u8], encoding| PartialSuccess::decode(body, encoding);
        let found = |rejected, reason: &str| Ok(PartialSuccess { rejected, reason: reason.to_owned() });
        assert_eq!(decode(b"", RequestEncoding::Protobuf), found(0, ""));
        assert_eq!(decode(b"\x0a\x06\x08\x03\x12\x02ab", RequestEncoding::Protobuf), found(3, "ab"));
        assert_eq!(decode(b"{}", RequestEncoding::Json), found(0, ""));
        let json = br#"{"partialSuccess":{"rejectedLogRecords":"2","errorMessage":"a\nb"}}"#;
        assert_eq!(decode(json, RequestEncoding::Json), found(2, "a b"));
        assert_eq!(decode(br#"{"partialSuccess":null}"#, RequestEncoding::Json), found(0, ""));
        // A negative number is not a number of elements.
        let negative = b"\x0a\x0b\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01";
        assert_eq!(decode(negative, RequestEncoding::Protobuf), found(0, ""));
        assert!(decode(b"\x0a\x50", RequestEncoding::Protobuf).is_err());
        assert!(decode(b"no", RequestEncoding::Json).is_err());
    }

    #[test]
    fn reasons_of_refusals() {
        assert_eq!(reason_of(b"\x08\x03\x12\x03bad", Some(RequestEncoding::Protobuf)), "bad");
        assert_eq!(reason_of(br#"{"code":3,"message":"bad"}"#, Some(RequestEncoding::Json)), "bad");
        assert_eq!(reason_of(b"\n no \nmore", None), "no");
        assert_eq!(reason_of(b"<html>x", None), "");
        assert_eq!(reason_of(&[0xff; 9], Some(RequestEncoding::Protobuf)), "");
    }
}
