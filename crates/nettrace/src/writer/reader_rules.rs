//! TraceEvent's rules. It decodes only some of the types that the document allows.

use ichnos_model::TraceClass;
use ichnos_model::class::{FieldClass, FieldKind};

/// Returns the broken rules, one sentence each.
pub(super) fn broken_rules(trace: &TraceClass) -> Vec<String> {
    let classes = trace.data_streams.iter().flat_map(|stream| &stream.event_records);
    let broken = classes.filter_map(|class| {
        let problem = class.payload.as_deref().and_then(array_problem)?;
        Some(format!("{}: {problem}", class.name.as_deref().unwrap_or("event")))
    });
    broken.collect()
}

/// Returns the reason why TraceEvent cannot decode an array in a field. It cannot decode later fields, either.
fn array_problem(class: &FieldClass) -> Option<&'static str> {
    match &class.kind {
        FieldKind::Structure { members, .. } => {
            members.iter().find_map(|member| array_problem(&member.class))
        }
        FieldKind::Array { element, .. } => match &element.kind {
            FieldKind::Array { .. } | FieldKind::Blob { .. } => Some("an array of arrays"),
            FieldKind::Structure { members, .. } if members.is_empty() => {
                Some("an array of structures without members")
            }
            _ => array_problem(element),
        },
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use ichnos_model::class::{DataStreamClass, EventRecordClass, Member};

    use super::*;

    #[test]
    fn arrays_of_arrays_are_named() {
        let array = |element| {
            FieldClass::new(FieldKind::Array {
                element: std::sync::Arc::new(element),
                length: ichnos_model::class::Length::Static(2),
                minimum_alignment: 1,
                element_aligns: true,
            })
        };
        let broken = |class: FieldClass| {
            let inner = FieldClass::structure([Member::new("inner", class)]);
            let event = EventRecordClass::new("event", [Member::new("field", inner)]);
            broken_rules(&TraceClass::new("NetTrace 4", [], [DataStreamClass::new(None, [event])]))
        };
        let number = || FieldClass::unsigned(32);
        assert_eq!(broken(array(number())), [""; 0]);
        assert_eq!(broken(array(FieldClass::structure([Member::new("a", number())]))), [""; 0]);
        assert_eq!(broken(array(array(number()))), ["event: an array of arrays"]);
        let none: [Member; 0] = [];
        let problem = "event: an array of structures without members";
        assert_eq!(broken(array(FieldClass::structure(none))), [problem]);
    }
}
