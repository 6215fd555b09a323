//! Checks a whole trace class: what can only be seen when all of it is there.

use std::sync::Arc;

use ichnos_model::plan::{Node, Plan, PlanError, TracePlans};
use ichnos_model::{
    Diagnostic, FieldClass, FieldKind, Length, Limits, Role, Scope, TextPlace, TraceClass,
    VariableLengthValue,
};

use super::Problems;

/// Checks that fields can be located, that fields with roles are of the right kind, and that
/// event records have bits.
pub(super) fn check(trace: &TraceClass, limits: &Limits, problems: &mut Problems) {
    let plans = match TracePlans::compile(trace, limits) {
        Ok(plans) => plans,
        Err(PlanError::Locations(wrong)) => {
            for problem in wrong {
                let message = format!("field location {}: {}", problem.location, problem.reason);
                problems.add(
                    Diagnostic::error(problem.place, message)
                        .within(problem.within)
                        .expected(problem.expected, problem.found),
                );
            }
            return;
        }
        Err(error) => return problems.add(plan_diagnostic(&error)),
    };
    if let Some(plan) = &plans.packet_header {
        check_roles(plan, Scope::PacketHeader, &[], problems);
    }
    for (class, plans) in trace.data_streams.iter().zip(&plans.data_streams) {
        let within = [format!("data stream class {}", class.id)];
        let scopes = [
            (Scope::PacketContext, &plans.packet_context),
            (Scope::EventRecordHeader, &plans.event_record_header),
        ];
        for (scope, plan) in scopes {
            if let Some(plan) = plan {
                check_roles(plan, scope, &within, problems);
            }
        }
        let is_empty = |plan: &Option<Plan>| plan.as_ref().is_none_or(|plan| plan.fixed_size() == Some(0));
        if is_empty(&plans.event_record_header) && is_empty(&plans.common_context) {
            for (event, plans) in class.event_records.iter().zip(&plans.event_records) {
                if is_empty(&plans.specific_context) && is_empty(&plans.payload) {
                    let message = "its event records would be empty: no bits at all";
                    let within = [within[0].clone(), format!("event record class {}", event.id)];
                    let place = TextPlace { line: 1, column: 1, offset: 0 };
                    problems.add(Diagnostic::slip(place, message).within(within.into()));
                }
            }
        }
    }
}

/// Why there is no plan, as a problem of the whole metadata.
pub(crate) fn plan_diagnostic(error: &PlanError) -> Diagnostic {
    let diagnostic = Diagnostic::error(TextPlace::default(), error.to_string());
    match error.limit() {
        Some(limit) => diagnostic.limit(limit),
        None => diagnostic,
    }
}

fn check_roles(plan: &Plan, scope: Scope, within: &[String], problems: &mut Problems) {
    for node in plan.nodes() {
        for role in node.roles.iter() {
            if let Some(expected) = wrong(role, node, plan) {
                let class = &node.class;
                let message = format!("a field with the role `{role}` cannot be such");
                let mut within = within.to_vec();
                within.push(scope.to_string());
                within.extend(node.name.as_ref().map(|name| format!("member `{name}`")));
                problems.add(
                    Diagnostic::error(class.declared_at.0, message)
                        .within(within)
                        .expected(expected, class.describe()),
                );
            }
        }
    }
}

/// What a field with a role must be, if it is not (CTF2-SPEC-2.0, tables of roles).
fn wrong(role: Role, node: &Node, plan: &Plan) -> Option<&'static str> {
    let class = &*node.class;
    match role {
        Role::PacketMagicNumber => {
            let first = plan.nodes().nth(1).is_some_and(|first| std::ptr::eq(first, node));
            let fits = matches!(&class.kind, FieldKind::Integer { bits, integer }
                if bits.length == 32 && !integer.signed);
            (!fits || !first).then_some("a 32-bit unsigned integer, the first member of the packet header")
        }
        Role::MetadataStreamUuid => (!is_uuid(class)).then_some("16 bytes"),
        _ => (!is_unsigned(class)).then_some("an unsigned integer"),
    }
}

fn is_unsigned(class: &FieldClass) -> bool {
    match &class.kind {
        FieldKind::Integer { integer, .. } => !integer.signed,
        FieldKind::VariableLength { value: VariableLengthValue::Integer(integer), .. } => !integer.signed,
        _ => false,
    }
}

fn is_uuid(class: &FieldClass) -> bool {
    let is_byte = |class: &Arc<FieldClass>| {
        matches!(&class.kind, FieldKind::Integer { bits, integer } if bits.length == 8 && !integer.signed)
            || matches!(&class.kind, FieldKind::BitArray(bits) if bits.length == 8)
    };
    match &class.kind {
        FieldKind::Blob { length: Length::Static(16), .. } => true,
        FieldKind::String { length: ichnos_model::StringLength::Static(16), .. } => true,
        FieldKind::Array { element, length: Length::Static(16), .. } => is_byte(element),
        _ => false,
    }
}
