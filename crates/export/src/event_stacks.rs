//! Call stacks that are written frame by frame with their event.

use ichnos_json::write::{ObjectWriter, ValueWriter};
use ichnos_model::Event;
use ichnos_model::field::FieldRef;
use ichnos_model::meaning::Meaning;
use ichnos_model::stack::{Frame, Resolved};

use crate::number;
use crate::printable::printable;

/// Event members that are call stack numbers, with their names.
#[derive(Debug, Default)]
pub struct EventStacks {
    members: Box<[(FieldRef, Box<str>)]>,
}

impl EventStacks {
    /// Finds the event's call stack members, if `wanted`.
    #[must_use]
    pub fn for_event(event: &Event<'_>, wanted: bool) -> Self {
        let members = event.class.meanings.members(Meaning::Stack).filter(|_| wanted);
        let members = members.filter_map(|member| {
            let name = event.plan(member.scope)?.member_name(member.index as usize).unwrap_or_default();
            Some((FieldRef::for_member(event, member)?, name.into()))
        });
        Self { members: members.collect() }
    }

    /// Returns `true` if the class lacks such members.
    pub fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    /// Appends a line for each frame, innermost first: `module!symbol+0x1a`, as far as known.
    #[inline]
    pub(crate) fn push_lines(&self, out: &mut Vec<u8>, event: &Event<'_>) {
        for (field, _) in &self.members {
            for_each_frame(event, field, |frame, resolved| {
                out.extend_from_slice(b"    ");
                push_frame(out, frame, resolved);
                out.push(b'\n');
            });
        }
    }

    /// Appends a member to a JSON object with members. It is an object with the frames of each stack, innermost
    /// first, by the member name of the stack.
    #[inline]
    pub fn push_json(&self, out: &mut Vec<u8>, event: &Event<'_>) {
        if self.members.is_empty() {
            return;
        }
        let mut line = ObjectWriter::resume(out, true);
        let mut stacks = line.member("stacks").object();
        for (field, name) in &self.members {
            let mut frames = stacks.named(name).array();
            for_each_frame(event, field, |frame, resolved| write_frame(frames.element(), frame, resolved));
            frames.end();
        }
        stacks.end();
    }
}

/// Visits the frames of the stack in a field, with their symbols at the event time.
fn for_each_frame(event: &Event<'_>, field: &FieldRef, mut visit: impl FnMut(&Frame, Option<Resolved<'_>>)) {
    let stack = event.get(field).and_then(|value| u32::try_from(value.as_u64()?).ok());
    let Some(stack) = stack else { return };
    let stacks = event.stream.stacks();
    // This must come first, because it can read the whole trace.
    let symbols = stacks.symbols();
    let time = event.nanoseconds().unwrap_or(i128::MAX);
    for (_, frame) in stacks.table.view().frames(stack) {
        let resolve = |address| symbols.resolve(frame.address_space, address, time);
        visit(frame, frame.address.and_then(resolve));
    }
}

/// Returns the function of a frame, and the offset of the address from the function start.
fn function<'a>(frame: &'a Frame, resolved: Option<Resolved<'a>>) -> Option<(&'a str, Option<u64>)> {
    let found = || {
        let symbol = resolved?.symbol;
        Some((symbol.name.as_deref()?, frame.address.map(|address| address.saturating_sub(symbol.begin))))
    };
    frame.symbol.as_deref().map(|name| (name, None)).or_else(found)
}

fn module<'a>(frame: &'a Frame, resolved: Option<Resolved<'a>>) -> Option<&'a str> {
    let found = || resolved?.module.map(|module| &**module);
    frame.module.as_deref().or_else(found)
}

fn push_frame(out: &mut Vec<u8>, frame: &Frame, resolved: Option<Resolved<'_>>) {
    if let Some(module) = module(frame, resolved) {
        out.extend_from_slice(printable(module).as_bytes());
        out.push(b'!');
    }
    match (function(frame, resolved), frame.address) {
        (Some((name, offset)), _) => {
            out.extend_from_slice(printable(name).as_bytes());
            if let Some(offset) = offset {
                out.push(b'+');
                push_hex(out, offset);
            }
        }
        (None, Some(address)) => push_hex(out, address),
        (None, None) => out.push(b'?'),
    }
}

