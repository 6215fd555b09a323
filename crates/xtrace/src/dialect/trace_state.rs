//! W3C Trace Context header `tracestate`.

use core::fmt;

/// Header `tracestate` (W3C Trace Context, Recommendation of 2021-11-23, section 3.3).
///
/// It has members `key=value`, most recent first. Several headers with this name are joined with commas.
///
/// ```
/// use ichnos_xtrace::dialect::TraceState;
///
/// let state = TraceState::parse("a=1, tenant@vendor=x y")?;
/// assert_eq!(state.get("tenant@vendor"), Some("x y"));
/// let mut text = String::new();
/// state.write_with("a", "2", &mut text)?;
/// assert_eq!(text, "a=2,tenant@vendor=x y");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct TraceState<'a> {
    /// Valid text.
    text: &'a str,
}

/// Reason why a text is not a tracestate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceStateError {
    /// Broken rule.
    pub rule: TraceStateRule,
    /// Offset of the invalid member.
    pub offset: usize,
}

/// A tracestate rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TraceStateRule {
    /// At most 32 members are allowed (3.3.1.1).
    Members,
    /// A member is a key, `=` and a value (3.3.1.1).
    Member,
    /// A key has lowercase letters, digits, `_`, `-`, `*` and `/`: at most 256 starting with a letter, or at most 241
    /// for a tenant, `@`, and at most 14 for a system (3.3.1.3.1).
    Key,
    /// A value has 1 to 256 printable ASCII characters other than `,` and `=`, and must not end with a blank
    /// (3.3.1.3.2).
    Value,
    /// A key occurs only once (3.3.1.3).
    Twice,
}

impl fmt::Display for TraceStateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rule = match self.rule {
            TraceStateRule::Members => "more than 32 members",
            TraceStateRule::Member => "missing `=` in a member",
            TraceStateRule::Key => "invalid key",
            TraceStateRule::Value => "invalid value",
            TraceStateRule::Twice => "duplicate key",
        };
        write!(f, "{rule} at offset {}", self.offset)
    }
}

impl core::error::Error for TraceStateError {}

/// Maximum number of members.
const MAX_MEMBERS: usize = 32;
/// Maximum number of characters in a value.
pub(super) const MAX_VALUE: usize = 256;

impl<'a> TraceState<'a> {
    /// Parses a tracestate, which can be empty.
    ///
    /// # Errors
    /// If a rule of the recommendation is broken. The whole tracestate must then be dropped, but not the traceparent.
    pub fn parse(text: &'a str) -> Result<Self, TraceStateError> {
        let mut keys = [""; MAX_MEMBERS];
        for (count, (offset, member)) in raw_members(text).enumerate() {
            let error = |rule| Err(TraceStateError { rule, offset });
            let Some((key, value)) = member.split_once('=') else { return error(TraceStateRule::Member) };
            if !is_key(key.as_bytes()) {
                return error(TraceStateRule::Key);
            }
            if !is_value(value.as_bytes()) {
                return error(TraceStateRule::Value);
            }
            if keys[..count].contains(&key) {
                return error(TraceStateRule::Twice);
            }
            let Some(place) = keys.get_mut(count) else { return error(TraceStateRule::Members) };
            *place = key;
        }
        Ok(Self { text })
    }

    /// Returns the keys and values, in order.
    pub fn members(self) -> impl Iterator<Item = (&'a str, &'a str)> {
        raw_members(self.text).filter_map(|(_, member)| member.split_once('='))
    }

    /// Returns the value of a key.
    #[must_use]
    pub fn get(self, key: &str) -> Option<&'a str> {
        self.members().find(|member| member.0 == key).map(|member| member.1)
    }

    /// Writes the tracestate with a new first member. It replaces a member with the same key. Beyond 32 members, the
    /// last member is dropped.
    ///
    /// # Errors
    /// If writing to `out` fails, or if the key or the value is invalid. In the latter case, nothing is written.
    pub fn write_with(self, key: &str, value: &str, out: &mut impl fmt::Write) -> fmt::Result {
        if !is_key(key.as_bytes()) || !is_value(value.as_bytes()) {
            return Err(fmt::Error);
        }
        write!(out, "{key}={value}")?;
        let others = self.members().filter(|member| member.0 != key);
        for (key, value) in others.take(MAX_MEMBERS - 1) {
            write!(out, ",{key}={value}")?;
        }
        Ok(())
    }
}

