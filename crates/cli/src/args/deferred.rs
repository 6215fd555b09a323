//! Arguments of a verb that are declared when the command line names the verb.

use std::ops::{Deref, DerefMut};

use clap::error::Error;
use clap::{ArgMatches, Args, Command, FromArgMatches, Id};

use super::examples::with_examples;

/// Arguments of a verb, with its examples.
///
/// Declaring the arguments of all verbs would take longer than reading a small trace. `Command::build` declares all.
#[derive(Debug)]
pub(crate) struct Deferred<T>(Box<T>);

impl<T> Deref for Deferred<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T> DerefMut for Deferred<T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.0
    }
}

impl<T: Args> Args for Deferred<T> {
    fn group_id() -> Option<Id> {
        T::group_id()
    }

    fn augment_args(command: Command) -> Command {
        command.defer(declare::<T>)
    }

    fn augment_args_for_update(command: Command) -> Command {
        T::augment_args_for_update(command)
    }
}

impl<T: FromArgMatches> FromArgMatches for Deferred<T> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        T::from_arg_matches(matches).map(|args| Self(Box::new(args)))
    }

    fn from_arg_matches_mut(matches: &mut ArgMatches) -> Result<Self, Error> {
        T::from_arg_matches_mut(matches).map(|args| Self(Box::new(args)))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        self.0.update_from_arg_matches(matches)
    }
}

/// Declares the arguments. Texts of the verb take precedence over texts of its arguments.
fn declare<T: Args>(verb: Command) -> Command {
    let [about, long_about, notes] =
        [verb.get_about(), verb.get_long_about(), verb.get_after_long_help()].map(|text| text.cloned());
    let inherited: Vec<Id> = verb.get_arguments().map(|argument| argument.get_id().clone()).collect();
    let mut declared = T::augment_args(verb).long_about(None);
    // Options that all verbs have come last in the help. This moves them to the end.
    for id in inherited {
        declared = declared.mut_arg(id, |argument| argument);
    }
    if let Some(about) = about {
        declared = declared.about(about);
    }
    if let Some(long_about) = long_about {
        declared = declared.long_about(long_about);
    }
    if let Some(notes) = notes {
        declared = declared.after_long_help(notes);
    }
    with_examples(declared)
}
