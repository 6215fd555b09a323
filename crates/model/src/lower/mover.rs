//! Moves visited values to the lowered class.

use std::ops::Range;

use super::moves::{MoveKind, NONE, NodeMove};
use crate::class::{FieldKind, Uuid};
use crate::field::{Field, Real, StringEncoding, Text, Visitor, Wide};
use crate::plan::steps::{Node, NodeId, Op, Plan};

/// Losses counted while moving the values in one scope of a class, with reused memory.
#[derive(Clone, Debug, Default)]
pub(super) struct ScopeLosses {
    /// Texts with invalid parts that were replaced, by node.
    pub(super) replaced: Vec<(NodeId, u64)>,
    /// Texts that were cut at a U+0000, by node.
    pub(super) cut: Vec<(NodeId, u64)>,
    /// Numbers that did not fit, by node.
    pub(super) narrowed: Vec<(NodeId, u64)>,
    /// Memory for a text or for bytes.
    scratch: Vec<u8>,
}

fn count(list: &mut Vec<(NodeId, u64)>, node: usize) {
    let node = node as NodeId;
    match list.iter_mut().find(|(other, _)| *other == node) {
        Some((_, count)) => *count += 1,
        None => list.push((node, 1)),
    }
}

/// Passes fields of a class on as fields of the lowered class.
pub(super) struct Mover<'m, V> {
    pub(super) visitor: &'m mut V,
    pub(super) moves: &'m [NodeMove],
    /// Lowered class plan.
    pub(super) target: &'m Plan,
    /// Packet bytes, for bit scopes.
    pub(super) packet: &'m [u8],
    pub(super) losses: &'m mut ScopeLosses,
    /// `true` to pass on the root structure, `false` to pass on only its members.
    passes_root: bool,
    /// Number of enclosing fields that are dropped.
    muted: u32,
    /// `true` while the elements of an array are joined.
    gathers: bool,
    /// Optional field that starts after the length of its inner field is known.
    pending: Option<(NodeMove, i128)>,
    /// Offset of the union that becomes bytes, in bits from the start of the packet.
    union_begin: u64,
}

impl<'m, V: Visitor> Mover<'m, V> {
    pub(super) fn new(
        visitor: &'m mut V,
        moves: &'m [NodeMove],
        target: &'m Plan,
        packet: &'m [u8],
        losses: &'m mut ScopeLosses,
        passes_root: bool,
    ) -> Self {
        let (gathers, pending) = (false, None);
        let (muted, union_begin) = (0, 0);
        Self { visitor, moves, target, packet, losses, passes_root, muted, gathers, pending, union_begin }
    }

    /// Field for a node in the lowered class.
    fn at(&self, id: NodeId, field: Field<'_>) -> Option<Field<'m>> {
        let node = self.target.nodes.get(id as usize)?;
        let length = match &node.op {
            Op::Bits(bits) => bits.length,
            _ => field.length,
        };
        Some(Field::new(self.target, id, field.offset, length))
    }

    /// Returns the move of a field, after passing on the data before it. `None` if the field is dropped.
    fn enter(&mut self, field: Field<'_>, extra: u64) -> Option<(NodeMove, Field<'m>)> {
        if self.muted > 0 {
            return None;
        }
        let node_move = *self.moves.get(field.index())?;
        if node_move.kind == MoveKind::Dropped {
            return None;
        }
        if node_move.wrap != NONE
            && let Some(wrap) = self.at(node_move.wrap, field)
        {
            self.visitor.begin_structure(wrap);
        }
        self.say_before(node_move.extra, field, extra);
        if let Some((around, selector)) = self.pending.take() {
            self.begin_present(around, field, selector);
        }
        if node_move.pad != NONE
            && let Some(pad) = self.at(node_move.pad, field)
        {
            self.visitor.begin_structure(pad);
            self.visitor.end_structure(pad);
        }
        Some((node_move, self.at(node_move.target, field)?))
    }

    /// Passes on the data before a field, if any.
    fn say_before(&mut self, id: NodeId, field: Field<'_>, value: u64) {
        if id == NONE {
            return;
        }
        let Some(before) = self.at(id, field) else { return };
        match before.class().kind {
            FieldKind::Boolean(_) => self.visitor.boolean(before, value != 0, value),
            _ => self.visitor.unsigned(before, value),
        }
    }

    /// Begins a present optional field.
    fn begin_present(&mut self, node_move: NodeMove, field: Field<'_>, selector: i128) {
        let Some(target) = self.at(node_move.target, field) else { return };
        match node_move.kind {
            MoveKind::OptionalAsVariant => self.visitor.begin_variant(target, 1, selector),
            _ => self.visitor.begin_optional(target, true, selector),
        }
    }

    fn leave(&mut self, node_move: NodeMove, field: Field<'_>) {
        if node_move.wrap != NONE
            && let Some(wrap) = self.at(node_move.wrap, field)
        {
            self.visitor.end_structure(wrap);
        }
    }

    /// Passes on a field without inner fields.
    fn pass(&mut self, field: Field<'_>, pass: impl FnOnce(&mut V, Field<'_>, MoveKind)) {
        if let Some((node_move, target)) = self.enter(field, 0) {
            pass(self.visitor, target, node_move.kind);
            self.leave(node_move, field);
        }
    }

