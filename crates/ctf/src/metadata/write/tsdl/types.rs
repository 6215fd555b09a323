//! TSDL types (CTF 1.8, section 4).

use std::fmt::Write as _;
use std::sync::Arc;

use ichnos_model::Scope;
use ichnos_model::class::{
    BitField, ByteOrder, FieldClass, FieldKind, FieldLocation, IntegerProperties, Length, Mappings, Member,
    RangeSet, Ranges, Role, Roles, StringLength, VariantOption,
};
use ichnos_model::field::StringEncoding;

use super::names;
use super::roles::{self, FieldSlot};
use crate::metadata::choices;
use crate::metadata::tsdl::location_prefix;
use crate::metadata::write::field_class::ANY_BYTES;
use crate::metadata::write::places::{PathTarget, RootClasses, RootPosition};
use crate::metadata::write::ranges::{self, MappingRange};
use crate::metadata::write::unsupported::Refusals;
use crate::metadata::write::{attributes, be_or_le, range_lists_agree};

/// Writes types.
pub(super) struct TsdlTypeWriter<'c> {
    pub(super) out: String,
    pub(super) refusals: Refusals,
    /// Default byte order.
    pub(super) byte_order: ByteOrder,
    /// Clock names.
    pub(super) clocks: Vec<String>,
    /// Clock for timestamps that do not name a clock.
    pub(super) default_clock: Option<u16>,
    /// First clock mapped to a field in the stream. Readers use it as the default clock.
    pub(super) first_clock: Option<u16>,
    /// Remaining number of class visits for following locations.
    pub(super) visits: u64,
    /// Maximum length of the text in bytes.
    pub(super) most: u64,
    pub(super) place: RootPosition<'c>,
}

impl<'c> TsdlTypeWriter<'c> {
    /// Writes `NAME := TYPE;` for a root field.
    pub(super) fn root(
        &mut self,
        name: &str,
        class: &'c Arc<FieldClass>,
        scope: Scope,
        roots: RootClasses<'c>,
    ) {
        self.place = RootPosition::new(scope, roots);
        self.refusals.enter(scope.name());
        let _ = write!(self.out, "\t{name} := ");
        if matches!(class.kind, FieldKind::Structure { .. }) {
            self.declaration(class, None, FieldSlot::NONE, 1);
        } else {
            self.refusals.refuse("a root field that is not a structure");
        }
        self.refusals.leave();
    }

    /// Writes a type, a name and the array lengths.
    fn declaration(&mut self, class: &'c FieldClass, name: Option<&str>, slot: FieldSlot<'_>, indent: usize) {
        if self.out.len() as u64 > self.most {
            // The text is already too long, and is refused as a whole.
            return;
        }
        let mut slot = slot;
        let mut class = class;
        let mut lengths = String::new();
        let mut depth = 0;
        let base = loop {
            self.attributes(class);
            let clock = self.clock(class, slot);
            match &class.kind {
                FieldKind::Array { element, length, .. } => {
                    let (own, of_element) = (class.alignment(), element.alignment());
                    if own != of_element {
                        self.refusals.refuse(format!(
                            "array alignment {own} differs from element alignment {of_element}"
                        ));
                    }
                    self.length(length, &mut lengths);
                    self.refusals.enter("element");
                    depth += 1;
                    class = element;
                    slot = FieldSlot::NONE;
                }
                FieldKind::String { length, .. } if *length != StringLength::NullTerminated => {
                    self.text_length(length, &mut lengths);
                    break TypePrefix::Character;
                }
                FieldKind::Blob { length: Length::Static(16), media_type, alignment }
                    if class.roles.has(Role::MetadataStreamUuid) =>
                {
                    self.refusals.refuse_if(*alignment != 8, "the alignment of a BLOB");
                    self.refusals.refuse_if(media_type != ANY_BYTES, "the media type of a BLOB");
                    lengths.push_str("[16]");
                    break TypePrefix::Byte;
                }
                _ => break TypePrefix::Class(clock),
            }
        };
        match base {
            TypePrefix::Character => self.character(class),
            TypePrefix::Byte => {
                self.integer_body(BitField::new(8, self.byte_order, 8), &Default::default(), None)
            }
            TypePrefix::Class(clock) => self.specifier(class, clock, indent),
        }
        for _ in 0..depth {
            self.refusals.leave();
        }
        if let Some(name) = name {
            self.out.push(' ');
            self.out.push_str(name);
        }
        self.out.push_str(&lengths);
        self.out.push_str(";\n");
    }

