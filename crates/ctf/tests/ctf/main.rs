//! End-to-end tests for the CTF crate, with generated traces and with the real traces next to the project.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, unreachable_pub)]

mod comparable;
mod decode_suite;
mod fault_injection;
mod fault_injection_metadata;
mod fault_trace;
mod fuzzed;
mod hostile;
mod json_documents;
mod json_errors;
mod json_fixtures;
mod json_suite;
mod large_descriptions;
mod live;
mod metadata_suite;
mod nested_classes;
mod other_suites;
mod overwritten;
mod prop1_tags;
mod prop1_values;
mod prop2_roles;
mod prop2_values;
mod properties;
mod proposal_cases;
mod random_class;
mod random_proposals;
mod reading;
mod stream_failures;
#[allow(dead_code)]
mod support;
mod table;
#[cfg(unix)]
mod truncated;
mod tsdl_suite;
mod windows;
mod written_metadata;
mod wrong_sizes;
