//! The command `run`: a graph as the command line describes it.

mod connections;

use std::collections::BTreeSet;

use self::connections::parse_connections;
use crate::arguments::class_name::parse_named_class;
use crate::arguments::integers::parse_integer;
use crate::arguments::log_levels::parse_log_level;
use crate::arguments::options::{Item, OptionId, OptionNames, Options, flag, with_argument};
use crate::command::{Action, Component, ComponentKind, Failure, Graph};
use crate::help::usage;
use crate::parameters::{extend, parse_option};
use crate::value::Map;

static OPTIONS: &[OptionNames] = &[
    with_argument(OptionId::BaseParams, Some('b'), "base-params"),
    with_argument(OptionId::Component, Some('c'), "component"),
    with_argument(OptionId::Connect, Some('x'), "connect"),
    flag(OptionId::Help, Some('h'), "help"),
    with_argument(OptionId::LogLevel, Some('l'), "log-level"),
    with_argument(OptionId::Params, Some('p'), "params"),
    flag(OptionId::ResetBaseParams, Some('r'), "reset-base-params"),
    with_argument(OptionId::RetryDuration, None, "retry-duration"),
    with_argument(OptionId::AllowedMipVersions, Some('m'), "allowed-mip-versions"),
];

/// Microseconds to wait before another attempt by default.
const RETRY_DURATION: u64 = 100_000;

/// Parses the command arguments.
///
/// # Errors
/// If they do not describe a graph.
pub(crate) fn parse(words: &[String], words_before: usize) -> Result<Action, Failure> {
    if words.is_empty() {
        return Ok(Action::Print(usage::RUN.to_owned()));
    }
    let mut builder = GraphBuilder::default();
    for item in Options::new(words, OPTIONS) {
        match item {
            Ok(Item::Option { id: OptionId::Help, .. }) => return Ok(Action::Print(usage::RUN.to_owned())),
            Ok(Item::Option { id, argument }) => builder.apply(id, argument)?,
            Ok(Item::Word { text, .. }) => {
                return Err(Failure::from_cause(format!("Unexpected argument: `{text}`")));
            }
            Err(error) => return Err(error.failure("run", words_before)),
        }
    }
    builder.finish().map(Action::Run)
}

/// Graph during parsing.
#[derive(Default)]
struct GraphBuilder {
    components: Vec<Component>,
    names: BTreeSet<String>,
    base_parameters: Map,
    connections: Vec<String>,
    retry_duration: Option<u64>,
    protocol_version: Option<u64>,
}

impl GraphBuilder {
    fn apply(&mut self, id: OptionId, argument: &str) -> Result<(), Failure> {
        match id {
            OptionId::Component => self.add_component(argument),
            OptionId::Params => self.add_parameters(argument),
            OptionId::LogLevel => self.set_log_level(argument),
            OptionId::BaseParams => {
                self.base_parameters = parse_option(argument, "--base-params")?;
                Ok(())
            }
            OptionId::ResetBaseParams => {
                self.base_parameters = Map::default();
                Ok(())
            }
            OptionId::Connect => {
                self.connections.push(argument.to_owned());
                Ok(())
            }
            OptionId::RetryDuration => {
                let number = unsigned(argument, "retry-duration", i64::MAX, "positive or 0")?;
                self.retry_duration = Some(number);
                Ok(())
            }
            OptionId::AllowedMipVersions => {
                self.protocol_version = Some(unsigned(argument, "allowed-mip-versions", 1, "0 or 1")?);
                Ok(())
            }
            // The table has no other options.
            _ => Ok(()),
        }
    }

    fn add_component(&mut self, argument: &str) -> Result<(), Failure> {
        let context = "Invalid format for --component option's argument:\n    ";
        let class = parse_named_class(argument, context)?;
        let name = class.name.ok_or_else(|| cause("Found an unnamed component."))?;
        if !self.names.insert(name.clone()) {
            return Err(cause(&format!("Duplicate component instance name:\n    {name}")));
        }
        let parameters = self.base_parameters.clone();
        self.components.push(Component { name, class: class.class, parameters, log_level: None });
        Ok(())
    }

    fn add_parameters(&mut self, argument: &str) -> Result<(), Failure> {
        let Some(component) = self.components.last_mut() else {
            let text = format!("Cannot add parameters to unavailable component:\n    {argument}");
            return Err(cause(&text));
        };
        let parameters = parse_option(argument, "--params")?;
        extend(&mut component.parameters, parameters);
        Ok(())
    }

    fn set_log_level(&mut self, argument: &str) -> Result<(), Failure> {
        let Some(component) = self.components.last_mut() else {
            let text = format!("Cannot set the log level of unavailable component:\n    {argument}");
            return Err(cause(&text));
        };
        let level = parse_log_level(argument)
            .ok_or_else(|| cause(&format!("Invalid argument for --log-level option:\n    {argument}")))?;
        component.log_level = Some(level);
        Ok(())
    }

    fn finish(self) -> Result<Graph, Failure> {
        for (kind, name) in [(ComponentKind::Source, "source"), (ComponentKind::Sink, "sink")] {
            if !self.components.iter().any(|component| component.class.kind == kind) {
                return Err(cause(&format!("Incomplete graph: no {name} component.")));
            }
        }
        let connections = parse_connections(&self.connections, &self.components)
            .map_err(|error| cause(&format!("Cannot create connections:\n{error}")))?;
        Ok(Graph {
            components: self.components,
            connections,
            retry_duration: self.retry_duration.unwrap_or(RETRY_DURATION),
            protocol_versions: self.protocol_version.map(|version| vec![version]),
            is_intersected: false,
        })
    }
}

fn cause(text: &str) -> Failure {
    Failure::from_cause(text)
}

/// Parses an option argument: an integer from 0 to a maximum.
fn unsigned(argument: &str, option: &str, maximum: i64, range: &str) -> Result<u64, Failure> {
    let Some(number) = parse_integer(argument) else {
        let what = format!("Could not parse --{option} option's argument as an unsigned integer");
        return Err(cause(&format!("{what}: `{argument}`")));
    };
    if number > maximum || number < 0 {
        return Err(cause(&format!("--{option} option's argument must be {range}: {number}")));
    }
    Ok(number.unsigned_abs())
}

#[cfg(test)]
mod tests;
