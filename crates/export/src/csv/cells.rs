//! The cells of a line, as they are before they are quoted.

use std::sync::Arc;

use ichnos_model::plan::Plan;
use ichnos_model::{Event, Field, FieldKind, Real, Scope, Text, Uuid, Visitor, Wide};

use super::columns::{CsvColumn, Property, Source, Target, Trees};
use super::line::Line;
use crate::json_fields::{FieldWriter, Keys, Scratch, mappings};
use crate::number;
use crate::time::push_date;

/// The text of the cells of a line; nothing is allocated anew from one event to the next.
#[derive(Debug, Default)]
pub(super) struct Cells {
    text: Vec<u8>,
    /// By number of the cell; `None`: the event has no such field.
    places: Vec<Option<Place>>,
    scratch: Scratch,
    counts: Vec<u64>,
}

/// Place of a cell in the text.
#[derive(Clone, Copy, Debug)]
struct Place {
    begin: usize,
    end: usize,
    /// Set for digits and the like, which are never quoted.
    is_plain: bool,
}

impl Cells {
    /// Ends a line.
    pub(super) fn clear(&mut self) {
        self.text.clear();
        self.places.clear();
    }

    /// The text of a cell, with `true` if nothing in it is to be quoted; `None`: the event has no such field.
    pub(super) fn get(&self, cell: usize) -> Option<(&[u8], bool)> {
        let place = self.places.get(cell).copied().flatten()?;
        Some((self.text.get(place.begin..place.end)?, place.is_plain))
    }
}

/// The cells that come from a scope.
#[derive(Debug)]
pub(super) struct ScopeCells {
    scope: Scope,
    /// For fields that are written as JSON; none if there are none.
    keys: Arc<Keys>,
    /// In none of them is a field that is wanted within another one.
    passes: Vec<Pass>,
}

#[derive(Debug, Default)]
struct Pass {
    /// In the order of their fields.
    wants: Vec<Want>,
    /// By index of the field: index of the first of `wants` that is of it, plus 1. Empty where only a few of very many
    /// fields are wanted.
    by_node: Vec<u32>,
    /// Indexes of elements that are counted.
    counted: Vec<usize>,
}

#[derive(Debug)]
struct Want {
    /// Number of the cell.
    cell: usize,
    target: Target,
    /// Indexes in `counted`, and the element that is wanted.
    elements: Vec<(usize, u64)>,
}

/// The keys of scopes that all events of a data stream class have in common.
#[derive(Debug, Default)]
pub(super) struct CommonKeys(Vec<(Scope, Arc<Keys>)>);

impl CommonKeys {
    fn of(&mut self, event: &Event<'_>, scope: Scope) -> Arc<Keys> {
        if matches!(scope, Scope::SpecificContext | Scope::Payload) {
            return Arc::new(Keys::of(event.plan(scope)));
        }
        let known = self.0.iter().find(|(known, _)| *known == scope).map(|(_, keys)| Arc::clone(keys));
        known.unwrap_or_else(|| {
            let keys = Arc::new(Keys::of(event.plan(scope)));
            self.0.push((scope, Arc::clone(&keys)));
            keys
        })
    }
}

/// Finds the cells that the events of a class can have, and the column of each; a cell that is no field has a property.
pub(super) fn find(
    event: &Event<'_>,
    columns: &[CsvColumn],
    common: &mut CommonKeys,
) -> (Vec<ScopeCells>, Vec<(usize, Option<Property>)>) {
    let trees = Trees::of_event(event);
    let mut scopes: Vec<ScopeCells> = Vec::new();
    let mut cells: Vec<(usize, Option<Property>)> = Vec::new();
    for (column, CsvColumn { source, .. }) in columns.iter().enumerate() {
        let path = match source {
            Source::Field(path) => path,
            Source::Property(property) => {
                cells.push((column, Some(*property)));
                continue;
            }
        };
        for target in path.resolve(&trees) {
            let scope = target.scope;
            let place = match scopes.iter().position(|known| known.scope == scope) {
                Some(place) => place,
                None => {
                    scopes.push(ScopeCells { scope, keys: Arc::default(), passes: Vec::new() });
                    scopes.len() - 1
                }
            };
            if cells.last() != Some(&(column, None)) {
                cells.push((column, None));
            }
            scopes[place].add(cells.len() - 1, target);
        }
    }
    for scope in &mut scopes {
        let mut wants = scope.passes.iter().flat_map(|pass| &pass.wants);
        if wants.any(|want| want.target.end > want.target.node + 1) {
            scope.keys = common.of(event, scope.scope);
        }
        let nodes = event.plan(scope.scope).map_or(0, |plan| Plan::nodes(plan).count());
        scope.passes.iter_mut().for_each(|pass| pass.complete(nodes));
    }
    (scopes, cells)
}

