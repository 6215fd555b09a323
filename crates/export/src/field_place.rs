//! Places of fields in their containers.

use ichnos_model::class::FieldKind;
use ichnos_model::plan::Plan;

use crate::property::Hidden;

/// Place of a field in its container, as far as text before the field depends on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum FieldPlace {
    /// The field has no container, or it is an optional or a variant.
    Only,
    /// The first shown member of a structure or a union.
    First,
    /// A member after a shown member.
    Next,
    /// A member after optional members. It is the first shown member if all of them are absent.
    AfterOptional,
    /// An array element.
    Element,
    /// The field is not shown.
    Hidden,
}

impl FieldPlace {
    /// Returns `true` if the text before the field does not depend on other fields.
    #[inline(always)]
    pub(crate) fn is_fixed(self) -> bool {
        self <= Self::Next
    }

    /// Returns the places of all fields in a plan, in the order of [`Plan::nodes`].
    pub(crate) fn in_plan(plan: &Plan, hidden: &Hidden) -> Vec<Self> {
        let mut places = vec![Self::Only; plan.nodes().count()];
        for (index, node) in plan.nodes().enumerate() {
            match &node.class.kind {
                FieldKind::Structure { .. } | FieldKind::Union { .. } => {
                    let mut next = Self::First;
                    for member in plan.children(index).filter(|member| !hidden.at(*member)) {
                        let class = plan.get(member).map(|node| &node.class);
                        let is_optional = class.is_some_and(|class| class.is_shown_if_present());
                        if is_optional && next == Self::First {
                            next = Self::AfterOptional;
                        }
                        places[member] = next;
                        if !is_optional {
                            next = Self::Next;
                        }
                    }
                }
                FieldKind::Array { .. } => {
                    plan.children(index).for_each(|element| places[element] = Self::Element);
                }
                _ => {}
            }
        }
        let hidden = places.iter_mut().enumerate().filter(|(index, _)| hidden.at(*index));
        hidden.for_each(|(_, place)| *place = Self::Hidden);
        places
    }
}
