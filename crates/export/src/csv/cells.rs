//! Cells of a line before quoting.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;

use ichnos_model::class::Uuid;
use ichnos_model::decode::DecodeError;
use ichnos_model::field::{Field, FieldValue, Real, StringEncoding, Text, Wide};
use ichnos_model::plan::Plan;
use ichnos_model::{Event, Scope, Visitor};

use super::columns::{ColumnField, ColumnSource, CsvColumn, EventProperty, ScopeTrees};
use super::context_cells::ContextCells;
use super::options::CsvOptions;
use super::row::{CsvRow, is_plain, push_cell};
use crate::json_fields::{FieldWriter, Keys, Scratch};
use crate::number;
use crate::repeated::Repeated;
use crate::time::push_date;

/// Cell texts of a line, reused for all events to avoid allocations.
#[derive(Debug, Default)]
pub(super) struct Cells {
    text: Vec<u8>,
    /// Places by cell number. `None` if the event lacks the field.
    places: Vec<Option<CellPlace>>,
    scratch: Scratch,
    counts: Vec<u64>,
}

/// Place of a cell in the text.
#[derive(Clone, Copy, Debug)]
struct CellPlace {
    begin: usize,
    end: usize,
    /// `true` for digits and similar text, which needs no quoting.
    is_plain: bool,
}

impl Cells {
    /// Clears the cells after a line.
    fn clear(&mut self) {
        self.text.clear();
        self.places.clear();
    }

    /// Returns the text of a cell, and `true` if it needs no quoting. Returns `None` if the event lacks the field.
    fn get(&self, cell: usize) -> Option<(&[u8], bool)> {
        let place = self.places.get(cell).copied().flatten()?;
        Some((self.text.get(place.begin..place.end)?, place.is_plain))
    }

    /// Appends the event's field cells to a line.
    pub(super) fn push(&mut self, out: &mut Vec<u8>, line: &mut CsvRow<'_>, options: &CsvOptions) {
        for number in 0..line.cell_count() {
            if let Some((text, is_plain)) = self.get(number) {
                line.begin_cell(out, number);
                match is_plain {
                    true => out.extend_from_slice(text),
                    false => push_cell(out, text, options),
                }
            }
        }
        self.clear();
    }
}

/// Cells of a scope.
#[derive(Debug)]
pub(super) struct ScopeCells {
    pub(super) scope: Scope,
    /// Cached cells of a scope that rarely changes between events.
    pub(super) context: Option<ContextCells>,
    /// Keys for JSON fields. Empty without such fields.
    keys: Arc<Keys>,
    /// Passes over the scope. The fields of a pass never contain each other.
    passes: Vec<CellSearch>,
}

#[derive(Debug, Default)]
struct CellSearch {
    /// Wanted cells, in field order.
    wants: Vec<WantedCell>,
    /// Start and end index of the fields in `wants`, until all are collected. They never contain each other.
    spans: BTreeMap<usize, usize>,
    /// First index in `wants` plus 1, by field index. Empty if only few of very many fields are wanted.
    by_node: Vec<u32>,
    /// Indexes of array elements that are counted.
    counted: Vec<usize>,
    /// Cells by field index, if cells are written in column order.
    in_order: Vec<NodeCells>,
}

/// Cells of a field.
#[derive(Clone, Copy, Debug)]
struct NodeCells {
    /// Number of the value cell, or [`NodeCells::NONE`].
    value: u32,
    /// Number of the cell with the value's names, or [`NodeCells::NONE`].
    names: u32,
    /// `true` if the value can be a date.
    is_date: bool,
}

impl NodeCells {
    const NONE: u32 = u32::MAX;
}

#[derive(Debug)]
struct WantedCell {
    /// Cell number.
    cell: usize,
    target: ColumnField,
    /// Indexes in `counted`, each with the index of the wanted element.
    elements: Vec<(usize, u64)>,
}

/// Keys of scopes that all events of a data stream class share.
#[derive(Debug, Default)]
pub(super) struct CommonKeys(Vec<(Scope, Arc<Keys>)>);

impl CommonKeys {
    fn for_scope(&mut self, event: &Event<'_>, scope: Scope) -> Arc<Keys> {
        if matches!(scope, Scope::SpecificContext | Scope::Payload) {
            return Arc::new(Keys::for_plan(event.plan(scope)));
        }
        let known = self.0.iter().find(|(known, _)| *known == scope).map(|(_, keys)| Arc::clone(keys));
        known.unwrap_or_else(|| {
            let keys = Arc::new(Keys::for_plan(event.plan(scope)));
            self.0.push((scope, Arc::clone(&keys)));
            keys
        })
    }
}

