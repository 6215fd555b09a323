//! FastSerialization objects, the container for files up to version 5.

use crate::block::BlockKind;
use crate::wire::Wire;

// FastSerialization tags.
pub(crate) const NULL_REFERENCE: u8 = 1;
pub(crate) const BEGIN_OBJECT: u8 = 4;
pub(crate) const BEGIN_PRIVATE_OBJECT: u8 = 5;
const END_OBJECT: u8 = 6;

/// Maximum length of a type name. Known names have at most 37 bytes.
const LONGEST_NAME: usize = 1 << 10;

/// Maximum length of an object type: tags, three numbers, the name.
pub(crate) const LONGEST_TYPE: usize = LONGEST_NAME + 16;

pub(crate) const fn tag_is_begin(tag: u8) -> bool {
    matches!(tag, BEGIN_OBJECT | BEGIN_PRIVATE_OBJECT)
}

/// Object type.
pub(crate) struct ObjectType<'a> {
    pub(crate) version: i32,
    pub(crate) least_reader: i32,
    pub(crate) name: &'a [u8],
}

/// Result of reading an object's type.
pub(crate) enum TypeRead<'a> {
    Object(ObjectType<'a>),
    /// The type may be incomplete.
    Short,
    Wrong,
}

impl<'a> ObjectType<'a> {
    pub(crate) fn read(wire: &mut Wire<'a>) -> TypeRead<'a> {
        let mut next = *wire;
        for is_right in [tag_is_begin as fn(u8) -> bool, tag_is_begin, |tag| tag == NULL_REFERENCE] {
            match next.u8() {
                None => return TypeRead::Short,
                Some(tag) if !is_right(tag) => return TypeRead::Wrong,
                Some(_) => {}
            }
        }
        let (Some(version), Some(least_reader), Some(length)) = (next.u32(), next.u32(), next.u32()) else {
            return TypeRead::Short;
        };
        if length as usize > LONGEST_NAME {
            return TypeRead::Wrong;
        }
        let (Some(name), Some(end)) = (next.take(length as usize), next.u8()) else { return TypeRead::Short };
        if end != END_OBJECT {
            return TypeRead::Wrong;
        }
        *wire = next;
        TypeRead::Object(Self { version: version as i32, least_reader: least_reader as i32, name })
    }

    pub(crate) fn kind(&self) -> BlockKind {
        match self.name {
            b"Trace" | b"Microsoft.DotNet.Runtime.EventPipeFile" => BlockKind::Trace,
            b"EventBlock" => BlockKind::Event,
            b"MetadataBlock" => BlockKind::Metadata,
            b"StackBlock" => BlockKind::Stack,
            b"SPBlock" => BlockKind::SequencePoint,
            _ => BlockKind::Unknown,
        }
    }
}

/// Result of skipping tagged values.
pub(crate) enum Tagged {
    /// The object ends here.
    End(usize),
    /// More bytes are needed.
    Short,
    /// Not a tagged value.
    Wrong,
}

/// Skips tagged values up to the end of the object. Newer versions may add such values.
pub(crate) fn skip_tagged(bytes: &[u8], at: usize) -> Tagged {
    let mut wire = Wire::at(bytes, at);
    loop {
        let Some(tag) = wire.u8() else { return Tagged::Short };
        let size = match tag {
            END_OBJECT => return Tagged::End(wire.position()),
            // Byte, Int16, Int32, Int64.
            8..=11 => 1 << (tag - 8),
            // String, Blob.
            13 | 14 => match wire.u32().map(|size| usize::try_from(size as i32)) {
                Some(Ok(size)) => size,
                Some(Err(_)) => return Tagged::Wrong,
                None => return Tagged::Short,
            },
            _ => return Tagged::Wrong,
        };
        if wire.take(size).is_none() {
            return Tagged::Short;
        }
    }
}
