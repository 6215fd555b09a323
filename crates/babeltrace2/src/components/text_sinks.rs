//! `sink.text.pretty` and `sink.text.details`.

use std::io::{self, IsTerminal as _, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ichnos::TextOutput;
use ichnos::export::{
    Details, DetailsOptions, DetailsPart, Pretty, PrettyFields, PrettyNames, PrettyOptions, TerminalText,
    TerminalWriter,
};
use ichnos::io::{ExistingOutput, Output, OutputFile};
use ichnos::model::Sink;

use crate::components::dmesg;
use crate::components::parameter_values::Parameters;
use crate::native_text::path_of;
use crate::paint::Paint;
use crate::value::Map;

/// A sink that prints text.
#[derive(Clone, Debug)]
pub(crate) struct TextSink {
    /// `None` for the standard output.
    path: Option<PathBuf>,
    has_colors: bool,
    style: TextStyle,
}

#[derive(Clone, Debug)]
enum TextStyle {
    Pretty(PrettyOptions),
    Details(DetailsOptions),
}

impl TextSink {
    /// Creates a `sink.text.pretty` from parameters.
    pub(crate) fn pretty(parameters: &Map) -> Self {
        let parameters = Parameters(parameters);
        let path = parameters.text("path").map(path_of);
        let has_colors = has_colors(parameters.text("color"), path.is_none());
        let mut options = PrettyOptions::default();
        options.no_delta = parameters.is_set("no-delta");
        options.unsigned_deltas = true;
        options.clock_cycles = parameters.is_set("clock-cycles");
        options.clock_seconds = parameters.is_set("clock-seconds");
        options.clock_date = parameters.is_set("clock-date");
        options.clock_gmt = parameters.is_set("clock-gmt");
        options.verbose = parameters.is_set("verbose");
        options.enum_flags = parameters.is_set("print-enum-flags");
        options.names = names(parameters);
        options.fields = fields(parameters);
        options.color = has_colors;
        options.color_warnings = detect_colors();
        options.color_bright_codes = !bright_means_bold();
        Self { path, has_colors, style: TextStyle::Pretty(options) }
    }

    /// Creates a `sink.text.details` from parameters.
    pub(crate) fn details(parameters: &Map) -> Self {
        let parameters = Parameters(parameters);
        let has_colors = has_colors(parameters.text("color"), true);
        let is_on = |name: &str| parameters.boolean(name).unwrap_or(true);
        let mut options = DetailsOptions::default();
        options.metadata = is_on("with-metadata");
        options.data = is_on("with-data");
        options.time = is_on("with-time");
        options.trace_name = is_on("with-trace-name");
        options.stream_class_name = is_on("with-stream-class-name");
        options.stream_class_namespace = is_on("with-stream-class-namespace");
        options.stream_name = is_on("with-stream-name");
        options.uuid = is_on("with-uuid");
        options.uid = is_on("with-uid");
        options.compact = parameters.is_set("compact");
        options.has_packets = Some(|trace| !dmesg::is_log(trace));
        // Losses of which neither the number nor the extent is sure are left out before.
        options.uncounted_losses = true;
        options.color = has_colors;
        options.color_bright_codes = !bright_means_bold();
        Self { path: None, has_colors, style: TextStyle::Details(options) }
    }

    /// Sets the version of the message interchange protocol.
    pub(crate) fn set_protocol_version(&mut self, version: u64) {
        match &mut self.style {
            TextStyle::Pretty(options) => options.protocol_version = version,
            TextStyle::Details(options) => options.protocol_version = version,
        }
    }

    /// Shows debug information at the end of the common context.
    pub(crate) fn show_debug_info(&mut self) {
        match &mut self.style {
            TextStyle::Pretty(options) => options.resource_in_context = true,
            // The filter makes new traces without identifiers.
            TextStyle::Details(options) => (options.resource_in_context, options.trace_uid) = (true, false),
        }
    }

    /// Returns the path of the output, or `None` for the standard output.
    pub(crate) fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    /// Prints the messages that `read` passes to an output.
    ///
    /// # Errors
    /// If the output cannot be written, or if `read` fails. What was printed before stays.
    pub(crate) fn print<T>(self, read: impl FnOnce(&dyn Output) -> io::Result<T>) -> io::Result<T> {
        self.with_destination(|style, destination| read(&*style.output(destination)))
    }

    /// Prints a part of the timeline, in which data streams have other times, or no messages.
    ///
    /// # Errors
    /// If the output cannot be written, or if `read` fails. What was printed before stays.
    pub(crate) fn print_part<T>(
        self,
        part: DetailsPart,
        read: impl FnOnce(PartOutput<'_>) -> io::Result<T>,
    ) -> io::Result<T> {
        self.with_destination(|style, destination| match style {
            TextStyle::Details(mut options) => {
                options.part = Arc::new(part);
                read(PartOutput::Sink(&mut Details::new(destination, options)))
            }
            style => read(PartOutput::Output(&*style.output(destination))),
        })
    }

    fn with_destination<T>(
        mut self,
        print: impl FnOnce(TextStyle, &mut TextDestination) -> io::Result<T>,
    ) -> io::Result<T> {
        let file = match &self.path {
            Some(path) => ichnos::io::create(Some(path), ExistingOutput::Replace)?,
            None => OutputFile::standard()?,
        };
        let is_terminal = file.is_terminal();
        match &mut self.style {
            TextStyle::Pretty(options) => options.printable_only = is_terminal,
            TextStyle::Details(options) => options.printable_only = is_terminal,
        }
        let kind = TerminalText::Lines { colors: self.has_colors };
        let mut destination = match is_terminal {
            true => TextDestination::Terminal(TerminalWriter::new(file, kind)),
            false => TextDestination::Plain(file),
        };
        let result = print(self.style, &mut destination);
        destination.finish()?;
        result
    }
}

/// Receiver of a part of the timeline.
pub(crate) enum PartOutput<'o> {
    /// Shows only events and losses.
    Output(&'o dyn Output),
    /// Also shows packets and data streams.
    Sink(&'o mut dyn Sink),
}

impl TextStyle {
    fn output<'o>(self, destination: &'o mut TextDestination) -> Box<dyn Output + 'o> {
        match self {
            Self::Pretty(options) => {
                let make = move |writer| Pretty::new(writer, options.clone());
                Box::new(TextOutput::new(destination, make).without_damage())
            }
            Self::Details(options) => {
                let make = move |writer| Details::new(writer, options.clone());
                Box::new(TextOutput::new(destination, make).without_damage())
            }
        }
    }
}

/// Destination of text. A terminal receives only printable characters.
enum TextDestination {
    Plain(OutputFile),
    Terminal(TerminalWriter<OutputFile>),
}

impl TextDestination {
    fn finish(self) -> io::Result<()> {
        match self {
            Self::Plain(file) => file.finish(),
            Self::Terminal(writer) => writer.finish()?.finish(),
        }
    }
}

impl Write for TextDestination {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Plain(file) => file.write(bytes),
            Self::Terminal(writer) => writer.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Plain(file) => file.flush(),
            Self::Terminal(writer) => writer.flush(),
        }
    }
}

