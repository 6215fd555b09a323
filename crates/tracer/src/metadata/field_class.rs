//! Field classes in metadata.

use core::fmt::{self, Write};

use super::json_text::{AddedName, JsonText};
use super::metadata_output::MetadataOutput;
use crate::description::{FieldDescription, FlagDescription, MappingDescription, MemberDescription};
use crate::field_order::FieldOrder;

/// Writes an unsigned integer member with a role.
pub(super) fn unsigned(
    out: &mut MetadataOutput<'_>,
    name: &str,
    bits: u8,
    alignment: usize,
    role: &str,
) -> fmt::Result {
    write!(out, "{{\"name\":{},\"field-class\":", JsonText(name))?;
    begin(out, "fixed-length-unsigned-integer", bits, FieldOrder::Little, alignment)?;
    write!(out, ",\"roles\":[{}]}}}}", JsonText(role))
}

/// Writes the members of a structure: first all fixed parts, then all variable parts.
pub(super) fn structure_members(
    out: &mut MetadataOutput<'_>,
    members: &[MemberDescription<'_>],
) -> fmt::Result {
    let mut comma = "";
    for member in members {
        let mut member = *member;
        let mut is_fixed = true;
        if let FieldDescription::Optional { value } = member.field {
            out.write_str(comma)?;
            added(out, &member, "present", 8)?;
            (comma, is_fixed) = (",", false);
            (member.field, member.alignment) = (*value, 1);
        }
        if member.field.has_length() {
            out.write_str(comma)?;
            added(out, &member, "length", 32)?;
            comma = ",";
        } else if is_fixed && !member.field.is_variable() {
            write!(out, "{comma}{{\"name\":{},\"field-class\":", JsonText(member.name))?;
            field_class(out, &member, &member.field)?;
            out.write_str("}")?;
            comma = ",";
        }
    }
    for member in members.iter().filter(|member| member.field.is_variable()) {
        write!(out, "{comma}{{\"name\":{},\"field-class\":", JsonText(member.name))?;
        field_class(out, &member.aligned(1), &member.field)?;
        out.write_str("}")?;
        comma = ",";
    }
    Ok(())
}

/// Writes a member that says how to read another one. ichnos does not show it.
fn added(
    out: &mut MetadataOutput<'_>,
    member: &MemberDescription<'_>,
    what: &'static str,
    bits: u8,
) -> fmt::Result {
    write!(out, "{{\"name\":{},\"field-class\":", AddedName { member: member.name, what })?;
    begin(out, "fixed-length-unsigned-integer", bits, member.order, member.alignment)?;
    if out.has_annotations {
        write!(out, ",\"attributes\":{{\"ichnos\":{{\"added\":\"{what}\"}}}}")?;
    }
    out.write_str("}}")
}

/// Writes the beginning of a class with a fixed number of bits.
fn begin(
    out: &mut MetadataOutput<'_>,
    class: &str,
    bits: u8,
    order: FieldOrder,
    alignment: usize,
) -> fmt::Result {
    let order = match order {
        FieldOrder::Little => "little-endian",
        FieldOrder::Big => "big-endian",
    };
    let alignment = 8 * alignment;
    write!(
        out,
        "{{\"type\":\"{class}\",\"length\":{bits},\"byte-order\":\"{order}\",\"alignment\":{alignment}"
    )
}

/// Writes the place of the length or the presence of a member: next to it, in the same structure.
fn location(out: &mut MetadataOutput<'_>, property: &str, member: &str, what: &'static str) -> fmt::Result {
    let name = AddedName { member, what };
    write!(out, ",\"{property}\":{{\"path\":[{name}]}}")
}

/// Writes the beginning of an integer class in LEB128.
fn variable_integer(out: &mut MetadataOutput<'_>, is_signed: bool, base: u8) -> fmt::Result {
    let sign = if is_signed { "signed" } else { "unsigned" };
    write!(out, "{{\"type\":\"variable-length-{sign}-integer\"")?;
    write_base(out, base)
}

/// Writes a field class of a member, or of its elements or its value.
fn field_class(
    out: &mut MetadataOutput<'_>,
    member: &MemberDescription<'_>,
    field: &FieldDescription,
) -> fmt::Result {
    let MemberDescription { name, order, alignment, base, .. } = *member;
    match *field {
        FieldDescription::Integer { bits, is_signed, mappings } => {
            let class =
                if is_signed { "fixed-length-signed-integer" } else { "fixed-length-unsigned-integer" };
            begin(out, class, bits, order, alignment)?;
            write_base(out, base)?;
            write_mappings(out, mappings)?;
        }
        FieldDescription::Float { bits } => {
            begin(out, "fixed-length-floating-point-number", bits, order, alignment)?;
        }
        FieldDescription::Boolean => begin(out, "fixed-length-boolean", 8, order, alignment)?,
        FieldDescription::Flags { bits, flags } => {
            begin(out, "fixed-length-bit-map", bits, order, alignment)?;
            write_flags(out, flags)?;
        }
        FieldDescription::Array { length, element } => {
            write!(out, "{{\"type\":\"static-length-array\",\"length\":{length}")?;
            write!(out, ",\"minimum-alignment\":{},\"element-field-class\":", 8 * alignment)?;
            field_class(out, &member.aligned(1), element)?;
        }
        FieldDescription::ArrayBlob { length, media_type } => {
            write!(out, "{{\"type\":\"static-length-blob\",\"length\":{length}")?;
            write_media_type(out, media_type)?;
        }
        FieldDescription::VariableInteger { is_signed } => variable_integer(out, is_signed, base)?,
        FieldDescription::TerminatedString => out.write_str("{\"type\":\"null-terminated-string\"")?,
        FieldDescription::String => {
            out.write_str("{\"type\":\"dynamic-length-string\"")?;
            location(out, "length-field-location", name, "length")?;
        }
        FieldDescription::Slice { element } => {
            out.write_str("{\"type\":\"dynamic-length-array\"")?;
            location(out, "length-field-location", name, "length")?;
            out.write_str(",\"element-field-class\":")?;
            field_class(out, &member.aligned(1), element)?;
        }
        FieldDescription::SliceBlob { media_type } => {
            out.write_str("{\"type\":\"dynamic-length-blob\"")?;
            location(out, "length-field-location", name, "length")?;
            write_media_type(out, media_type)?;
        }
        FieldDescription::Structure { members } => {
            out.write_str("{\"type\":\"structure\",\"minimum-alignment\":")?;
            write!(out, "{},\"member-classes\":[", 8 * alignment)?;
            structure_members(out, members)?;
            out.write_str("]")?;
        }
        FieldDescription::Optional { value } => {
            out.write_str("{\"type\":\"optional\"")?;
            location(out, "selector-field-location", name, "present")?;
            // ichnos hides an integer, and no Boolean.
            out.write_str(",\"selector-field-ranges\":[[1,1]],\"field-class\":")?;
            field_class(out, &member.aligned(1), value)?;
        }
    }
    out.write_str("}")
}

fn write_base(out: &mut MetadataOutput<'_>, base: u8) -> fmt::Result {
    if base == 10 { Ok(()) } else { write!(out, ",\"preferred-display-base\":{base}") }
}

fn write_media_type(out: &mut MetadataOutput<'_>, media_type: Option<&str>) -> fmt::Result {
    match media_type {
        Some(media_type) => write!(out, ",\"media-type\":{}", JsonText(media_type)),
        None => Ok(()),
    }
}

fn write_mappings(out: &mut MetadataOutput<'_>, mappings: &[MappingDescription]) -> fmt::Result {
    for (index, MappingDescription { name, value }) in mappings.iter().enumerate() {
        let before = if index == 0 { ",\"mappings\":{" } else { "," };
        write!(out, "{before}{}:[[{value},{value}]]", JsonText(name))?;
    }
    if mappings.is_empty() { Ok(()) } else { out.write_str("}") }
}

fn write_flags(out: &mut MetadataOutput<'_>, flags: &[FlagDescription]) -> fmt::Result {
    for (index, FlagDescription { name, first, last }) in flags.iter().enumerate() {
        let before = if index == 0 { ",\"flags\":{" } else { "," };
        write!(out, "{before}{}:[[{first},{last}]]", JsonText(name))?;
    }
    out.write_str("}")
}