fn write_frame(place: ValueWriter<'_>, frame: &Frame, resolved: Option<Resolved<'_>>) {
    let mut object = place.object();
    object.unsigned("address", frame.address);
    let function = function(frame, resolved);
    object.string("symbol", function.map(|(name, _)| name));
    object.unsigned("offset", function.and_then(|(_, offset)| offset));
    object.string("module", module(frame, resolved));
    object.end();
}

fn push_hex(out: &mut Vec<u8>, value: u64) {
    out.extend_from_slice(b"0x");
    let begin = out.len();
    number::push_hex_upper(out, value);
    out[begin..].make_ascii_lowercase();
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use ichnos_model::Scope;
    use ichnos_model::meaning::Meaning;
    use ichnos_model::stack::{Frame, Symbol, Symbols};

    use crate::testing::{Fixture, SharedBytes, structure, u8_class};
    use crate::{Details, DetailsOptions, Log, LogForm, LogOptions, Pretty, PrettyOptions};

    fn fixture() -> Fixture {
        let fixture = Fixture::with(structure(vec![("stack", u8_class()), ("x", u8_class())]), |trace| {
            let class = Arc::make_mut(&mut trace.data_streams[0].event_records[0]);
            class.meanings.insert(Scope::Payload, 0, Meaning::Stack);
        });
        let trace = &fixture.stream.trace;
        let known = Frame::named("a\nb").with_module("m\x1b");
        assert_eq!(trace.stacks.intern([known, Frame::default(), Frame::at(0x20), Frame::at(0x1a)]), Some(3));
        trace.set_symbols(|| {
            let symbol = |begin, end, name: Option<&str>, module: Option<&str>| Symbol {
                begin,
                end,
                from: 5,
                name: name.map(Into::into),
                module: module.map(Into::into),
                ..Symbol::default()
            };
            Symbols::new([(0, symbol(0x10, 0x1f, Some("f"), None)), (0, symbol(0, 0x30, None, Some("lib")))])
        });
        fixture
    }

    #[test]
    fn frames_stand_below_their_event() {
        let fixture = fixture();
        let out = SharedBytes::default();
        let mut options =
            PrettyOptions { stacks: true, no_delta: true, clock_seconds: true, ..Default::default() };
        options.fields = crate::PrettyFields::NONE;
        let mut sink = Pretty::new(out.clone(), options);
        fixture.event(&mut sink, 5, &[3, 1]);
        fixture.event(&mut sink, 4, &[2, 1]);
        fixture.event(&mut sink, 5, &[200, 1]);
        fixture.end(&mut sink);
        let event = |time: u8, stack: u8| {
            format!("[0.00000000{time}] ev: {{ cpu = 2 }}, {{ stack = {stack}, x = 1 }}\n")
        };
        let known = "    ?\n    m\\x1b!a\\nb\n";
        let expected = [
            &event(5, 3),
            "    lib!f+0xa\n    lib!0x20\n",
            known,
            &event(4, 2),
            "    0x20\n",
            known,
            &event(5, 200),
        ];
        assert_eq!(out.text(), expected.concat());
    }

    #[test]
    fn json_has_frames_as_a_member() {
        let fixture = fixture();
        let frames = concat!(
            r#","stacks":{"stack":[{"address":26,"symbol":"f","offset":10,"module":"lib"},"#,
            r#"{"address":32,"module":"lib"},{},{"symbol":"a\nb","module":"m\u001b"}]}}"#,
            "\n"
        );
        let out = SharedBytes::default();
        let options = LogOptions { stacks: true, form: LogForm::Json, ..Default::default() };
        let mut sink = Log::new(out.clone(), options);
        fixture.event(&mut sink, 5, &[3, 1]);
        fixture.end(&mut sink);
        assert!(out.text().ends_with(frames), "{}", out.text());
    }

    #[test]
    fn details_and_logs_have_the_same_lines() {
        let fixture = fixture();
        let lines = "    lib!f+0xa\n    lib!0x20\n    ?\n    m\\x1b!a\\nb\n";
        let out = SharedBytes::default();
        let mut sink = Log::new(out.clone(), LogOptions { stacks: true, ..Default::default() });
        fixture.event(&mut sink, 5, &[3, 1]);
        fixture.end(&mut sink);
        assert!(out.text().ends_with(lines), "{}", out.text());
        let out = SharedBytes::default();
        let mut sink = Details::new(out.clone(), DetailsOptions { stacks: true, ..Default::default() });
        fixture.begin(&mut sink);
        fixture.event(&mut sink, 5, &[3, 1]);
        fixture.end(&mut sink);
        assert!(out.text().contains(lines), "{}", out.text());
    }
}