    fn attributes(&mut self, class: &FieldClass) {
        let is_lost = !class.attributes.iter().all(|entry| attributes::repeat_class(class, entry));
        self.refusals.refuse_if(is_lost, "attributes of a field class");
    }

    /// Returns the clock mapped to a class. Refuses roles that its place and its name do not imply.
    fn clock(&mut self, class: &FieldClass, slot: FieldSlot<'_>) -> Option<u16> {
        let mut roles = class.roles;
        if !class.clock_updates().is_empty() {
            self.refusals.refuse("a field that updates several clocks");
            return None;
        }
        let is_timestamp = roles.has(Role::Timestamp) || roles.has(Role::PacketEndTimestamp);
        if is_timestamp && roles.clock.is_none() {
            roles.clock = self.default_clock;
            self.refusals.refuse_if(roles.clock.is_none(), "a timestamp without a clock");
        }
        let clock = roles.clock.filter(|_| is_timestamp);
        roles.clock = clock;
        // A BLOB with the UUID role becomes a byte array.
        let is_blob = matches!(class.kind, FieldKind::Blob { length: Length::Static(16), .. });
        let (scope, is_uuid) = (self.place.scope, slot.is_direct && slot.name == "uuid");
        let implied = match roles::implied(class, scope, slot, clock) {
            _ if is_blob && is_uuid && scope == Scope::PacketHeader && roles == uuid() => Some(uuid()),
            implied => implied,
        };
        match implied {
            Some(implied) if implied == roles => {}
            None => {
                let problem = format!("the name `{}`, reserved for timestamps in CTF 1.8", slot.name);
                self.refusals.refuse(problem);
            }
            Some(implied) => {
                for role in roles.iter().filter(|role| !implied.has(*role)) {
                    self.refusals.refuse(match roles::tsdl_name_of_role(role, scope) {
                        Some((name, _)) => format!("the role {role} of a field that is not called `{name}`"),
                        None => format!("the role {role} in the {scope}"),
                    });
                }
                for role in implied.iter().filter(|role| !roles.has(*role)) {
                    self.refusals.refuse(format!("a name that gives it the role {role} in CTF 1.8"));
                }
            }
        }
        self.first_clock = self.first_clock.or(clock);
        clock
    }

    fn specifier(&mut self, class: &'c FieldClass, clock: Option<u16>, indent: usize) {
        match &class.kind {
            FieldKind::Integer { bits, integer } => {
                if let Some(mappings) = &integer.mappings {
                    self.out.push_str("enum : ");
                    self.integer_body(*bits, integer, clock);
                    self.labels(mappings, integer, indent);
                } else {
                    self.integer_body(*bits, integer, clock);
                }
            }
            FieldKind::Float(bits) => self.float(*bits),
            FieldKind::String { encoding, alignment, .. } => {
                self.text_properties(*encoding, *alignment);
                self.out.push_str("string");
            }
            FieldKind::Structure { members, minimum_alignment } => {
                self.structure(members, *minimum_alignment, indent);
            }
            FieldKind::Variant { options, selector, alignment } => {
                self.refusals.refuse_if(*alignment != 1, "an alignment of a variant");
                self.variant(options, selector, indent);
            }
            _ => self.refusals.refuse_kind(class),
        }
    }

    fn bit_order(&mut self, bits: BitField) {
        if bits.is_reversed() {
            let (bit_order, byte_order) = (bits.bit_order.name(), bits.byte_order.name());
            self.refusals.refuse(format!("the bit order {bit_order} of a {byte_order} field"));
        }
    }

    fn byte_order(&mut self, byte_order: ByteOrder) {
        if byte_order != self.byte_order {
            let _ = write!(self.out, " byte_order = {};", be_or_le(byte_order));
        }
    }

    fn integer_body(&mut self, bits: BitField, integer: &IntegerProperties, clock: Option<u16>) {
        self.bit_order(bits);
        self.refusals.refuse_if(integer.wall_clock.is_some(), "the epoch of an integer");
        let (size, align, signed) = (bits.length, bits.alignment, u8::from(integer.signed));
        let _ = write!(self.out, "integer {{ size = {size}; align = {align}; signed = {signed};");
        self.byte_order(bits.byte_order);
        let _ = write!(self.out, " encoding = none; base = {};", integer.preferred_base.radix());
        if let Some(clock) = clock {
            match self.clocks.get(usize::from(clock)) {
                Some(name) => {
                    self.refusals.refuse_if(
                        !names::is_identifier(name),
                        &format!("invalid clock identifier `{name}`"),
                    );
                    let _ = write!(self.out, " map = clock.{name}.value;");
                }
                None => self.refusals.refuse("an unknown clock"),
            }
        }
        self.out.push_str(" }");
    }