fn names(parameters: Parameters<'_>) -> PrettyNames {
    let mut names = match parameters.text("name-default") {
        Some("show") => PrettyNames::ALL,
        Some(_) => PrettyNames::NONE,
        None => PrettyNames::default(),
    };
    let set = |name: &str, switch: &mut bool| *switch = parameters.boolean(name).unwrap_or(*switch);
    set("name-payload", &mut names.payload);
    set("name-context", &mut names.context);
    set("name-scope", &mut names.scope);
    set("name-header", &mut names.header);
    names
}

fn fields(parameters: Parameters<'_>) -> PrettyFields {
    let mut fields = match parameters.text("field-default") {
        Some("show") => PrettyFields::ALL,
        Some(_) => PrettyFields::NONE,
        None => PrettyFields::default(),
    };
    let set = |name: &str, switch: &mut bool| *switch = parameters.boolean(name).unwrap_or(*switch);
    set("field-trace", &mut fields.trace);
    set("field-trace:hostname", &mut fields.hostname);
    set("field-trace:domain", &mut fields.domain);
    set("field-trace:procname", &mut fields.procname);
    set("field-trace:vpid", &mut fields.vpid);
    set("field-loglevel", &mut fields.log_level);
    set("field-emf", &mut fields.emf);
    set("field-callsite", &mut fields.call_site);
    fields
}

/// Returns `true` if text is colored. `is_standard` is `true` for the standard output. Even colors for other files depend
/// on the terminal, or on `BABELTRACE_TERM_COLOR`.
fn has_colors(choice: Option<&str>, is_standard: bool) -> bool {
    match choice {
        Some("always") => detect_colors(),
        Some("never") => false,
        _ => is_standard && detect_colors(),
    }
}

fn detect_colors() -> bool {
    let are_terminals = io::stdout().is_terminal() && io::stderr().is_terminal();
    Paint::detect(&|name| std::env::var(name).ok(), are_terminals).is_on()
}

/// Returns `true` if bold text is bright in the terminal.
fn bright_means_bold() -> bool {
    std::env::var("BABELTRACE_TERM_COLOR_BRIGHT_MEANS_BOLD").as_deref() != Ok("0")
}

/// Returns the path as an error names it.
pub(crate) fn shown(path: &Path) -> String {
    ichnos::export::printable(&path.display().to_string()).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::ParameterValue;

    fn map(entries: &[(&str, ParameterValue)]) -> Map {
        let mut map = Map::default();
        entries.iter().for_each(|(name, value)| map.insert(*name, value.clone()));
        map
    }

    #[test]
    fn parameters_become_options() {
        let (yes, no) = (ParameterValue::Boolean(true), ParameterValue::Boolean(false));
        let hide = ParameterValue::Text("hide".to_owned());
        let pretty = |entries: &[(&str, ParameterValue)]| match TextSink::pretty(&map(entries)).style {
            TextStyle::Pretty(options) => options,
            TextStyle::Details(_) => panic!("expected pretty"),
        };
        assert_eq!(pretty(&[]).names, PrettyNames::default());
        let names = pretty(&[("name-default", hide.clone()), ("name-scope", yes.clone())]).names;
        assert_eq!(names, PrettyNames { scope: true, ..PrettyNames::NONE });
        let fields = pretty(&[("field-default", hide), ("field-trace:vpid", yes.clone())]).fields;
        assert_eq!(fields, PrettyFields { vpid: true, ..PrettyFields::NONE });
        assert!(pretty(&[("no-delta", yes.clone())]).no_delta);
        let details = |entries: &[(&str, ParameterValue)]| match TextSink::details(&map(entries)).style {
            TextStyle::Details(options) => options,
            TextStyle::Pretty(_) => panic!("expected details"),
        };
        assert!(details(&[]).metadata && !details(&[]).compact);
        assert!(!details(&[("with-metadata", no)]).metadata && details(&[("compact", yes)]).compact);
    }
}
