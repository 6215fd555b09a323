//! Event record headers of the shapes that tracers write, decoded without going through their
//! plan node by node.
//!
//! Two shapes: unsigned integers at fixed places; and those of LTTng, one integer (the id, or 31
//! or 65535 for "the id follows") that selects a structure of unsigned integers at fixed places.
//! Whatever else a header is, and whatever does not fit the packet, is left to the plan, which
//! knows everything and tells what is wrong where.

use ichnos_model::plan::{Plan, align};
use ichnos_model::walk::{PacketBits, Position, Slots, read_bits};
use ichnos_model::{BitField, ByteOrder, FieldClass, FieldKind, RangeSet, Role, Roles, VariantOption};

use crate::packet::Clocks;

/// How to decode the event record headers of a data stream class.
#[derive(Debug)]
pub(crate) struct EventHeader {
    alignment: u64,
    fields: Fields,
    selection: Option<Selection>,
}

/// Unsigned integers at fixed places.
#[derive(Debug, Default)]
struct Fields {
    /// Size in bits.
    size: u64,
    /// The last field with the role of the id.
    id: Option<Place>,
    /// The fields with the role of a timestamp, in order.
    timestamps: Vec<(Place, Roles)>,
    /// Byte order of the fields, if they do not fill bytes.
    open_byte: Option<ByteOrder>,
}

#[derive(Clone, Copy, Debug)]
struct Place {
    offset: u64,
    length: u64,
    big_endian: bool,
}

/// What follows the fields: which fields depends on a selector among them.
#[derive(Debug)]
struct Selection {
    selector: Place,
    /// Where the selector's value is needed by other fields.
    slots: Vec<usize>,
    /// The option of each small value of the selector.
    small: Vec<u8>,
    options: Vec<(RangeSet, u64, Fields)>,
}

impl Selection {
    const SMALL: u64 = 64;

    /// The alignment and the fields that the selector selects.
    #[inline]
    fn select(&self, selector: u64) -> Option<&(RangeSet, u64, Fields)> {
        match self.small.get(usize::try_from(selector).ok()?) {
            Some(option) => self.options.get(usize::from(*option)),
            None => self.options.iter().find(|(ranges, ..)| ranges.contains(i128::from(selector))),
        }
    }
}

impl Place {
    #[inline]
    fn read(self, data: &[u8], base: u64) -> u64 {
        read_bits(data, base + self.offset, self.length, self.big_endian)
    }
}

impl Fields {
    /// The fields of a structure, if all are unsigned integers of up to 64 bits in their natural
    /// bit order, and none is needed by others.
    fn of(class: &FieldClass) -> Option<Self> {
        let FieldKind::Structure { members, .. } = &class.kind else { return None };
        let mut fields = Self::default();
        members.iter().try_for_each(|member| fields.add(&member.class).map(|_| ()))?;
        Some(fields)
    }

    fn add(&mut self, class: &FieldClass) -> Option<Place> {
        let FieldKind::Integer { bits, integer } = &class.kind else { return None };
        let fits = !integer.signed && bits.length <= 64 && !bits.is_reversed();
        let offset = self.size.checked_next_multiple_of(bits.alignment)?;
        let opens = !offset.is_multiple_of(8) || !bits.length.is_multiple_of(8);
        if !fits || (opens && self.open_byte.is_some_and(|order| order != bits.byte_order)) {
            return None;
        }
        if opens {
            self.open_byte = Some(bits.byte_order);
        }
        let place = place(bits, offset);
        self.size = offset + bits.length;
        if class.roles.has(Role::EventRecordClassId) {
            self.id = Some(place);
        }
        if class.roles.has(Role::Timestamp) {
            self.timestamps.push((place, class.roles));
        }
        Some(place)
    }

    #[inline(always)]
    fn decode(&self, data: &[u8], base: u64, id: &mut Option<u64>, clocks: &mut Clocks) {
        if let Some(place) = self.id {
            *id = Some(place.read(data, base));
        }
        for (place, roles) in &self.timestamps {
            clocks.update(*roles, place.read(data, base), place.length);
        }
    }
}

