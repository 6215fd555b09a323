//! Event classes with debug information.

use std::sync::Arc;

use ichnos_model::class::{DataStreamClass, FieldClass, FieldKind, Member};
use ichnos_model::event::EventValues;
use ichnos_model::{Scope, TraceClass};

/// Texts about an address, empty if unknown.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct DebugInfoTexts {
    /// Binary, and the address in it: `libfoo.so+0x2349`, `program@0x401234`.
    pub binary: String,
    /// Function, and the offset in it: `foo+0xd2`.
    pub function: String,
    /// Source file and line: `foo.c:35`.
    pub source: String,
}

/// Common context member with the process.
pub(crate) const PROCESS: &str = "vpid";
/// Common context member with the address.
pub(crate) const ADDRESS: &str = "ip";

/// Adds a resource with debug information to a data stream class, if its events have a process and an address.
pub(crate) fn declare(stream: &mut DataStreamClass, name: &str) {
    let Some(members) = stream.common_context.as_ref().and_then(|context| context.members()) else { return };
    let class =
        |name: &str| members.iter().find(|member| member.name == name).map(|member| &member.class.kind);
    let has_address = matches!(class(ADDRESS), Some(FieldKind::Integer { integer, .. }) if !integer.signed);
    let has_process = matches!(class(PROCESS), Some(FieldKind::Integer { integer, .. }) if integer.signed);
    if !has_address || !has_process || class(name).is_some() || stream.resource.is_some() {
        return;
    }
    let texts = ["bin", "func", "src"].map(|text| Member::new(text, FieldClass::string()));
    let structure = FieldClass::structure([Member::new(name, FieldClass::structure(texts))]);
    stream.resource = Some(Arc::new(structure));
}

/// Returns `true` if events in a data stream class have debug information under this name.
pub(crate) fn is_in(stream: &DataStreamClass, name: &str) -> bool {
    let members = stream.resource.as_ref().and_then(|resource| resource.members());
    matches!(members, Some([only]) if only.name == name && only.class.members().is_some())
}

/// Returns `true` if any data stream in a trace has events with debug information under this name.
pub(crate) fn is_in_any(trace: &TraceClass, name: &str) -> bool {
    trace.data_streams.iter().any(|stream| is_in(stream, name))
}

/// Sets an event's debug information.
pub(crate) fn set(values: &mut EventValues, texts: &DebugInfoTexts) {
    values.clear();
    values.begin(Scope::Resource);
    values.begin_structure();
    values.push(texts.binary.as_str());
    values.push(texts.function.as_str());
    values.push(texts.source.as_str());
    values.end();
}
