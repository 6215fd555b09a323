//! Options that imply components.

use super::implicit::{ImplicitComponent, ImplicitComponents};
use super::name_lists::{field_parameters, name_parameters};
use crate::arguments::escapes::text_until;
use crate::arguments::log_levels::raise;
use crate::arguments::options::{Item, OptionError, OptionId, OptionNames, flag, with_argument};
use crate::command::{Failure, LogLevel};
use crate::run_args::RunArgsForm;

pub(super) static OPTIONS: &[OptionNames] = &[
    with_argument(OptionId::AllowedMipVersions, Some('m'), "allowed-mip-versions"),
    with_argument(OptionId::Begin, Some('b'), "begin"),
    flag(OptionId::ClockCycles, None, "clock-cycles"),
    flag(OptionId::ClockDate, None, "clock-date"),
    flag(OptionId::ClockForceCorrelate, None, "clock-force-correlate"),
    flag(OptionId::ClockGmt, None, "clock-gmt"),
    with_argument(OptionId::ClockOffset, None, "clock-offset"),
    with_argument(OptionId::ClockOffsetNs, None, "clock-offset-ns"),
    flag(OptionId::ClockSeconds, None, "clock-seconds"),
    with_argument(OptionId::Color, None, "color"),
    with_argument(OptionId::Component, Some('c'), "component"),
    flag(OptionId::Debug, Some('d'), "debug"),
    with_argument(OptionId::DebugInfoDir, None, "debug-info-dir"),
    flag(OptionId::DebugInfoFullPath, None, "debug-info-full-path"),
    with_argument(OptionId::DebugInfoTargetPrefix, None, "debug-info-target-prefix"),
    with_argument(OptionId::End, Some('e'), "end"),
    with_argument(OptionId::Fields, Some('f'), "fields"),
    flag(OptionId::Help, Some('h'), "help"),
    with_argument(OptionId::InputFormat, Some('i'), "input-format"),
    with_argument(OptionId::LogLevel, Some('l'), "log-level"),
    with_argument(OptionId::Names, Some('n'), "names"),
    flag(OptionId::DebugInfo, None, "debug-info"),
    flag(OptionId::NoDelta, None, "no-delta"),
    flag(OptionId::OmitHomePluginPath, None, "omit-home-plugin-path"),
    flag(OptionId::OmitSystemPluginPath, None, "omit-system-plugin-path"),
    with_argument(OptionId::Output, Some('w'), "output"),
    with_argument(OptionId::OutputFormat, Some('o'), "output-format"),
    with_argument(OptionId::Params, Some('p'), "params"),
    with_argument(OptionId::RetryDuration, None, "retry-duration"),
    flag(OptionId::RunArgs, None, "run-args"),
    flag(OptionId::RunArgs0, None, "run-args-0"),
    flag(OptionId::StreamIntersection, None, "stream-intersection"),
    with_argument(OptionId::TimeRange, Some('t'), "timerange"),
    flag(OptionId::Verbose, Some('v'), "verbose"),
];

/// Options that imply components, or change them.
#[derive(Debug)]
pub(super) struct Settings {
    pub(super) implicit: ImplicitComponents,
    has_begin: bool,
    has_end: bool,
    pub(super) is_intersected: bool,
    pub(super) run_args: Option<RunArgsForm>,
    pub(super) prints_metadata: bool,
    has_input_format: bool,
    has_output_format: bool,
    /// `true` if only `source.ctf.fs` can be found.
    pub(super) is_input_ctf: bool,
    pub(super) output: Option<String>,
    pub(super) forces_unix_epoch: bool,
    /// Seconds.
    pub(super) clock_offset: Option<String>,
    /// Nanoseconds.
    pub(super) clock_offset_ns: Option<String>,
}

