//! The command as a user runs it: the built binary on small traces that the tests write, and on recorded traces if
//! available (`ICHNOS_TRACES`, by default `../shared/traces` next to the repository).
// Test helpers may panic like tests.
#![allow(clippy::unwrap_used, clippy::panic, unreachable_pub)]

mod agreement;
mod archives;
mod babeltrace2;
mod babeltrace_cases;
mod book;
mod cat;
#[cfg(unix)]
mod collect;
#[cfg(unix)]
mod collect_requests;
mod convert;
mod convert_clean;
mod convert_ctf18;
#[cfg(unix)]
mod convert_failures;
mod convert_families;
mod convert_logs;
mod converted_proposals;
mod converted_stacks;
mod damaged;
mod differential;
mod documents;
mod edit;
mod edit_formats;
mod endings;
mod errors;
mod every_format;
// Shared with the reader's tests.
mod babeltrace_compat;
#[allow(dead_code)]
#[path = "../../../ctf/tests/ctf/fault_trace.rs"]
mod fault_trace;
mod filter;
mod follow;
mod foreign_files;
mod generated;
#[cfg(target_os = "linux")]
mod hostile_inputs;
mod http_client;
mod impossible_times;
mod inspect;
mod intersection;
mod json_forms;
mod json_lines;
mod json_round_trip;
mod kernel_queries;
mod limits;
mod limits_of_formats;
mod live_endings;
#[cfg(target_os = "linux")]
mod live_inputs;
#[cfg(target_os = "linux")]
mod live_sessions;
mod locale;
mod log_lines;
mod logs;
mod manifest;
mod maps;
mod matrix;
mod mixed;
mod mutated;
mod no_match_help;
mod object_names;
mod options;
mod oracles;
mod other_readers;
#[cfg(unix)]
mod output_paths;
mod outputs;
#[cfg(unix)]
mod packaging;
mod packet_indexes;
mod paths;
#[cfg(unix)]
mod pictures;
#[cfg(target_os = "linux")]
mod private_files;
#[cfg(unix)]
mod queued_reports;
mod quirks;
#[cfg(target_os = "linux")]
mod record;
mod recorded;
mod repaired_mutants;
mod repaired_records;
mod reused_ids;
mod running_threads;
mod sql;
mod stacks;
mod stats;
mod strict;
mod structure;
mod support;
mod tables;
mod tail;
mod tasks;
#[cfg(target_os = "linux")]
mod terminal;
#[cfg(target_os = "linux")]
mod thread_states;
mod threads;
mod tolerated;
mod transcript;
mod trees;
#[cfg(unix)]
mod truncated;
mod untimed_events;
#[cfg(unix)]
mod view;
mod written_dotnet;
mod written_limits;
mod written_lines;
mod written_proposals;
mod written_reports;
mod written_schema;
mod written_sizes;
mod written_text;
mod written_times;
mod written_timestamps;
