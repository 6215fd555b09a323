//! Checks that need a complete trace class.

use std::sync::Arc;

use ichnos_model::class::{DataStreamClass, FieldClass, FieldKind, Length, Role, StringLength};
use ichnos_model::plan::{DataStreamPlans, LocationRule, Node, Plan, PlanError, TracePlans, align};
use ichnos_model::trace::{Diagnostic, Limits, TextPosition};
use ichnos_model::{Scope, TraceClass};

use super::{Dialect, Problems};

/// Checks that field locations are valid, that fields with roles have the right kind, that union members can have equal
/// sizes, and that event records have bits.
pub(super) fn check(trace: &TraceClass, dialect: Dialect, limits: &Limits, problems: &mut Problems) {
    let rules: &[LocationRule] = match dialect {
        Dialect::Prop2 => &[
            LocationRule::NoNegativeRange,
            LocationRule::NoOptional,
            LocationRule::SameElement,
            LocationRule::SameOptional,
        ],
        _ => &[LocationRule::NoNegativeRange],
    };
    let plans = match TracePlans::compile_by_rules(trace, limits, rules) {
        Ok((plans, broken_rules)) => {
            for (_, problem) in broken_rules {
                let message = format!("field location {}: {}", problem.location, problem.reason);
                problems.add(Diagnostic::warning(problem.position, message).within(problem.within));
            }
            plans
        }
        Err(PlanError::Locations(wrong)) => {
            for problem in wrong {
                let message = format!("field location {}: {}", problem.location, problem.reason);
                problems.add(
                    Diagnostic::error(problem.position, message)
                        .within(problem.within)
                        .expected(problem.expected, problem.found),
                );
            }
            return;
        }
        Err(error) => return problems.add(plan_diagnostic(&error)),
    };
    let mut unions = UnionSizes { left: MOST_UNION_STEPS };
    if let Some(plan) = &plans.packet_header {
        check_roles(plan, Scope::PacketHeader, &[], problems);
        unions.check(plan, Scope::PacketHeader, &[], problems);
    }
    for (class, plans) in trace.data_streams.iter().zip(&plans.data_streams) {
        check_stream(class, plans, dialect, &mut unions, problems);
    }
}

/// Checks a data stream class and its event record classes.
fn check_stream(
    class: &DataStreamClass,
    plans: &DataStreamPlans,
    dialect: Dialect,
    unions: &mut UnionSizes,
    problems: &mut Problems,
) {
    let within = [format!("data stream class {}", class.id)];
    let scopes = [
        (Scope::PacketContext, &plans.packet_context),
        (Scope::EventRecordHeader, &plans.event_record_header),
    ];
    for (scope, plan) in scopes {
        if let Some(plan) = plan {
            check_roles(plan, scope, &within, problems);
            unions.check(plan, scope, &within, problems);
        }
    }
    if let Some(plan) = &plans.common_context {
        unions.check(plan, Scope::CommonContext, &within, problems);
    }
    let is_empty = |class: &Option<Arc<FieldClass>>| class.as_ref().is_none_or(|it| !can_have_bits(it));
    let is_shared_empty = is_empty(&class.event_record_header) && is_empty(&class.common_context);
    for (event, plans) in class.event_records.iter().zip(&plans.event_records) {
        let within = [within[0].clone(), format!("event record class {}", event.id)];
        let scopes = [(Scope::SpecificContext, &plans.specific_context), (Scope::Payload, &plans.payload)];
        for (scope, plan) in scopes {
            if let Some(plan) = plan {
                unions.check(plan, scope, &within, problems);
            }
        }
        if is_shared_empty && is_empty(&event.specific_context) && is_empty(&event.payload) {
            let message = "its event records would be empty";
            // In CTF 1.8, other readers report this at the start of the text, not in the block.
            let start = TextPosition { line: 1, column: 1, offset: 0 };
            let position = if dialect == Dialect::Ctf18 { start } else { event.declared_at.0 };
            problems.add(Diagnostic::warning(position, message).within(within.into()));
        }
    }
}

/// Checks that event record classes have names. The document does not require it, but CTF 1.8 readers do.
pub(super) fn check_names(trace: &TraceClass, problems: &mut Problems) {
    for stream in &trace.data_streams {
        for event in stream.event_records.iter().filter(|event| event.name.is_none()) {
            let within =
                [format!("data stream class {}", stream.id), format!("event record class {}", event.id)];
            let message = "the event record class lacks a name: other CTF 1.8 readers refuse that";
            problems.add(Diagnostic::warning(event.declared_at.0, message).within(within.into()));
        }
    }
}