    fn labels(&mut self, mappings: &Mappings, integer: &IntegerProperties, indent: usize) {
        self.out.push_str(" {\n");
        let out = &mut self.out;
        let mut is_first = true;
        ranges::each(
            mappings,
            integer.wide_ranges(),
            "label",
            &mut self.refusals,
            |name, bounds, refusals| {
                refusals.refuse_if(bounds.is_empty(), "a label without values");
                for bounds in bounds {
                    if !std::mem::take(&mut is_first) {
                        out.push_str(",\n");
                    }
                    out.extend(std::iter::repeat_n('\t', indent + 1));
                    if names::is_identifier(name) {
                        out.push_str(name);
                    } else {
                        names::write_text(out, name);
                    }
                    match bounds {
                        MappingRange::Narrow(lower, upper) if is_constant(*lower) && is_constant(*upper) => {
                            let _ = write!(out, " = {lower}");
                            if upper != lower {
                                let _ = write!(out, " ... {upper}");
                            }
                        }
                        _ => refusals.refuse("a value of more than 64 bits"),
                    }
                }
            },
        );
        if !is_first {
            self.out.push('\n');
        }
        self.indent(indent);
        self.out.push('}');
    }

    fn float(&mut self, bits: BitField) {
        self.bit_order(bits);
        let exponent = match bits.length {
            16 => 5,
            32 => 8,
            64 => 11,
            // IEEE 754-2008, table 3.5.
            length => (((length as f64).log2() * 4.0).round() as u64).saturating_sub(13),
        };
        let mantissa = bits.length.saturating_sub(exponent);
        let _ = write!(self.out, "floating_point {{ exp_dig = {exponent}; mant_dig = {mantissa};");
        self.byte_order(bits.byte_order);
        let _ = write!(self.out, " align = {}; }}", bits.alignment);
    }

    fn text_properties(&mut self, encoding: StringEncoding, alignment: u64) {
        if encoding != StringEncoding::Utf8 {
            self.refusals.refuse(format!("the encoding {}", encoding.name()));
        }
        if alignment != 8 {
            self.refusals.refuse(format!("the alignment {alignment} of a string, which is always 8"));
        }
    }

    /// Writes the byte type of an unterminated text.
    fn character(&mut self, class: &FieldClass) {
        if let FieldKind::String { encoding, alignment, .. } = &class.kind {
            self.text_properties(*encoding, *alignment);
        }
        self.out.push_str("integer { size = 8; align = 8; signed = 0; encoding = UTF8; base = 10; }");
    }

    fn text_length(&mut self, length: &'c StringLength, lengths: &mut String) {
        match length {
            StringLength::Static(length) => {
                let _ = write!(lengths, "[{length}]");
            }
            StringLength::Dynamic(location) => self.located_length(location, lengths),
            StringLength::Prefixed { .. } => self.refusals.refuse("a length-prefixed string"),
            StringLength::NullTerminated => {}
        }
    }

    fn length(&mut self, length: &'c Length, lengths: &mut String) {
        match length {
            Length::Static(length) => {
                let _ = write!(lengths, "[{length}]");
            }
            Length::Dynamic(location) => self.located_length(location, lengths),
        }
    }

    fn located_length(&mut self, location: &FieldLocation, lengths: &mut String) {
        if let Some(target) = self.target(location) {
            let _ = write!(lengths, "[{}]", self.path(&target));
        }
    }

