//! Writes member meanings of event record classes, and the call stacks that members refer to.

use ichnos_json::write::ObjectWriter;
use ichnos_model::class::EventRecordClass;
use ichnos_model::field::FieldRef;
use ichnos_model::log::{LogSeverity, LogText};
use ichnos_model::meaning::Meaning;
use ichnos_model::{Event, Scope};

use super::{begin, end};
use crate::description::MESSAGE;
use crate::field_class::scope_name;

/// Returns a class's message formatter. Returns `None` if the message is equal to a member or to the class name.
pub(super) fn written_message(class: &EventRecordClass) -> Option<LogText> {
    class.log.as_ref()?.text.filter(|text| *text != LogText::NAME)
}

/// Writes the member meanings of an event's class, by scope and name, if there are any.
pub(super) fn write_meanings(line: &mut ObjectWriter<'_>, event: &Event<'_>) {
    let mut scopes = Scope::ALL.into_iter().skip(1).filter_map(|scope| {
        let members = event.class.meanings.iter().filter(move |(member, _)| member.scope == scope);
        let members = members.filter_map(move |(member, meaning)| {
            Some((event.plan(scope)?.member_name(member.index as usize)?, meaning))
        });
        let is_message = scope == Scope::Resource && written_message(event.class).is_some();
        let mut members = members.chain(is_message.then_some((MESSAGE, Meaning::Message))).peekable();
        members.peek().is_some().then_some((scope_name(scope), members))
    });
    let Some(first) = scopes.next() else { return };
    let mut meanings = line.member("meanings").object();
    for (name, members) in std::iter::once(first).chain(scopes) {
        let mut scope = meanings.member(name).object();
        members.for_each(|(member, meaning)| scope.named(member).string(meaning.name()));
        scope.end();
    }
    meanings.end();
}

/// Writes the role of log line events.
pub(super) fn write_log_role(line: &mut ObjectWriter<'_>, class: &EventRecordClass) {
    let Some(role) = &class.log else { return };
    let mut log = line.member("log").object();
    match role.severity {
        LogSeverity::Constant(number) => log.member("severity").signed(number),
        LogSeverity::Member => log.member("severity").string("member"),
        _ => {}
    }
    log.string("message", (role.text == Some(LogText::NAME)).then_some("name"));
    let mut scale = log.member("scale").array();
    for step in role.scale.0 {
        let mut parts = scale.element().array();
        parts.element().signed(step.up_to);
        parts.element().string(step.level.name());
        match step.exact {
            Some(exact) if exact == step.up_to => {}
            Some(exact) => parts.element().signed(exact),
            None => parts.element().null(),
        }
        parts.end();
    }
    scale.end();
    log.end();
}

/// Returns the class members that are call stack numbers.
pub(super) fn stack_fields(event: &Event<'_>) -> Box<[FieldRef]> {
    let members = event.class.meanings.members(Meaning::Stack);
    members.filter_map(|member| FieldRef::for_member(event, member)).collect()
}

/// Returns the call stack number in a member.
pub(super) fn stack(event: &Event<'_>, member: &FieldRef) -> Option<u32> {
    u32::try_from(event.get(member)?.as_u64()?).ok()
}

/// Appends the line for a call stack.
#[cold]
pub(super) fn push_stack(out: &mut Vec<u8>, event: &Event<'_>, stack: u32, stream: u64) {
    let mut line = begin(out, "stack", stream);
    line.member("stack").unsigned(stack.into());
    let mut frames = line.member("frames").array();
    let table = event.stream.stacks().table;
    for frame in table.frames(stack) {
        let mut object = frames.element().object();
        frame.write_members(&mut object);
        object.end();
    }
    frames.end();
    // Write the callers, too, so that each stack keeps its number when the lines are read.
    let mut caller = table.caller(stack);
    if caller.is_some() {
        let mut callers = line.member("callers").array();
        let stacks = table.view();
        while let Some(number) = caller {
            callers.element().unsigned(number.into());
            caller = stacks.caller(number);
        }
        callers.end();
    }
    end(line);
}
