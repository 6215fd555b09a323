//! Viewer files as conversion targets.

use std::io;
use std::path::{Path, PathBuf};

use ichnos_io::{
    CreateError, FormatOption, FormatOptions, OptionValue, Output, PartsOutput, WriteOptions, WriteSource,
    WriteTarget, WriterFactory, file_output, file_parts, foreign_file, plain_files,
};
use ichnos_viewers::{
    OtlpEncoding, OtlpOptions, OtlpSignal, ViewerFile, ViewerStart, chrome, firefox, otlp, perfetto,
};

use super::viewer_file::{ViewerEncoder, ViewerRules, viewer_start};
use crate::format::formats;

/// Option for the OpenTelemetry signal.
const SIGNAL: &str = "signal";

const OTLP_OPTIONS: &[FormatOption] = &[FormatOption::choice(
    SIGNAL,
    "OpenTelemetry signal to write",
    &[
        OptionValue::new(OtlpSignal::Traces.name(), "spans"),
        OptionValue::new(OtlpSignal::Logs.name(), "log records"),
        OptionValue::new(OtlpSignal::Metrics.name(), "counter values"),
        OptionValue::new("all", "all signals, in JSON Lines only"),
    ],
)
.details(
    "By default, JSON Lines contain `all` signals, one per line, and protobuf contains `traces`, because \
        protobuf requests with different signals look the same. In protobuf, a trace without spans is then \
        an error, and nothing is written.",
)
.value_name("SIGNAL")
.unprefixed()];

/// Viewer file formats.
pub static VIEWER_FORMATS: [ViewerFormat; 5] = [
    ViewerFormat::new("perfetto", &["pftrace", "perfetto-trace"], |start| perfetto(start.time)),
    ViewerFormat::new("chrome", &["json", "json.gz"], |start| chrome(start.time)),
    ViewerFormat::new("firefox", &["profile.json", "profile.json.gz"], |start| firefox(start.time)),
    ViewerFormat::new("otlp", &["otlp.jsonl", "otlp.jsonl.gz"], otlp_lines).with_options(OTLP_OPTIONS),
    ViewerFormat::new("otlp-protobuf", &["otlp", "otlp.pb", "otlp.gz", "otlp.pb.gz"], otlp_request)
        .with_options(OTLP_OPTIONS)
        .with_check(check_otlp_request),
];

/// Viewer file format. It can have losses. It cannot be read again, and thus cannot be verified.
///
/// ```no_run
/// use ichnos::convert::{ConvertOptions, target};
///
/// let session = ichnos::open(["my-trace"], &ichnos::OpenOptions::default())?;
/// let target = target(Some("perfetto"), "my.pftrace".as_ref(), None).ok_or("no such format")?;
/// session.reader()?.convert(target.writer, Some("my.pftrace".into()), &ConvertOptions::default())?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct ViewerFormat {
    /// Name, for example `perfetto`.
    pub name: &'static str,
    extensions: &'static [&'static str],
    options: &'static [FormatOption],
    /// Returns the reason why the options cannot be used, or `None`.
    check: fn(&FormatOptions) -> Option<&'static str>,
    start: fn(&FileStart) -> Box<dyn ViewerFile>,
}

/// Start of a file.
#[derive(Clone, Debug)]
struct FileStart {
    time: ViewerStart,
    options: FormatOptions,
    /// `true` if the file is the whole output, not a part of it.
    is_whole: bool,
}

