//! Format registry, one line for each format.

use ichnos_io::{Format, FormatInfo};

/// All formats in detection order.
pub const FORMATS: &[&dyn Format] = &[
    #[cfg(feature = "ctf")]
    &ichnos_ctf::Ctf,
    #[cfg(feature = "fuchsia-log")]
    &ichnos_fuchsia::FuchsiaLog,
    #[cfg(feature = "fxt")]
    &ichnos_fuchsia::Fxt,
    #[cfg(feature = "nettrace")]
    &ichnos_nettrace::Nettrace,
    #[cfg(feature = "xtrace")]
    &ichnos_xtrace::XTrace,
    #[cfg(feature = "otlp")]
    &ichnos_otlp::OtlpRequests,
    #[cfg(feature = "jsonl")]
    &ichnos_jsonl::JsonLinesFormat,
];

/// Returns the descriptions of all formats in detection order.
pub fn formats() -> impl Iterator<Item = &'static FormatInfo> + Clone {
    FORMATS.iter().map(|format| format.info())
}
