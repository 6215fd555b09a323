//! Tests of the whole library.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[cfg(feature = "ctf")]
mod comparison;
#[cfg(all(
    feature = "ctf",
    feature = "fuchsia-log",
    feature = "fxt",
    feature = "jsonl",
    feature = "nettrace",
    feature = "xtrace"
))]
mod constructs;
#[cfg(feature = "ctf")]
mod create;
#[cfg(feature = "fuchsia-log")]
mod create_log;
#[cfg(all(feature = "ctf", feature = "nettrace"))]
mod damaged;
#[cfg(all(feature = "ctf", feature = "jsonl"))]
mod debug_info;
#[cfg(feature = "ctf")]
mod examples;
#[cfg(all(
    feature = "ctf",
    feature = "fuchsia-log",
    feature = "jsonl",
    feature = "nettrace",
    feature = "xtrace"
))]
mod fields;
#[cfg(all(feature = "ctf", feature = "fxt", feature = "jsonl", feature = "nettrace", feature = "xtrace"))]
mod firefox;
#[cfg(all(feature = "ctf", feature = "fuchsia-log", feature = "fxt", feature = "jsonl", feature = "xtrace"))]
mod follow;
mod formats;
#[cfg(all(
    feature = "ctf",
    feature = "fuchsia-log",
    feature = "jsonl",
    feature = "nettrace",
    feature = "xtrace"
))]
mod jsonl;
#[cfg(all(feature = "ctf", unix))]
mod killed;
#[cfg(all(
    feature = "ctf",
    feature = "fxt",
    feature = "fuchsia-log",
    feature = "jsonl",
    feature = "otlp",
    feature = "xtrace"
))]
mod live_convert;
#[cfg(all(feature = "dotnet", feature = "nettrace", target_os = "linux"))]
mod live_dotnet;
#[cfg(all(
    feature = "ctf",
    feature = "fuchsia-log",
    feature = "fxt",
    feature = "jsonl",
    feature = "nettrace",
    feature = "xtrace"
))]
mod lost_spans;
#[cfg(all(feature = "lttng-live", unix))]
mod lttng_relay;
#[cfg(all(feature = "lttng-live", unix))]
mod lttng_session;
#[cfg(all(
    feature = "ctf",
    feature = "fuchsia-log",
    feature = "fxt",
    feature = "jsonl",
    feature = "nettrace",
    feature = "xtrace"
))]
mod missing;
#[cfg(all(
    feature = "ctf",
    feature = "fuchsia-log",
    feature = "fxt",
    feature = "jsonl",
    feature = "nettrace",
    feature = "xtrace"
))]
mod otlp;
#[cfg(all(
    feature = "ctf",
    feature = "fuchsia-log",
    feature = "fxt",
    feature = "jsonl",
    feature = "nettrace",
    feature = "xtrace"
))]
mod otlp_elements;
#[cfg(feature = "ctf")]
mod pass;
#[cfg(all(feature = "ctf", feature = "fxt", feature = "jsonl", feature = "nettrace", feature = "xtrace"))]
mod perfetto_samples;
#[cfg(feature = "ctf")]
mod proposals;
#[cfg(all(feature = "ctf", feature = "fxt", feature = "jsonl", feature = "nettrace", feature = "xtrace"))]
mod random_spans;
#[cfg(all(
    feature = "ctf",
    feature = "fuchsia-log",
    feature = "fxt",
    feature = "jsonl",
    feature = "nettrace",
    feature = "otlp",
    feature = "xtrace"
))]
mod read_otlp;
#[cfg(feature = "ctf")]
mod render;
#[cfg(all(
    feature = "ctf",
    feature = "fuchsia-log",
    feature = "fxt",
    feature = "jsonl",
    feature = "nettrace",
    feature = "xtrace"
))]
mod shown_names;
#[cfg(all(
    feature = "arrow",
    feature = "ctf",
    feature = "fxt",
    feature = "jsonl",
    feature = "nettrace",
    feature = "xtrace"
))]
mod span_rows;
#[cfg(feature = "ctf")]
mod sweeps;
#[cfg(all(feature = "arrow", feature = "ctf", feature = "fxt"))]
mod tables;
#[cfg(feature = "ctf")]
mod text_output;
mod values;
#[cfg(all(feature = "ctf", feature = "fxt", feature = "jsonl", feature = "nettrace", feature = "xtrace"))]
mod viewers;
#[cfg(feature = "ctf")]
mod written;
#[cfg(feature = "ctf")]
mod wrong_heads;
