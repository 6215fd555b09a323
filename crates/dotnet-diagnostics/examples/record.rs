//! Records a .NET process or command: `record PID|NAME|-- CMD... [options before --]`.
//!
//! ```text
//! record 4711 -o trace.nettrace --profile gc --for 10
//! record -o trace.nettrace --providers Microsoft-Windows-DotNETRuntime:gc+exception:5 -- dotnet app.dll
//! record list
//! ```

#[cfg(target_os = "linux")]
fn main() -> std::process::ExitCode {
    linux::main()
}

#[cfg(not(target_os = "linux"))]
fn main() {}

#[cfg(target_os = "linux")]
mod linux {
    use std::fs::File;
    use std::io::Write;
    use std::process::{Command, ExitCode};
    use std::time::{Duration, Instant};

    use ichnos_dotnet_diagnostics::messages::SessionOptions;
    use ichnos_dotnet_diagnostics::providers::{Providers, Rundown};
    use ichnos_dotnet_diagnostics::{
        DiagnosticsError, LaunchOptions, Session, SessionChunk, SessionEnd, Timeouts, launch, processes,
    };

    type AnyError = Box<dyn std::error::Error>;

    /// Arguments of the command line.
    #[derive(Default)]
    struct Arguments {
        target: String,
        command: Vec<String>,
        output: String,
        profiles: Vec<String>,
        providers: Vec<String>,
        seconds: Option<f64>,
        has_rundown: bool,
        has_stacks: bool,
    }

    fn arguments() -> Result<Arguments, AnyError> {
        let mut result = Arguments { has_rundown: true, has_stacks: true, ..Arguments::default() };
        let mut words = std::env::args().skip(1);
        while let Some(word) = words.next() {
            let mut value = || words.next().ok_or(format!("{word} needs a value"));
            match word.as_str() {
                "-o" => result.output = value()?,
                "--profile" => result.profiles.push(value()?),
                "--providers" => result.providers.push(value()?),
                "--for" => result.seconds = Some(value()?.parse()?),
                "--no-rundown" => result.has_rundown = false,
                "--no-stacks" => result.has_stacks = false,
                "--" => result.command = words.by_ref().collect(),
                _ => result.target = word,
            }
        }
        Ok(result)
    }

    fn list() {
        for process in processes::list(Duration::from_secs(1)) {
            println!(
                "{}\t{}\t{}\t{}\t{}\t{}",
                process.pid,
                process.runtime_version.escape_debug(),
                process.architecture.escape_debug(),
                process.assembly.escape_debug(),
                process.command_line.escape_debug(),
                process.problem.unwrap_or_default().escape_debug()
            );
        }
    }

    /// Writes the stream to a file, and stops the session after some time.
    fn copy(session: &mut Session, arguments: &Arguments) -> Result<(), AnyError> {
        let mut file = File::create(&arguments.output)?;
        let start = Instant::now();
        let mut buffer = vec![0; 1 << 16];
        let mut stopped = None;
        loop {
            match session.read_chunk(&mut buffer, Duration::from_millis(100))? {
                SessionChunk::Data(count) => file.write_all(&buffer[..count])?,
                SessionChunk::Nothing => {}
                SessionChunk::End => break,
            }
            if stopped.is_none()
                && arguments.seconds.is_some_and(|limit| start.elapsed().as_secs_f64() >= limit)
            {
                session.stop()?;
                stopped = Some((start.elapsed(), session.length()));
            }
        }
        eprintln!("session {}: {:?}", session.id(), session.end());
        eprintln!("{} bytes in {:?}, stop request after {stopped:?}", session.length(), start.elapsed());
        Ok(())
    }

    fn run() -> Result<(), AnyError> {
        let arguments = arguments()?;
        if arguments.target == "list" {
            list();
            return Ok(());
        }
        let texts = |list: &[String]| list.to_vec();
        let (profiles, providers) = (texts(&arguments.profiles), texts(&arguments.providers));
        let profiles: Vec<&str> = profiles.iter().map(String::as_str).collect();
        let providers: Vec<&str> = providers.iter().map(String::as_str).collect();
        let mut providers = Providers::new(&profiles, &providers)?;
        if !arguments.has_rundown {
            providers.set_rundown(Rundown::Omitted);
        }
        let options = SessionOptions { providers, stacks: arguments.has_stacks, ..SessionOptions::default() };
        let timeouts = Timeouts::default();
        let Some((program, rest)) = arguments.command.split_first() else {
            let process = processes::find(&arguments.target, timeouts.reply)?;
            let mut session = Session::start(&process.endpoint(), &options, timeouts)?;
            eprintln!("adjustments: {:?}", session.adjustments());
            return copy(&mut session, &arguments);
        };
        let options =
            LaunchOptions { session: options, patience: Duration::from_secs(10), ..LaunchOptions::default() };
        let mut launched = launch(Command::new(program).args(rest), &options)?;
        eprintln!("{:?}", launched.runtime());
        eprintln!("adjustments: {:?}", launched.session().adjustments());
        copy(launched.session(), &arguments)?;
        // A wrapper may go on with other programs.
        let status = match launched.session().end() {
            Some(SessionEnd::Closed) => launched.child().wait()?,
            _ => launched.end_program(Duration::from_secs(5))?,
        };
        eprintln!("{status}");
        Ok(())
    }

    pub(crate) fn main() -> ExitCode {
        let Err(error) = run() else { return ExitCode::SUCCESS };
        eprintln!("error: {error}");
        if let Some(help) = error.downcast_ref::<DiagnosticsError>().and_then(DiagnosticsError::help) {
            eprintln!("help: {help}");
        }
        ExitCode::FAILURE
    }
}
