//! Sorts the event fields into line parts, and pairs of names and values.

use ichnos_model::class::{FieldKind, Uuid};
use ichnos_model::field::{Field, Real, Text, Wide};
use ichnos_model::meaning::{Meaning, Meanings};
use ichnos_model::plan::{Node, Plan};
use ichnos_model::{Scope, Visitor};

use super::parts::{LineParts, NumericPart, SignedNumber, TextualPart};
use crate::property;

/// Field treatment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FieldTreatment {
    /// Container of fields with their own treatment.
    Through,
    Number(NumericPart),
    Text(TextualPart),
    /// Pair, or field within a pair.
    Pair,
    /// Hidden field.
    Skip,
}

/// Treatments for the fields in a scope.
#[derive(Debug)]
pub(super) struct Treatments {
    pub(super) scope: Scope,
    /// Treatments by node index.
    nodes: Box<[FieldTreatment]>,
}

/// Parts that the line format can show.
#[derive(Clone, Copy, Debug)]
pub(super) struct ShownParts {
    /// `true` if file and line are shown together. A line without a file then becomes a pair.
    pub(super) lines_need_files: bool,
    /// `true` if a name can identify a thread.
    pub(super) thread_names: bool,
    /// `true` if a component is shown with its URL.
    pub(super) component_urls: bool,
}

impl Treatments {
    /// Returns `None` if no field of the scope is shown.
    pub(super) fn for_scope(
        scope: Scope,
        plan: Option<&Plan>,
        meanings: Option<&Meanings>,
        shown: ShownParts,
    ) -> Option<Self> {
        let plan = plan?;
        let nodes: Vec<&Node> = plan.nodes().collect();
        let hidden = property::Hidden::for_plan(Some(plan));
        let mut treatments = vec![FieldTreatment::Through; nodes.len()];
        for (member, begin) in plan.fields().enumerate() {
            let within = plan.within(begin);
            let treatment = match meanings.map(|meanings| meanings.get(scope, member)) {
                // If members have meanings, only the payload has pairs.
                Some(None) if scope != Scope::Payload => FieldTreatment::Skip,
                None | Some(None) => FieldTreatment::Pair,
                Some(Some(meaning)) => treatment_of(meaning, nodes.get(within.clone())?, shown),
            };
            let all = treatments.get_mut(within)?;
            let is_part = matches!(treatment, FieldTreatment::Number(_) | FieldTreatment::Text(_));
            // The part is the content of the optional.
            if is_part && let [optional, field] = all {
                (*optional, *field) = (FieldTreatment::Through, treatment);
            } else {
                all.fill(if hidden.at(begin) { FieldTreatment::Skip } else { treatment });
            }
        }
        treatments
            .iter()
            .any(|treatment| !matches!(treatment, FieldTreatment::Through | FieldTreatment::Skip))
            .then(|| Self { scope, nodes: treatments.into() })
    }

    #[inline]
    fn get(&self, field: Field<'_>) -> FieldTreatment {
        self.nodes.get(field.index()).copied().unwrap_or(FieldTreatment::Skip)
    }
}

/// Returns the treatment of a member with a meaning. `nodes` are its own node and the nested nodes. A member of the
/// wrong kind becomes a pair.
fn treatment_of(meaning: Meaning, nodes: &[&Node], shown: ShownParts) -> FieldTreatment {
    let kind = match nodes {
        [node] => Some(&node.class.kind),
        [optional, field] if matches!(optional.class.kind, FieldKind::Optional { .. }) => {
            Some(&field.class.kind)
        }
        _ => None,
    };
    let is_number = matches!(kind, Some(FieldKind::Integer { bits, .. }) if bits.length <= 64);
    let is_text = matches!(kind, Some(FieldKind::String { .. }));
    let number = |part| if is_number { FieldTreatment::Number(part) } else { FieldTreatment::Pair };
    let text = |part| if is_text { FieldTreatment::Text(part) } else { FieldTreatment::Pair };
    match meaning {
        Meaning::Severity => number(NumericPart::Severity),
        Meaning::Process => number(NumericPart::Process),
        Meaning::Thread if is_text && shown.thread_names => text(TextualPart::ThreadName),
        Meaning::Thread => number(NumericPart::Thread),
        Meaning::Line if !shown.lines_need_files => number(NumericPart::Line),
        Meaning::Dropped => number(NumericPart::Dropped),
        Meaning::RolledOut => number(NumericPart::RolledOut),
        Meaning::Message => text(TextualPart::Message),
        Meaning::Tag | Meaning::ProcessName => text(TextualPart::Tag),
        Meaning::File => text(TextualPart::File),
        Meaning::Component => text(TextualPart::Component),
        Meaning::ComponentUrl if is_text && !shown.component_urls => FieldTreatment::Skip,
        Meaning::ComponentUrl => text(TextualPart::ComponentUrl),
        Meaning::Rendered | Meaning::Hidden => FieldTreatment::Skip,
        _ => FieldTreatment::Pair,
    }
}

/// Visitor that extracts the parts from the fields of a scope. `pairs` receives the other fields.
pub(super) struct PartCollector<'c, V> {
    pub(super) treatments: &'c Treatments,
    pub(super) parts: &'c mut LineParts,
    pub(super) pairs: V,
}

impl<V: Visitor> PartCollector<'_, V> {
    #[inline]
    fn is_pair(&self, field: Field<'_>) -> bool {
        self.treatments.get(field) == FieldTreatment::Pair
    }
}

/// Forwards pair fields to `pairs`.
macro_rules! pass_pairs {
    ($($name:ident($($argument:ident: $kind:ty),*);)*) => {
        $(fn $name(&mut self, field: Field<'_> $(, $argument: $kind)*) {
            if self.is_pair(field) {
                self.pairs.$name(field $(, $argument)*);
            }
        })*
    };
}

impl<V: Visitor> Visitor for PartCollector<'_, V> {
    #[inline]
    fn unsigned(&mut self, field: Field<'_>, value: u64) {
        match self.treatments.get(field) {
            FieldTreatment::Number(part) => self.parts.number(part, SignedNumber::Unsigned(value)),
            FieldTreatment::Pair => self.pairs.unsigned(field, value),
            _ => {}
        }
    }

    #[inline]
    fn signed(&mut self, field: Field<'_>, value: i64) {
        match self.treatments.get(field) {
            FieldTreatment::Number(part) => self.parts.number(part, SignedNumber::Signed(value)),
            FieldTreatment::Pair => self.pairs.signed(field, value),
            _ => {}
        }
    }

    #[inline]
    fn text(&mut self, field: Field<'_>, value: Text<'_>) {
        match self.treatments.get(field) {
            FieldTreatment::Text(part) => self.parts.text(part, value),
            FieldTreatment::Pair => self.pairs.text(field, value),
            _ => {}
        }
    }

    pass_pairs! {
        wide(value: Wide<'_>);
        boolean(value: bool, bits: u64);
        bit_array(bits: u64);
        bit_map(bits: u64);
        real(value: Real<'_>);
        blob(bytes: &[u8]);
        guid(value: Uuid);
        null();
        begin_structure();
        end_structure();
        begin_array(length: u64);
        end_array();
        begin_optional(present: bool, selector: i128);
        end_optional();
        begin_variant(option: usize, selector: i128);
        end_variant();
        begin_union();
        end_union();
    }
}
