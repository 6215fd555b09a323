//! Conversion targets, from options, from the output's extension, or from the input.

use std::path::Path;

use ichnos::Session;
use ichnos::convert::Target;
use ichnos::io::{OptionValue, WriteReport, WriterFactory};
use ichnos::model::clock::ClockArithmetic;

use super::text_target::TextTarget;
use crate::args::{Convert, Writing, written_formats};
use crate::exit::Failure;
use crate::opened_run::OpenedRun;
use crate::output::safe;
use crate::progress::Console;

/// Target named by options or by the output's extension.
pub(crate) enum NamedTarget {
    Text(TextTarget),
    Trace(Target),
    /// Target that follows the input.
    Kept,
}

impl NamedTarget {
    /// Returns the named target. Without a name, the target follows the input if `keeps_format` is set, and is the
    /// default target otherwise.
    pub(crate) fn new(args: &Convert, keeps_format: bool) -> Result<Self, Failure> {
        match TextTarget::named(args)? {
            Some(text) => Ok(Self::Text(text)),
            None => Ok(named_target(args, keeps_format)?.map_or(Self::Kept, Self::Trace)),
        }
    }

    /// Replaces a target that follows the input by the default target for tasks.
    pub(crate) fn or_tasks(self, args: &Convert) -> Result<Self, Failure> {
        match self {
            Self::Kept => {
                let target = ichnos::convert::task_target().ok_or_else(nothing_to_write)?;
                check_output(args, target).map(Self::Trace)
            }
            named => Ok(named),
        }
    }

    /// Returns the default clock arithmetic.
    pub(crate) fn arithmetic(&self) -> ClockArithmetic {
        match self {
            Self::Text(text) => text.arithmetic(),
            Self::Trace(_) | Self::Kept => ClockArithmetic::Exact,
        }
    }

    /// Returns the target for opened traces.
    pub(crate) fn target(self, args: &Convert, opened: &OpenedRun<'_>) -> Result<Target, Failure> {
        match self {
            Self::Text(text) => text.target(opened),
            Self::Trace(target) => Ok(target),
            Self::Kept => kept_target(args, opened.session, opened.console),
        }
    }
}

fn nothing_to_write() -> Failure {
    Failure::new("no format can be written")
}

/// Returns the target named by options or by the output's extension. Returns `None` if `keeps_format` is set and they
/// do not name a target.
fn named_target(args: &Convert, keeps_format: bool) -> Result<Option<Target>, Failure> {
    let Writing { output, to, to_dialect, .. } = &args.writing;
    let path = output.as_deref();
    let named = path.unwrap_or_else(|| Path::new(""));
    if keeps_format && to.is_none() && to_dialect.is_none() && named.extension().is_none() {
        return Ok(None);
    }
    if let Some(feature) = ichnos::convert::missing_feature(to.as_deref(), named) {
        let message =
            format!("this program cannot write tables: it was built without the feature `{feature}`");
        return Err(Failure::new(message).help(format!(
            "`cargo install --path crates/cli --features {feature}` installs ichnos with this \
            feature"
        )));
    }
    let found = ichnos::convert::target(to.as_deref(), named, to_dialect.as_deref());
    let target = found.ok_or_else(|| {
        if let (None, Some(dialect)) = (to, to_dialect) {
            return Failure::new(format!("unknown dialect `{}`", safe(dialect)))
                .help("`ichnos formats` lists them");
        }
        let shown = path.map_or_else(String::new, |path| safe(&path.display().to_string()).into_owned());
        Failure::new(format!("cannot infer the output format from `{shown}`"))
            .help(format!("name it with --to: {}", written_formats().join(", ")))
    })?;
    let has = |writer: &dyn WriterFactory, dialect: &str| dialect_named(writer, dialect).is_some();
    if let (None, Some(dialect)) = (to, to_dialect)
        && !has(target.writer, dialect)
        && let Some(other) = ichnos::convert::targets().find(|other| has(other.writer, dialect))
    {
        let (format, other) = (target.format, other.format);
        let shown = safe(&named.display().to_string()).into_owned();
        return Err(Failure::new(format!(
            "the extension of `{shown}` names the format {format}, but the dialect `{dialect}` belongs to \
            {other}"
        ))
        .help(format!("write it with `--to {other}`, or leave out --to-dialect")));
    }
    check_output(args, target).map(Some)
}

