//! The command line, as it is written.

use std::io::Write as _;
use std::path::PathBuf;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, CommandFactory as _, FromArgMatches as _, Parser, Subcommand, ValueEnum};
use globset::Glob;
use ichnos::ctf::quirks::Quirk;
use ichnos::export::{Integers, JsonTime};

use crate::damage::LISTED;
use crate::exit::{Exit, Failure};
use crate::time::{self, TimePoint};
use crate::{applicable, habits};

/// Read structured traces (CTF 1.8, CTF 2): look at them, print them, check them.
#[derive(Debug, Parser)]
#[command(
    name = "ichnos",
    version,
    max_term_width = 100,
    propagate_version = true,
    subcommand_required = true,
    arg_required_else_help = true,
    after_help = "`ichnos PATH` is short for `ichnos cat PATH`.\n\n\
Exit codes: 0 all is well; 1 nothing was found, or `check` found problems; 2 wrong usage, \
or it could not be done; 3 there is output, but the input is damaged, or some of it cannot be read; \
128 + N it was ended by signal N (130: Ctrl-C).\n\n\
Data go to the standard output, everything else to the standard error output."
)]
pub(crate) struct LowArgs {
    #[command(flatten)]
    pub(crate) global: Global,
    #[command(subcommand)]
    pub(crate) verb: Verb,
}

/// Reads the command line; ends the program if it is wrong or asks for help.
///
/// # Errors
/// What clap does not find: habits of other programs, and options that do not apply.
pub(crate) fn parse() -> Result<LowArgs, Failure> {
    let mut command = LowArgs::command();
    command.build();
    let words = habits::arrange(std::env::args_os().collect(), &command)?;
    let parsed = command.try_get_matches_from_mut(&words).and_then(|matches| {
        let args = LowArgs::from_arg_matches(&matches);
        args.map(|args| (args, matches)).map_err(|error| error.format(&mut command))
    });
    match parsed {
        Ok((args, matches)) => {
            applicable::check(&args, &matches)?;
            Ok(args)
        }
        Err(error) if error.use_stderr() => crate::report::end_by_usage(error, &words),
        // Help is data, too: it must not get lost.
        Err(help) => {
            ichnos::io::create(None)?;
            help.print()?;
            std::io::stdout().flush()?;
            std::process::exit(Exit::Success as i32)
        }
    }
}

/// What every verb understands.
#[derive(Args, Debug)]
pub(crate) struct Global {
    /// When to color what is printed; `auto` means: on a terminal, unless NO_COLOR is set.
    #[arg(long, global = true, value_enum, value_name = "WHEN", default_value_t = When::Auto,
          help_heading = "General options")]
    pub(crate) color: When,
    /// When to show how far the work is, on the standard error output; `auto` means: on a
    /// terminal, if it takes more than a second.
    #[arg(long, global = true, value_enum, value_name = "WHEN", default_value_t = Progress::Auto,
          help_heading = "General options")]
    pub(crate) progress: Progress,
    /// Do not print warnings and notes.
    #[arg(short, long, global = true, conflicts_with = "verbose", help_heading = "General options")]
    pub(crate) quiet: bool,
    /// Say more, for instance which workarounds for tracers are in use; twice: even more.
    #[arg(short, long, global = true, action = clap::ArgAction::Count, help_heading = "General options")]
    pub(crate) verbose: u8,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    /// Say what a trace is and what is in it.
    Info(Info),
    /// Print the events of one or several traces in the order of time.
    #[command(visible_alias = "dump")]
    Cat(Box<Cat>),
    /// Look for everything that is wrong with a trace, and say what to do about it.
    Check(Check),
    /// Print which events a trace can have, and which fields they consist of.
    Schema(Schema),
    /// List the formats that this program reads and writes.
    Formats(Formats),
    /// Print a script that lets a shell complete command lines of this program.
    Completions(Completions),
    /// Print the manual page.
    Man(Man),
}