impl ScopeCells {
    fn add(&mut self, cell: usize, target: Target) {
        let is_apart = |pass: &Pass| {
            !pass.wants.iter().any(|want| want.target.is_around(&target) || target.is_around(&want.target))
        };
        let place = match self.passes.iter().position(is_apart) {
            Some(place) => place,
            None => {
                self.passes.push(Pass::default());
                self.passes.len() - 1
            }
        };
        self.passes[place].wants.push(Want { cell, target, elements: Vec::new() });
    }

    /// Writes the cells; false if the scope cannot be decoded.
    pub(super) fn write(
        &self,
        event: &Event<'_>,
        cells: &mut Cells,
    ) -> Result<(), ichnos_model::decode::DecodeError> {
        let Cells { text, places, scratch, counts } = cells;
        for pass in &self.passes {
            counts.clear();
            counts.resize(pass.counted.len(), 0);
            let json = FieldWriter::new(text, scratch, &self.keys);
            let to = Destination::Places(places);
            let mut writer = CellWriter { json, pass, to, counts, whole: None, depth: 0 };
            event.visit(self.scope, &mut writer)?;
        }
        Ok(())
    }

    /// Writes the cells into a line, if they are in order.
    pub(super) fn write_to_line(
        &self,
        event: &Event<'_>,
        out: &mut Vec<u8>,
        line: &mut Line<'_>,
        cells: &mut Cells,
    ) -> Result<(), ichnos_model::decode::DecodeError> {
        let Cells { text, scratch, counts, .. } = cells;
        for pass in &self.passes {
            let json = FieldWriter::new(out, scratch, &self.keys);
            let to = Destination::Line { line: &mut *line, scratch: text };
            let mut writer = CellWriter { json, pass, to, counts, whole: None, depth: 0 };
            if let Err(error) = event.visit(self.scope, &mut writer) {
                // Half a cell would not be quoted.
                if let Some((begin, _)) = writer.whole {
                    out.truncate(begin);
                }
                return Err(error);
            }
        }
        Ok(())
    }

    /// Returns `true` if one pass writes all cells in the order of their columns, beginning with cell number `next`, which
    /// becomes the last one.
    pub(super) fn is_in_order(&self, next: &mut usize) -> bool {
        let [pass] = &self.passes[..] else { return false };
        let is_alone = |[first, second]: &[Want; 2]| {
            first.target.node != second.target.node || first.target.names != second.target.names
        };
        let in_order = |want: &Want| want.cell >= std::mem::replace(next, want.cell);
        pass.counted.is_empty() && pass.wants.array_windows().all(is_alone) && pass.wants.iter().all(in_order)
    }
}

impl Target {
    /// Whether a field is within this one.
    fn is_around(&self, other: &Self) -> bool {
        self.node < other.node && other.node < self.end
    }
}

