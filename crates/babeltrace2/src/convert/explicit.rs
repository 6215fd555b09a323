//! Explicit components and inputs, in command line order.

use super::component_names::ComponentNames;
use crate::arguments::class_name::parse_named_class;
use crate::arguments::options::{Item, OptionError, OptionId};
use crate::command::Failure;

/// Input for an implicit source.
#[derive(Debug, Default)]
pub(super) struct Input {
    pub(super) path: String,
    /// `--params` arguments after it.
    pub(super) parameters: Vec<String>,
    /// Last `--log-level` argument after it.
    pub(super) log_level: Option<String>,
}

/// Explicit components and inputs.
#[derive(Debug, Default)]
pub(super) struct Explicit {
    /// Arguments for `run`.
    pub(super) run_arguments: Vec<String>,
    pub(super) names: ComponentNames,
    pub(super) inputs: Vec<Input>,
    /// `true` if the last component or input is a component.
    is_after_component: bool,
}

impl Explicit {
    /// Collects components and inputs. Returns `None` if help was requested.
    ///
    /// # Errors
    /// If an option is unknown or incomplete, or if a component is invalid.
    pub(super) fn collect(
        items: &[Result<Item<'_>, OptionError>],
        words_before: usize,
    ) -> Result<Option<Self>, Failure> {
        let mut explicit = Self::default();
        for item in items {
            match item {
                Ok(Item::Option { id: OptionId::Help, .. }) => return Ok(None),
                Ok(Item::Option { id, argument }) => explicit.apply(*id, argument)?,
                Ok(Item::Word { text, .. }) => {
                    explicit.is_after_component = false;
                    explicit.inputs.push(Input { path: (*text).to_owned(), ..Input::default() });
                }
                Err(error) => return Err(error.failure("convert", words_before)),
            }
        }
        Ok(Some(explicit))
    }

    fn apply(&mut self, id: OptionId, argument: &str) -> Result<(), Failure> {
        match id {
            OptionId::Component => self.add_component(argument)?,
            OptionId::RetryDuration => self.push_option("--retry-duration", argument),
            OptionId::AllowedMipVersions => self.push_option("--allowed-mip-versions", argument),
            OptionId::Params if self.is_after_component => self.push_option("--params", argument),
            OptionId::LogLevel if self.is_after_component => self.push_option("--log-level", argument),
            OptionId::Params => {
                self.last_input("of which to set parameters", argument)?.parameters.push(argument.to_owned());
            }
            OptionId::LogLevel => {
                self.last_input("to assign a log level to", argument)?.log_level = Some(argument.to_owned());
            }
            _ => {}
        }
        Ok(())
    }

    fn last_input(&mut self, purpose: &str, argument: &str) -> Result<&mut Input, Failure> {
        let nothing = "No current component (--component option) or non-option argument";
        let error = || Failure::from_cause(format!("{nothing} {purpose}:\n    {argument}"));
        self.inputs.last_mut().ok_or_else(error)
    }

    fn push_option(&mut self, option: &str, argument: &str) {
        self.run_arguments.extend([option.to_owned(), argument.to_owned()]);
    }

    fn add_component(&mut self, argument: &str) -> Result<(), Failure> {
        self.is_after_component = true;
        let context = "Invalid format for --component option's argument:\n    ";
        let class = parse_named_class(argument, context)?;
        let (name, for_run) = match class.name {
            Some(name) if self.names.contains(&name) => {
                let text = format!("Duplicate component instance name:\n    {name}");
                return Err(Failure::from_cause(text));
            }
            Some(name) => (name, argument.to_owned()),
            None => {
                let name = self.names.unique(argument);
                let for_run = format!("{name}:{argument}");
                (name, for_run)
            }
        };
        self.push_option("--component", &for_run);
        self.names.add(&name, class.class.kind);
        Ok(())
    }
}