/// Which traces, and how to read them.
#[derive(Args, Debug)]
pub(crate) struct Reading {
    /// Traces: a folder (all traces below it are read), an archive (tar, also compressed, or
    /// zip), a single file, or `-` for an archive from the standard input.
    #[arg(required_unless_present = "listen", value_name = "PATH", value_hint = clap::ValueHint::AnyPath)]
    pub(crate) paths: Vec<PathBuf>,
    /// Read what arrives at a socket, until Ctrl-C: `unixgram:PATH` makes a Unix datagram socket at PATH.
    /// Only formats that come in datagrams.
    #[arg(long, value_name = "ADDRESS", value_parser = address, conflicts_with = "paths",
          help_heading = "Reading")]
    pub(crate) listen: Option<PathBuf>,
    /// Read the metadata as this dialect instead of finding out.
    #[arg(long, value_enum, value_name = "DIALECT", help_heading = "Reading")]
    pub(crate) dialect: Option<DialectName>,
    /// Take the metadata from this file, where PATH has none: a single data stream file, or a
    /// folder of such files.
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath, help_heading = "Reading")]
    pub(crate) metadata: Option<PathBuf>,
    /// Stop at the first thing that is not as the specification wants it, instead of reading on.
    #[arg(long, help_heading = "Reading")]
    pub(crate) strict: bool,
    /// Put all clocks on one time line, as if they all counted from the Unix epoch.
    #[arg(long, visible_alias = "clock-force-correlate", help_heading = "Reading")]
    pub(crate) assume_correlated: bool,
    /// Add this many seconds to all clocks.
    #[arg(
        long,
        visible_alias = "clock-offset-s",
        value_name = "SECONDS",
        default_value_t = 0,
        allow_negative_numbers = true,
        hide_default_value = true,
        help_heading = "Reading"
    )]
    pub(crate) clock_offset: i64,
    /// Add this many nanoseconds to all clocks.
    #[arg(
        long,
        value_name = "NANOSECONDS",
        default_value_t = 0,
        allow_negative_numbers = true,
        hide_default_value = true,
        help_heading = "Reading"
    )]
    pub(crate) clock_offset_ns: i64,
    /// Say at what time the clocks of the traces at PATH were 0, for instance `-5.2` (seconds), `+3s` or
    /// a date; this is added to their times, and puts them on one time line with the others. PATH is one
    /// of the paths, or a pattern of them; can be repeated.
    #[arg(long, value_name = "PATH=TIME", allow_hyphen_values = true, value_parser = offset,
          help_heading = "Reading")]
    pub(crate) offset: Vec<(Glob, i128)>,
    /// Read everything as this format (`ichnos formats` lists them) instead of finding out.
    #[arg(long, alias = "input-format", short_alias = 'i', value_name = "FORMAT", value_parser = format_names(),
          help_heading = "Reading")]
    pub(crate) from: Option<String>,
    /// Say something about traces of a format that they do not say themselves: `ichnos formats` lists the
    /// options; can be repeated.
    #[arg(short = 'O', long, value_name = "FORMAT.OPTION=VALUE", value_parser = format_option,
          help_heading = "Reading")]
    pub(crate) option: Vec<(String, String)>,
    /// How cycles of a clock become nanoseconds.
    ///
    /// Left out, `cat` takes `babeltrace` for the formats `pretty` and `details`, which are the
    /// same as Babeltrace's to the byte, and `exact` for all else.
    #[arg(long, value_enum, value_name = "HOW", help_heading = "Reading")]
    pub(crate) clock_arithmetic: Option<Arithmetic>,
    /// Do not take this known fault of a tracer into account (`info` names those that it does); can
    /// be repeated.
    #[arg(long, value_name = "NAME", value_parser = quirk_names().try_map(quirk),
          help_heading = "Reading")]
    pub(crate) no_quirk: Vec<Quirk>,
    /// Do not take any known fault of tracers into account.
    #[arg(long, conflicts_with = "no_quirk", help_heading = "Reading")]
    pub(crate) no_quirks: bool,
    /// Put unpacked data that are more than 64 MiB into a temporary file in this folder [default: what the
    /// variable TMPDIR names, else that of the system].
    #[arg(long, value_name = "DIR", value_hint = clap::ValueHint::DirPath, help_heading = "Reading")]
    pub(crate) temp_dir: Option<PathBuf>,
    /// Refuse metadata that are larger than this, for instance 512M [default: 256 MiB].
    #[arg(long, value_name = "BYTES", value_parser = bytes, help_heading = "Limits against hostile input")]
    pub(crate) limit_metadata: Option<u64>,
    /// Refuse metadata whose description takes more memory than this, for instance 1G [default: 32 MiB and
    /// more for metadata of more than 3 MiB, ten times their size, at most 256 MiB].
    #[arg(long, value_name = "BYTES", value_parser = bytes, help_heading = "Limits against hostile input")]
    pub(crate) limit_description: Option<u64>,
    /// Refuse field classes that are nested deeper than this [default: 64].
    #[arg(long, value_name = "DEPTH", help_heading = "Limits against hostile input")]
    pub(crate) limit_depth: Option<u32>,
    /// Refuse metadata with more field classes than this [default: 4,096 and four for each byte of the
    /// metadata, at most 1,048,576].
    #[arg(long, value_name = "COUNT", help_heading = "Limits against hostile input")]
    pub(crate) limit_field_classes: Option<u64>,
    /// Refuse metadata with more event record classes than this [default: 1,048,576], and do not tell more
    /// apart where they are only met while reading [default: 65,536].
    #[arg(long, value_name = "COUNT", help_heading = "Limits against hostile input")]
    pub(crate) limit_event_classes: Option<u64>,
    /// Refuse integers that are wider than this [default: 65,536].
    #[arg(long, value_name = "BITS", help_heading = "Limits against hostile input")]
    pub(crate) limit_integer: Option<u64>,
    /// Do not read packets and events of which all data of a trace could have more fields than this for
    /// each bit, beyond what little data may have [default: 4, beyond 1,048,576 in all].
    #[arg(long, value_name = "COUNT", help_heading = "Limits against hostile input")]
    pub(crate) limit_fields_per_bit: Option<u64>,
    /// Refuse more array elements without bits than this in a packet, beside one for each bit [default:
    /// 65,536].
    #[arg(long, value_name = "COUNT", help_heading = "Limits against hostile input")]
    pub(crate) limit_empty_elements: Option<u64>,
    /// Refuse metadata with more fields than this in one structure that may have no bits [default: 65,536].
    #[arg(long, value_name = "COUNT", help_heading = "Limits against hostile input")]
    pub(crate) limit_empty_fields: Option<u64>,
    /// Do not read more packets of a trace than this [default: 16,777,216].
    #[arg(long, value_name = "COUNT", help_heading = "Limits against hostile input")]
    pub(crate) limit_packets: Option<u64>,
    /// Show no more problems of a metadata text than this; the others are counted [default: 100].
    #[arg(long, value_name = "COUNT", help_heading = "Limits against hostile input")]
    pub(crate) limit_problems: Option<usize>,
    /// List no more damaged places than this; the others are counted [default: 10,000].
    #[arg(long, value_name = "COUNT", default_value_t = LISTED, hide_default_value = true,
          value_parser = clap::value_parser!(u64).range(1..),
          help_heading = "Limits against hostile input")]
    pub(crate) limit_damage: u64,
    /// Refuse archives and compressed files that become larger than this, for instance 32G [default: 16 GiB].
    #[arg(long, value_name = "BYTES", value_parser = bytes, help_heading = "Limits against hostile input")]
    pub(crate) limit_unpacked: Option<u64>,
    /// Refuse archives and compressed files that become more times larger than this [default: 128, and one
    /// more for each 64 bytes that they have, at most 1,000].
    #[arg(long, value_name = "TIMES", help_heading = "Limits against hostile input")]
    pub(crate) limit_ratio: Option<u64>,
    /// Refuse folders and archives with more files than this [default: 1,000,000].
    #[arg(long, value_name = "COUNT", help_heading = "Limits against hostile input")]
    pub(crate) limit_files: Option<usize>,
    /// Leave out folders that are nested deeper than this [default: 64].
    #[arg(long, value_name = "DEPTH", help_heading = "Limits against hostile input")]
    pub(crate) limit_folders: Option<u32>,
}

