//! `ichnos record`: records the events of a .NET program into a file.

mod last_event;
mod recorded_file;
mod recording_rate;

use std::io::{self, IsTerminal as _};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use ichnos::dotnet_diagnostics::messages::SessionOptions;
use ichnos::dotnet_diagnostics::providers::{Providers, Rundown};
use ichnos::dotnet_diagnostics::{
    Adjustment, DiagnosticsError, LaunchOptions, Launched, Session, SessionChunk, SessionEnd, Timeouts,
    launch, processes,
};
use ichnos::export::text::size;

use self::last_event::LastEvent;
use self::recorded_file::RecordedFile;
use self::recording_rate::RecordingRate;
use crate::args::RecordArgs;
use crate::exit::{Exit, Failure};
use crate::output::{OutputPath, safe};
use crate::progress::{Console, interrupt};
use crate::select::filters;

/// Time between two checks for a signal.
const LOOK: Duration = Duration::from_millis(50);

/// Time that a program has for ending after the session.
const LAST_WORDS: Duration = Duration::from_secs(5);

/// Size of the buffer between the process and the file.
const BUFFER: usize = 1 << 20;

pub(crate) fn run(args: &RecordArgs, console: Console) -> Result<Exit, Failure> {
    let options = session_options(args)?;
    let last = filters::until(&args.ending)?.map(|until| LastEvent::new(until, console));
    OutputPath::for_recording(&args.output, args.force).check_new()?;
    let mut file = RecordedFile::open(&args.output)?;
    interrupt::watch();
    let mut recording = Recording { args, console, file: &mut file, start: Instant::now(), last };
    let exit = match &args.process {
        Some(target) => recording.record_process(target, &options)?,
        None => recording.record_command(options)?,
    };
    Ok(recording.until_exit(exit))
}

fn session_options(args: &RecordArgs) -> Result<SessionOptions, Failure> {
    let profiles: Vec<&str> = args.profile.iter().map(String::as_str).collect();
    let providers: Vec<&str> = args.providers.iter().map(String::as_str).collect();
    let mut providers =
        Providers::new(&profiles, &providers).map_err(|error| Failure::new(error.to_string()))?;
    if args.no_rundown {
        providers.set_rundown(Rundown::Omitted);
    }
    let megabytes = u32::try_from(args.buffer.div_ceil(1 << 20)).unwrap_or(u32::MAX).max(1);
    let stacks = !args.no_stacks;
    Ok(SessionOptions { providers, buffer_megabytes: megabytes, stacks, ..SessionOptions::default() })
}

/// Converts an error from a runtime, and adds a suggested fix.
fn failure(error: &DiagnosticsError) -> Failure {
    match error {
        DiagnosticsError::Cancelled => interrupt::end(),
        error => Failure::new(safe(&error.to_string())).maybe_help(error.help()),
    }
}

/// Recording of a process.
struct Recording<'a> {
    args: &'a RecordArgs,
    console: Console,
    file: &'a mut RecordedFile,
    start: Instant,
    /// Event that ends the recording.
    last: Option<LastEvent>,
}

