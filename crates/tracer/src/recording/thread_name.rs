//! Names of threads, as events of their own.

use crate::description::{EventDescription, FieldDescription, MemberDescription};
use crate::field::TraceField;
use crate::field_order::FieldOrder;
use crate::variable_part::VariablePart;

/// Longest name in bytes.
const LONGEST: usize = 64;

/// Class of the events that name a thread. Viewers show the name for all events of the thread.
pub(super) const THREAD_NAME: EventDescription<'static> = EventDescription::new(
    "thread_name",
    &[
        MemberDescription::new("thread", FieldDescription::unsigned(32)).with_meaning("target-thread"),
        MemberDescription::new("name", FieldDescription::String).with_meaning("target-thread-name"),
    ],
)
.with_namespace("ichnos-tracer");

/// Longest name that the system keeps. It cuts off longer ones.
const LONGEST_OF_SYSTEM: usize = 15;

/// Returns the name of this thread: the system's, which is the program's name for the main thread. If it is cut off, this is
/// the name that the program has given the thread.
pub(super) fn thread_name() -> String {
    let system = rustix::thread::name().unwrap_or_default();
    let system = system.to_bytes();
    // A thread that is just starting has no `Thread` yet, and must not get one from a signal handler: the process would
    // end. So only threads with a long name are asked for it.
    let own = (system.len() == LONGEST_OF_SYSTEM).then(std::thread::current);
    let own = own.as_ref().and_then(|own| own.name()).filter(|own| own.as_bytes().starts_with(system));
    let mut name = own.map_or_else(|| String::from_utf8_lossy(system).into_owned(), ToOwned::to_owned);
    name.truncate(name.floor_char_boundary(LONGEST));
    name
}

/// Returns the number of bytes in the payload of a name.
pub(super) fn payload_size(name: &str) -> usize {
    u32::FIXED + str::FIXED + name.len()
}

/// Writes the payload of a name.
pub(super) fn write_payload(thread: u32, name: &str, out: &mut [u8]) {
    let order = FieldOrder::Little;
    let mut out = VariablePart::new(out);
    thread.write_fixed(order, out.take(u32::FIXED));
    name.write_fixed(order, out.take(str::FIXED));
    name.write_variable(order, &mut out);
}