    /// Returns the move of a field with inner fields at its end.
    fn ended(&self, field: Field<'_>) -> Option<(NodeMove, Field<'m>)> {
        if self.muted > 0 {
            return None;
        }
        let node_move = *self.moves.get(field.index())?;
        if node_move.kind == MoveKind::Dropped {
            return None;
        }
        Some((node_move, self.at(node_move.target, field)?))
    }

    /// Passes bytes on as a BLOB, or as a byte array.
    fn bytes(visitor: &mut V, target: Field<'_>, element: Option<Field<'_>>, bytes: &[u8]) {
        let Some(element) = element else { return visitor.blob(target, bytes) };
        visitor.begin_array(target, bytes.len() as u64);
        for byte in bytes {
            visitor.unsigned(element, u64::from(*byte));
        }
        visitor.end_array(target);
    }

    fn pass_bytes(&mut self, field: Field<'_>, bytes: &[u8]) {
        let Some((node_move, target)) = self.enter(field, bytes.len() as u64) else { return };
        let element = if node_move.inner == NONE { None } else { self.at(node_move.inner, field) };
        Self::bytes(self.visitor, target, element, bytes);
        self.leave(node_move, field);
    }

    /// Returns `true` and counts a loss if an integer with this many bits does not fit its target field.
    fn narrows(&mut self, field: Field<'_>, target: Field<'_>, bits: u64) -> bool {
        let narrows = matches!(target.node().op, Op::Bits(_)) && bits > target.length;
        if narrows {
            count(&mut self.losses.narrowed, field.index());
        }
        narrows
    }
}

/// Bytes before the first zero code unit.
fn before_terminator(bytes: &[u8], encoding: StringEncoding) -> &[u8] {
    crate::bits::terminator(bytes, encoding.unit()).and_then(|end| bytes.get(..end)).unwrap_or(bytes)
}

