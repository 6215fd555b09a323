//! Text before the fields of a scope, computed once.

use ichnos_model::class::{DisplayBase, FieldKind, IntegerProperties};
use ichnos_model::field::Field;
use ichnos_model::plan::{Node, Plan};

use super::push_all;
use super::text::push_indent;
use crate::block::ShortText;
use crate::color::Palette;
use crate::field_place::FieldPlace;
use crate::property::Hidden;

/// Text before a field, and the field kind.
#[derive(Debug)]
pub(super) struct FieldLine {
    /// Text before the field, up to the index of an array element.
    pub(super) prefix: ShortText,
    pub(super) place: FieldPlace,
    pub(super) kind: LineKind,
}

/// Field kind, as far as it matters for speed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LineKind {
    /// Unsigned decimal integer that is not a date.
    Unsigned,
    /// Signed decimal integer that is not a date.
    Signed,
    /// Any other value on the line of its name.
    Value,
    Other,
}

/// Texts before the fields of a scope.
#[derive(Debug, Default)]
pub(super) struct FieldLines {
    /// Lines by node index.
    lines: Vec<FieldLine>,
    /// Line with the title of the scope.
    title: Box<[u8]>,
    /// `true` if the title is part of the first prefix.
    has_title: bool,
    /// `true` if the root is a structure.
    is_structure: bool,
}

impl FieldLines {
    /// Returns the texts for a plan. `title` is the title of the scope. If it is empty, the lines belong to the scope
    /// before.
    pub(super) fn for_plan(plan: Option<&Plan>, palette: &Palette, title: &str) -> Self {
        let Some(plan) = plan else { return Self::default() };
        let places = FieldPlace::in_plan(plan, &Hidden::for_plan(Some(plan)));
        let mut opening = Vec::new();
        if !title.is_empty() {
            push_all(&mut opening, &["  ", palette.magenta, title, palette.reset, ":"]);
        }
        let root = &plan.root().class.kind;
        if matches!(root, FieldKind::Structure { members, .. } if members.is_empty()) {
            push_all(&mut opening, &[" ", palette.bold, palette.bright_magenta, "Empty", palette.reset]);
        }
        let is_structure = matches!(root, FieldKind::Structure { .. });
        let first = plan.children(0).find(|member| places.get(*member) == Some(&FieldPlace::First));
        let first = first.filter(|_| is_structure);
        let mut indents = vec![2; places.len()];
        let mut lines = Vec::with_capacity(places.len());
        for (index, (node, place)) in plan.nodes().zip(places).enumerate() {
            let indent = indents[index];
            let is_indenting =
                !matches!(node.class.kind, FieldKind::Optional { .. } | FieldKind::Variant { .. });
            plan.children(index).for_each(|child| indents[child] = indent + if is_indenting { 2 } else { 0 });
            let mut prefix = if first == Some(index) { opening.clone() } else { Vec::new() };
            let kind = LineKind::of_node(node);
            push_line(&mut prefix, node, (place, kind), palette, indent);
            lines.push(FieldLine { prefix: ShortText::new(&prefix), place, kind });
        }
        Self { lines, title: opening.into(), has_title: first.is_some(), is_structure }
    }

    /// Returns `true` without a scope.
    pub(super) fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }

    /// Appends the title of the scope, if it is not part of a field's text.
    #[inline]
    pub(super) fn begin(&self, out: &mut Vec<u8>) {
        if !self.has_title {
            out.extend_from_slice(&self.title);
        }
    }

    /// Appends the title of the scope, if it is part of a field's text. This is for scopes whose decoding fails before
    /// the first field.
    #[cold]
    pub(super) fn begin_on_error(&self, out: &mut Vec<u8>) {
        if self.has_title {
            out.extend_from_slice(&self.title);
        }
    }

    /// Returns `true` for the structure of all fields.
    #[inline]
    pub(super) fn is_root(&self, field: Field<'_>) -> bool {
        self.is_structure && field.index() == 0
    }

    /// Returns the line of a field in the same plan.
    #[inline(always)]
    pub(super) fn get(&self, field: Field<'_>) -> Option<&FieldLine> {
        self.lines.get(field.index())
    }

    /// Returns `true` if a field is hidden.
    #[inline]
    pub(super) fn hide(&self, field: Field<'_>) -> bool {
        self.get(field).is_some_and(|line| line.place == FieldPlace::Hidden)
    }

    /// Returns `true` if the whole scope is hidden.
    pub(super) fn hide_all(&self) -> bool {
        self.lines.first().is_some_and(|line| line.place == FieldPlace::Hidden)
    }
}

/// Appends the start of a field's line.
fn push_line(
    out: &mut Vec<u8>,
    node: &Node,
    (place, kind): (FieldPlace, LineKind),
    palette: &Palette,
    indent: usize,
) {
    if place != FieldPlace::Only {
        out.push(b'\n');
        push_indent(out, indent);
        out.extend_from_slice(palette.cyan.as_bytes());
    }
    match place {
        FieldPlace::Only => {}
        FieldPlace::Element => return out.push(b'['),
        _ => {
            palette.push(out, node.name.as_deref().unwrap_or_default());
            out.extend_from_slice(palette.reset.as_bytes());
            out.push(b':');
        }
    }
    if kind != LineKind::Other {
        out.push(b' ');
        out.extend_from_slice(palette.bold.as_bytes());
    }
}

impl LineKind {
    /// Returns `true` for decimal integers that are not dates.
    #[inline(always)]
    pub(super) fn is_decimal(self) -> bool {
        matches!(self, Self::Unsigned | Self::Signed)
    }

    fn of_node(node: &Node) -> Self {
        if node.class.is_compound()
            || matches!(node.class.kind, FieldKind::Blob { .. } | FieldKind::Null { .. })
        {
            return Self::Other;
        }
        let is_decimal = |integer: &&IntegerProperties| {
            integer.wall_clock.is_none() && integer.preferred_base == DisplayBase::Decimal
        };
        match node.class.integer().filter(is_decimal) {
            Some(integer) if integer.signed => Self::Signed,
            Some(_) => Self::Unsigned,
            None => Self::Value,
        }
    }
}
