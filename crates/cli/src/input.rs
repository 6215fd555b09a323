//! Opens the traces, and the files that describe them.

#[cfg(feature = "view")]
mod debug_info;
pub(crate) mod event_map;
mod following;
pub(crate) mod live;
mod manifest;
mod open_failure;
mod problems;
mod reading_options;
mod session;

#[cfg(feature = "view")]
pub(crate) use self::debug_info::report_debug_info;
pub(crate) use self::open_failure::failure;
pub(crate) use self::problems::{print_notices, problems, report_empty_traces, report_problems};
pub(crate) use self::reading_options::check_reading;
#[cfg(feature = "view")]
pub(crate) use self::session::paths;
pub(crate) use self::session::{OpenRequest, check};
pub(crate) use ichnos::live::follow::InputState;