impl<V: Visitor> Visitor for Mover<'_, V> {
    const WANTS_VALUES: bool = V::WANTS_VALUES;

    fn unsigned(&mut self, field: Field<'_>, value: u64) {
        if self.gathers {
            return self.losses.scratch.push(value as u8);
        }
        self.pass(field, |visitor, target, _| visitor.unsigned(target, value));
    }

    fn signed(&mut self, field: Field<'_>, value: i64) {
        if self.gathers {
            return self.losses.scratch.push(value as u8);
        }
        self.pass(field, |visitor, target, _| visitor.signed(target, value));
    }

    fn wide(&mut self, field: Field<'_>, value: Wide<'_>) {
        if self.moves.get(field.index()).is_some_and(|node_move| node_move.kind == MoveKind::WideBytes) {
            return self.pass_wide(field, value);
        }
        let Some((node_move, target)) = self.enter(field, 0) else { return };
        let used = match value.as_i128() {
            Some(value) if value >= 0 && !target.class().integer().is_some_and(|integer| integer.signed) => {
                u64::from(128 - value.leading_zeros())
            }
            Some(value) => {
                let same = if value < 0 { value.leading_ones() } else { value.leading_zeros() };
                u64::from(129 - same)
            }
            None => value.length,
        };
        let is_negative = value.is_negative();
        if matches!(target.node().op, Op::Bits(_)) && target.length <= 64 {
            let least = value.words.first().copied().unwrap_or(0);
            let signed = target.class().integer().is_some_and(|integer| integer.signed);
            let value = if !self.narrows(field, target, used) {
                least
            } else {
                // Use the nearest value.
                match (signed, is_negative) {
                    (true, true) => i64::MIN as u64,
                    (true, false) => i64::MAX as u64,
                    (false, _) => u64::MAX,
                }
            };
            if signed {
                self.visitor.signed(target, value as i64);
            } else {
                self.visitor.unsigned(target, value);
            }
        } else {
            self.visitor.wide(target, value);
        }
        self.leave(node_move, field);
    }

    fn boolean(&mut self, field: Field<'_>, value: bool, bits: u64) {
        self.pass(field, |visitor, target, kind| match kind {
            // From a variable to a fixed length, excess bits would be cut.
            _ if target.length < 64 && bits >> target.length != 0 => match kind {
                MoveKind::Unsigned => visitor.unsigned(target, u64::from(value)),
                _ => visitor.boolean(target, value, u64::from(value)),
            },
            MoveKind::Unsigned => visitor.unsigned(target, if bits == 0 { u64::from(value) } else { bits }),
            _ => visitor.boolean(target, value, bits),
        });
    }

    fn bit_array(&mut self, field: Field<'_>, bits: u64) {
        self.pass(field, |visitor, target, kind| match kind {
            MoveKind::Unsigned => visitor.unsigned(target, bits),
            _ => visitor.bit_array(target, bits),
        });
    }

    fn bit_map(&mut self, field: Field<'_>, bits: u64) {
        self.pass(field, |visitor, target, kind| match kind {
            MoveKind::Unsigned => visitor.unsigned(target, bits),
            MoveKind::BitArray => visitor.bit_array(target, bits),
            _ => visitor.bit_map(target, bits),
        });
    }

    fn real(&mut self, field: Field<'_>, value: Real<'_>) {
        self.pass(field, |visitor, target, _| visitor.real(target, value));
    }

    fn text(&mut self, field: Field<'_>, value: Text<'_>) {
        if self.muted > 0 {
            return;
        }
        let Some(kind) = self.moves.get(field.index()).map(|node_move| node_move.kind) else { return };
        if kind == MoveKind::Transcoded {
            let mut scratch = std::mem::take(&mut self.losses.scratch);
            scratch.clear();
            if !value.write_utf8(&mut scratch) {
                count(&mut self.losses.replaced, field.index());
            }
            let encoding = StringEncoding::Utf8;
            self.pass_text(field, Text { bytes: &scratch, raw: &scratch, encoding });
            self.losses.scratch = scratch;
        } else {
            self.pass_text(field, value);
        }
    }

    fn blob(&mut self, field: Field<'_>, bytes: &[u8]) {
        self.pass_bytes(field, bytes);
    }

    fn guid(&mut self, field: Field<'_>, value: Uuid) {
        match self.moves.get(field.index()).map(|node_move| node_move.kind) {
            Some(MoveKind::Bytes) => self.pass_bytes(field, &value.to_bytes_le()),
            _ => self.pass(field, |visitor, target, _| visitor.guid(target, value)),
        }
    }

    fn null(&mut self, field: Field<'_>) {
        self.pass(field, |visitor, target, kind| match kind {
            MoveKind::NullAsStructure => {
                visitor.begin_structure(target);
                visitor.end_structure(target);
            }
            _ => visitor.null(target),
        });
    }

    fn begin_structure(&mut self, field: Field<'_>) {
        if field.index() == 0 && !self.passes_root {
            return;
        }
        if let Some((_, target)) = self.enter(field, 0) {
            self.visitor.begin_structure(target);
        }
    }

    fn end_structure(&mut self, field: Field<'_>) {
        if field.index() == 0 && !self.passes_root {
            return;
        }
        if let Some((node_move, target)) = self.ended(field) {
            self.visitor.end_structure(target);
            self.leave(node_move, field);
        }
    }

    fn begin_array(&mut self, field: Field<'_>, length: u64) {
        let Some((node_move, target)) = self.enter(field, length) else { return };
        if node_move.kind == MoveKind::Bytes {
            self.losses.scratch.clear();
            self.gathers = true;
        } else {
            self.visitor.begin_array(target, length);
        }
    }

    fn end_array(&mut self, field: Field<'_>) {
        let Some((node_move, target)) = self.ended(field) else { return };
        if node_move.kind == MoveKind::Bytes {
            self.gathers = false;
            self.visitor.blob(target, &self.losses.scratch);
        } else {
            self.visitor.end_array(target);
        }
        self.leave(node_move, field);
    }

    fn begin_optional(&mut self, field: Field<'_>, present: bool, selector: i128) {
        let Some((node_move, target)) = self.enter(field, u64::from(present)) else { return };
        let selector = if node_move.extra == NONE { selector } else { i128::from(present) };
        if present && node_move.hoisted != NONE {
            self.pending = Some((node_move, selector));
            return;
        }
        self.say_before(node_move.hoisted, field, 0);
        match (node_move.kind, present) {
            (_, true) => self.begin_present(node_move, field, selector),
            (MoveKind::OptionalAsVariant, false) => {
                self.visitor.begin_variant(target, 0, selector);
                if let Some(none) = self.at(node_move.inner, field) {
                    self.visitor.begin_structure(none);
                    self.visitor.end_structure(none);
                }
            }
            (_, false) => self.visitor.begin_optional(target, false, selector),
        }
    }

    fn end_optional(&mut self, field: Field<'_>) {
        let Some((node_move, target)) = self.ended(field) else { return };
        match node_move.kind {
            MoveKind::OptionalAsVariant => self.visitor.end_variant(target),
            _ => self.visitor.end_optional(target),
        }
        self.leave(node_move, field);
    }

    fn begin_variant(&mut self, field: Field<'_>, option: usize, selector: i128) {
        let Some((node_move, target)) = self.enter(field, option as u64) else { return };
        let selector = if node_move.extra == NONE { selector } else { option as i128 };
        self.visitor.begin_variant(target, option, selector);
    }

    fn end_variant(&mut self, field: Field<'_>) {
        if let Some((node_move, target)) = self.ended(field) {
            self.visitor.end_variant(target);
            self.leave(node_move, field);
        }
    }

    fn begin_union(&mut self, field: Field<'_>) {
        if self.muted > 0 {
            self.muted += 1;
            return;
        }
        if self.becomes_bytes(field) {
            self.union_begin = field.offset;
            self.muted = 1;
        } else if let Some((_, target)) = self.enter(field, 0) {
            self.visitor.begin_union(target);
        }
    }

    fn end_union(&mut self, field: Field<'_>) {
        if self.muted == 1 && self.becomes_bytes(field) {
            self.muted = 0;
            self.pass_union(field);
        } else if self.muted > 0 {
            self.muted -= 1;
        } else if let Some((node_move, target)) = self.ended(field) {
            self.visitor.end_union(target);
            self.leave(node_move, field);
        }
    }
}