#[derive(Args, Debug)]
pub(crate) struct Info {
    #[command(flatten)]
    pub(crate) reading: Reading,
    /// Read all events and count them, per data stream and per event record class.
    #[arg(long)]
    pub(crate) count: bool,
    /// Print JSON (docs/cli-json.md describes it).
    #[arg(long)]
    pub(crate) json: bool,
    // Applies to --json.
    /// How JSON has integers, for readers that keep only 53 bits of a number, such as jq 1.6 and JavaScript.
    #[arg(long, value_enum, value_name = "FORM", default_value_t = IntegerForm::Number, requires = "json")]
    pub(crate) integers: IntegerForm,
    // Applies to --json.
    /// How JSON has times that count from the Unix epoch; others are always nanoseconds.
    #[arg(long, value_enum, value_name = "FORM", default_value_t = TimeForm::Ns, requires = "json")]
    pub(crate) time: TimeForm,
    /// Print times in GMT instead of the local time zone.
    #[arg(long, visible_alias = "gmt")]
    pub(crate) clock_gmt: bool,
}

#[derive(Args, Debug)]
pub(crate) struct Cat {
    #[command(flatten)]
    pub(crate) reading: Reading,
    /// How to print. On a terminal, all that is not printable is escaped.
    #[arg(short, long, value_enum, value_name = "FORMAT", default_value_t = CatFormat::Pretty)]
    pub(crate) format: CatFormat,
    /// The same as `--format jsonl`.
    #[arg(long, hide = true, conflicts_with = "format")]
    pub(crate) json: bool,
    /// Write to this file instead of the standard output; it appears when all is written.
    #[arg(short, long, short_alias = 'w', value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    pub(crate) output: Option<PathBuf>,

