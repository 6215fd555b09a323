//! Verbs of the command.

pub(crate) mod cat;
pub(crate) mod check;
pub(crate) mod collect;
pub(crate) mod convert;
pub(crate) mod formats;
pub(crate) mod index;
pub(crate) mod info;
#[cfg(all(feature = "dotnet", target_os = "linux"))]
pub(crate) mod record;
pub(crate) mod schema;
pub(crate) mod split;
pub(crate) mod sql;
pub(crate) mod stacks;
pub(crate) mod stats;
pub(crate) mod task;
pub(crate) mod threads;
#[cfg(feature = "view")]
pub(crate) mod view;