/// Returns the main name of a writer's dialect, for its name or an alias.
fn dialect_named(writer: &dyn WriterFactory, dialect: &str) -> Option<&'static str> {
    let is_it = |known: &&OptionValue| known.name == dialect || known.aliases.contains(&dialect);
    writer.dialects().iter().find(is_it).map(|known| known.name)
}

/// Reports an output whose extension is misleading: a directory, or another dialect.
pub(crate) fn note_output(writing: &Writing, target: Target, written: &WriteReport, console: Console) {
    let writer = target.writer;
    let Some(path) = writing.output.as_deref() else { return };
    let Some(extension) = path.extension().and_then(|extension| extension.to_str()) else { return };
    if writer.is_directory() && writer.extensions().contains(&extension) && path.is_dir() {
        let shown = path.display().to_string();
        let usual = || format!("{} has several files", target.format);
        let reason = written.directory_reason.clone().unwrap_or_else(usual);
        console.notice(&format!("{} is a directory: {reason}", safe(&shown)));
    }
    let named = writing.to_dialect.as_deref().and_then(|dialect| dialect_named(writer, dialect));
    if let (Some(named), Some(usual)) = (named, writer.dialect_of_extension(&extension.to_lowercase()))
        && named != usual
    {
        console.notice(&format!(
            "--to-dialect {named} overrides the extension `.{extension}` for the dialect {usual}"
        ));
    }
}

/// Returns the format and the dialect of the input if they can be written. Otherwise, returns the default target.
fn kept_target(args: &Convert, session: &Session, console: Console) -> Result<Target, Failure> {
    let traces = || session.traces().iter().map(|trace| &**trace);
    if let Some(target) = ichnos::convert::common_target(traces()) {
        return check_output(args, target);
    }
    let target = ichnos::convert::target(None, Path::new(""), None).ok_or_else(nothing_to_write)?;
    let mut kinds: Vec<&str> =
        traces().map(|trace| trace.dialect().unwrap_or_else(|| trace.format())).collect();
    kinds.sort_unstable();
    kinds.dedup();
    if kinds.len() > 1 {
        console.notice(&format!(
            "the traces have several dialects ({}): the output is {}",
            kinds.join(", "),
            default_dialect(target.writer)
        ));
    }
    check_output(args, target)
}

/// Describes the default dialect of a writer.
pub(crate) fn default_dialect(writer: &dyn WriterFactory) -> String {
    writer
        .dialects()
        .first()
        .map_or_else(String::new, |dialect| format!("{} ({})", dialect.name, dialect.about))
}

/// Checks that a format can be written to the output path.
fn check_output(args: &Convert, target: Target) -> Result<Target, Failure> {
    if target.writer.is_directory() && args.writing.prints_trace() {
        let format = target.format;
        let message = format!("a {format} trace is a directory: it cannot be written to standard output");
        return Err(Failure::new(message).help("name a directory, or another format with --to"));
    }
    check_shard(&args.writing, Some(target.writer))?;
    Ok(target)
}

/// Checks that a format supports `--shard`, if the option is used. `writer` is `None` for text.
pub(crate) fn check_shard(writing: &Writing, writer: Option<&dyn WriterFactory>) -> Result<(), Failure> {
    if writing.shard.is_none() || writer.is_some_and(|writer| writer.writes_shards()) {
        return Ok(());
    }
    let tables = ichnos::convert::targets().filter(|target| target.writer.writes_shards());
    let formats: Vec<String> = tables.map(|target| format!("--to {}", target.format)).collect();
    let help = match formats.is_empty() {
        true => "this program was built without the feature `table`, which writes tables".to_owned(),
        false => format!("{} writes parts; `ichnos split` splits traces", formats.join(", ")),
    };
    Err(Failure::new("--shard: only tables are written by several processes").help(help))
}