    /// Leave out what is before this time: `2026-05-22 13:45:10.25`, `13:45`, seconds (`5.2`),
    /// nanoseconds (`@5200000000`), or from the beginning of the trace (`+3s`).
    #[arg(
        long,
        short_alias = 'b',
        value_name = "TIME",
        allow_hyphen_values = true,
        help_heading = "Selection"
    )]
    pub(crate) begin: Option<TimePoint>,
    /// Leave out what is after this time.
    #[arg(
        long,
        short_alias = 'e',
        value_name = "TIME",
        allow_hyphen_values = true,
        help_heading = "Selection"
    )]
    pub(crate) end: Option<TimePoint>,
    /// Both at once, with a comma between them; may be in brackets.
    #[arg(long, short_alias = 't', value_name = "BEGIN,END", allow_hyphen_values = true, value_parser = time::range_from,
          conflicts_with_all = ["begin", "end"], help_heading = "Selection")]
    pub(crate) timerange: Option<(TimePoint, TimePoint)>,
    /// Only data streams whose path or file name matches this pattern (`*`, `?`, `[a-z]`,
    /// `{a,b}`); can be repeated.
    #[arg(long, value_name = "GLOB", help_heading = "Selection")]
    pub(crate) stream: Vec<String>,
    /// Only events whose name matches this pattern; can be repeated.
    #[arg(long, value_name = "GLOB", help_heading = "Selection")]
    pub(crate) event: Vec<String>,
    /// Leave out of each trace what is not in the time in which all of its data streams are active.
    #[arg(long, conflicts_with = "listen", help_heading = "Selection")]
    pub(crate) stream_intersection: bool,
    /// Stop after this many events.
    #[arg(short = 'n', long, value_name = "COUNT", help_heading = "Selection")]
    pub(crate) limit: Option<u64>,

    /// Print times as clock cycles.
    #[arg(long, help_heading = "Text (format pretty)")]
    pub(crate) clock_cycles: bool,
    /// Print the date before the time.
    #[arg(long, help_heading = "Text (format pretty)")]
    pub(crate) clock_date: bool,
    /// Print times, and read those of --begin and --end, in GMT instead of the local time zone.
    #[arg(long, visible_alias = "gmt", help_heading = "Text (format pretty)")]
    pub(crate) clock_gmt: bool,
    /// Print times as seconds since the clock's origin.
    #[arg(long, help_heading = "Text (format pretty)")]
    pub(crate) clock_seconds: bool,
    /// Do not print how much time has passed since the event before.
    #[arg(long, help_heading = "Text (format pretty)")]
    pub(crate) no_delta: bool,
    /// What to print of the trace and the event before its fields: only what is named here,
    /// several with commas between.
    #[arg(
        long,
        value_name = "FIELD",
        value_enum,
        value_delimiter = ',',
        help_heading = "Text (format pretty)"
    )]
    pub(crate) fields: Vec<FieldName>,
    /// Where to print names: only where it is said here, several with commas between.
    #[arg(
        long,
        value_name = "NAME",
        value_enum,
        value_delimiter = ',',
        help_heading = "Text (format pretty)"
    )]
    pub(crate) names: Vec<NameName>,

    /// What format `details` prints, as name=yes or name=no with commas between: compact,
    /// with-data, with-metadata, with-stream-class-name, with-stream-name, with-time,
    /// with-trace-name, with-uid, with-uuid.
    #[arg(long, value_name = "NAME=YES|NO", value_delimiter = ',', value_parser = detail,
          help_heading = "Text (format details)")]
    pub(crate) details: Vec<(Detail, bool)>,

    /// Also print lines for packets, with the fields of their headers and contexts.
    #[arg(long, help_heading = "JSON Lines (format jsonl)")]
    pub(crate) packets: bool,

    // Applies to the formats `jsonl` and `log-json`.
    /// How JSON has integers, for readers that keep only 53 bits of a number, such as jq 1.6 and JavaScript.
    #[arg(long, value_enum, value_name = "FORM", default_value_t = IntegerForm::Number,
          help_heading = "JSON (formats jsonl and log-json)")]
    pub(crate) integers: IntegerForm,
    // Applies to the formats `jsonl` and `log-json`.
    /// How JSON has times that count from the Unix epoch; others are always nanoseconds.
    #[arg(long, value_enum, value_name = "FORM", default_value_t = TimeForm::Ns,
          help_heading = "JSON (formats jsonl and log-json)")]
    pub(crate) time: TimeForm,

    /// Read on so many threads; without it, on as many as there are processors. What is printed does
    /// not depend on it. The formats `pretty`, `log`, `log-json` and `null` make use of more than one.
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) threads: Option<u16>,
    /// Cut what is read on several threads into parts of about so many bytes of the trace; without
    /// it, 16M for the format `null` and 2M for the others (less on more than two threads). Text that
    /// has to wait for other parts is kept in memory, up to 48M of all threads.
    #[arg(long, value_name = "BYTES", value_parser = bytes)]
    pub(crate) part_size: Option<u64>,
    /// Say at the end how many events were printed and how long it took.
    #[arg(long)]
    pub(crate) stats: bool,
}

