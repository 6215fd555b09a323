//! Field properties of a scope, computed once.

use ichnos_model::class::{DisplayBase, FieldKind, VariableLengthValue};
use ichnos_model::field::Field;
use ichnos_model::plan::{Node, Plan};

use crate::block::ShortText;
use crate::color::Palette;
use crate::property::Hidden;

/// Text before a field, and the field kind.
#[derive(Debug)]
pub(crate) struct FieldLabel {
    /// Text before the field as a structure member. The comma is skipped for the first member.
    pub(crate) prefix: ShortText,
    pub(crate) is_hidden: bool,
    /// `true` for a decimal integer without named values.
    pub(crate) is_decimal: bool,
}

/// Labels for all fields in a scope.
#[derive(Debug, Default)]
pub(crate) struct FieldLabels {
    /// Labels by node index.
    labels: Vec<FieldLabel>,
    is_hidden: bool,
}

impl FieldLabels {
    /// Returns the field labels of a plan. With `names`, they contain member names. With `color`, they have colors.
    pub(crate) fn for_plan(plan: Option<&Plan>, palette: &Palette, names: bool, color: bool) -> Self {
        let Some(plan) = plan else { return Self::default() };
        let hidden = Hidden::for_plan(Some(plan));
        let label = |(index, node): (usize, &Node)| {
            let mut prefix = b", ".to_vec();
            if names {
                let (begin, end) = if color { (palette.cyan, palette.reset) } else { ("", "") };
                prefix.extend_from_slice(begin.as_bytes());
                palette.push(&mut prefix, node.name.as_deref().unwrap_or_default());
                for text in [end, " = "] {
                    prefix.extend_from_slice(text.as_bytes());
                }
            }
            let integer = match &node.class.kind {
                FieldKind::Integer { integer, .. }
                | FieldKind::VariableLength { value: VariableLengthValue::Integer(integer), .. } => {
                    Some(integer)
                }
                _ => None,
            };
            let is_decimal = integer.is_some_and(|integer| {
                integer.mappings.is_none()
                    && integer.wall_clock.is_none()
                    && integer.preferred_base == DisplayBase::Decimal
            });
            FieldLabel { prefix: ShortText::new(&prefix), is_hidden: hidden.at(index), is_decimal }
        };
        Self { labels: plan.nodes().enumerate().map(label).collect(), is_hidden: hidden.all() }
    }

    /// Returns the label for a field in the same plan.
    #[inline]
    pub(crate) fn get(&self, field: Field<'_>) -> Option<&FieldLabel> {
        self.labels.get(field.index())
    }

    /// Returns `true` if a field is hidden.
    #[inline]
    pub(crate) fn hide(&self, field: Field<'_>) -> bool {
        self.get(field).is_some_and(|label| label.is_hidden)
    }

    /// Returns `true` if the whole scope is hidden.
    pub(crate) fn hide_all(&self) -> bool {
        self.is_hidden
    }
}