impl Pass {
    /// Sorts what is wanted of this number of fields.
    fn complete(&mut self, nodes: usize) {
        self.wants.sort_by_key(|want| (want.target.node, want.target.names, want.cell));
        // Of a context of thousands of fields, not all are kept for each of thousands of classes.
        let is_dense = nodes / 16 <= self.wants.len() + 16;
        self.by_node = vec![0; if is_dense { nodes } else { 0 }];
        for (index, want) in self.wants.iter_mut().enumerate().rev() {
            if let (Some(place), Ok(index)) =
                (self.by_node.get_mut(want.target.node), u32::try_from(index + 1))
            {
                *place = index;
            }
            for (node, element) in &want.target.elements {
                let known = self.counted.iter().position(|known| known == node);
                let place = known.unwrap_or_else(|| {
                    self.counted.push(*node);
                    self.counted.len() - 1
                });
                want.elements.push((place, *element));
            }
        }
    }

    /// What is wanted of a field, whichever element it is.
    fn of(&self, field: Field<'_>) -> &[Want] {
        let node = field.index();
        let first = match self.by_node.get(node) {
            Some(0) => return &[],
            Some(first) => *first as usize - 1,
            None => self.wants.partition_point(|want| want.target.node < node),
        };
        let Some(from) = self.wants.get(first..) else { return &[] };
        let count = from.iter().take_while(|want| want.target.node == node).count();
        from.get(..count).unwrap_or_default()
    }
}

/// Destination of cells.
enum Destination<'a, 'l> {
    /// They are kept until all are there.
    Places(&'a mut Vec<Option<Place>>),
    /// They come in the order of their columns.
    Line { line: &'a mut Line<'l>, scratch: &'a mut Vec<u8> },
}

/// Writes the cells of a pass.
struct CellWriter<'a, 'l> {
    json: FieldWriter<'a>,
    pass: &'a Pass,
    to: Destination<'a, 'l>,
    /// Of what is counted, how many there were.
    counts: &'a mut Vec<u64>,
    /// Where the field begins that is being written as a whole, and what it is wanted for.
    whole: Option<(usize, &'a [Want])>,
    /// How many structures, arrays and unions are open in it.
    depth: usize,
}

impl<'a> CellWriter<'a, '_> {
    /// A field begins: counts elements, and gives what is wanted of it.
    #[inline]
    fn begin(&mut self, field: Field<'_>) -> Option<&'a [Want]> {
        let pass = self.pass;
        if !pass.counted.is_empty() {
            for (node, count) in pass.counted.iter().zip(self.counts.iter_mut()) {
                *count += u64::from(*node == field.index());
            }
        }
        let wants = pass.of(field);
        let is_wanted = wants.iter().any(|want| is_at(want, self.counts));
        is_wanted.then_some(wants)
    }

    /// Keeps what was written from `begin` on, for what is wanted of the field. `names`: it is names.
    #[inline]
    fn keep(&mut self, wants: &[Want], begin: usize, names: bool, is_plain: bool) {
        let out = self.json.out();
        match &mut self.to {
            Destination::Line { line, scratch } if !is_plain => line.quote(out, begin, scratch),
            Destination::Line { .. } => {}
            Destination::Places(places) => {
                let place = Place { begin, end: out.len(), is_plain };
                for want in wants.iter().filter(|want| want.target.names == names && is_at(want, self.counts))
                {
                    if places.len() <= want.cell {
                        places.resize(want.cell + 1, None);
                    }
                    places[want.cell].get_or_insert(place);
                }
            }
        }
    }

    /// Begins the cell of a field, or of its `names`; gives its offset, `None` if there is nothing to write.
    #[inline]
    fn begin_cell(&mut self, wants: &[Want], names: bool) -> Option<usize> {
        let out = self.json.out();
        if let Destination::Line { line, .. } = &mut self.to {
            let want = wants.iter().find(|want| want.target.names == names)?;
            line.begin_cell(out, want.cell).then_some(())?;
        }
        Some(out.len())
    }

    /// A field that has none within it: `write` writes the cell.
    #[inline]
    fn value(&mut self, field: Field<'_>, write: impl FnOnce(&mut FieldWriter<'a>)) -> Option<&'a [Want]> {
        let wants = self.begin(field)?;
        if let Some(begin) = self.begin_cell(wants, false) {
            write(&mut self.json);
            self.keep(wants, begin, false, false);
        }
        Some(wants)
    }

    /// The same for a cell in which nothing is to be quoted.
    #[inline]
    fn plain(&mut self, field: Field<'_>, write: impl FnOnce(&mut Vec<u8>)) -> Option<&'a [Want]> {
        let wants = self.begin(field)?;
        if let Some(begin) = self.begin_cell(wants, false) {
            write(self.json.out());
            self.keep(wants, begin, false, true);
        }
        Some(wants)
    }

    /// Writes names with `|` between them, if they are wanted and there are some.
    fn names<'n>(&mut self, wants: &[Want], names: impl Iterator<Item = &'n str>) {
        let Some(begin) = self.begin_cell(wants, true) else { return };
        let out = self.json.out();
        for (i, name) in names.enumerate() {
            if i > 0 {
                out.push(b'|');
            }
            out.extend_from_slice(name.as_bytes());
        }
        if out.len() > begin {
            self.keep(wants, begin, true, false);
        }
    }

    fn integer_names(&mut self, field: Field<'_>, wants: Option<&[Want]>, value: i128) {
        if let Some(wants) = wants.filter(|wants| wants.iter().any(|want| want.target.names))
            && let Some(mappings) = mappings(&field.class().kind)
        {
            self.names(wants, mappings.names_of(value));
        }
    }

    /// A field begins that has others within it.
    fn enter(&mut self, field: Field<'_>, begin: impl FnOnce(&mut FieldWriter<'a>)) {
        if self.depth == 0 {
            let Some(wants) = self.begin(field) else { return };
            let Some(begin) = self.begin_cell(wants, false) else { return };
            self.whole = Some((begin, wants));
        }
        self.depth += 1;
        begin(&mut self.json);
    }