impl Cat {
    /// On how many threads to read.
    pub(crate) fn threads(&self) -> usize {
        let available = || std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        self.threads.map_or_else(available, usize::from)
    }

    /// How to print.
    pub(crate) fn format(&self) -> CatFormat {
        if self.json { CatFormat::Jsonl } else { self.format }
    }
}

#[derive(Args, Debug)]
#[command(
    after_help = "Exit codes: 0 no problems; 1 there are errors, or what --fail-on names (with --strict \
also: warnings); metadata that cannot be read are an error, where other verbs end with 2; 2 wrong usage, or \
there is no trace; 3 one of several paths cannot be read."
)]
pub(crate) struct Check {
    #[command(flatten)]
    pub(crate) reading: Reading,
    /// Look at the metadata only, not at the data streams.
    #[arg(long)]
    pub(crate) metadata_only: bool,
    /// End with exit code 1 for these, too, several with commas between.
    #[arg(long, value_name = "WHAT", value_enum, value_delimiter = ',')]
    pub(crate) fail_on: Vec<FailOn>,
    /// Print JSON (docs/cli-json.md describes it).
    #[arg(long)]
    pub(crate) json: bool,
    // Applies to --json.
    /// How JSON has integers, for readers that keep only 53 bits of a number, such as jq 1.6 and JavaScript.
    #[arg(long, value_enum, value_name = "FORM", default_value_t = IntegerForm::Number, requires = "json")]
    pub(crate) integers: IntegerForm,
}

