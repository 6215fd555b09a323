//! Text formats, for `cat` and for the verbs that write traces.

mod format;
mod options;
mod settings;

pub(crate) use self::format::{TextFormat, parser};
pub(crate) use self::options::{PROPERTIES, SCOPES, TextOptions};
pub(crate) use self::settings::TextSettings;