    fn leave(&mut self, end: impl FnOnce(&mut FieldWriter<'a>)) {
        if self.depth == 0 {
            return;
        }
        end(&mut self.json);
        self.depth -= 1;
        if self.depth == 0
            && let Some((begin, wants)) = self.whole.take()
        {
            self.keep(wants, begin, false, false);
        }
    }
}

/// Whether the current elements are those that are wanted.
fn is_at(want: &Want, counts: &[u64]) -> bool {
    want.elements.iter().all(|(place, index)| counts.get(*place) == Some(&index.saturating_add(1)))
}

/// In a field that is written as a whole, everything is as it is in JSON.
macro_rules! within_json {
    ($self:ident, $call:ident($($argument:expr),*)) => {
        if $self.depth > 0 {
            return $self.json.$call($($argument),*);
        }
    };
}

impl Visitor for CellWriter<'_, '_> {
    #[inline]
    fn unsigned(&mut self, field: Field<'_>, value: u64) {
        within_json!(self, unsigned(field, value));
        let wants = self.plain(field, |out| {
            if !push_date(out, field.class().integer(), value.into()) {
                number::push_unsigned(out, value);
            }
        });
        self.integer_names(field, wants, value.into());
    }

    #[inline]
    fn signed(&mut self, field: Field<'_>, value: i64) {
        within_json!(self, signed(field, value));
        let wants = self.plain(field, |out| {
            if !push_date(out, field.class().integer(), value.into()) {
                number::push_signed(out, value);
            }
        });
        self.integer_names(field, wants, value.into());
    }

    fn wide(&mut self, field: Field<'_>, value: Wide<'_>) {
        within_json!(self, wide(field, value));
        let wants = self.plain(field, |out| value.write_decimal(out));
        let Some(wants) = wants.filter(|wants| wants.iter().any(|want| want.target.names)) else { return };
        match &field.class().kind {
            FieldKind::BitMap { flags, .. } => self.names(wants, flags.flags_of_wide(value)),
            _ => {
                let names = field.class().integer().map(|integer| integer.names_of_wide(value));
                self.names(wants, names.unwrap_or_default().into_iter());
            }
        }
    }

