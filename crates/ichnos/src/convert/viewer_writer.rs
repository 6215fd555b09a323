//! Traces of viewers wherever traces can be written.

use std::io;
use std::path::{Path, PathBuf};

use ichnos_io::{
    CreateError, FormatOption, OptionValue, Output, PartsOutput, WriteOptions, WriteSource, WriteTarget,
    WriterFactory, file_output, file_parts, foreign_file, plain_files,
};
use ichnos_viewers::{Chrome, Firefox, Otlp, OtlpEncoding, OtlpSignal, Perfetto};

use super::otlp_spans::OtlpSpans;
use super::viewer_file::{ViewerContent, ViewerEncoder, ViewerRules};
use crate::format::formats;

/// Option that selects the signal of OpenTelemetry.
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

ichnos_model::named_enum! {
    /// Writes files for a viewer. They can have losses, cannot be read again, and thus cannot be verified.
    ///
    /// ```no_run
    /// use ichnos::convert::{ConvertOptions, ViewerWriter};
    /// use ichnos::model::Window;
    ///
    /// let session = ichnos::open(["my-trace"], &ichnos::OpenOptions::default())?;
    /// let reader = session.reader()?;
    /// reader.convert(&ViewerWriter::Perfetto, Some("my.pftrace".into()), &ConvertOptions::default())?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    #[non_exhaustive]
    pub enum ViewerWriter {
        /// [Perfetto's format](Perfetto).
        Perfetto = "perfetto",
        /// [Chrome's JSON](Chrome).
        Chrome = "chrome",
        /// [Profiles of Firefox](Firefox).
        Firefox = "firefox",
        /// [Requests of OpenTelemetry](Otlp) as JSON Lines.
        Otlp = "otlp",
        /// [A request of OpenTelemetry](Otlp) as protobuf.
        OtlpProtobuf = "otlp-protobuf",
    }
}

impl ViewerWriter {
    fn check(self, sources: &[WriteSource], options: &WriteOptions) -> Result<(), CreateError> {
        let unsupported = |problem: &str| {
            let trace = sources.first().map_or_else(String::new, |source| source.trace.name.clone());
            Err(CreateError::Unsupported { trace, dialect: self.name(), problems: vec![problem.to_owned()] })
        };
        if let Some(dialect) = &options.dialect {
            return Err(CreateError::Dialect(dialect.clone()));
        }
        if options.verify.is_some() {
            return unsupported("viewer files cannot be read back for verification");
        }
        if self == Self::OtlpProtobuf && options.formats.choice(self.name(), SIGNAL) == Some("all") {
            return unsupported("a request contains only one signal: spans, log records or metrics");
        }
        Ok(())
    }

    /// Returns the signal to write; `None` for all.
    fn signal(self, options: &WriteOptions) -> Option<OtlpSignal> {
        match options.formats.choice(self.name(), SIGNAL) {
            Some(name) => OtlpSignal::from_name(name),
            None => (self == Self::OtlpProtobuf).then_some(OtlpSignal::Traces),
        }
    }

    /// Returns the rules. With `is_whole`, the output is a single file.
    fn rules(self, options: &WriteOptions, is_compressed: bool, is_whole: bool) -> ViewerRules {
        let signal = self.signal(options);
        let needs_spans = is_whole && options.formats.choice(self.name(), SIGNAL).is_none();
        let first_time = options.first_time.and_then(|first| u64::try_from(first.nanoseconds).ok());
        let has_date = options.first_time.is_some_and(|first| first.has_date);
        let make = move || -> Box<dyn ViewerContent> {
            match self {
                Self::Perfetto => Box::new(Perfetto::new(first_time)),
                Self::Chrome => Box::new(Chrome::new(first_time, has_date)),
                Self::Firefox => Box::new(Firefox::new(first_time)),
                Self::Otlp => Box::new(otlp(OtlpEncoding::Json, signal, first_time)),
                Self::OtlpProtobuf if needs_spans => {
                    Box::new(OtlpSpans::new(otlp(OtlpEncoding::Protobuf, signal, first_time)))
                }
                Self::OtlpProtobuf => Box::new(otlp(OtlpEncoding::Protobuf, signal, first_time)),
            }
        };
        ViewerRules::new(Box::new(make), is_compressed, options)
    }
}

/// Makes a writer of OpenTelemetry, which finds the operations that events mention in the notation of any format.
fn otlp(encoding: OtlpEncoding, signal: Option<OtlpSignal>, first_time: Option<u64>) -> Otlp {
    let find_mentions = formats().filter_map(|format| format.find_mentions);
    Otlp::new(encoding, signal, first_time).with_mentions(find_mentions.collect())
}

/// Returns `true` if a file is compressed, by its name.
fn is_compressed(target: &WriteTarget) -> bool {
    let (WriteTarget::Complete(path) | WriteTarget::Live(path)) = target else { return false };
    path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("gz"))
}

impl WriterFactory for ViewerWriter {
    fn extensions(&self) -> &'static [&'static str] {
        match self {
            Self::Perfetto => &["pftrace", "perfetto-trace"],
            Self::Chrome => &["json", "json.gz"],
            Self::Firefox => &["profile.json", "profile.json.gz"],
            Self::Otlp => &["otlp.jsonl", "otlp.jsonl.gz"],
            Self::OtlpProtobuf => &["otlp", "otlp.pb", "otlp.gz", "otlp.pb.gz"],
        }
    }

    fn options(&self) -> &'static [FormatOption] {
        match self {
            Self::Otlp | Self::OtlpProtobuf => OTLP_OPTIONS,
            _ => &[],
        }
    }

    fn drops_events(&self) -> bool {
        true
    }

    fn needs_times(&self) -> bool {
        true
    }

    fn written_files(&self, directory: &Path) -> io::Result<Vec<PathBuf>> {
        // Those of other programs look the same.
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
        self.check(&sources, options)?;
        let rules = self.rules(options, is_compressed(&target), true);
        file_output::<ViewerEncoder>(&target, rules, options)
    }

    fn create_parts(
        &self,
        sources: Vec<WriteSource>,
        options: &WriteOptions,
    ) -> Result<Box<dyn PartsOutput>, CreateError> {
        self.check(&sources, options)?;
        Ok(file_parts::<ViewerEncoder>(self.rules(options, false, false), options))
    }
}
