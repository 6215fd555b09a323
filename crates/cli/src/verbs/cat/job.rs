//! Formats of text with their options, from the arguments of `cat`.

use ichnos::export::text::Paint;
use ichnos::export::{
    CsvColumn, CsvForm, CsvOptions, DetailsOptions, LogForm, LogOptions, PrettyFields, PrettyNames,
    PrettyOptions, TerminalText,
};
use ichnos::jsonl::JsonLinesOptions;

use crate::args::{Cat, CatFormat, Detail, FieldName, NameScope};
use crate::progress::Console;

/// Output format with its options.
#[derive(Clone)]
pub(crate) enum Format {
    Pretty(PrettyOptions),
    Details(DetailsOptions),
    JsonLines(JsonLinesOptions),
    Log(LogOptions),
    Csv(CsvOptions),
    Null,
}

impl Format {
    /// Makes the format of the arguments; `to_terminal` if the output is a terminal.
    pub(crate) fn new(
        args: &Cat,
        columns: Option<Vec<CsvColumn>>,
        to_terminal: bool,
        console: Console,
    ) -> Self {
        let style = Style { paint: paint(args, console), to_terminal };
        match args.format() {
            CatFormat::Pretty => Self::Pretty(pretty_options(args, style, console)),
            CatFormat::Details => Self::Details(details_options(args, style)),
            CatFormat::Jsonl => Self::JsonLines(json_lines_options(args)),
            CatFormat::Log | CatFormat::LogJson => Self::Log(log_options(args, style)),
            CatFormat::Csv => Self::Csv(csv_options(args, CsvForm::Comma, columns, style)),
            CatFormat::Tsv => Self::Csv(csv_options(args, CsvForm::Tab, columns, style)),
            CatFormat::Null => Self::Null,
        }
    }

    /// Returns `true` if the text contains losses: that of `pretty`, like `babeltrace2`, and logs.
    pub(crate) fn has_losses(&self) -> bool {
        matches!(self, Self::Pretty(_) | Self::Log(_))
    }
}

/// Style of text.
#[derive(Clone, Copy)]
struct Style {
    paint: Paint,
    to_terminal: bool,
}

/// Returns the kind of text for a terminal.
pub(crate) fn terminal_text(args: &Cat, console: Console) -> TerminalText {
    match args.format() {
        CatFormat::Jsonl | CatFormat::LogJson => TerminalText::Json,
        CatFormat::Csv => TerminalText::Lines { colors: false },
        CatFormat::Tsv => TerminalText::Tabs,
        _ => TerminalText::Lines { colors: paint(args, console).is_on() },
    }
}

fn paint(args: &Cat, console: Console) -> Paint {
    if args.output.path.is_none() { console.paint() } else { Paint::PLAIN }
}

fn pretty_options(args: &Cat, style: Style, console: Console) -> PrettyOptions {
    let mut options = PrettyOptions::default();
    options.clock_cycles = args.clock_cycles;
    options.clock_date = args.clock_date;
    options.clock_gmt = args.selecting.clock_gmt;
    options.clock_seconds = args.clock_seconds;
    if !(args.selecting.clock_gmt || args.clock_seconds || args.clock_cycles) {
        crate::args::time::warn_of_zone();
    }
    options.no_delta = args.no_delta;
    options.color = style.paint.is_on();
    options.color_warnings = console.has_colors();
    options.verbose = console.verbose;
    options.stacks = args.stacks;
    options.printable_only = style.to_terminal;
    // As in `babeltrace2`: only the named properties are printed.
    if !args.fields.is_empty() {
        options.fields = PrettyFields::NONE;
    }
    // Invalid names were refused before.
    for field in args.properties().unwrap_or_default() {
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
    if !args.names.is_empty() {
        options.names = PrettyNames::NONE;
    }
    for name in &args.names {
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

fn details_options(args: &Cat, style: Style) -> DetailsOptions {
    let mut options = DetailsOptions::default();
    options.stacks = args.stacks;
    options.color = style.paint.is_on();
    options.printable_only = style.to_terminal;
    for (detail, value) in &args.details {
        let option = match detail {
            Detail::Compact => &mut options.compact,
            Detail::Data => &mut options.data,
            Detail::Metadata => &mut options.metadata,
            Detail::StreamClassName => &mut options.stream_class_name,
            Detail::StreamName => &mut options.stream_name,
            Detail::Time => &mut options.time,
            Detail::TraceName => &mut options.trace_name,
            Detail::Uid => &mut options.uid,
            Detail::Uuid => &mut options.uuid,
        };
        *option = *value;
    }
    options
}

fn log_options(args: &Cat, style: Style) -> LogOptions {
    let mut options = LogOptions::default();
    options.stacks = args.stacks;
    options.form = if args.format() == CatFormat::LogJson { LogForm::Json } else { LogForm::Text };
    options.color = style.paint.is_on();
    options.printable_only = style.to_terminal;
    options.time = args.time.into();
    options.integers = args.integers.into();
    options.clock_date = args.clock_date;
    options.clock_gmt = args.selecting.clock_gmt;
    if options.clock_date && options.form == LogForm::Text && !options.clock_gmt {
        crate::args::time::warn_of_zone();
    }
    options
}

fn csv_options(args: &Cat, form: CsvForm, columns: Option<Vec<CsvColumn>>, style: Style) -> CsvOptions {
    let mut options = CsvOptions::default();
    options.form = form;
    if let Some(columns) = columns {
        options.columns = columns.into();
    }
    options.time = args.time.into();
    options.printable_only = style.to_terminal;
    options
}

fn json_lines_options(args: &Cat) -> JsonLinesOptions {
    let mut options = JsonLinesOptions::default();
    options.stacks = args.stacks;
    options.packets = args.packets;
    options.time = args.time.into();
    options.integers = args.integers.into();
    options
}