/// Writes the members without surrounding blanks.
impl fmt::Display for TraceState<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, (key, value)) in self.members().enumerate() {
            let comma = if index > 0 { "," } else { "" };
            write!(f, "{comma}{key}={value}")?;
        }
        Ok(())
    }
}

/// Returns members with their offsets. Empty members are allowed and skipped.
fn raw_members(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut at = 0;
    text.split(',').filter_map(move |member| {
        let offset = at;
        at += member.len() + 1;
        let trimmed = member.trim_matches([' ', '\t']);
        (!trimmed.is_empty()).then_some((offset, trimmed))
    })
}

fn is_key(key: &[u8]) -> bool {
    let is_part = |part: &[u8], may_begin_with_digit: bool, most: usize| match part {
        [first, rest @ ..] => {
            (first.is_ascii_lowercase() || may_begin_with_digit && first.is_ascii_digit())
                && part.len() <= most
                && rest
                    .iter()
                    .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"_-*/".contains(byte))
        }
        [] => false,
    };
    match key.iter().position(|byte| *byte == b'@') {
        Some(at) => is_part(&key[..at], true, 241) && is_part(&key[at + 1..], false, 14),
        None => is_part(key, false, 256),
    }
}

fn is_value(value: &[u8]) -> bool {
    let is_allowed = |byte: &u8| matches!(byte, b' '..=b'~') && !b",=".contains(byte);
    (1..=MAX_VALUE).contains(&value.len()) && value.iter().all(is_allowed) && value.last() != Some(&b' ')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(text: &str) -> Option<TraceStateRule> {
        TraceState::parse(text).err().map(|error| error.rule)
    }

    #[test]
    fn rules() {
        for good in ["", " ", "a=1", "a=1,", ",,a=1 ,\t b=2", "0@a=1", "a_-*/0=~!", "a= 1", "foo=1,bar=2"] {
            assert_eq!(rule(good), None, "{good}");
        }
        for bad in ["a", "a=1,b"] {
            assert_eq!(rule(bad), Some(TraceStateRule::Member), "{bad}");
        }
        for bad in ["=1", "A=1", "0a=1", "a b=1", "a@=1", "@a=1", "a@0=1", "a@b@c=1", "a =1", "ä=1"] {
            assert_eq!(rule(bad), Some(TraceStateRule::Key), "{bad}");
        }
        for bad in ["a=", "a=1=2", "a=ä", "a=\u{7f}", "a=1\t2"] {
            assert_eq!(rule(bad), Some(TraceStateRule::Value), "{bad}");
        }
        assert_eq!(rule("a=1,b=1,a=2"), Some(TraceStateRule::Twice));
        assert_eq!(TraceState::parse("a=1,b=1, a=2").unwrap_err().offset, 8);
    }

    #[test]
    fn limits() {
        let members = |count: usize| (0..count).map(|n| format!("k{n}=v")).collect::<Vec<_>>().join(",");
        assert_eq!(rule(&members(32)), None);
        assert_eq!(rule(&members(33)), Some(TraceStateRule::Members));
        let long = |length: usize| "a".repeat(length);
        assert_eq!(rule(&format!("{}=1", long(256))), None);
        assert_eq!(rule(&format!("{}=1", long(257))), Some(TraceStateRule::Key));
        assert_eq!(rule(&format!("{}@{}=1", long(241), long(14))), None);
        assert_eq!(rule(&format!("{}@{}=1", long(242), long(14))), Some(TraceStateRule::Key));
        assert_eq!(rule(&format!("{}@{}=1", long(241), long(15))), Some(TraceStateRule::Key));
        assert_eq!(rule(&format!("a={}", long(256))), None);
        assert_eq!(rule(&format!("a={}", long(257))), Some(TraceStateRule::Value));
        let full = members(32);
        let mut text = String::new();
        TraceState::parse(&full).unwrap().write_with("new", "1", &mut text).unwrap();
        assert!(text.starts_with("new=1,k0=v,") && text.ends_with(",k30=v"), "{text}");
        assert!(TraceState::default().write_with("New", "1", &mut text).is_err());
    }
}