impl<V: Visitor> Mover<'_, V> {
    fn becomes_bytes(&self, field: Field<'_>) -> bool {
        self.moves.get(field.index()).is_some_and(|node_move| node_move.kind == MoveKind::Bytes)
    }

    /// Passes on the bits of a union, at its end.
    fn pass_union(&mut self, field: Field<'_>) {
        let target = self.moves.get(field.index()).map(|node_move| node_move.target);
        let length = target.and_then(|target| static_bytes(self.target, target)).unwrap_or(0);
        let bits = self.union_begin..field.offset;
        let is_big_endian = is_big_endian(field.plan(), field.node()).unwrap_or(false);
        let mut scratch = std::mem::take(&mut self.losses.scratch);
        scratch.clear();
        // Without bits, the content is unknown: fill with zeros.
        scratch.extend((0..length).map(|index| byte_of(self.packet, &bits, index, is_big_endian)));
        self.pass_bytes(field.with_offset(bits.start), &scratch);
        self.losses.scratch = scratch;
    }

    /// Passes on a number's bytes.
    fn pass_wide(&mut self, field: Field<'_>, value: Wide<'_>) {
        let Some((node_move, target)) = self.enter(field, 0) else { return };
        let mut scratch = std::mem::take(&mut self.losses.scratch);
        scratch.clear();
        let length = static_bytes(self.target, node_move.target).unwrap_or(0);
        let fill = if value.is_negative() { u64::MAX } else { 0 };
        let word = |index: usize| value.words.get(index).copied().unwrap_or(fill);
        scratch.extend((0..length).map(|index| word(index / 8).to_le_bytes()[index % 8]));
        let element = if node_move.inner == NONE { None } else { self.at(node_move.inner, field) };
        Self::bytes(self.visitor, target, element, &scratch);
        self.losses.scratch = scratch;
        self.leave(node_move, field);
    }

    fn pass_text(&mut self, field: Field<'_>, value: Text<'_>) {
        let Some(node_move) = self.moves.get(field.index()).copied() else { return };
        let has_length = node_move.extra != NONE;
        // A text with a length can contain U+0000.
        let bytes = if has_length { value.raw } else { value.bytes };
        let Some((node_move, target)) = self.enter(field, bytes.len() as u64) else { return };
        let mut text = Text { bytes, raw: value.raw, encoding: value.encoding };
        if !has_length && matches!(node_move.kind, MoveKind::Transcoded | MoveKind::Terminated) {
            let cut = before_terminator(bytes, value.encoding);
            if cut.len() < bytes.len() {
                count(&mut self.losses.cut, field.index());
            }
            text = Text { bytes: cut, raw: cut, encoding: value.encoding };
        }
        self.visitor.text(target, text);
        self.leave(node_move, field);
    }
}

