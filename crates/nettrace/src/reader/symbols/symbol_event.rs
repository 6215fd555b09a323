//! Symbol information in the events of a class.

use super::mappings::MappingEvent;
use super::methods::{MethodEvent, ModuleForm};
use super::threads::{self, RUNTIME};
use crate::reader::processes::UNIVERSAL_SYSTEM;
use crate::{EventMetadata, known};

/// Symbol information in the events of a class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SymbolEvent {
    None,
    Method(MethodEvent),
    Module(ModuleForm),
    Mapping(MappingEvent),
    /// Only threads with this name write the event.
    Thread(&'static str),
}

pub(super) const RUNDOWN: &str = "Microsoft-Windows-DotNETRuntimeRundown";

/// Returns the symbol information in the events of a class.
pub(super) fn source(metadata: &EventMetadata) -> SymbolEvent {
    let EventMetadata { provider, event_id, version, name, .. } = metadata;
    if let Some(name) = threads::name_of(provider, *event_id, name) {
        return SymbolEvent::Thread(name);
    }
    if ![RUNTIME, RUNDOWN, UNIVERSAL_SYSTEM].contains(&&**provider) {
        return SymbolEvent::None;
    }
    let Some(event) = known::find(provider, *event_id, *version, name) else { return SymbolEvent::None };
    if provider == UNIVERSAL_SYSTEM {
        return match &*event.name {
            "ProcessMapping" => SymbolEvent::Mapping(MappingEvent::Mapping),
            "ProcessSymbol" => SymbolEvent::Mapping(MappingEvent::Symbol),
            "ExistingProcess" | "ProcessCreate" => SymbolEvent::Mapping(MappingEvent::Process),
            _ => SymbolEvent::None,
        };
    }
    // Events with other numbers in .NET Framework have the same names with this suffix.
    match event.name.strip_suffix("V2").unwrap_or(&event.name) {
        "MethodLoad" => SymbolEvent::Method(MethodEvent::load(false)),
        "MethodLoadVerbose" => SymbolEvent::Method(MethodEvent::load(true)),
        "MethodUnload" => SymbolEvent::Method(MethodEvent::unload(false)),
        "MethodUnloadVerbose" => SymbolEvent::Method(MethodEvent::unload(true)),
        "MethodDCStart" | "MethodDCEnd" => SymbolEvent::Method(MethodEvent::rundown(false)),
        "MethodDCStartVerbose" | "MethodDCEndVerbose" => SymbolEvent::Method(MethodEvent::rundown(true)),
        "ModuleLoad" | "ModuleUnload" | "ModuleDCStart" | "ModuleDCEnd" => {
            SymbolEvent::Module(ModuleForm::Module)
        }
        "DomainModuleLoad" | "DomainModuleDCStart" | "DomainModuleDCEnd" => {
            SymbolEvent::Module(ModuleForm::DomainModule)
        }
        _ => SymbolEvent::None,
    }
}