impl Check {
    /// Whether `--fail-on` names this.
    pub(crate) fn fails_on(&self, what: FailOn) -> bool {
        self.fail_on.contains(&what)
    }

    /// Whether `--fail-on` is about data streams.
    pub(crate) fn needs_data(&self) -> bool {
        self.fails_on(FailOn::Loss) || self.fails_on(FailOn::Damage)
    }
}

/// What makes a check end with exit code 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum FailOn {
    /// Errors: always, unless `never` is given.
    Error,
    /// Warnings.
    Warning,
    /// Damaged places of data streams, even if they are warnings only.
    Damage,
    /// Events and packets that the tracer discarded.
    Loss,
    /// Nothing, not even errors: only the report counts.
    Never,
}

#[derive(Args, Debug)]
pub(crate) struct Schema {
    #[command(flatten)]
    pub(crate) reading: Reading,
    /// Print JSON (docs/cli-json.md describes it).
    #[arg(long)]
    pub(crate) json: bool,
    // Applies to --json.
    /// How JSON has integers, for readers that keep only 53 bits of a number, such as jq 1.6 and JavaScript.
    #[arg(long, value_enum, value_name = "FORM", default_value_t = IntegerForm::Number, requires = "json")]
    pub(crate) integers: IntegerForm,
}

#[derive(Args, Debug)]
pub(crate) struct Formats {
    /// Print JSON (docs/cli-json.md describes it).
    #[arg(long)]
    pub(crate) json: bool,
    // Applies to --json.
    /// How JSON has integers, for readers that keep only 53 bits of a number, such as jq 1.6 and JavaScript.
    #[arg(long, value_enum, value_name = "FORM", default_value_t = IntegerForm::Number, requires = "json")]
    pub(crate) integers: IntegerForm,
}

#[derive(Args, Debug)]
pub(crate) struct Completions {
    /// The shell.
    #[arg(value_enum)]
    pub(crate) shell: clap_complete::Shell,
}