impl Recording<'_> {
    fn record_process(&mut self, target: &str, options: &SessionOptions) -> Result<Exit, Failure> {
        let timeouts = Timeouts::default();
        let process = processes::find(target, timeouts.reply).map_err(|error| failure(&error))?;
        let mut session =
            Session::start(&process.endpoint(), options, timeouts).map_err(|error| failure(&error))?;
        self.console.note(&format!("process {}: {}", process.pid, safe(&process.command_line)));
        self.record(&mut session)?;
        Ok(self.report(&session))
    }

    fn record_command(&mut self, session: SessionOptions) -> Result<Exit, Failure> {
        let Some((program, arguments)) = self.args.command.split_first() else {
            return Err(Failure::new("there is no command"));
        };
        let cancel = Some(interrupt::flag());
        let options = LaunchOptions { session, cancel, ..LaunchOptions::default() };
        let mut command = Command::new(program);
        command.args(arguments);
        if io::stdin().is_terminal() {
            // A program outside the foreground group would be stopped when it reads.
            command.stdin(Stdio::null());
        }
        let mut launched = launch(&mut command, &options).map_err(|error| failure(&error))?;
        let group = launched.group();
        interrupt::before_abort(move || group.terminate());
        self.record(launched.session())?;
        let exit = self.report(launched.session());
        let is_stopped = !matches!(launched.session().end(), Some(SessionEnd::Closed | SessionEnd::Reset));
        self.end_program(&mut launched, is_stopped)?;
        Ok(exit)
    }

    /// Copies the stream into the file until the process ends, the time is over, or a signal comes.
    fn record(&mut self, session: &mut Session) -> Result<(), Failure> {
        self.start = Instant::now();
        self.file.begin().map_err(|error| self.file.failure(&error))?;
        self.warn_of_adjustments(session);
        let mut rate = RecordingRate::new(self.args.output.as_os_str() == "-", self.console);
        let mut buffer = vec![0; BUFFER];
        let mut is_stopping = false;
        loop {
            match session.read_chunk(&mut buffer, LOOK) {
                Ok(SessionChunk::Data(count)) => {
                    let bytes = buffer.get(..count).unwrap_or_default();
                    self.file.write(bytes).map_err(|error| self.file.failure(&error))?;
                    if let Some(last) = &mut self.last {
                        last.read(bytes)?;
                    }
                }
                Ok(SessionChunk::Nothing) => {}
                Ok(SessionChunk::End) => return Ok(()),
                Err(error) => return Err(self.broken(&error)),
            }
            let is_over = self.args.limit.is_some_and(|limit| self.start.elapsed() >= limit)
                || self.last.as_ref().is_some_and(LastEvent::has_come);
            if !is_stopping && (is_over || interrupt::is_requested()) {
                session.stop().map_err(|error| self.broken(&error))?;
                is_stopping = true;
            }
            rate.show(session.length(), is_stopping);
        }
    }

    /// Returns the exit code of `--until`, given the exit code of the recording.
    fn until_exit(&self, exit: Exit) -> Exit {
        match self.last.as_ref().filter(|last| !last.has_come()) {
            Some(last) => {
                last.report();
                if matches!(exit, Exit::Success) { Exit::Nothing } else { exit }
            }
            None => exit,
        }
    }

    /// Returns the failure for a session that broke off. The file keeps what arrived.
    fn broken(&self, error: &DiagnosticsError) -> Failure {
        let mut failure = failure(error);
        failure.details = self.file.kept().into_iter().collect();
        failure
    }

    fn warn_of_adjustments(&self, session: &Session) {
        for adjustment in session.adjustments() {
            let text = match adjustment {
                Adjustment::Stacks => "the runtime is too old for --no-stacks: all events have stacks",
                Adjustment::Rundown { used: Rundown::Omitted } => {
                    "the runtime is too old for a short rundown: it is left out"
                }
                Adjustment::Rundown { .. } => {
                    "the runtime is too old for a short rundown: all methods are listed"
                }
                _ => continue,
            };
            self.console.warning(text);
        }
    }

    /// Reports the size of the recording and its end.
    fn report(&self, session: &Session) -> Exit {
        let seconds = self.start.elapsed().as_secs_f64();
        self.console.notice(&format!("recorded {} in {seconds:.1} s", size(session.length())));
        let problem = match session.end() {
            Some(SessionEnd::Reset) => "the process broke the connection".to_owned(),
            Some(SessionEnd::Unconfirmed { problem }) => {
                format!("the end was not confirmed ({}): methods may be missing", safe(problem))
            }
            _ if !self.file.is_complete() => "the process ended without ending the recording".to_owned(),
            _ => return Exit::Success,
        };
        let help = "every verb reads the file, and `ichnos repair` makes it whole";
        self.console.warning_with_help(&problem, help);
        Exit::Damaged
    }

    /// Waits for a program that ends itself, or ends it.
    fn end_program(&self, launched: &mut Launched, is_stopped: bool) -> Result<(), Failure> {
        let failed = |error: std::io::Error| Failure::new(format!("the program cannot be ended: {error}"));
        // A wrapper may go on with other programs.
        while !is_stopped && !interrupt::is_requested() {
            if let Some(status) = launched.wait_program(LOOK).map_err(failed)? {
                if !status.success() {
                    self.console.warning(&format!("the program ended with {status}"));
                }
                return Ok(());
            }
        }
        launched.end_program(LAST_WORDS).map_err(failed)?;
        Ok(())
    }
}