fn place(bits: &BitField, offset: u64) -> Place {
    Place { offset, length: bits.length, big_endian: bits.byte_order == ByteOrder::BigEndian }
}

impl EventHeader {
    /// For a plan, if its header is of one of the shapes.
    pub(crate) fn new(plan: &Plan) -> Option<Self> {
        let root = plan.root();
        let FieldKind::Structure { members, .. } = &root.class.kind else { return None };
        let alignment = root.alignment();
        let mut fields = Fields::default();
        let mut selection = None;
        match members.as_slice() {
            [first, variant] if matches!(variant.class.kind, FieldKind::Variant { .. }) => {
                let selector = fields.add(&first.class)?;
                let FieldKind::Variant { options, alignment: 1, .. } = &variant.class.kind else {
                    return None;
                };
                if options.len() >= usize::from(u8::MAX) {
                    return None;
                }
                let option_of = |value: u64| {
                    let index = options.iter().position(|option| option.ranges.contains(i128::from(value)));
                    index.map_or(u8::MAX, |index| index as u8)
                };
                // The variant must be selected by the field before it, and by nothing else.
                let mut saving = plan.nodes().filter(|node| !node.saved_in().is_empty());
                let saved = saving.next()?;
                let is_first = plan.nodes().nth(1).is_some_and(|node| std::ptr::eq(node, saved));
                if !is_first || saving.next().is_some() {
                    return None;
                }
                let option = |option: &VariantOption| {
                    Some((option.ranges.clone(), option.class.alignment(), Fields::of(&option.class)?))
                };
                selection = Some(Selection {
                    selector,
                    slots: saved.saved_in().iter().map(|slot| usize::from(*slot)).collect(),
                    small: (0..Selection::SMALL).map(option_of).collect(),
                    options: options.iter().map(option).collect::<Option<_>>()?,
                });
            }
            members => {
                members.iter().try_for_each(|member| fields.add(&member.class).map(|_| ()))?;
                if plan.nodes().any(|node| !node.saved_in().is_empty()) {
                    return None;
                }
            }
        }
        Some(Self { alignment, fields, selection })
    }

    /// Decodes the header at a position, if it fits the packet: moves the position behind it,
    /// brings the clocks up to date and gives the id. None: nothing was done.
    #[inline]
    pub(crate) fn decode(
        &self,
        bits: PacketBits<'_>,
        at: &mut Position,
        slots: &Slots,
        clocks: &mut Clocks,
    ) -> Option<Option<u64>> {
        let end = bits.end();
        let base = align(at.bit, self.alignment)?;
        if !base.is_multiple_of(8) || self.fields.size > end.checked_sub(base)? {
            return None;
        }
        let mut id = None;
        let mut after = base + self.fields.size;
        let mut open_byte = self.fields.open_byte;
        if let Some(selection) = &self.selection {
            let selector = selection.selector.read(bits.data, base);
            let (_, alignment, fields) = selection.select(selector)?;
            let begin = align(after, *alignment)?;
            let changes = open_byte.zip(fields.open_byte).is_some_and(|(a, b)| a != b);
            if fields.size > end.checked_sub(begin)? || (changes && !begin.is_multiple_of(8)) {
                return None;
            }
            self.fields.decode(bits.data, base, &mut id, clocks);
            fields.decode(bits.data, begin, &mut id, clocks);
            for slot in &selection.slots {
                if let Some(slot) = slots.get(*slot) {
                    slot.set(i128::from(selector));
                }
            }
            after = begin + fields.size;
            open_byte = fields.open_byte.or(open_byte);
        } else {
            self.fields.decode(bits.data, base, &mut id, clocks);
        }
        *at = Position { bit: after, open_byte: open_byte.filter(|_| !after.is_multiple_of(8)) };
        Some(id)
    }
}
