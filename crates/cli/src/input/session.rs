//! Opens traces from paths, with helpful errors.

use std::path::PathBuf;
use std::sync::Arc;

use ichnos::debug_info::DebugInfo;
use ichnos::io::ScanProgress;
use ichnos::model::clock::ClockArithmetic;
use ichnos::model::running_thread::RunningParts;
use ichnos::query::path_offsets;
use ichnos::{OpenError, OpenOptions, OptionError, Session};

use super::live::{self, LiveInputs};
use super::manifest::Manifest;
use super::{check_reading, event_map, failure};
use crate::args::format_flags::flag;
use crate::args::{self, FollowArgs, Reading};
use crate::exit::Failure;
use crate::progress::{Console, scan_progress};

/// Request to open the traces named on the command line.
#[derive(Clone, Copy)]
pub(crate) struct OpenRequest<'a> {
    reading: &'a Reading,
    arithmetic: ClockArithmetic,
    running: RunningParts,
    debug_info: Option<&'a Arc<DebugInfo>>,
    all_problems: bool,
    follow: Option<&'a FollowArgs>,
    has_stacks: bool,
}

impl<'a> OpenRequest<'a> {
    pub(crate) fn new(reading: &'a Reading) -> Self {
        let (arithmetic, running) = (ClockArithmetic::Exact, RunningParts::Nothing);
        let (debug_info, all_problems, follow, has_stacks) = (None, false, None, false);
        Self { reading, arithmetic, running, debug_info, all_problems, follow, has_stacks }
    }

    /// Sets the default clock arithmetic.
    pub(crate) fn arithmetic(self, arithmetic: ClockArithmetic) -> Self {
        Self { arithmetic, ..self }
    }

    /// Adds the thread that the processor runs to events that do not name a thread.
    pub(crate) fn running(self, running: RunningParts) -> Self {
        Self { running, ..self }
    }

    /// Adds debug information to events with an address.
    pub(crate) fn debug_info(self, debug_info: Option<&'a Arc<DebugInfo>>) -> Self {
        Self { debug_info, ..self }
    }

    /// Reports even harmless problems if `all_problems` is set.
    pub(crate) fn all_problems(self, all_problems: bool) -> Self {
        Self { all_problems, ..self }
    }

    /// Reads the files while they grow, if the arguments say so.
    pub(crate) fn follow(self, args: &'a FollowArgs) -> Self {
        Self { follow: Some(args).filter(|args| args.follow), ..self }
    }

    /// Names the methods in call stacks of live input, if they are wanted.
    pub(crate) fn stacks(self, has_stacks: bool) -> Self {
        Self { has_stacks, ..self }
    }

    /// Opens the traces.
    pub(crate) fn open(self, console: Console) -> Result<Session, Failure> {
        let reading = self.reading;
        let refuse_all = |session: Session| match session.refused() {
            [_, ..] if reading.strict => Err(OpenError::Refused(session.refused().to_vec())),
            _ => Ok(session),
        };
        let opened = self.try_open(scan_progress::show(console), console)?;
        let session = opened.and_then(refuse_all).map_err(|error| {
            let was_refused = matches!(error, OpenError::Refused(_));
            let failure = failure(&error);
            match reading.format_flags.choices().next() {
                Some(name) if was_refused => {
                    failure.help(format!("without --{}, the {name} is detected from the trace", flag(name)))
                }
                _ => failure,
            }
        })?;
        check(reading, &session, console)?;
        Ok(session)
    }

    /// Opens the traces. The inner error is about the traces, the outer error about the options.
    pub(crate) fn try_open(
        self,
        progress: ScanProgress,
        console: Console,
    ) -> Result<Result<Session, OpenError>, Failure> {
        let reading = self.reading;
        if reading.paths.iter().filter(|path| path.as_os_str() == "-").count() > 1 {
            return Err(Failure::new("the standard input (`-`) can be read only once"));
        }
        let reads_stdin = reading.paths.iter().any(|path| path.as_os_str() == "-");
        if reads_stdin && std::io::IsTerminal::is_terminal(&std::io::stdin()) {
            return Err(Failure::new("the standard input (`-`) is a terminal, not a trace")
                .help("pipe an archive of a trace into it: `tar c TRACE | ichnos info -`"));
        }
        let manifest = reading.manifest.as_deref().map(Manifest::read).transpose()?.unwrap_or_default();
        let options = self.options(&manifest, progress)?;
        let files = reading.paths.iter().filter(|path| live::address(path).is_none());
        let files: Vec<_> = files.chain(&manifest.paths).cloned().collect();
        if self.follow.is_some() && files.is_empty() {
            return Err(Failure::new("--follow needs the path of files that grow")
                .help("live inputs are followed without --follow"));
        }
        let inputs = LiveInputs { reading, files, follow: self.follow, has_stacks: self.has_stacks };
        if inputs.is_any() {
            return live::open(inputs, &options, console);
        }
        let files = inputs.files;
        let opened = ichnos::open(files, &options);
        if let Err(error @ OpenError::NoClock { clock, .. }) = &opened
            && let Some(place) = manifest.place_of_clock(clock)
        {
            let failure = failure(error);
            return Err(Failure { message: format!("{place}: {}", failure.message), ..failure });
        }
        Ok(opened)
    }

