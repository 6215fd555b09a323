//! Field properties of a scope, computed once.

use ichnos_model::class::{DisplayBase, FieldKind, IntegerProperties};
use ichnos_model::field::{Field, FieldContainer};
use ichnos_model::plan::{Node, Plan};

use crate::block::ShortText;
use crate::color::Palette;
use crate::field_place::FieldPlace;
use crate::property::Hidden;

/// Text before a field, and the field kind.
#[derive(Debug)]
pub(crate) struct FieldLabel {
    /// Text before the field, without its index if it is an array element.
    pub(crate) prefix: ShortText,
    pub(crate) place: FieldPlace,
    pub(crate) kind: LabelKind,
}

/// Field kind, as far as it matters for speed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LabelKind {
    /// Decimal integer without named values.
    Unsigned,
    /// Signed decimal integer without named values.
    Signed,
    /// Unsigned hexadecimal integer without named values. Its digits lack this number of upper bits.
    Hexadecimal {
        unused: u8,
    },
    Other,
}

/// Labels for all fields in a scope.
#[derive(Debug, Default)]
pub(crate) struct FieldLabels {
    /// Labels by node index.
    labels: Vec<FieldLabel>,
    /// Text before the fields.
    opening: Box<[u8]>,
    /// `true` if the opening is part of a label.
    has_opening: bool,
    /// `true` if the root is a structure, whose end is not part of a label.
    is_structure: bool,
    /// `true` if the scope exists and is not hidden.
    is_shown: bool,
}

/// Form of labels.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LabelForm<'a> {
    pub(crate) palette: &'a Palette,
    /// `true` if members are named.
    pub(crate) names: bool,
    /// `true` if names have colors.
    pub(crate) color: bool,
}

impl LabelForm<'_> {
    /// Returns the text before a field.
    fn prefix(self, place: FieldPlace, name: Option<&str>) -> Vec<u8> {
        let mut prefix = match place {
            FieldPlace::Only | FieldPlace::Element | FieldPlace::Hidden => return Vec::new(),
            FieldPlace::First | FieldPlace::AfterOptional => b" ".to_vec(),
            FieldPlace::Next => b", ".to_vec(),
        };
        if self.names {
            let (begin, end) = if self.color { (self.palette.cyan, self.palette.reset) } else { ("", "") };
            prefix.extend_from_slice(begin.as_bytes());
            self.palette.push(&mut prefix, name.unwrap_or_default());
            for text in [end, " = "] {
                prefix.extend_from_slice(text.as_bytes());
            }
        }
        prefix
    }
}

impl LabelKind {
    fn of_node(node: &Node) -> Self {
        let is_plain =
            |integer: &&IntegerProperties| integer.mappings.is_none() && integer.wall_clock.is_none();
        let integer = node.class.integer().filter(is_plain);
        match integer.map(|integer| (integer.preferred_base, integer.signed)) {
            Some((DisplayBase::Decimal, true)) => Self::Signed,
            Some((DisplayBase::Decimal, false)) => Self::Unsigned,
            Some((DisplayBase::Hexadecimal, false)) => Self::Hexadecimal { unused: unused_bits(node) },
            _ => Self::Other,
        }
    }
}

/// Returns the number of upper bits that the hexadecimal digits of an integer lack.
fn unused_bits(node: &Node) -> u8 {
    let length = match &node.class.kind {
        FieldKind::Integer { bits, .. } => bits.length.clamp(1, 64).next_multiple_of(4),
        _ => 64,
    };
    (64 - length) as u8
}

impl FieldLabels {
    /// Returns the field labels of a plan. `before` is the text before the scope.
    pub(crate) fn for_plan(plan: Option<&Plan>, form: LabelForm<'_>, before: &[u8]) -> Self {
        let Some(plan) = plan else { return Self::default() };
        let places = FieldPlace::in_plan(plan, &Hidden::for_plan(Some(plan)));
        let is_shown = places.first() != Some(&FieldPlace::Hidden);
        let is_structure = matches!(plan.root().class.kind, FieldKind::Structure { .. });
        let mut opening = before.to_vec();
        opening.extend_from_slice(if is_structure { b"{" } else { b"" });
        // The first field, if its text does not depend on others.
        let first = match is_structure {
            true => plan.children(0).find(|member| places.get(*member) == Some(&FieldPlace::First)),
            // An absent root has no text.
            false => (!plan.root().class.is_shown_if_present()).then_some(0),
        };
        let label = |(index, (node, place)): (usize, (&Node, FieldPlace))| {
            let prefix = form.prefix(place, node.name.as_deref());
            let prefix = if first == Some(index) { [&opening[..], &prefix].concat() } else { prefix };
            FieldLabel { prefix: ShortText::new(&prefix), place, kind: LabelKind::of_node(node) }
        };
        let labels = plan.nodes().zip(places).enumerate().map(label).collect();
        Self { labels, opening: opening.into(), has_opening: first.is_some(), is_structure, is_shown }
    }

    /// Appends the text before the first field, if it is not part of a label.
    #[inline]
    pub(crate) fn open(&self, out: &mut Vec<u8>) {
        if !self.has_opening {
            out.extend_from_slice(&self.opening);
        }
    }

    /// Appends the text before the first field, if it is part of a label. This is for scopes whose decoding fails
    /// before the first field.
    #[cold]
    pub(crate) fn open_on_error(&self, out: &mut Vec<u8>) {
        if self.has_opening {
            out.extend_from_slice(&self.opening);
        }
    }

    /// Appends the text after the last field.
    #[inline]
    pub(crate) fn close(&self, out: &mut Vec<u8>) {
        if self.is_structure {
            out.extend_from_slice(b" }");
        }
    }

    /// Returns the container of the first field.
    #[inline]
    pub(crate) fn container(&self) -> FieldContainer {
        if self.is_structure { FieldContainer::Structure(0) } else { FieldContainer::Root }
    }

    /// Returns `true` for the structure that [`FieldLabels::open`] begins.
    #[inline]
    pub(crate) fn is_open(&self, field: Field<'_>) -> bool {
        self.is_structure && field.index() == 0
    }

    /// Returns the label for a field in the same plan.
    #[inline(always)]
    pub(crate) fn get(&self, field: Field<'_>) -> Option<&FieldLabel> {
        self.labels.get(field.index())
    }

    /// Returns `true` if a field is hidden.
    #[inline]
    pub(crate) fn hide(&self, field: Field<'_>) -> bool {
        self.get(field).is_some_and(|label| label.place == FieldPlace::Hidden)
    }

    /// Returns `true` if the scope exists and is not hidden.
    #[inline]
    pub(crate) fn is_shown(&self) -> bool {
        self.is_shown
    }
}
