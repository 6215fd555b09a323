//! Writes events from any format as X-Trace reports.
//!
//! Events that were read from reports become the same reports again, key by key. Other events become reports if they
//! have an operation or a task according to their [meaning](ichnos_model::meaning::Meaning). `docs/xtrace.md` describes
//! the conversion.

mod event_lines;
mod foreign;
mod foreign_class;
mod identifiers;
mod losses;
mod open_reports;
mod own;
mod repair;
mod report_block;
mod report_encoder;
mod rules;
mod threads;

use std::io;
use std::path::{Path, PathBuf};

use ichnos_io::{
    CreateError, FormatOption, OptionValue, Output, PartsOutput, Tree, WriteOptions, WriteSource,
    WriteTarget, WriterFactory, file_output, file_parts, written_trace_files,
};

use self::report_encoder::ReportEncoder;
use self::rules::ReportRules;
use crate::reader::recognition::is_report_file;

/// Writes X-Trace reports.
#[derive(Clone, Copy, Debug)]
pub struct XTraceWriter;

const DIALECTS: &[OptionValue] =
    &[OptionValue::new("text", "reports 1.0 as text"), OptionValue::new("json", "reports as server JSON")];

const EXTENSIONS: &[&str] = &["xtrace", "reports"];

/// Treatment of events without an operation.
const ORPHANS: FormatOption = FormatOption::choice(
    "orphans",
    "Reports: treatment of events without a task or operation",
    &[
        OptionValue::new("drop", "they are not written (default)"),
        OptionValue::new("chain", "each becomes an operation after the previous event of its thread"),
    ],
)
.value_name("TREATMENT")
.unprefixed();

impl WriterFactory for XTraceWriter {
    fn dialects(&self) -> &'static [OptionValue] {
        DIALECTS
    }

    fn options(&self) -> &'static [FormatOption] {
        &[ORPHANS]
    }

    fn extensions(&self) -> &'static [&'static str] {
        EXTENSIONS
    }

    fn dialect_of_extension(&self, extension: &str) -> Option<&'static str> {
        // Only servers write JSON, so files are text.
        EXTENSIONS.contains(&extension).then_some("text")
    }

    fn writes_live(&self) -> bool {
        true
    }

    fn written_files(&self, directory: &Path) -> io::Result<Vec<PathBuf>> {
        let has_reports = |tree: &Tree| tree.entries.iter().any(is_report_file);
        written_trace_files(directory, "xtrace", has_reports, "it does not contain X-Trace reports")
    }

    fn create(
        &self,
        target: WriteTarget,
        sources: Vec<WriteSource>,
        options: &WriteOptions,
    ) -> Result<Box<dyn Output>, CreateError> {
        let rules = ReportRules::new(sources, options.dialect_index(DIALECTS)? == 1, options);
        file_output::<ReportEncoder>(&target, rules, options)
    }

    fn create_parts(
        &self,
        sources: Vec<WriteSource>,
        options: &WriteOptions,
    ) -> Result<Box<dyn PartsOutput>, CreateError> {
        let rules = ReportRules::new(sources, options.dialect_index(DIALECTS)? == 1, options);
        Ok(file_parts::<ReportEncoder>(rules, options))
    }
}
