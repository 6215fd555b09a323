//! Sorts the event fields into line parts, and pairs of names and values.

use ichnos_model::plan::{Node, Plan};
use ichnos_model::{Field, FieldKind, Meaning, Meanings, Real, Scope, Text, Uuid, Visitor, Wide};

use super::parts::{LineParts, NumberPart, SignedNumber, TextPart};
use crate::property;

/// Field treatment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Treatment {
    /// Container of fields with their own treatment.
    Through,
    Number(NumberPart),
    Text(TextPart),
    /// Pair, or field within a pair.
    Pair,
    /// Hidden field.
    Skip,
}

/// Treatments of the fields of a scope.
#[derive(Debug)]
pub(super) struct Treatments {
    pub(super) scope: Scope,
    /// Treatments by node index.
    nodes: Box<[Treatment]>,
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
    pub(super) fn of(
        scope: Scope,
        plan: Option<&Plan>,
        meanings: Option<&Meanings>,
        shown: ShownParts,
    ) -> Option<Self> {
        let plan = plan?;
        let nodes: Vec<&Node> = plan.nodes().collect();
        let hidden = property::Hidden::of(Some(plan));
        let mut treatments = vec![Treatment::Through; nodes.len()];
        for (member, begin) in plan.fields().enumerate() {
            let within = plan.within(begin);
            let treatment = match meanings.map(|meanings| meanings.of(scope, member)) {
                // If members have meanings, only the payload has pairs.
                Some(None) if scope != Scope::Payload => Treatment::Skip,
                None | Some(None) => Treatment::Pair,
                Some(Some(meaning)) => treatment_of(meaning, nodes.get(within.clone())?, shown),
            };
            let all = treatments.get_mut(within)?;
            let is_part = matches!(treatment, Treatment::Number(_) | Treatment::Text(_));
            // The part is the content of the optional.
            if is_part && let [optional, field] = all {
                (*optional, *field) = (Treatment::Through, treatment);
            } else {
                all.fill(if hidden.at(begin) { Treatment::Skip } else { treatment });
            }
        }
        treatments
            .iter()
            .any(|treatment| !matches!(treatment, Treatment::Through | Treatment::Skip))
            .then(|| Self { scope, nodes: treatments.into() })
    }

    #[inline]
    fn get(&self, field: Field<'_>) -> Treatment {
        self.nodes.get(field.index()).copied().unwrap_or(Treatment::Skip)
    }
}

/// Returns the treatment of a member with a meaning. `nodes` are its own node and the nested nodes. A member of the
/// wrong kind becomes a pair.
fn treatment_of(meaning: Meaning, nodes: &[&Node], shown: ShownParts) -> Treatment {
    let kind = match nodes {
        [node] => Some(&node.class.kind),
        [optional, field] if matches!(optional.class.kind, FieldKind::Optional { .. }) => {
            Some(&field.class.kind)
        }
        _ => None,
    };
    let is_number = matches!(kind, Some(FieldKind::Integer { bits, .. }) if bits.length <= 64);
    let is_text = matches!(kind, Some(FieldKind::String { .. }));
    let number = |part| if is_number { Treatment::Number(part) } else { Treatment::Pair };
    let text = |part| if is_text { Treatment::Text(part) } else { Treatment::Pair };
    match meaning {
        Meaning::Severity => number(NumberPart::Severity),
        Meaning::Process => number(NumberPart::Process),
        Meaning::Thread if is_text && shown.thread_names => text(TextPart::ThreadName),
        Meaning::Thread => number(NumberPart::Thread),
        Meaning::Line if !shown.lines_need_files => number(NumberPart::Line),
        Meaning::Dropped => number(NumberPart::Dropped),
        Meaning::RolledOut => number(NumberPart::RolledOut),
        Meaning::Message => text(TextPart::Message),
        Meaning::Tag | Meaning::ProcessName => text(TextPart::Tag),
        Meaning::File => text(TextPart::File),
        Meaning::Component => text(TextPart::Component),
        Meaning::ComponentUrl if is_text && !shown.component_urls => Treatment::Skip,
        Meaning::ComponentUrl => text(TextPart::ComponentUrl),
        Meaning::Rendered | Meaning::Hidden => Treatment::Skip,
        _ => Treatment::Pair,
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
        self.treatments.get(field) == Treatment::Pair
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
            Treatment::Number(part) => self.parts.number(part, SignedNumber::Unsigned(value)),
            Treatment::Pair => self.pairs.unsigned(field, value),
            _ => {}
        }
    }

    #[inline]
    fn signed(&mut self, field: Field<'_>, value: i64) {
        match self.treatments.get(field) {
            Treatment::Number(part) => self.parts.number(part, SignedNumber::Signed(value)),
            Treatment::Pair => self.pairs.signed(field, value),
            _ => {}
        }
    }

    #[inline]
    fn text(&mut self, field: Field<'_>, value: Text<'_>) {
        match self.treatments.get(field) {
            Treatment::Text(part) => self.parts.text(part, value),
            Treatment::Pair => self.pairs.text(field, value),
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