#[derive(Args, Debug)]
pub(crate) struct Man {
    /// The verb whose page to print; without it: the page of the program.
    #[arg(value_name = "VERB", conflicts_with = "folder")]
    pub(crate) page: Option<String>,
    /// Write all pages as files into this folder instead.
    #[arg(long, value_name = "FOLDER", value_hint = clap::ValueHint::DirPath)]
    pub(crate) folder: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum When {
    /// If it is a terminal.
    Auto,
    Always,
    Never,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Progress {
    /// A bar, on a terminal only.
    Auto,
    Never,
    /// A line every few seconds.
    Plain,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Arithmetic {
    /// As they are.
    Exact,
    /// As `babeltrace2` does it, up to a few nanoseconds off unless the clock has 1 GHz: for texts
    /// that must be the same.
    Babeltrace,
}

/// How JSON has integers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum IntegerForm {
    /// As strings where a reader could round them: below -(2^53 - 1) and above 2^53 - 1.
    Auto,
    /// As numbers with all their digits.
    Number,
    /// As strings, all of them.
    String,
}

impl From<IntegerForm> for Integers {
    fn from(form: IntegerForm) -> Self {
        match form {
            IntegerForm::Auto => Self::Auto,
            IntegerForm::Number => Self::Number,
            IntegerForm::String => Self::String,
        }
    }
}

/// How JSON has times.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum TimeForm {
    /// In nanoseconds.
    Ns,
    /// As a date and a time of day in UTC, with nanoseconds: 2019-08-16T12:08:20.948091100Z.
    Iso,
    /// In nanoseconds, and as a date in a member of its own.
    Both,
}

impl From<TimeForm> for JsonTime {
    fn from(form: TimeForm) -> Self {
        match form {
            TimeForm::Ns => Self::Nanoseconds,
            TimeForm::Iso => Self::Iso,
            TimeForm::Both => Self::Both,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum DialectName {
    /// CTF 1.8: metadata in TSDL.
    #[value(name = "ctf1.8", alias = "ctf1", alias = "tsdl")]
    Ctf1,
    /// CTF 2 as in its first proposal.
    #[value(name = "prop1")]
    Prop1,
    /// CTF 2 as in its second proposal.
    #[value(name = "prop2")]
    Prop2,
    /// CTF 2 as specified.
    #[value(name = "spec2", alias = "ctf2")]
    Spec2,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum CatFormat {
    /// One line per event, as `babeltrace2` prints it.
    Pretty,
    /// Everything about every message over several lines, as the `details` sink of `babeltrace2`.
    Details,
    /// One JSON object per line and event.
    Jsonl,
    /// Lines of a log: time, process, thread, component, tags, severity, message. Events without a
    /// severity are lines of their name and fields.
    Log,
    /// The same as JSON, one object per line.
    LogJson,
    /// Nothing: read everything, print nothing.
    Null,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum FieldName {
    /// Name of the trace.
    Trace,
    /// Host name (usually printed).
    #[value(name = "trace:hostname")]
    TraceHostname,
    /// Tracing domain.
    #[value(name = "trace:domain")]
    TraceDomain,
    /// Process name (usually printed).
    #[value(name = "trace:procname")]
    TraceProcname,
    /// Process id (usually printed).
    #[value(name = "trace:vpid")]
    TraceVpid,
    /// Log level of the event.
    Loglevel,
    /// EMF URI of the event.
    Emf,
    /// Call site of the event.
    Callsite,
    /// All of them.
    All,
    /// None of them.
    None,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum NameName {
    /// Of the fields of the payload (usually printed).
    #[value(aliases = ["arg", "args"])]
    Payload,
    /// Of the fields of contexts (usually printed).
    #[value(alias = "ctx")]
    Context,
    /// Of the scopes.
    Scope,
    /// Of the header: timestamp, delta and so on.
    Header,
    /// All of them.
    All,
    /// None of them.
    None,
}

/// What the details format can print or leave out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Detail {
    Compact,
    Data,
    Metadata,
    StreamClassName,
    StreamName,
    Time,
    TraceName,
    Uid,
    Uuid,
}

fn detail(text: &str) -> Result<(Detail, bool), String> {
    let (name, value) = text.split_once('=').unwrap_or((text, "yes"));
    let detail = match name.trim() {
        "compact" => Detail::Compact,
        "with-data" => Detail::Data,
        "with-metadata" => Detail::Metadata,
        "with-stream-class-name" => Detail::StreamClassName,
        "with-stream-name" => Detail::StreamName,
        "with-time" => Detail::Time,
        "with-trace-name" => Detail::TraceName,
        "with-uid" => Detail::Uid,
        "with-uuid" => Detail::Uuid,
        name => return Err(format!("there is no detail `{name}`")),
    };
    match value.trim() {
        "yes" | "true" | "TRUE" | "1" => Ok((detail, true)),
        "no" | "false" | "FALSE" | "0" => Ok((detail, false)),
        value => Err(format!("expected yes or no, found `{value}`")),
    }
}

/// The path of a socket.
fn address(text: &str) -> Result<PathBuf, String> {
    let path = text.strip_prefix("unixgram:").filter(|path| !path.is_empty());
    path.map(PathBuf::from).ok_or_else(|| format!("expected unixgram:PATH, found `{text}`"))
}

fn format_names() -> PossibleValuesParser {
    ichnos::FORMATS.iter().map(|format| PossibleValue::new(format.name).help(format.title)).into()
}

fn format_option(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or("expected FORMAT.OPTION=VALUE")?;
    Ok((name.trim().to_owned(), value.trim().to_owned()))
}

/// A pattern of paths, and when the clocks there were 0.
fn offset(text: &str) -> Result<(Glob, i128), String> {
    let (path, time) = text.rsplit_once('=').ok_or("expected PATH=TIME")?;
    let glob = Glob::new(path).map_err(|error| format!("`{path}` cannot be used as a pattern: {error}"))?;
    Ok((glob, time::offset_from(time)?))
}

fn quirk_names() -> PossibleValuesParser {
    Quirk::ALL.map(|quirk| PossibleValue::new(quirk.name()).help(quirk.describe())).into()
}

fn quirk(name: String) -> Result<Quirk, String> {
    Quirk::ALL.into_iter().find(|quirk| quirk.name() == name).ok_or(name)
}

/// A number of bytes, with K, M, G or T for powers of 1024.
fn bytes(text: &str) -> Result<u64, String> {
    let upper = text.trim().to_ascii_uppercase();
    let number = upper.trim_end_matches("IB").trim_end_matches('B');
    let (digits, shift) = match number.char_indices().next_back() {
        Some((at, 'K')) => (&number[..at], 10),
        Some((at, 'M')) => (&number[..at], 20),
        Some((at, 'G')) => (&number[..at], 30),
        Some((at, 'T')) => (&number[..at], 40),
        _ => (number, 0),
    };
    let number: u64 = digits
        .trim()
        .parse()
        .map_err(|_| format!("expected a number of bytes such as 4096, 512M or 16G, found `{text}`"))?;
    number.checked_mul(1 << shift).ok_or_else(|| format!("`{text}` is more than there can be"))
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_sound() {
        LowArgs::command().debug_assert();
    }

    /// Every argument has a help text.
    #[test]
    fn everything_is_explained() {
        fn check(command: &clap::Command) {
            for argument in command.get_arguments() {
                assert!(argument.get_help().is_some(), "{} {argument}", command.get_name());
            }
            assert!(command.get_about().is_some(), "{}", command.get_name());
            command.get_subcommands().for_each(check);
        }
        check(&LowArgs::command());
    }

    #[test]
    fn times_may_begin_with_a_hyphen() {
        let args = LowArgs::try_parse_from(["ichnos", "cat", "x", "--begin", "-5.2", "--end=+3s"]).unwrap();
        let Verb::Cat(cat) = args.verb else { panic!() };
        assert_eq!(cat.begin, Some(TimePoint::Nanoseconds(-5_200_000_000)));
        assert_eq!(cat.end, Some(TimePoint::FromStart(3_000_000_000)));
    }

    #[test]
    fn reads_sizes_and_details() {
        assert_eq!(bytes("16G"), Ok(16 << 30));
        assert_eq!(bytes("4KiB"), Ok(4096));
        assert_eq!(bytes("12"), Ok(12));
        assert!(bytes("x").is_err());
        assert!(bytes("99999999T").is_err());
        assert_eq!(detail("with-uuid=no"), Ok((Detail::Uuid, false)));
        assert_eq!(detail("compact"), Ok((Detail::Compact, true)));
        assert!(detail("x=yes").is_err());
        assert!(detail("compact=maybe").is_err());
    }
}
