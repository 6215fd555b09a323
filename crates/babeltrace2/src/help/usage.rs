//! Command help.

/// General options and commands.
pub(crate) const GENERAL: &str = include_str!("general.txt");
/// The command `convert`.
pub(crate) const CONVERT: &str = concat!(include_str!("convert.txt"), include_str!("params.txt"));
/// The command `run`.
pub(crate) const RUN: &str = concat!(include_str!("run.txt"), include_str!("params.txt"));
/// The command `query`.
pub(crate) const QUERY: &str = concat!(include_str!("query.txt"), include_str!("params.txt"));
/// The command `list-plugins`.
pub(crate) const LIST_PLUGINS: &str = include_str!("list-plugins.txt");
/// The command `help`.
pub(crate) const HELP: &str = include_str!("help.txt");
