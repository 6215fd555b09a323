//! Component classes: their parameters, and what they do on ichnos' engine.

pub(crate) mod counter;
mod ctf_errors;
pub(crate) mod ctf_fs;
pub(crate) mod ctf_fs_sink;
mod ctf_identity;
mod ctf_metadata;
pub(crate) mod debug_info;
mod decimal_number;
pub(crate) mod discovery;
pub(crate) mod dmesg;
pub(crate) mod live_url;
pub(crate) mod lttng_live;
mod parameter_values;
pub(crate) mod query;
pub(crate) mod source;
pub(crate) mod text_sinks;
mod trace_directory;
pub(crate) mod trimmer;

pub(crate) use ctf_errors::{damage_cause, is_refused};
pub(crate) use ctf_metadata::{metadata_places, metadata_text};