    /// Returns a location's target, if it can be written.
    fn target(&mut self, location: &FieldLocation) -> Option<PathTarget<'c>> {
        self.place.single_target(location, &mut self.visits, &mut self.refusals)
    }

    /// Counts visited labels. Returns `false` if it takes too long.
    fn look_at(&mut self, tags: &[&Mappings]) -> bool {
        let labels: u64 = tags.iter().map(|labels| labels.len() as u64).sum();
        self.visits = self.visits.saturating_sub(labels);
        self.refusals.refuse_if(self.visits == 0, "too many labels in too many variants");
        self.visits > 0
    }

    /// Returns a location's text: a name alone if the field is in the same structure or an enclosing structure. In
    /// Babeltrace 2, variant selectors cannot leave a structure in any other way.
    fn path(&self, target: &PathTarget<'c>) -> String {
        let mut path = String::new();
        let around = target.shared.or(target.around);
        if around.is_none() {
            // Locations are in decoded scopes, which all have prefixes.
            path.push_str(location_prefix(target.scope).unwrap_or_default());
        }
        for member in target.members.iter().skip(around.unwrap_or(0)) {
            if !path.is_empty() {
                path.push('.');
            }
            // A member without such a name is refused at its declaration.
            path.push_str(&names::of_member(member).unwrap_or_default());
        }
        path
    }

    fn indent(&mut self, indent: usize) {
        self.out.extend(std::iter::repeat_n('\t', indent));
    }

    fn structure(&mut self, members: &'c [Member], minimum_alignment: u64, indent: usize) {
        self.out.push_str("struct {\n");
        self.place.enter_structure(members);
        let is_direct = self.place.is_direct();
        for member in members {
            self.refusals.enter(format!("member `{}`", member.name));
            self.refusals.refuse_if(!member.attributes.is_empty(), "attributes of a member");
            let Some(name) = names::of_member(member) else {
                self.refusals.refuse(format!("invalid identifier `{}`", member.name));
                self.refusals.leave();
                continue;
            };
            self.place.enter_member(member);
            self.indent(indent + 1);
            let slot = FieldSlot { name: &member.name, is_direct };
            self.declaration(&member.class, Some(&name), slot, indent + 1);
            self.place.leave_member();
            self.refusals.leave();
        }
        self.place.leave_structure();
        self.indent(indent);
        self.out.push('}');
        if minimum_alignment != 1 {
            let _ = write!(self.out, " align({minimum_alignment})");
        }
    }

    /// Writes a variant, whose options are selected by the labels with their names.
    fn variant(&mut self, options: &'c [VariantOption], selector: &FieldLocation, indent: usize) {
        let Some(target) = self.target(selector) else { return };
        let _ = writeln!(self.out, "variant <{}> {{", self.path(&target));
        let tags: Vec<&Mappings> = target.classes.iter().filter_map(|class| fixed_mappings(class)).collect();
        if tags.len() < target.classes.len() {
            return self.refusals.refuse("a variant whose selector is not an enumeration of fixed length");
        }
        if !self.look_at(&tags) {
            return;
        }
        let candidates: Vec<[String; 2]> = options
            .iter()
            .map(|option| {
                let name = option.name.as_deref().unwrap_or_default();
                [name.to_owned(), format!("_{name}")]
            })
            .collect();
        let labels: Vec<_> = tags
            .iter()
            .map(|tag| choices::by_option(tag, candidates.iter().flatten().map(String::as_str)))
            .collect();
        for (option, candidates) in options.iter().zip(&candidates) {
            let name = option.name.as_deref().unwrap_or_default();
            self.refusals.enter(format!("option `{name}`"));
            self.refusals.refuse_if(option.name.is_none(), "an option without a name");
            self.refusals.refuse_if(!option.attributes.is_empty(), "attributes of an option");
            let [plain, _] = candidates;
            let is_label = |candidate: &&String| {
                let is_read_as = !name.starts_with('_') || *candidate != plain;
                let selects = |label: Option<Ranges<'_>>| match label {
                    Some(ranges) => range_lists_agree(&ranges.to_set(), &option.ranges),
                    None => option.ranges == RangeSet::default(),
                };
                is_read_as
                    && names::is_identifier(candidate)
                    && labels.iter().all(|labels| selects(labels.get(candidate.as_str()).copied()))
            };
            match candidates.iter().find(is_label) {
                Some(label) => {
                    self.indent(indent + 1);
                    let slot = FieldSlot { name, is_direct: false };
                    self.declaration(&option.class, Some(label), slot, indent + 1);
                }
                None => {
                    self.refusals.refuse("an option without a selector label of the same name and values")
                }
            }
            self.refusals.leave();
        }
        self.indent(indent);
        self.out.push('}');
    }
}

/// Type before a name.
enum TypePrefix {
    /// Class type, mapped to a clock.
    Class(Option<u16>),
    Character,
    Byte,
}

const fn uuid() -> Roles {
    Roles::only(Role::MetadataStreamUuid)
}

/// Returns `true` if an integer can be written.
pub(super) fn is_constant(value: i128) -> bool {
    (i128::from(i64::MIN)..=i128::from(u64::MAX)).contains(&value)
}

fn fixed_mappings(class: &FieldClass) -> Option<&Mappings> {
    match &class.kind {
        FieldKind::Integer { integer, .. } => integer.mappings.as_ref(),
        _ => None,
    }
}
