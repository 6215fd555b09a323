//! Reports during a run: progress, warnings and damage. Also handles signals.

mod console;
pub(crate) mod damage;
mod follower;
pub(crate) mod interrupt;
mod live_progress;
mod meter;
mod read_progress;
pub(crate) mod scan_progress;
mod write_progress;

pub(crate) use self::console::Console;
pub(crate) use self::damage::Damages;
pub(crate) use self::follower::{Follower, ProgressSink};
pub(crate) use self::live_progress::LiveProgress;
#[cfg(all(feature = "dotnet", target_os = "linux"))]
pub(crate) use self::meter::Meter;
pub(crate) use self::read_progress::ReadProgress;
pub(crate) use self::write_progress::WriteProgress;
