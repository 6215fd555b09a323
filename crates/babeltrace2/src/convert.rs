//! The command `convert`: makes `run` arguments from options and inputs.

mod component_names;
mod explicit;
mod implicit;
mod name_lists;
mod settings;

use std::path::is_separator;

use self::component_names::ComponentNames;
use self::explicit::{Explicit, Input};
use self::implicit::{ImplicitComponent, source_class};
use self::settings::{OPTIONS, Settings};
use crate::arguments::environment::Environment;
use crate::arguments::log_levels::raise_by_environment;
use crate::arguments::options::Options;
use crate::command::{Action, ComponentKind, Failure, FoundSource, LogLevel};
use crate::components::live_url::parse_live_url;
use crate::help::usage;
use crate::run;
use crate::run_args::{connection_argument, push_parameter, push_text_parameter, run_args_text};
use crate::value::ParameterValue;

/// Finds the sources for inputs.
pub(crate) type FindSources<'a> = &'a dyn Fn(&[String]) -> Result<Vec<FoundSource>, Failure>;

/// Parses the command arguments. They can change the log level.
///
/// # Errors
/// If they do not describe a graph, or if sources cannot be found.
pub(crate) fn parse(
    words: &[String],
    words_before: usize,
    log_level: &mut Option<LogLevel>,
    environment: &Environment<'_>,
    find_sources: FindSources<'_>,
) -> Result<Action, Failure> {
    if words.is_empty() {
        return Ok(Action::Print(usage::CONVERT.to_owned()));
    }
    let items: Vec<_> = Options::new(words, OPTIONS).collect();
    let Some(explicit) = Explicit::collect(&items, words_before)? else {
        return Ok(Action::Print(usage::CONVERT.to_owned()));
    };
    let mut settings = Settings::collect(&items, log_level)?;
    raise_by_environment(log_level, environment.variable);
    // In Babeltrace 1, the option let the text have more.
    if *log_level == Some(LogLevel::Info) {
        settings.implicit.pretty.set("verbose", "yes");
    }
    if settings.prints_metadata {
        return metadata(&explicit.inputs, settings.output);
    }
    choose_sink(&mut settings, &explicit.names)?;
    if settings.implicit.live.exists
        && let Some(action) = connect_live(&mut settings, &explicit.inputs)?
    {
        return Ok(action);
    }
    let sources = match settings.implicit.live.exists {
        true => Vec::new(),
        false => found_sources(&settings, &explicit.inputs, find_sources, &|text| {
            environment.warn(*log_level, text)
        })?,
    };
    finish(explicit, settings, sources)
}

fn metadata(inputs: &[Input], output: Option<String>) -> Result<Action, Failure> {
    match inputs {
        [] => Err(Failure::from_cause("--output-format=ctf-metadata specified without a path.")),
        [input] => Ok(Action::PrintMetadata { path: input.path.clone(), output }),
        _ => Err(Failure::from_cause("Too many paths specified for --output-format=ctf-metadata.")),
    }
}

/// Adds the implicit sink if another sink is missing, and its output path.
fn choose_sink(settings: &mut Settings, names: &ComponentNames) -> Result<(), Failure> {
    let implicit = &mut settings.implicit;
    if implicit.ctf.exists {
        if settings.output.is_none() {
            let problem = "--output-format=ctf specified without --output (trace output path).";
            return Err(Failure::from_cause(problem));
        }
        if implicit.pretty.exists {
            let problem = "--output-format=ctf specified but another option implies --output-format=text.";
            return Err(Failure::from_cause(format!("Ambiguous --output option: {problem}")));
        }
    }
    if !implicit.dummy.exists && !implicit.ctf.exists && names.sinks.is_empty() {
        implicit.pretty.exists = true;
    }
    if let Some(output) = &settings.output {
        if implicit.pretty.exists {
            implicit.pretty.set_text("path", output);
        } else if implicit.ctf.exists {
            implicit.ctf.set_text("path", output);
        }
    }
    Ok(())
}

/// Gives the address to the implicit live source. Without a session in the address, the command only prints sessions.
fn connect_live(settings: &mut Settings, inputs: &[Input]) -> Result<Option<Action>, Failure> {
    let url = match inputs {
        // An error, but others are found first.
        [] => return Ok(None),
        [input] => &input.path,
        _ => return Err(Failure::from_cause("Too many URLs specified for --input-format=lttng-live.")),
    };
    let address = parse_live_url(url)
        .map_err(|problem| Failure::from_cause(format!("Invalid LTTng live URL format: {problem}.")))?;
    if address.session.is_none() {
        let output = settings.output.clone();
        return Ok(Some(Action::PrintLiveSessions { url: url.clone(), output }));
    }
    let live = &mut settings.implicit.live;
    push_parameter(
        &mut live.arguments,
        "inputs",
        &ParameterValue::Array(vec![ParameterValue::Text(url.clone())]),
    );
    live.set_text("session-not-found-action", "end");
    Ok(None)
}