    fn boolean(&mut self, field: Field<'_>, value: bool, bits: u64) {
        within_json!(self, boolean(field, value, bits));
        let text: &[u8] = if value { b"true" } else { b"false" };
        self.plain(field, |out| out.extend_from_slice(text));
    }

    fn bit_array(&mut self, field: Field<'_>, bits: u64) {
        within_json!(self, bit_array(field, bits));
        self.plain(field, |out| number::push_unsigned(out, bits));
    }

    fn bit_map(&mut self, field: Field<'_>, bits: u64) {
        within_json!(self, bit_map(field, bits));
        let wants = self.plain(field, |out| number::push_unsigned(out, bits));
        if let Some(wants) = wants.filter(|wants| wants.iter().any(|want| want.target.names))
            && let FieldKind::BitMap { flags, .. } = &field.class().kind
        {
            self.names(wants, flags.flags_of(bits));
        }
    }

    fn real(&mut self, field: Field<'_>, value: Real<'_>) {
        within_json!(self, real(field, value));
        self.value(field, |json| {
            let double = value.to_f64();
            match value {
                Real::Half(_) | Real::Single(_) | Real::Double(_) if !double.is_finite() => {
                    let text = match (double.is_nan(), double > 0.0) {
                        (true, _) => "NaN",
                        (_, true) => "Infinity",
                        _ => "-Infinity",
                    };
                    json.out().extend_from_slice(text.as_bytes());
                }
                // Finite numbers, and those that only JSON has a notation for.
                _ => json.real(field, value),
            }
        });
    }

    fn text(&mut self, field: Field<'_>, value: Text<'_>) {
        within_json!(self, text(field, value));
        self.value(field, |json| {
            let out = json.out();
            let begin = out.len();
            if let Some(text) = value.as_str() {
                out.extend_from_slice(text.as_bytes());
            } else if !value.write_utf8(out) {
                // As JSON has what is not valid.
                out.truncate(begin);
                json.text(field, value);
            }
        });
    }

    fn blob(&mut self, field: Field<'_>, bytes: &[u8]) {
        within_json!(self, blob(field, bytes));
        self.value(field, |json| number::push_hex_bytes(json.out(), bytes));
    }

    fn guid(&mut self, field: Field<'_>, value: Uuid) {
        within_json!(self, guid(field, value));
        self.plain(field, |out| number::push_uuid(out, value));
    }

    fn null(&mut self, field: Field<'_>) {
        within_json!(self, null(field));
        // An empty cell.
        self.begin(field);
    }

    fn begin_structure(&mut self, field: Field<'_>) {
        self.enter(field, |json| json.begin_structure(field));
    }

    fn end_structure(&mut self, field: Field<'_>) {
        self.leave(|json| json.end_structure(field));
    }

    fn begin_array(&mut self, field: Field<'_>, length: u64) {
        self.enter(field, |json| json.begin_array(field, length));
        // Its elements are counted anew.
        let element = field.index() + 1;
        for (node, count) in self.pass.counted.iter().zip(self.counts.iter_mut()) {
            if *node == element {
                *count = 0;
            }
        }
    }

    fn end_array(&mut self, field: Field<'_>) {
        self.leave(|json| json.end_array(field));
    }

    fn begin_optional(&mut self, field: Field<'_>, present: bool, selector: i128) {
        within_json!(self, begin_optional(field, present, selector));
        self.begin(field);
    }

    fn end_optional(&mut self, field: Field<'_>) {
        within_json!(self, end_optional(field));
    }

    fn begin_variant(&mut self, field: Field<'_>, option: usize, selector: i128) {
        within_json!(self, begin_variant(field, option, selector));
        self.begin(field);
    }

    fn end_variant(&mut self, field: Field<'_>) {
        within_json!(self, end_variant(field));
    }

    fn begin_union(&mut self, field: Field<'_>) {
        self.enter(field, |json| json.begin_union(field));
    }

    fn end_union(&mut self, field: Field<'_>) {
        self.leave(|json| json.end_union(field));
    }
}
