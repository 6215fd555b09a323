//! Traces whose events have debug information.

use std::sync::Arc;

use ichnos_model::class::DataStreamClass;
use ichnos_model::cursor::LookupCursor;
use ichnos_model::stack::Symbols;
use ichnos_model::trace::WrappedTrace;
use ichnos_model::{Cursor as _, OpenedTrace, Window};

use crate::address_spaces::AddressSpacesBuilder;
use crate::binary::CodeLocation;
use crate::binary_id::{BinaryId, MappingBase};
use crate::error::DebugInfoError;
use crate::lookup::{AddressTexts, DebugInfoLookup};
use crate::mapping_events::MappingRules;
use crate::options::DebugInfoOptions;
use crate::texts::TextMaker;
use crate::{class, mapping_events};

/// Debug information for the events in one or more traces, which share the opened binaries.
#[derive(Debug)]
pub struct DebugInfo {
    maker: Arc<TextMaker>,
    field_name: String,
}

impl DebugInfo {
    /// Creates debug information for traces. No file is opened yet.
    #[must_use]
    pub fn new(options: &DebugInfoOptions) -> Self {
        Self { maker: Arc::new(TextMaker::new(options)), field_name: options.field_name.clone() }
    }

    /// Declares the debug information in a data stream class, if its events have a process and an address.
    pub fn declare(&self, stream: &mut DataStreamClass) {
        class::declare(stream, &self.field_name);
    }

    /// Adds debug information to the events in a trace. Returns the trace unchanged if its classes do not
    /// [declare](Self::declare) it.
    ///
    /// Reading the first event scans the trace for events about binaries.
    #[must_use]
    pub fn wrap(self: &Arc<Self>, trace: Box<dyn OpenedTrace>) -> Box<dyn OpenedTrace> {
        let trace = with_symbols(trace, Some(self));
        if !class::is_in_any(&trace.trace().class, &self.field_name) {
            return trace;
        }
        let trace: Arc<dyn OpenedTrace> = trace.into();
        let streams = trace.data_streams();
        let streams = streams.iter().map(|stream| class::is_in(stream.class(), &self.field_name));
        let has_debug_info: Vec<bool> = streams.collect();
        let texts = Arc::new(AddressTexts::new(Arc::clone(&trace), Arc::clone(&self.maker)));
        Box::new(WrappedTrace::new(trace, move |stream, cursor| match has_debug_info.get(stream) {
            Some(true) => LookupCursor::new(cursor, DebugInfoLookup::new(Arc::clone(&texts))).boxed(),
            _ => cursor,
        }))
    }

    /// Ignores the events about binaries outside a time window, as Babeltrace does behind a trimmer. Only the first call
    /// has an effect, if it comes before the first event is read.
    pub fn restrict(&self, window: Window) {
        self.maker.restrict(window);
    }

    /// Finds the functions and source lines at an address in a binary, as its linker counts addresses. For a library or
    /// a position-independent program, this is the distance from the start of its mapping.
    #[must_use]
    pub fn locate(&self, binary: &BinaryId, address: u64) -> CodeLocation {
        self.maker.binaries().find(binary, (0, MappingBase::Absolute), address).location
    }

    /// Returns `true` if a trace has so many binaries, functions or thread names that the last of them were ignored.
    #[must_use]
    pub fn is_incomplete(&self) -> bool {
        self.maker.is_incomplete()
    }

    /// Returns the reasons why opened binaries lack some or all debug information.
    #[must_use]
    pub fn problems(&self) -> Vec<DebugInfoError> {
        self.maker.binaries().problems()
    }
}

/// Names the modules and threads in a perf trace, and with debug information also the functions. Returns other traces
/// unchanged. [`Symbols::is_incomplete`] tells if there are too many of them.
#[must_use]
pub fn with_symbols(
    trace: Box<dyn OpenedTrace>,
    debug_info: Option<&Arc<DebugInfo>>,
) -> Box<dyn OpenedTrace> {
    if !mapping_events::is_from_perf(&trace.trace().class) {
        return trace;
    }
    let trace: Arc<dyn OpenedTrace> = trace.into();
    // The trace owns the function, so the function must not keep the trace alive.
    let input = Arc::downgrade(&trace);
    let maker = debug_info.map(|debug_info| Arc::clone(&debug_info.maker));
    trace.trace().set_symbols(move || {
        let Some(input) = input.upgrade() else { return Symbols::default() };
        match &maker {
            Some(maker) => maker.symbols(&*input),
            None => {
                let rules = MappingRules::all(AddressSpacesBuilder::MOST_MAPPINGS);
                let spaces = mapping_events::read(&*input, rules);
                spaces.symbols(|_| Vec::new())
            }
        }
    });
    Box::new(WrappedTrace::new(trace, |_, cursor| cursor))
}
