//! Settings for text sinks.

use std::io::{self, Write};

use ichnos::export::{
    CsvColumn, CsvForm, CsvOptions, DetailsOptions, LogForm, LogOptions, PrettyFields, PrettyNames,
    PrettyOptions,
};
use ichnos::jsonl::JsonLinesOptions;

use super::options::TextOptions;

/// Settings for a text: its options, and properties of the output.
#[derive(Clone, Debug)]
pub(crate) struct TextSettings {
    pub(crate) options: TextOptions,
    /// `true` to print call stacks.
    pub(crate) stacks: bool,
    /// `true` to print the resource of events at the end of the common context.
    pub(crate) resource_in_context: bool,
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
        options.resource_in_context = self.resource_in_context;
        options.printable_only = self.to_terminal;
        // As in `babeltrace2`: only the named properties are printed.
        if !self.options.fields.is_empty() {
            options.fields = PrettyFields::NONE;
        }
        // Invalid names were already refused.
        for switch in self.options.properties().unwrap_or_default() {
            switch(&mut options.fields);
        }
        if !self.options.names.is_empty() {
            options.names = PrettyNames::NONE;
        }
        self.options.names.iter().for_each(|switch| switch(&mut options.names));
        options
    }

    pub(crate) fn details(&self) -> DetailsOptions {
        let mut options = DetailsOptions::default();
        options.stacks = self.stacks;
        options.resource_in_context = self.resource_in_context;
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