/// Finds sources for inputs, and returns them as components with the options after the inputs.
fn found_sources(
    settings: &Settings,
    inputs: &[Input],
    find_sources: FindSources<'_>,
    warn: &dyn Fn(&str),
) -> Result<Vec<ImplicitComponent>, Failure> {
    let mut found = Vec::new();
    if !inputs.is_empty() {
        let paths: Vec<String> = inputs.iter().map(|input| input.path.clone()).collect();
        found = find_sources(&paths)?;
        for (index, path) in paths.iter().enumerate() {
            if !found.iter().any(|source| source.original_inputs.contains(&index)) {
                warn(&format!("No trace was found based on input `{path}`."));
            }
        }
    }
    let is_ctf = |source: &FoundSource| source.class.plugin == "ctf" && source.class.name == "fs";
    found.retain(|source| !settings.is_input_ctf || is_ctf(source));
    Ok(found.into_iter().map(|source| source_component(source, inputs, is_ctf)).collect())
}

fn source_component(
    source: FoundSource,
    inputs: &[Input],
    is_ctf: impl Fn(&FoundSource) -> bool,
) -> ImplicitComponent {
    let mut component = ImplicitComponent::new(source_class(&source));
    component.exists = true;
    let arguments = &mut component.arguments;
    for input in source.original_inputs.iter().filter_map(|index| inputs.get(*index)) {
        for parameters in &input.parameters {
            arguments.extend(["--params".to_owned(), parameters.clone()]);
        }
        if let Some(level) = &input.log_level {
            arguments.extend(["--log-level".to_owned(), level.clone()]);
        }
    }
    // A trace is named by its path below the input.
    if is_ctf(&source)
        && let [ParameterValue::Text(path)] = source.inputs.as_slice()
        && let Some(input) = source.original_inputs.first().and_then(|index| inputs.get(*index))
        && let Some(below) = path.strip_prefix(&input.path)
    {
        let name = below.trim_start_matches(is_separator);
        if !name.is_empty() {
            push_text_parameter(arguments, "trace-name", name);
        }
    }
    push_parameter(arguments, "inputs", &ParameterValue::Array(source.inputs));
    component
}

/// Applies clock options to sources.
fn set_clocks(settings: &Settings, sources: &mut [ImplicitComponent]) -> Result<(), Failure> {
    let forces = settings.forces_unix_epoch.then_some("yes");
    let options = [
        ("--clock-force-correlate", "force-clock-class-origin-unix-epoch", forces),
        ("--clock-offset", "clock-class-offset-s", settings.clock_offset.as_deref()),
        ("--clock-offset-ns", "clock-class-offset-ns", settings.clock_offset_ns.as_deref()),
    ];
    for (option, parameter, value) in options {
        let Some(value) = value else { continue };
        let mut count = 0_usize;
        for source in sources.iter_mut().filter(|source| source.class == "source.ctf.fs") {
            source.set(parameter, value);
            count = count.saturating_add(1);
        }
        if count == 0 {
            let problem = "specified, but no source.ctf.fs component instantiated.";
            return Err(Failure::from_cause(format!("{option} {problem}")));
        }
    }
    Ok(())
}

/// Names the components, connects them, and parses the `run` arguments.
fn finish(
    explicit: Explicit,
    mut settings: Settings,
    mut sources: Vec<ImplicitComponent>,
) -> Result<Action, Failure> {
    set_clocks(&settings, &mut sources)?;
    let implicit = &mut settings.implicit;
    if implicit.live.exists && explicit.inputs.is_empty() {
        let class = &implicit.live.class;
        return Err(Failure::from_cause(format!("Missing URL for implicit `{class}` component.")));
    }
    let Explicit { mut run_arguments, mut names, .. } = explicit;
    for source in &mut sources {
        let wanted = format!("auto-disc-{}", source.class).replace('.', "-");
        source.assign_name(&wanted, Some(ComponentKind::Source), &mut names);
    }
    implicit.assign_names(&mut names);
    if names.sources.is_empty() {
        return Err(Failure::from_cause("No source component."));
    }
    if names.sinks.len() > 1 {
        return Err(Failure::from_cause("More than one sink component specified."));
    }
    for source in &sources {
        source.append(&mut run_arguments);
    }
    implicit.append(&mut run_arguments);
    connect(&names, &mut run_arguments);
    if let Some(form) = settings.run_args {
        if settings.is_intersected {
            let problem = "Cannot specify --stream-intersection with --run-args or --run-args-0.";
            return Err(Failure::from_cause(problem));
        }
        return Ok(Action::Print(run_args_text(&run_arguments, form)));
    }
    let mut action = run::parse(&run_arguments, 0)?;
    if let Action::Run(graph) = &mut action {
        graph.is_intersected = settings.is_intersected;
    }
    Ok(action)
}

/// Connects all sources to the first filter, the filters to each other, and the last one to the sink.
fn connect(names: &ComponentNames, run_arguments: &mut Vec<String>) {
    let mut push = |upstream: &str, downstream: &str| {
        run_arguments.extend(["--connect".to_owned(), connection_argument(upstream, downstream)]);
    };
    // The muxer is always there.
    let (Some(first), Some(last)) = (names.filters.first(), names.filters.last()) else { return };
    for source in &names.sources {
        push(source, first);
    }
    for pair in names.filters.windows(2) {
        if let [upstream, downstream] = pair {
            push(upstream, downstream);
        }
    }
    for sink in &names.sinks {
        push(last, sink);
    }
}

#[cfg(test)]
mod tests;