impl ViewerFormat {
    const fn new(
        name: &'static str,
        extensions: &'static [&'static str],
        start: fn(&FileStart) -> Box<dyn ViewerFile>,
    ) -> Self {
        Self { name, extensions, options: &[], check: |_| None, start }
    }

    const fn with_options(self, options: &'static [FormatOption]) -> Self {
        Self { options, ..self }
    }

    const fn with_check(self, check: fn(&FormatOptions) -> Option<&'static str>) -> Self {
        Self { check, ..self }
    }

    fn check_options(&self, sources: &[WriteSource], options: &WriteOptions) -> Result<(), CreateError> {
        if let Some(dialect) = &options.dialect {
            return Err(CreateError::Dialect(dialect.clone()));
        }
        if options.verify.is_some() {
            return Err(CreateError::WriteOnly("viewer files"));
        }
        let Some(problem) = (self.check)(&options.formats) else { return Ok(()) };
        let trace = sources.first().map_or_else(String::new, |source| source.trace.name.clone());
        Err(CreateError::Unsupported { trace, dialect: self.name, problems: vec![problem.to_owned()] })
    }

    /// Returns the rules for files. With `is_whole`, a file is the whole output.
    fn rules(&self, options: &WriteOptions, is_compressed: bool, is_whole: bool) -> ViewerRules {
        let time = viewer_start(options);
        let (make, start) = (self.start, FileStart { time, options: options.formats.clone(), is_whole });
        ViewerRules::new(Box::new(move || make(&start)), is_compressed, options)
    }
}

fn otlp_lines(start: &FileStart) -> Box<dyn ViewerFile> {
    otlp_file(OtlpEncoding::Json, signal(&start.options, "otlp"), false, start)
}

fn otlp_request(start: &FileStart) -> Box<dyn ViewerFile> {
    let selected = signal(&start.options, "otlp-protobuf");
    let needs_spans = start.is_whole && selected.is_none();
    otlp_file(OtlpEncoding::Protobuf, selected.or(Some(OtlpSignal::Traces)), needs_spans, start)
}

fn check_otlp_request(options: &FormatOptions) -> Option<&'static str> {
    (options.choice("otlp-protobuf", SIGNAL) == Some("all"))
        .then_some("a request contains only one signal: spans, log records or metrics")
}

/// Returns the selected signal.
fn signal(options: &FormatOptions, format: &str) -> Option<OtlpSignal> {
    options.choice(format, SIGNAL).and_then(OtlpSignal::from_name)
}

/// Starts an OpenTelemetry file. It finds mentioned operations in the notations of all formats.
fn otlp_file(
    encoding: OtlpEncoding,
    signal: Option<OtlpSignal>,
    needs_spans: bool,
    start: &FileStart,
) -> Box<dyn ViewerFile> {
    let find_mentions = formats().filter_map(|format| format.find_mentions).collect();
    otlp(OtlpOptions { encoding, signal, needs_spans, find_mentions }, start.time)
}

/// Returns `true` if the file name means a compressed file.
fn is_compressed(target: &WriteTarget) -> bool {
    let (WriteTarget::Complete(path) | WriteTarget::Live(path)) = target else { return false };
    path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("gz"))
}

impl WriterFactory for ViewerFormat {
    fn extensions(&self) -> &'static [&'static str] {
        self.extensions
    }

    fn options(&self) -> &'static [FormatOption] {
        self.options
    }

    fn drops_events(&self) -> bool {
        true
    }

    fn needs_times(&self, _: &FormatOptions) -> bool {
        true
    }

    fn written_files(&self, directory: &Path) -> io::Result<Vec<PathBuf>> {
        // Files of other programs look the same.
        match plain_files(directory)?.first() {
            Some(path) => Err(foreign_file(path, "it may be from another program")),
            None => Ok(Vec::new()),
        }
    }

    fn create(
        &self,
        target: WriteTarget,
        sources: Vec<WriteSource>,
        options: &WriteOptions,
    ) -> Result<Box<dyn Output>, CreateError> {
        self.check_options(&sources, options)?;
        let rules = self.rules(options, is_compressed(&target), true);
        file_output::<ViewerEncoder>(&target, rules, options)
    }

    fn create_parts(
        &self,
        sources: Vec<WriteSource>,
        options: &WriteOptions,
    ) -> Result<Box<dyn PartsOutput>, CreateError> {
        self.check_options(&sources, options)?;
        Ok(file_parts::<ViewerEncoder>(self.rules(options, false, false), options))
    }
}
