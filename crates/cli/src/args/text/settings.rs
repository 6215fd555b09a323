//! Settings for text sinks.

use std::io::{self, Write};

use ichnos::export::{
    CsvColumn, CsvForm, CsvOptions, DetailsOptions, LogForm, LogOptions, PrettyFields, PrettyNames,
    PrettyOptions,
};
use ichnos::jsonl::JsonLinesOptions;

use super::options::{FieldName, NameScope, TextOptions};

/// Settings for a text: its options, and properties of the output.
#[derive(Clone, Debug)]
pub(crate) struct TextSettings {
    pub(crate) options: TextOptions,
    /// `true` to print call stacks.
    pub(crate) stacks: bool,
    pub(crate) clock_gmt: bool,
    /// Table columns.
    pub(crate) columns: Option<Vec<CsvColumn>>,
    pub(crate) has_colors: bool,
    pub(crate) has_colored_warnings: bool,
    /// `true` if the output is a terminal.
    pub(crate) to_terminal: bool,
    /// `true` to suppress warnings from sinks.
    pub(crate) is_quiet: bool,
    pub(crate) is_verbose: bool,
}

impl TextSettings {
    /// Returns the destination for warnings.
    pub(crate) fn warnings(&self) -> Box<dyn Write + Send> {
        if self.is_quiet { Box::new(io::sink()) } else { Box::new(io::stderr()) }
    }

    pub(crate) fn pretty(&self) -> PrettyOptions {
        let mut options = PrettyOptions::default();
        options.clock_cycles = self.options.clock_cycles;
        options.clock_date = self.options.clock_date;
        options.clock_gmt = self.clock_gmt;
        options.clock_seconds = self.options.clock_seconds;
        options.no_delta = self.options.no_delta;
        options.color = self.has_colors;
        options.color_warnings = self.has_colored_warnings;
        options.verbose = self.is_verbose;
        options.stacks = self.stacks;
        options.printable_only = self.to_terminal;
        // As in `babeltrace2`: only the named properties are printed.
        if !self.options.fields.is_empty() {
            options.fields = PrettyFields::NONE;
        }
        // Invalid names were already refused.
        for field in self.options.properties().unwrap_or_default() {
            let fields = &mut options.fields;
            match field {
                FieldName::Trace => fields.trace = true,
                FieldName::TraceHostname => fields.hostname = true,
                FieldName::TraceDomain => fields.domain = true,
                FieldName::TraceProcname => fields.procname = true,
                FieldName::TraceVpid => fields.vpid = true,
                FieldName::Loglevel => fields.log_level = true,
                FieldName::Emf => fields.emf = true,
                FieldName::Callsite => fields.call_site = true,
                FieldName::All => *fields = PrettyFields::ALL,
                FieldName::None => {}
            }
        }
        if !self.options.names.is_empty() {
            options.names = PrettyNames::NONE;
        }
        for name in &self.options.names {
            let names = &mut options.names;
            match name {
                NameScope::Payload => names.payload = true,
                NameScope::Context => names.context = true,
                NameScope::Scope => names.scope = true,
                NameScope::Header => names.header = true,
                NameScope::All => *names = PrettyNames::ALL,
                NameScope::None => {}
            }
        }
        options
    }

    pub(crate) fn details(&self) -> DetailsOptions {
        let mut options = DetailsOptions::default();
        options.stacks = self.stacks;
        options.color = self.has_colors;
        options.printable_only = self.to_terminal;
        for (switch, value) in &self.options.details {
            *switch(&mut options) = *value;
        }
        options
    }

    pub(crate) fn json_lines(&self) -> JsonLinesOptions {
        let mut options = JsonLinesOptions::default();
        options.stacks = self.stacks;
        options.packets = self.options.packets;
        options.time = self.options.time;
        options.integers = self.options.integers;
        options
    }

    pub(crate) fn log(&self, form: LogForm) -> LogOptions {
        let mut options = LogOptions::default();
        options.stacks = self.stacks;
        options.form = form;
        options.color = self.has_colors;
        options.printable_only = self.to_terminal;
        options.time = self.options.time;
        options.integers = self.options.integers;
        options.clock_date = self.options.clock_date;
        options.clock_gmt = self.clock_gmt;
        options
    }

    pub(crate) fn table(&self, form: CsvForm) -> CsvOptions {
        let mut options = CsvOptions::default();
        options.form = form;
        if let Some(columns) = &self.columns {
            options.columns = columns.clone().into();
        }
        options.time = self.options.time;
        options.printable_only = self.to_terminal;
        options
    }
}
