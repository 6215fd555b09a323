//! Protobuf messages that start with message members of number 1: Perfetto traces, pprof profiles, OpenTelemetry
//! data.

use super::ForeignFormat;

/// Maximum number of examined members in a message.
const MOST: usize = 64;

const PPROF: ForeignFormat =
    ForeignFormat::other("a pprof profile").advising("`go tool pprof FILE` shows it");

/// Recognizes a file by the members of its first messages.
pub(super) fn recognize(head: &[u8]) -> Option<ForeignFormat> {
    if are_samples(head) {
        return Some(PPROF);
    }
    let mut rest = head;
    let (mut are_types, mut are_resources) = (true, true);
    let mut count = 0;
    while !rest.is_empty() && count < MOST {
        let Some(member) = ProtobufMember::take(&mut rest) else { break };
        if (member.number, member.kind) != (1, MemberKind::Bytes) {
            // In a profile, samples follow.
            if count == 0 || !are_types {
                return None;
            }
            break;
        }
        let is_whole = member.bytes.len() == member.len;
        let members = members(member.bytes, is_whole)?;
        if members.is_empty() {
            if is_whole {
                return None;
            }
            // The examined bytes end in the number of its first member.
            break;
        }
        are_types &= members.iter().all(|member| member.number <= 2 && member.kind == MemberKind::Number);
        are_resources &= members.iter().all(|member| member.number <= 3 && member.kind == MemberKind::Bytes)
            && members.first().is_some_and(is_resource);
        count += 1;
        if !is_whole {
            break;
        }
    }
    match count {
        0 => None,
        _ if are_types => Some(PPROF),
        _ if are_resources => Some(ForeignFormat::trace("OpenTelemetry data (OTLP in protobuf)")),
        _ => Some(ForeignFormat::trace("a Perfetto trace").advising("https://ui.perfetto.dev shows it")),
    }
}

/// Returns `true` for profile samples (members 2), which can come before their value types. Each has places, values
/// and labels.
fn are_samples(head: &[u8]) -> bool {
    let mut rest = head;
    let mut count = 0;
    while count < MOST
        && let Some(member) = ProtobufMember::take(&mut rest)
        && (member.number, member.kind) == (2, MemberKind::Bytes)
    {
        let is_whole = member.bytes.len() == member.len;
        let Some(members) = members(member.bytes, is_whole) else { return false };
        let numbers: Vec<u64> = members.iter().map(|member| member.number).collect();
        let are_bytes = members.iter().all(|member| member.kind == MemberKind::Bytes);
        if !are_bytes
            || is_whole && !matches!(&numbers[..], [1, 2, labels @ ..] if labels.iter().all(|n| *n == 3))
        {
            return false;
        }
        count += 1;
    }
    count > 1
}

/// Returns the members of a message, or `None` if it is invalid. Members after the examined bytes are unknown.
fn members(mut bytes: &[u8], is_whole: bool) -> Option<Vec<ProtobufMember<'_>>> {
    let mut members = Vec::new();
    while !bytes.is_empty() && members.len() < MOST {
        match ProtobufMember::take(&mut bytes) {
            Some(member) => members.push(member),
            None if is_whole => return None,
            None => break,
        }
    }
    Some(members)
}

/// Returns `true` for the start of OpenTelemetry data: a resource, which has attributes with names.
fn is_resource(member: &ProtobufMember<'_>) -> bool {
    let first = |bytes| members(bytes, false).and_then(|members| members.into_iter().next());
    let is_text = |member: ProtobufMember<'_>| {
        (member.number, member.kind) == (1, MemberKind::Bytes) && std::str::from_utf8(member.bytes).is_ok()
    };
    match first(member.bytes) {
        // A resource without attributes.
        None => member.len == 0,
        Some(attribute) => {
            (attribute.number, attribute.kind) == (1, MemberKind::Bytes)
                && first(attribute.bytes).is_some_and(is_text)
        }
    }
}

/// Kind of a member value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum MemberKind {
    Number,
    Bytes,
    Fixed,
}

/// Member of a protobuf message.
struct ProtobufMember<'a> {
    number: u64,
    kind: MemberKind,
    /// Length in bytes.
    len: usize,
    /// Examined bytes.
    bytes: &'a [u8],
}

impl<'a> ProtobufMember<'a> {
    /// Takes the first member. Returns `None` at the end or if it is invalid.
    fn take(rest: &mut &'a [u8]) -> Option<Self> {
        let tag = number(rest)?;
        let (kind, len) = match tag & 7 {
            0 => {
                number(rest)?;
                (MemberKind::Number, 0)
            }
            1 => (MemberKind::Fixed, 8),
            2 => (MemberKind::Bytes, usize::try_from(number(rest)?).ok().filter(|len| *len < 1 << 31)?),
            5 => (MemberKind::Fixed, 4),
            _ => return None,
        };
        let number = Some(tag >> 3).filter(|number| (1..1 << 29).contains(number))?;
        let (bytes, after) = rest.split_at(len.min(rest.len()));
        *rest = after;
        Some(Self { number, kind, len, bytes })
    }
}

/// Takes a variable-length number with seven bits per byte.
fn number(rest: &mut &[u8]) -> Option<u64> {
    let mut value = 0u64;
    for shift in (0..64).step_by(7) {
        let (byte, after) = rest.split_first()?;
        *rest = after;
        value |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Some(value);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages() {
        let what = |bytes: &[u8]| recognize(bytes).map_or("", |known| known.what);
        // A packet with a time stamp (8) and a sequence id (10), twice.
        let packet = b"\x0a\x04\x40\x01\x50\x02";
        assert_eq!(what(&packet.repeat(2)), "a Perfetto trace");
        // The examined bytes can end anywhere.
        for end in 4084..4108 {
            assert_eq!(what(&packet.repeat(2000)[..end]), "a Perfetto trace");
        }
        assert_eq!(what(b"\x0a\x04\x40\x01\x50\x02\x0a\x85\x01\xc0"), "a Perfetto trace");
        // Value types, then a sample.
        let profile = b"\x0a\x04\x08\x01\x10\x02\x0a\x04\x08\x03\x10\x04\x12\x02\x0a\x00";
        assert_eq!(what(profile), "a pprof profile");
        assert_eq!(what(b"\x0a\x04\x08\x01\x10"), "a pprof profile");
        // Samples first.
        let sample = b"\x12\x0c\x0a\x01\x01\x12\x01\x01\x1a\x04\x08\x03\x10\x05";
        for end in 4084..4108 {
            assert_eq!(what(&sample.repeat(300)[..end]), "a pprof profile");
        }
        // A resource with an attribute (`a`: `b`), and a scope with spans.
        let resource = b"\x0a\x0f\x0a\x0a\x0a\x08\x0a\x01a\x12\x03\x0a\x01b\x12\x01x";
        assert!(what(resource).contains("OTLP"), "{}", what(resource));
        assert!(what(b"\x0a\x05\x0a\x00\x12\x01x").contains("OTLP"));
        assert_eq!(what(b"\x0a\x02\xff\xff"), "");
        assert_eq!(what(b"\x0a\x81"), "");
        assert_eq!(what(b"\x12\x02\xff\xff"), "");
    }
}
