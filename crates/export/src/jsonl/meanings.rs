//! What members of event record classes mean, and the call stacks that some of them are numbers of.

use ichnos_model::{Event, FieldRef, Frame, Meaning, Scope};

use super::fields::push_string;
use super::{push_key, push_text};
use crate::number;

/// What lines call the scopes of an event.
const SCOPES: [(Scope, &str); 5] = [
    (Scope::PacketContext, "context"),
    (Scope::EventRecordHeader, "header"),
    (Scope::CommonContext, "common_context"),
    (Scope::SpecificContext, "specific_context"),
    (Scope::Payload, "payload"),
];

/// Appends the meanings of the members of the class of an event, by scope and name, if there are any.
pub(super) fn push_meanings(out: &mut Vec<u8>, event: &Event<'_>) {
    let mut is_open = false;
    for (scope, name) in SCOPES {
        let Some(plan) = event.plan(scope) else { continue };
        let members = event.class.meanings.iter().filter(|(member, _)| member.scope == scope);
        let mut separator = b"{";
        for (member, meaning) in members {
            let Some(member) = plan.member_name(member.index as usize) else { continue };
            if separator == b"{" {
                if is_open {
                    out.push(b',');
                } else {
                    push_key(out, "meanings");
                    out.push(b'{');
                    is_open = true;
                }
                push_string(out, name);
                out.push(b':');
            }
            out.extend_from_slice(separator);
            push_string(out, member);
            out.push(b':');
            push_string(out, meaning.name());
            separator = b",";
        }
        if separator == b"," {
            out.push(b'}');
        }
    }
    if is_open {
        out.push(b'}');
    }
}

/// The members of a class that are numbers of call stacks.
pub(super) fn stack_fields(event: &Event<'_>) -> Box<[FieldRef]> {
    let members = event.class.meanings.members(Meaning::Stack);
    members.filter_map(|member| FieldRef::of_member(event, member)).collect()
}

/// The number of the call stack that a member is.
pub(super) fn stack(event: &Event<'_>, member: &FieldRef) -> Option<u32> {
    u32::try_from(event.get(member)?.as_u64()?).ok()
}

/// Appends the line that introduces a call stack.
#[cold]
pub(super) fn push_stack(out: &mut Vec<u8>, event: &Event<'_>, stack: u32, stream: u64) {
    out.extend_from_slice(b"{\"type\":\"stack\",\"stream\":");
    number::push_unsigned(out, stream);
    push_key(out, "stack");
    number::push_unsigned(out, stack.into());
    push_key(out, "frames");
    out.push(b'[');
    for (i, frame) in event.stream.trace.stacks.frames(stack).iter().enumerate() {
        if i > 0 {
            out.push(b',');
        }
        push_frame(out, frame);
    }
    out.extend_from_slice(b"]}\n");
}

fn push_frame(out: &mut Vec<u8>, frame: &Frame) {
    let begin = out.len();
    if let Some(address) = frame.address {
        push_key(out, "address");
        number::push_unsigned(out, address);
    }
    push_text(out, "symbol", frame.symbol.as_deref());
    push_text(out, "module", frame.module.as_deref());
    // The first member has no comma before it.
    match out.get_mut(begin) {
        Some(comma) => *comma = b'{',
        None => out.push(b'{'),
    }
    out.push(b'}');
}