/// Size in bytes of a BLOB or byte array with a static length.
fn static_bytes(plan: &Plan, id: NodeId) -> Option<usize> {
    match plan.nodes.get(id as usize)?.op {
        Op::StaticBlob(length) | Op::StaticArray { length, .. } => usize::try_from(length).ok(),
        _ => None,
    }
}

/// Returns `true` for big-endian, by the first bit field in a field of any kind.
fn is_big_endian(plan: &Plan, node: &Node) -> Option<bool> {
    match &node.op {
        Op::Bits(bits) => Some(bits.big_endian),
        Op::Structure { members, .. } | Op::Union { members } => {
            members.iter().find_map(|id| is_big_endian(plan, plan.node(*id)))
        }
        Op::StaticArray { element, .. } => is_big_endian(plan, plan.node(*element)),
        _ => None,
    }
}

/// Returns a byte from a bit range, which can start within a byte. Bits that the last byte lacks are 0: the most
/// significant bits in little-endian order, otherwise the least significant bits.
fn byte_of(packet: &[u8], bits: &Range<u64>, index: usize, is_big_endian: bool) -> u8 {
    let begin = usize::try_from(bits.start / 8).unwrap_or(usize::MAX).saturating_add(index);
    let at = |index: usize| u16::from(packet.get(index).copied().unwrap_or(0));
    let (first, second, shift) = (at(begin), at(begin.saturating_add(1)), bits.start % 8);
    let left = bits.end.saturating_sub(bits.start).saturating_sub(index as u64 * 8);
    let unused = 8u64.saturating_sub(left);
    match is_big_endian {
        true => ((first << 8 | second) >> (8 - shift)) as u8 & (0xffu16 << unused) as u8,
        false => ((second << 8 | first) >> shift) as u8 & (0xffu16 >> unused) as u8,
    }
}
