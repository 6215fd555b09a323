//! Meanings of members of event record classes, and the call stacks they refer to.

use ichnos_model::{Event, EventRecordClass, FieldRef, Frame, LogSeverity, LogText, Meaning, Scope};

use super::fields::push_string;
use super::{push_key, push_text};
use crate::number;

/// Names of an event's scopes in lines.
const SCOPES: [(Scope, &str); 6] = [
    (Scope::PacketContext, "context"),
    (Scope::EventRecordHeader, "header"),
    (Scope::CommonContext, "common_context"),
    (Scope::SpecificContext, "specific_context"),
    (Scope::Payload, "payload"),
    (Scope::Resource, "resource"),
];

/// Key of an event's message, next to the members of its resource.
pub(super) const MESSAGE: &str = "message";

/// Returns the formatter of a class's messages, unless they are just a member or the name of the class.
pub(super) fn written_message(class: &EventRecordClass) -> Option<LogText> {
    class.log.as_ref()?.text.filter(|text| *text != LogText::NAME)
}

/// Appends the meanings of the members of an event's class, by scope and name, if there are any.
pub(super) fn push_meanings(out: &mut Vec<u8>, event: &Event<'_>) {
    let mut is_open = false;
    for (scope, name) in SCOPES {
        let members = event.class.meanings.iter().filter(|(member, _)| member.scope == scope);
        let members = members.filter_map(|(member, meaning)| {
            Some((event.plan(scope)?.member_name(member.index as usize)?, meaning))
        });
        let is_message = scope == Scope::Resource && written_message(event.class).is_some();
        let mut separator = b"{";
        for (member, meaning) in members.chain(is_message.then_some((MESSAGE, Meaning::Message))) {
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

/// Appends the log role of a class.
pub(super) fn push_log_role(out: &mut Vec<u8>, class: &EventRecordClass) {
    let Some(role) = &class.log else { return };
    push_key(out, "log");
    out.push(b'{');
    match role.severity {
        LogSeverity::Constant(number) => {
            out.extend_from_slice(b"\"severity\":");
            number::push_signed(out, number);
            out.push(b',');
        }
        LogSeverity::Member => out.extend_from_slice(b"\"severity\":\"member\","),
        _ => {}
    }
    if role.text == Some(LogText::NAME) {
        out.extend_from_slice(b"\"message\":\"name\",");
    }
    out.extend_from_slice(b"\"scale\":[");
    for (i, step) in role.scale.0.iter().enumerate() {
        out.extend_from_slice(if i == 0 { b"[" } else { b",[" });
        number::push_signed(out, step.up_to);
        out.push(b',');
        push_string(out, step.level.name());
        match step.exact {
            Some(exact) if exact == step.up_to => {}
            Some(exact) => {
                out.push(b',');
                number::push_signed(out, exact);
            }
            None => out.extend_from_slice(b",null"),
        }
        out.push(b']');
    }
    out.extend_from_slice(b"]}");
}

/// Returns the members of a class that are numbers of call stacks.
pub(super) fn stack_fields(event: &Event<'_>) -> Box<[FieldRef]> {
    let members = event.class.meanings.members(Meaning::Stack);
    members.filter_map(|member| FieldRef::of_member(event, member)).collect()
}

/// Returns the number of the call stack in a member.
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
    let table = event.stream.stacks().table;
    for (i, frame) in table.frames(stack).iter().enumerate() {
        if i > 0 {
            out.push(b',');
        }
        push_frame(out, frame);
    }
    out.push(b']');
    // The callers, so that each stack gets its number back when read.
    let mut caller = table.caller(stack);
    if caller.is_some() {
        push_key(out, "callers");
        out.push(b'[');
        let stacks = table.view();
        let mut separator = None;
        while let Some(number) = caller {
            out.extend(separator.replace(b','));
            number::push_unsigned(out, number.into());
            caller = stacks.caller(number);
        }
        out.push(b']');
    }
    out.extend_from_slice(b"}\n");
}

fn push_frame(out: &mut Vec<u8>, frame: &Frame) {
    let begin = out.len();
    if let Some(address) = frame.address {
        push_key(out, "address");
        number::push_unsigned(out, address);
    }
    push_text(out, "symbol", frame.symbol.as_deref());
    push_text(out, "module", frame.module.as_deref());
    if frame.address_space != 0 {
        push_key(out, "address_space");
        number::push_unsigned(out, frame.address_space.into());
    }
    // The first member has no comma before it.
    match out.get_mut(begin) {
        Some(comma) => *comma = b'{',
        None => out.push(b'{'),
    }
    out.push(b'}');
}