    /// Opens a text as if it were the file at a path.
    pub(crate) fn open_text(self, name: &str, text: &[u8], console: Console) -> Result<Session, Failure> {
        let options = self.options(&Manifest::default(), scan_progress::show(console))?;
        ichnos::open_reader(name, text, &options).map_err(|error| failure(&error))
    }

    /// Opens only the first `beginning` bytes of each packed file. Returns `None` if that is impossible.
    pub(crate) fn open_beginnings(
        self,
        beginning: u64,
        console: Console,
    ) -> Result<Option<Session>, Failure> {
        let mut options = self.options(&Manifest::default(), scan_progress::show(console))?;
        options.beginning = Some(beginning);
        match ichnos::open(&self.reading.paths, &options) {
            Ok(session) => Ok(Some(session)),
            // The whole files would give the same error.
            Err(error @ OpenError::Io(_)) => Err(failure(&error)),
            Err(_) => Ok(None),
        }
    }

    fn options(self, manifest: &Manifest, progress: ScanProgress) -> Result<OpenOptions, Failure> {
        let reading = self.reading;
        live::check_options(reading, self.follow.is_some())?;
        let mut options = OpenOptions::default();
        options.read.check = self.all_problems;
        options.require_all = reading.strict;
        options.read.progress = progress;
        options.clock_offsets.clone_from(&manifest.offsets);
        options.other_inputs.extend(reading.manifest.clone());
        options.assume_correlated = reading.assume_correlated;
        options.read.strict = reading.strict;
        options.read.unsorted = reading.unsorted;
        options.read.clock_arithmetic = reading.clock_arithmetic.unwrap_or(self.arithmetic);
        options.read.clock_offsets.all =
            i128::from(reading.clock_offset) * 1_000_000_000 + i128::from(reading.clock_offset_ns);
        add_clock_offsets(&mut options, reading, manifest)?;
        options.format.clone_from(&reading.from);
        options.read.class_map = event_map::load(&reading.map)?;
        options.running = self.running;
        options.debug_info = self.debug_info.cloned();
        options.other_inputs.extend(reading.map.iter().cloned());
        options.follow_links = reading.follow_links;
        options.temp_dir.clone_from(&reading.temp_dir);
        let failure = |error: OptionError| Failure::new(error.to_string());
        for (name, value) in &reading.option {
            options.set(name, value).map_err(failure)?;
        }
        reading.format_flags.set(&mut options).map_err(failure)?;
        options.read.without_quirks = match reading.no_quirks {
            true => args::quirks().map(|quirk| quirk.name).collect(),
            false => reading.no_quirk.clone(),
        };
        let limits = reading.limits();
        options.read.limits = limits.model;
        options.io = limits.io;
        Ok(options)
    }
}

/// Adds the clock offsets from `--offset`.
fn add_clock_offsets(
    options: &mut OpenOptions,
    reading: &Reading,
    manifest: &Manifest,
) -> Result<(), Failure> {
    let listened: Vec<_> = reading.listen.iter().map(|address| PathBuf::from(address.to_string())).collect();
    let all = reading.paths.iter().chain(&manifest.paths).chain(&listened).map(PathBuf::as_path);
    for (text, offset) in &reading.offset {
        let found = path_offsets(text, *offset, all.clone());
        let found = found.map_err(|what| Failure::new(format!("--offset: {what}")))?;
        if found.is_empty() {
            return Err(Failure::new(format!("--offset: no path matches `{text}`")).help(
                "the pattern must match a path as given on the command line; a path inside a given \
                path must not have wildcards",
            ));
        }
        options.clock_offsets.extend(found);
    }
    Ok(())
}

/// Checks the opened traces against the options.
pub(crate) fn check(reading: &Reading, session: &Session, console: Console) -> Result<(), Failure> {
    if reading.strict
        && let Some(problem) = session.problems().first()
    {
        return Err(Failure::new(problem.to_string()).help("without --strict, all readable data are read"));
    }
    check_reading(reading, session, console)
}

/// Returns all trace paths, including the paths in a manifest.
#[cfg(feature = "view")]
pub(crate) fn paths(reading: &Reading) -> Result<Vec<PathBuf>, Failure> {
    let manifest = reading.manifest.as_deref().map(Manifest::read).transpose()?.unwrap_or_default();
    Ok(reading.paths.iter().cloned().chain(manifest.paths).collect())
}
