//! Events that name the functions in stacks, as the runtime writes them at the end of a session.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::own::normalized;
use super::tables::NamedFunction;
use crate::wire_writer::{push_u16, push_u32, push_u64, push_utf16_string};
use crate::{EventMetadata, known};

/// Event provider.
const PROVIDER: &str = "Microsoft-Windows-DotNETRuntimeRundown";

/// Ids of the events that list modules and methods at the end.
const MODULE: u32 = 154;
const METHOD: u32 = 144;

/// Loader keyword, and keyword for methods that were compiled while the program ran.
const KEYWORDS: u64 = 0x8 | 0x10;

/// Flag for a method that was compiled while the program ran. Its module lacks addresses.
const JITTED: u32 = 1;

/// Rundown event.
#[derive(Debug)]
pub(super) struct RundownEvent {
    pub(super) is_module: bool,
    /// Process (version 6).
    pub(super) process: Option<u64>,
    pub(super) payload: Vec<u8>,
}

/// Returns the description for rundown events about modules or methods.
pub(super) fn metadata(is_module: bool, is_v6: bool) -> EventMetadata {
    let event_id = if is_module { MODULE } else { METHOD };
    let version = 1;
    let opcode = known::find(PROVIDER, event_id, version, "").map(|known| known.opcode);
    let metadata = EventMetadata {
        provider: PROVIDER.to_owned(),
        event_id,
        version,
        opcode,
        keywords: KEYWORDS,
        level: Some(4),
        ..EventMetadata::default()
    };
    normalized(&metadata, is_v6).0
}

/// Splits a function name at the last dot before its parameters. Readers join both parts with a dot, some of them even
/// if the first part is empty.
fn split_name(name: &str) -> (&str, &str) {
    let end = name.find(['(', '<', '[']).unwrap_or(name.len());
    let dot = name.get(..end).and_then(|name| name.rfind('.'));
    // `..ctor` starts with a dot.
    let dot =
        dot.map(|dot| if name.get(..dot).is_some_and(|name| name.ends_with('.')) { dot - 1 } else { dot });
    match dot.filter(|dot| *dot > 0).and_then(|dot| Some((name.get(..dot)?, name.get(dot + 1..)?))) {
        Some((namespace, name)) if !name.is_empty() => (namespace, name),
        _ => ("", name),
    }
}

/// Returns the events that name functions. Their modules come first.
pub(super) fn events(functions: &[NamedFunction]) -> impl Iterator<Item = RundownEvent> + '_ {
    let key = |function: &NamedFunction| (function.process, function.module.clone().unwrap_or_default());
    let mut modules: BTreeMap<(Option<u64>, Arc<str>), u64> = BTreeMap::new();
    for function in functions {
        let next = 1 + modules.len() as u64;
        modules.entry(key(function)).or_insert(next);
    }
    let ids: Vec<u64> =
        functions.iter().map(|function| modules.get(&key(function)).copied().unwrap_or(0)).collect();
    let of_modules = modules.into_iter().map(|((process, module), id)| {
        let mut payload = Vec::new();
        // Module, assembly, flags, and four reserved bytes.
        push_u64(&mut payload, id);
        push_u64(&mut payload, id);
        push_u32(&mut payload, 0);
        push_u32(&mut payload, 0);
        push_utf16_string(&mut payload, &module);
        push_utf16_string(&mut payload, "");
        push_u16(&mut payload, 0);
        RundownEvent { is_module: true, process, payload }
    });
    let of_functions = functions.iter().zip(ids).map(|(function, module)| {
        let mut payload = Vec::new();
        // Method, module, address, size, token and flags; namespace, name and signature.
        push_u64(&mut payload, function.begin);
        push_u64(&mut payload, module);
        push_u64(&mut payload, function.begin);
        push_u32(&mut payload, function.size);
        push_u32(&mut payload, 0);
        push_u32(&mut payload, JITTED);
        let (namespace, name) = split_name(&function.name);
        for text in [namespace, name, ""] {
            push_utf16_string(&mut payload, text);
        }
        push_u16(&mut payload, 0);
        RundownEvent { is_module: false, process: function.process, payload }
    });
    of_modules.chain(of_functions)
}
