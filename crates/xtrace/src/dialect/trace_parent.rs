//! W3C Trace Context header `traceparent`.

use core::fmt;
use core::str::FromStr;

use crate::hex;

/// Header `traceparent` (W3C Trace Context, Recommendation of 2021-11-23, section 3.2).
///
/// Identifiers are never all zeros. Values with future versions are read as far as version 00 defines them, and written
/// as version 00. Unknown flags are written as zeros. The recommendation requires both.
///
/// ```
/// use ichnos_xtrace::dialect::TraceParent;
///
/// let parent: TraceParent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01".parse()?;
/// assert!(parent.is_sampled());
/// assert_eq!(parent.to_string(), "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01");
/// # Ok::<(), ichnos_xtrace::dialect::TraceParentError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TraceParent {
    trace_id: [u8; 16],
    parent_id: [u8; 8],
    /// Flags.
    pub flags: u8,
}

/// Reason why a text is not a traceparent. Numbers are offsets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TraceParentError {
    /// The text has this number of characters: fewer than 55, or more than 55 in version 00 (3.2.2).
    Length(usize),
    /// Missing lowercase hexadecimal digit (3.2.1).
    Digit(usize),
    /// Missing `-` (3.2.1).
    Separator(usize),
    /// The version is ff (3.2.2).
    Version,
    /// The trace-id is all zeros (3.2.2.3).
    ZeroTraceId,
    /// The parent-id is all zeros (3.2.2.4).
    ZeroParentId,
}

impl fmt::Display for TraceParentError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Length(found) => write!(f, "a traceparent has 55 characters, not {found}"),
            Self::Digit(offset) => write!(f, "expected a lowercase hexadecimal digit at offset {offset}"),
            Self::Separator(offset) => write!(f, "expected `-` at offset {offset}"),
            Self::Version => f.write_str("version ff is not valid"),
            Self::ZeroTraceId => f.write_str("an all-zero trace-id is not valid"),
            Self::ZeroParentId => f.write_str("an all-zero parent-id is not valid"),
        }
    }
}

impl core::error::Error for TraceParentError {}

/// Number of characters in version 00.
const LENGTH: usize = 55;
/// Offsets of the `-`.
const SEPARATORS: [usize; 3] = [2, 35, 52];
/// Flag: the caller recorded the trace (3.2.2.5.1).
const SAMPLED: u8 = 1;
/// Known flags: sampled, and random trace-id from level 2 of the recommendation.
const KNOWN_FLAGS: u8 = SAMPLED | 2;

impl TraceParent {
    /// Creates a traceparent, or returns `None` if an identifier is all zeros.
    #[must_use]
    pub fn new(trace_id: [u8; 16], parent_id: [u8; 8], is_sampled: bool) -> Option<Self> {
        let is_valid = trace_id != [0; 16] && parent_id != [0; 8];
        is_valid.then_some(Self { trace_id, parent_id, flags: u8::from(is_sampled) })
    }

    /// Parses a traceparent.
    ///
    /// # Errors
    /// If a rule of the recommendation is broken. The error is the first violation in the text.
    pub fn parse(text: impl AsRef<[u8]>) -> Result<Self, TraceParentError> {
        let all = text.as_ref();
        let Some((text, rest)) = all.split_first_chunk::<LENGTH>() else {
            return Err(TraceParentError::Length(all.len()));
        };
        for (offset, byte) in text.iter().copied().enumerate() {
            if SEPARATORS.contains(&offset) {
                if byte != b'-' {
                    return Err(TraceParentError::Separator(offset));
                }
            } else if !byte.is_ascii_digit() && !(b'a'..=b'f').contains(&byte) {
                return Err(TraceParentError::Digit(offset));
            }
        }
        match (&text[..2], rest) {
            (b"ff", _) => return Err(TraceParentError::Version),
            (_, []) => {}
            (b"00", _) => return Err(TraceParentError::Length(all.len())),
            (_, [b'-', ..]) => {}
            _ => return Err(TraceParentError::Separator(LENGTH)),
        }
        let mut parent = Self { trace_id: [0; 16], parent_id: [0; 8], flags: 0 };
        let mut flags = [0];
        let _ = hex::decode(&text[3..35], &mut parent.trace_id);
        let _ = hex::decode(&text[36..52], &mut parent.parent_id);
        let _ = hex::decode(&text[53..55], &mut flags);
        parent.flags = flags[0];
        if parent.trace_id == [0; 16] {
            return Err(TraceParentError::ZeroTraceId);
        }
        if parent.parent_id == [0; 8] {
            return Err(TraceParentError::ZeroParentId);
        }
        Ok(parent)
    }

    /// Returns the trace id, which cannot be all zeros.
    #[must_use]
    pub fn trace_id(&self) -> [u8; 16] {
        self.trace_id
    }

    /// Returns the operation, which cannot be all zeros.
    #[must_use]
    pub fn parent_id(&self) -> [u8; 8] {
        self.parent_id
    }

    /// Returns `true` if the caller recorded the trace.
    #[must_use]
    pub fn is_sampled(&self) -> bool {
        self.flags & SAMPLED != 0
    }
}

impl FromStr for TraceParent {
    type Err = TraceParentError;

    fn from_str(text: &str) -> Result<Self, TraceParentError> {
        Self::parse(text)
    }
}

impl fmt::Display for TraceParent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = [0; LENGTH];
        hex::encode(&[0], &mut text[..2]);
        hex::encode(&self.trace_id, &mut text[3..35]);
        hex::encode(&self.parent_id, &mut text[36..52]);
        hex::encode(&[self.flags & KNOWN_FLAGS], &mut text[53..]);
        text.make_ascii_lowercase();
        for offset in SEPARATORS {
            text[offset] = b'-';
        }
        f.pad(hex::as_str(&text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules() {
        let good = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
        let with = |from: usize, new: &str| {
            let mut text = good.to_owned();
            text.replace_range(from..from + new.len(), new);
            TraceParent::parse(text)
        };
        assert!(with(0, "").is_ok());
        assert_eq!(with(0, "ff"), Err(TraceParentError::Version));
        assert_eq!(with(0, "FF"), Err(TraceParentError::Digit(0)));
        assert_eq!(with(4, "A"), Err(TraceParentError::Digit(4)));
        assert_eq!(with(35, "_"), Err(TraceParentError::Separator(35)));
        assert_eq!(with(3, &"0".repeat(32)), Err(TraceParentError::ZeroTraceId));
        assert_eq!(with(36, &"0".repeat(16)), Err(TraceParentError::ZeroParentId));
        assert_eq!(TraceParent::parse(&good[..54]), Err(TraceParentError::Length(54)));
        assert_eq!(TraceParent::parse(format!("{good}-")), Err(TraceParentError::Length(56)));
        assert_eq!(TraceParent::parse(format!(" {good}")), Err(TraceParentError::Digit(0)));
        // Future versions.
        let future = good.replacen("00", "cc", 1);
        assert_eq!(TraceParent::parse(&future).unwrap().to_string(), good);
        assert_eq!(TraceParent::parse(format!("{future}-what")).unwrap().to_string(), good);
        assert_eq!(TraceParent::parse(format!("{future}.what")), Err(TraceParentError::Separator(55)));
        // Flags.
        assert_eq!(with(53, "fe").unwrap().to_string(), good.replace("-01", "-02"));
        assert!(!with(53, "fe").unwrap().is_sampled());
    }
}