/// Returns `true` if instances can have any bits.
fn can_have_bits(class: &FieldClass) -> bool {
    match &class.kind {
        FieldKind::String { length: StringLength::Static(length), .. }
        | FieldKind::Blob { length: Length::Static(length), .. } => *length > 0,
        FieldKind::Array { length: Length::Static(0), .. } | FieldKind::Null { .. } => false,
        _ if class.is_compound() => class.children().any(|child| can_have_bits(child.class())),
        _ => true,
    }
}

/// Maximum number of class visits for determining union member sizes.
const MOST_UNION_STEPS: u32 = 1 << 20;

/// Finds unions whose members cannot have equal sizes (CTF2-PROP-1.0, "Encode a value as a union field").
struct UnionSizes {
    left: u32,
}

impl UnionSizes {
    fn check(&mut self, plan: &Plan, scope: Scope, within: &[String], problems: &mut Problems) {
        for node in plan.nodes() {
            let FieldKind::Union { members, alignment } = &node.class.kind else { continue };
            let mut sizes = Vec::with_capacity(members.len());
            for member in members {
                sizes.extend(self.end(&member.class, 0, *alignment).map(|size| (size, &member.name)));
            }
            let Some((first, name)) = sizes.first() else { continue };
            let Some((other, other_name)) = sizes.iter().find(|(size, _)| size != first) else { continue };
            let message = format!(
                "the members of a union take different numbers of bits: `{name}` {first}, `{other_name}` {other}"
            );
            let mut within = within.to_vec();
            within.push(scope.to_string());
            within.extend(node.name.as_ref().map(|name| format!("member `{name}`")));
            problems.add(Diagnostic::warning(node.class.declared_at.0, message).within(within));
        }
    }

    /// Returns the end of an instance that begins at bit `at`, counted from a position that is aligned to `alignment`
    /// bits. Returns `None` if the end varies.
    fn end(&mut self, class: &FieldClass, at: u64, alignment: u64) -> Option<u64> {
        self.left = self.left.checked_sub(1)?;
        let own = class.alignment();
        if own > alignment {
            return None;
        }
        let at = align(at, own)?;
        if let Some(bits) = class.bits() {
            return at.checked_add(bits.length);
        }
        match &class.kind {
            FieldKind::String { length: StringLength::Static(bytes), .. }
            | FieldKind::Blob { length: Length::Static(bytes), .. } => at.checked_add(bytes.checked_mul(8)?),
            FieldKind::Guid { .. } => at.checked_add(128),
            FieldKind::Null { .. } => Some(at),
            FieldKind::Structure { members, .. } => {
                members.iter().try_fold(at, |at, member| self.end(&member.class, at, alignment))
            }
            FieldKind::Array { length: Length::Static(0), .. } => Some(at),
            FieldKind::Array { element, length: Length::Static(length), .. } => {
                let first = align(at, element.alignment())?;
                let size = self.end(element, first, alignment)?.checked_sub(first)?;
                let stride = align(size, element.alignment())?;
                first.checked_add(stride.checked_mul(length - 1)?)?.checked_add(size)
            }
            _ => None,
        }
    }
}

/// Converts a plan error into a problem of the metadata as a whole.
pub(crate) fn plan_diagnostic(error: &PlanError) -> Diagnostic {
    let diagnostic = Diagnostic::error(TextPosition::default(), error.to_string());
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
                let message = format!("invalid class of a field with the role `{role}`");
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

/// Returns the role's requirement that its field violates (CTF2-SPEC-2.0, tables of roles).
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
    class.integer().is_some_and(|integer| !integer.signed)
}

fn is_uuid(class: &FieldClass) -> bool {
    let is_byte = |class: &Arc<FieldClass>| {
        matches!(&class.kind, FieldKind::Integer { bits, integer } if bits.length == 8 && !integer.signed)
            || matches!(&class.kind, FieldKind::BitArray(bits) if bits.length == 8)
    };
    match &class.kind {
        FieldKind::Blob { length: Length::Static(16), .. } => true,
        FieldKind::String { length: ichnos_model::class::StringLength::Static(16), .. } => true,
        FieldKind::Array { element, length: Length::Static(16), .. } => is_byte(element),
        _ => false,
    }
}