impl Settings {
    /// Collects the options.
    ///
    /// # Errors
    /// If an argument is invalid, or if options contradict each other.
    pub(super) fn collect(
        items: &[Result<Item<'_>, OptionError>],
        log_level: &mut Option<LogLevel>,
    ) -> Result<Self, Failure> {
        let mut settings = Self {
            implicit: ImplicitComponents::new(),
            has_begin: false,
            has_end: false,
            is_intersected: false,
            run_args: None,
            prints_metadata: false,
            has_input_format: false,
            has_output_format: false,
            is_input_ctf: false,
            output: None,
            forces_unix_epoch: false,
            clock_offset: None,
            clock_offset_ns: None,
        };
        for item in items {
            match item {
                Ok(Item::Option { id: OptionId::Verbose, .. }) => raise(log_level, LogLevel::Info),
                Ok(Item::Option { id: OptionId::Debug, .. }) => raise(log_level, LogLevel::Trace),
                Ok(Item::Option { id, argument }) => settings.apply(*id, argument)?,
                Ok(Item::Word { .. }) | Err(_) => {}
            }
        }
        Ok(settings)
    }

    fn apply(&mut self, id: OptionId, argument: &str) -> Result<(), Failure> {
        match id {
            OptionId::Begin | OptionId::End | OptionId::TimeRange => self.set_time(id, argument)?,
            OptionId::ClockForceCorrelate => self.forces_unix_epoch = true,
            OptionId::ClockOffset => set_once(&mut self.clock_offset, argument, "--clock-offset option\n")?,
            OptionId::ClockOffsetNs => {
                set_once(&mut self.clock_offset_ns, argument, "--clock-offset-ns option\n")?;
            }
            OptionId::DebugInfo
            | OptionId::DebugInfoDir
            | OptionId::DebugInfoFullPath
            | OptionId::DebugInfoTargetPrefix => self.set_debug_info(id, argument),
            OptionId::InputFormat => self.set_input_format(argument)?,
            OptionId::OutputFormat => self.set_output_format(argument)?,
            OptionId::Output => set_once(&mut self.output, argument, "--output option")?,
            OptionId::RunArgs => self.set_run_args(RunArgsForm::Shell)?,
            OptionId::RunArgs0 => self.set_run_args(RunArgsForm::ZeroBytes)?,
            OptionId::StreamIntersection => self.is_intersected = true,
            _ => self.set_text_option(id, argument)?,
        }
        Ok(())
    }

    /// Applies a `sink.text.pretty` option.
    fn set_text_option(&mut self, id: OptionId, argument: &str) -> Result<(), Failure> {
        let pretty = &mut self.implicit.pretty;
        match id {
            OptionId::ClockCycles => pretty.set("clock-cycles", "yes"),
            OptionId::ClockDate => pretty.set("clock-date", "yes"),
            OptionId::ClockGmt => {
                pretty.set("clock-gmt", "yes");
                self.implicit.trimmer.set("gmt", "yes");
            }
            OptionId::ClockSeconds => pretty.set("clock-seconds", "yes"),
            OptionId::Color => pretty.set_text("color", argument),
            OptionId::NoDelta => pretty.set("no-delta", "yes"),
            OptionId::Fields => set_all(pretty, field_parameters(argument)?),
            OptionId::Names => set_all(pretty, name_parameters(argument)?),
            // Options for explicit components, and options without an effect.
            _ => return Ok(()),
        }
        self.implicit.pretty.exists = true;
        Ok(())
    }

    fn set_time(&mut self, id: OptionId, argument: &str) -> Result<(), Failure> {
        let (option, others, is_specified) = match id {
            OptionId::Begin => ("--begin", "--begin or --timerange", self.has_begin),
            OptionId::End => ("--end", "--end or --timerange", self.has_end),
            _ => ("--timerange", "--begin, --end, or --timerange", self.has_begin || self.has_end),
        };
        if is_specified {
            let text = format!("At {option} option: {others} option already specified\n    {argument}\n");
            return Err(Failure::from_cause(text));
        }
        let trimmer = &mut self.implicit.trimmer;
        match id {
            OptionId::Begin => {
                trimmer.set_text("begin", argument);
                self.has_begin = true;
            }
            OptionId::End => {
                trimmer.set_text("end", argument);
                self.has_end = true;
            }
            _ => {
                let Some((begin, end)) = split_time_range(argument) else {
                    let problem = "Invalid --timerange option's argument: expecting BEGIN,END or [BEGIN,END]";
                    return Err(Failure::from_cause(format!("{problem}:\n    {argument}")));
                };
                // Like Babeltrace, a later --begin or --end is only added.
                trimmer.set_text("begin", &begin);
                trimmer.set_text("end", &end);
            }
        }
        trimmer.exists = true;
        Ok(())
    }

    fn set_debug_info(&mut self, id: OptionId, argument: &str) {
        let debug_info = &mut self.implicit.debug_info;
        debug_info.exists = true;
        match id {
            OptionId::DebugInfoDir => debug_info.set_text("debug-info-dir", argument),
            OptionId::DebugInfoFullPath => debug_info.set("full-path", "yes"),
            OptionId::DebugInfoTargetPrefix => debug_info.set_text("target-prefix", argument),
            _ => {}
        }
    }

    fn set_input_format(&mut self, argument: &str) -> Result<(), Failure> {
        if self.has_input_format {
            return Err(Failure::from_cause("Duplicate --input-format option."));
        }
        self.has_input_format = true;
        match argument {
            "ctf" => self.is_input_ctf = true,
            "lttng-live" => self.implicit.live.exists = true,
            _ => {
                return Err(Failure::from_cause(format!("Unknown legacy input format:\n    {argument}")));
            }
        }
        Ok(())
    }

    fn set_output_format(&mut self, argument: &str) -> Result<(), Failure> {
        if self.has_output_format {
            return Err(Failure::from_cause("Duplicate --output-format option."));
        }
        self.has_output_format = true;
        match argument {
            "text" => self.implicit.pretty.exists = true,
            "ctf" => self.implicit.ctf.exists = true,
            "dummy" => self.implicit.dummy.exists = true,
            "ctf-metadata" => self.prints_metadata = true,
            _ => {
                return Err(Failure::from_cause(format!("Unknown legacy output format:\n    {argument}")));
            }
        }
        Ok(())
    }

    fn set_run_args(&mut self, form: RunArgsForm) -> Result<(), Failure> {
        if self.run_args.is_some_and(|other| other != form) {
            return Err(Failure::from_cause("Cannot specify --run-args and --run-args-0."));
        }
        self.run_args = Some(form);
        Ok(())
    }
}

fn set_once(value: &mut Option<String>, argument: &str, option: &str) -> Result<(), Failure> {
    match value.replace(argument.to_owned()) {
        Some(_) => Err(Failure::from_cause(format!("Duplicate {option}"))),
        None => Ok(()),
    }
}

fn set_all(component: &mut ImplicitComponent, parameters: Vec<(String, &'static str)>) {
    for (name, value) in parameters {
        component.set(&name, value);
    }
}

/// Splits `BEGIN,END` or `[BEGIN,END]`.
fn split_time_range(argument: &str) -> Option<(String, String)> {
    let argument = argument.strip_prefix('[').unwrap_or(argument);
    let (begin, end) = text_until(argument, &[], &[',']);
    let rest = argument.get(end..)?.strip_prefix(',')?;
    let (end, _) = text_until(rest, &[], &[']']);
    (!begin.is_empty() && !end.is_empty()).then_some((begin, end))
}
