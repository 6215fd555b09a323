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

/// Returns the name of this thread: the name that the program has given it, or the system's, which is the program's name
/// for the main thread.
pub(super) fn thread_name() -> String {
    let is_main = rustix::thread::gettid() == rustix::process::getpid();
    let own = std::thread::current();
    let mut name = match own.name().filter(|_| !is_main) {
        Some(name) => name.to_owned(),
        None => rustix::thread::name().map_or_else(|_| String::new(), |name| name.to_string_lossy().into()),
    };
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