/// Finds the cells of a class and their columns. A cell that is not a field has a property.
pub(super) fn find(
    event: &Event<'_>,
    columns: &[CsvColumn],
    common: &mut CommonKeys,
) -> (Vec<ScopeCells>, Vec<(usize, Option<EventProperty>)>) {
    let trees = ScopeTrees::of_event(event);
    let mut scopes: Vec<ScopeCells> = Vec::new();
    let mut cells: Vec<(usize, Option<EventProperty>)> = Vec::new();
    for (column, CsvColumn { source, .. }) in columns.iter().enumerate() {
        let path = match source {
            ColumnSource::Field(path) => path,
            ColumnSource::Property(property) => {
                cells.push((column, Some(*property)));
                continue;
            }
        };
        for target in path.resolve(&trees) {
            let scope = target.scope;
            let place = match scopes.iter().position(|known| known.scope == scope) {
                Some(place) => place,
                None => {
                    scopes.push(ScopeCells {
                        scope,
                        context: None,
                        keys: Arc::default(),
                        passes: Vec::new(),
                    });
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
            scope.keys = common.for_scope(event, scope.scope);
        }
        let nodes = event.plan(scope.scope).map_or(0, |plan| Plan::nodes(plan).count());
        scope.passes.iter_mut().for_each(|pass| pass.complete(nodes));
    }
    (scopes, cells)
}

impl ScopeCells {
    fn add(&mut self, cell: usize, target: ColumnField) {
        let place = match self.passes.iter().position(|pass| pass.is_apart_from(&target)) {
            Some(place) => place,
            None => {
                self.passes.push(CellSearch::default());
                self.passes.len() - 1
            }
        };
        let pass = &mut self.passes[place];
        pass.spans.insert(target.node, target.end);
        pass.wants.push(WantedCell { cell, target, elements: Vec::new() });
    }

    /// Writes the cells. Fails if the scope cannot be decoded.
    pub(super) fn write(&self, event: &Event<'_>, cells: &mut Cells) -> Result<(), DecodeError> {
        let Cells { text, places, scratch, counts } = cells;
        for pass in &self.passes {
            counts.clear();
            counts.resize(pass.counted.len(), 0);
            let json = FieldWriter::new(text, scratch, &self.keys);
            let to = CollectedCells { pass, places, counts };
            let mut writer = CellWriter { json, to, whole: None, depth: 0 };
            event.visit(self.scope, &mut writer)?;
        }
        Ok(())
    }

    /// Appends the cells of the scope to a line, in column order.
    #[inline]
    pub(super) fn push(
        &self,
        out: &mut Vec<u8>,
        event: &Event<'_>,
        line: &mut CsvRow<'_>,
        contexts: &mut Vec<(usize, Repeated)>,
        cells: &mut Cells,
    ) -> Result<(), DecodeError> {
        let Some(context) = &self.context else { return self.write_to_line(event, out, line, cells) };
        let [first, end] = context.cells;
        line.push_before(out, first);
        let place = match contexts.iter().position(|(shape, _)| *shape == context.shape) {
            Some(place) => place,
            None => {
                contexts.push((context.shape, Repeated::default()));
                contexts.len() - 1
            }
        };
        let Some((_, repeated)) = contexts.get_mut(place) else { return Ok(()) };
        if !repeated.push_known(out, event, self.scope) {
            let Some(plan) = event.plan(self.scope) else { return Ok(()) };
            repeated.push(out, event, self.scope, plan, |out| {
                self.write_to_line(event, out, line, cells)?;
                line.push_before(out, end);
                Ok(())
            })?;
        }
        line.continue_at(end);
        Ok(())
    }

    /// Writes the cells directly into a line, if they are in column order.
    fn write_to_line(
        &self,
        event: &Event<'_>,
        out: &mut Vec<u8>,
        line: &mut CsvRow<'_>,
        cells: &mut Cells,
    ) -> Result<(), DecodeError> {
        let Cells { text, scratch, .. } = cells;
        for pass in &self.passes {
            let json = FieldWriter::new(out, scratch, &self.keys);
            let to = InLine { nodes: &pass.in_order, line: &mut *line, scratch: text };
            let mut writer = CellWriter { json, to, whole: None, depth: 0 };
            let wants_root = pass.in_order.first().is_some_and(|root| root.value != NodeCells::NONE);
            let result = if wants_root {
                event.visit(self.scope, &mut writer)
            } else {
                event.visit_members(self.scope, &mut writer)
            };
            if let Err(error) = result {
                // A partial cell would not be quoted.
                if let Some((begin, _)) = writer.whole {
                    out.truncate(begin);
                }
                return Err(error);
            }
        }
        Ok(())
    }

    /// Returns `true` if one pass writes all cells in column order. `next` is the number of the first cell, and is
    /// set to the number of the last cell.
    pub(super) fn is_in_order(&self, next: &mut usize) -> bool {
        let [pass] = &self.passes[..] else { return false };
        if pass.by_node.is_empty() {
            return false;
        }
        let is_alone = |[first, second]: &[WantedCell; 2]| {
            first.target.node != second.target.node || first.target.names != second.target.names
        };
        let in_order = |want: &WantedCell| want.cell >= std::mem::replace(next, want.cell);
        pass.counted.is_empty() && pass.wants.array_windows().all(is_alone) && pass.wants.iter().all(in_order)
    }

    /// Prepares for [`ScopeCells::write_to_line`].
    pub(super) fn use_order(&mut self) {
        for pass in &mut self.passes {
            let none = NodeCells { value: NodeCells::NONE, names: NodeCells::NONE, is_date: false };
            pass.in_order = vec![none; std::mem::take(&mut pass.by_node).len()];
            for want in &pass.wants {
                if let Some(node) = pass.in_order.get_mut(want.target.node) {
                    let cell = u32::try_from(want.cell).unwrap_or(NodeCells::NONE);
                    *if want.target.names { &mut node.names } else { &mut node.value } = cell;
                    node.is_date = want.target.is_date;
                }
            }
        }
    }

    /// Returns the cells in field order: cell number, field index, and `true` for names.
    pub(super) fn fields(&self) -> impl Iterator<Item = (usize, usize, bool)> {
        let wants = self.passes.iter().flat_map(|pass| &pass.wants);
        wants.map(|want| (want.cell, want.target.node, want.target.names))
    }
}

impl CellSearch {
    /// Returns `true` if a field neither contains another of these fields nor is contained in one.
    fn is_apart_from(&self, target: &ColumnField) -> bool {
        // They do not contain each other, so only neighbors matter.
        let is_within =
            self.spans.range(..target.node).next_back().is_some_and(|(_, end)| target.node < *end);
        let behind = self.spans.range((Bound::Excluded(target.node), Bound::Unbounded)).next();
        !is_within && behind.is_none_or(|(node, _)| target.end <= *node)
    }

    /// Sorts the wanted cells. `nodes` is the number of fields.
    fn complete(&mut self, nodes: usize) {
        self.spans = BTreeMap::new();
        self.wants.sort_by_key(|want| (want.target.node, want.target.names, want.cell));
        // With thousands of context fields and thousands of classes, an index for each class is too large.
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

    /// Returns the cells of a field, for all its elements.
    fn cells_for(&self, field: Field<'_>) -> &[WantedCell] {
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
trait CellSink {
    /// Handle of a field's cells.
    type Wants: Copy;

    /// Returns the cells of a field that starts, or `None` without cells.
    fn find(&mut self, field: Field<'_>) -> Option<Self::Wants>;

    /// Returns `true` if a cell has the names of the value.
    fn has_names(wants: Self::Wants) -> bool;

    /// Returns `true` if the value can be a date.
    fn may_be_date(wants: Self::Wants) -> bool;

    /// Starts the cell for the value, or for its `names`. Returns `false` without such a cell.
    fn begin(&mut self, out: &mut Vec<u8>, wants: Self::Wants, names: bool) -> bool;

    /// Ends a cell whose text starts at `begin`. With `is_plain`, it needs no quoting.
    fn end(&mut self, out: &mut Vec<u8>, begin: usize, wants: Self::Wants, names: bool, is_plain: bool);

    /// Starts an array with this element index.
    fn begin_array(&mut self, _element: usize) {}
}

/// Cells that are collected until all are known.
struct CollectedCells<'a> {
    pass: &'a CellSearch,
    places: &'a mut Vec<Option<CellPlace>>,
    /// Element counts by index in `counted`.
    counts: &'a mut Vec<u64>,
}

impl<'a> CellSink for CollectedCells<'a> {
    type Wants = &'a [WantedCell];

    #[inline]
    fn find(&mut self, field: Field<'_>) -> Option<Self::Wants> {
        let pass = self.pass;
        if !pass.counted.is_empty() {
            for (node, count) in pass.counted.iter().zip(self.counts.iter_mut()) {
                *count += u64::from(*node == field.index());
            }
        }
        let wants = pass.cells_for(field);
        let is_wanted = wants.iter().any(|want| is_at(want, self.counts));
        is_wanted.then_some(wants)
    }

    fn has_names(wants: Self::Wants) -> bool {
        wants.iter().any(|want| want.target.names)
    }

    fn may_be_date(_: Self::Wants) -> bool {
        true
    }

    fn begin(&mut self, _: &mut Vec<u8>, _: Self::Wants, _: bool) -> bool {
        true
    }

    #[inline]
    fn end(&mut self, out: &mut Vec<u8>, begin: usize, wants: Self::Wants, names: bool, is_plain: bool) {
        let Self { places, counts, .. } = self;
        let place = CellPlace { begin, end: out.len(), is_plain };
        for want in wants.iter().filter(|want| want.target.names == names && is_at(want, counts)) {
            if places.len() <= want.cell {
                places.resize(want.cell + 1, None);
            }
            places[want.cell].get_or_insert(place);
        }
    }

    fn begin_array(&mut self, element: usize) {
        // Its elements are counted again from 0.
        for (node, count) in self.pass.counted.iter().zip(self.counts.iter_mut()) {
            if *node == element {
                *count = 0;
            }
        }
    }
}

/// Cells in column order.
struct InLine<'a, 'l> {
    nodes: &'a [NodeCells],
    line: &'a mut CsvRow<'l>,
    scratch: &'a mut Vec<u8>,
}

impl CellSink for InLine<'_, '_> {
    type Wants = NodeCells;

    #[inline]
    fn find(&mut self, field: Field<'_>) -> Option<NodeCells> {
        let node = self.nodes.get(field.index()).copied();
        node.filter(|node| node.value != NodeCells::NONE || node.names != NodeCells::NONE)
    }

    #[inline]
    fn has_names(wants: NodeCells) -> bool {
        wants.names != NodeCells::NONE
    }

    #[inline]
    fn may_be_date(wants: NodeCells) -> bool {
        wants.is_date
    }

    #[inline]
    fn begin(&mut self, out: &mut Vec<u8>, wants: NodeCells, names: bool) -> bool {
        let cell = if names { wants.names } else { wants.value };
        cell != NodeCells::NONE && self.line.begin_cell(out, cell as usize)
    }

    #[inline]
    fn end(&mut self, out: &mut Vec<u8>, begin: usize, _: NodeCells, _: bool, is_plain: bool) {
        if !is_plain {
            self.line.quote(out, begin, self.scratch);
        }
    }
}

/// Visitor that writes the cells of a pass.
struct CellWriter<'a, D: CellSink> {
    json: FieldWriter<'a>,
    to: D,
    /// Start of the field that is written as a whole, and the cells that want it.
    whole: Option<(usize, D::Wants)>,
    /// Number of open structures, arrays and unions in that field.
    depth: usize,
}

impl<'a, D: CellSink> CellWriter<'a, D> {
    /// Starts the cell for a field, or for its `names`. Returns its offset, or `None` without a cell.
    #[inline]
    fn begin_cell(&mut self, wants: D::Wants, names: bool) -> Option<usize> {
        let out = self.json.out();
        self.to.begin(out, wants, names).then_some(out.len())
    }

    /// Ends the cell whose text starts at `begin`.
    #[inline]
    fn keep(&mut self, wants: D::Wants, begin: usize, names: bool, is_plain: bool) {
        self.to.end(self.json.out(), begin, wants, names, is_plain);
    }

    /// Writes the cell of a simple field with `write`.
    #[inline]
    fn value(&mut self, field: Field<'_>, write: impl FnOnce(&mut FieldWriter<'a>)) -> Option<D::Wants> {
        let wants = self.to.find(field)?;
        if let Some(begin) = self.begin_cell(wants, false) {
            write(&mut self.json);
            self.keep(wants, begin, false, false);
        }
        Some(wants)
    }

    /// Writes the cells of an integer: the integer with `write` or as a date, and its names.
    #[inline]
    fn integer(&mut self, field: Field<'_>, value: i128, write: impl FnOnce(&mut Vec<u8>)) {
        let Some(wants) = self.to.find(field) else { return };
        if let Some(begin) = self.begin_cell(wants, false) {
            let out = self.json.out();
            if !D::may_be_date(wants) || !push_date(out, field.class().integer(), value) {
                write(out);
            }
            self.keep(wants, begin, false, true);
        }
        self.integer_names(field, wants, value);
    }

    /// Writes a cell that needs no quoting.
    #[inline]
    fn plain(&mut self, field: Field<'_>, write: impl FnOnce(&mut Vec<u8>)) -> Option<D::Wants> {
        let wants = self.to.find(field)?;
        if let Some(begin) = self.begin_cell(wants, false) {
            write(self.json.out());
            self.keep(wants, begin, false, true);
        }
        Some(wants)
    }

    /// Writes names separated by `|`, if they are wanted and not empty.
    fn names<'n>(&mut self, wants: D::Wants, names: impl Iterator<Item = &'n str>) {
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

    #[inline]
    fn integer_names(&mut self, field: Field<'_>, wants: D::Wants, value: i128) {
        if D::has_names(wants)
            && let Some(mappings) = field.class().mappings()
        {
            self.names(wants, mappings.names_of(value));
        }
    }

    /// Starts a field with nested fields.
    fn enter(&mut self, field: Field<'_>, begin: impl FnOnce(&mut FieldWriter<'a>)) {
        if self.depth == 0 {
            let Some(wants) = self.to.find(field) else { return };
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

/// Returns `true` if the current elements are wanted.
fn is_at(want: &WantedCell, counts: &[u64]) -> bool {
    want.elements.iter().all(|(place, index)| counts.get(*place) == Some(&index.saturating_add(1)))
}

/// Nested fields of a whole field are JSON.
macro_rules! within_json {
    ($self:ident, $call:ident($($argument:expr),*)) => {
        if $self.depth > 0 {
            return $self.json.$call($($argument),*);
        }
    };
}

impl<D: CellSink> Visitor for CellWriter<'_, D> {
    #[inline]
    fn unsigned(&mut self, field: Field<'_>, value: u64) {
        within_json!(self, unsigned(field, value));
        self.integer(field, value.into(), |out| number::push_unsigned(out, value));
    }

    #[inline]
    fn signed(&mut self, field: Field<'_>, value: i64) {
        within_json!(self, signed(field, value));
        self.integer(field, value.into(), |out| number::push_signed(out, value));
    }

    fn integers(&mut self, field: Field<'_>, size: usize, bytes: &[u8]) -> bool {
        within_json!(self, integers(field, size, bytes));
        false
    }

    fn wide(&mut self, field: Field<'_>, value: Wide<'_>) {
        within_json!(self, wide(field, value));
        let wants = self.plain(field, |out| value.write_decimal(out));
        let Some(wants) = wants.filter(|wants| D::has_names(*wants)) else { return };
        self.names(wants, field.class().labels(FieldValue::Wide(value)));
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
        if let Some(wants) = wants.filter(|wants| D::has_names(*wants)) {
            self.names(wants, field.class().labels(FieldValue::Bits(bits)));
        }
    }

    fn real(&mut self, field: Field<'_>, value: Real<'_>) {
        within_json!(self, real(field, value));
        match value {
            Real::Double(double) if double.is_finite() => {
                self.plain(field, |out| number::push_shortest(out, double));
                return;
            }
            Real::Single(single) if single.is_finite() => {
                self.plain(field, |out| number::push_shortest_single(out, single));
                return;
            }
            _ => {}
        }
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
                // Finite numbers, and NaN and infinities in JSON notation.
                _ => json.real(field, value),
            }
        });
    }

    fn text(&mut self, field: Field<'_>, value: Text<'_>) {
        within_json!(self, text(field, value));
        if value.encoding == StringEncoding::Utf8 && is_plain(value.bytes) {
            self.plain(field, |out| out.extend_from_slice(value.bytes));
            return;
        }
        self.value(field, |json| {
            let out = json.out();
            let begin = out.len();
            if let Some(text) = value.as_str() {
                out.extend_from_slice(text.as_bytes());
            } else if !value.write_utf8(out) {
                // Invalid text is written as in JSON.
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
        self.to.find(field);
    }

    fn begin_structure(&mut self, field: Field<'_>) {
        self.enter(field, |json| json.begin_structure(field));
    }

    fn end_structure(&mut self, field: Field<'_>) {
        self.leave(|json| json.end_structure(field));
    }

    fn begin_array(&mut self, field: Field<'_>, length: u64) {
        self.enter(field, |json| json.begin_array(field, length));
        self.to.begin_array(field.index() + 1);
    }

    fn end_array(&mut self, field: Field<'_>) {
        self.leave(|json| json.end_array(field));
    }

    fn begin_optional(&mut self, field: Field<'_>, present: bool, selector: i128) {
        within_json!(self, begin_optional(field, present, selector));
        self.to.find(field);
    }

    fn end_optional(&mut self, field: Field<'_>) {
        within_json!(self, end_optional(field));
    }

    fn begin_variant(&mut self, field: Field<'_>, option: usize, selector: i128) {
        within_json!(self, begin_variant(field, option, selector));
        self.to.find(field);
    }

    fn end_variant(&mut self, field: Field<'_>) {
        within_json!(self, end_variant(field));
    }
}
