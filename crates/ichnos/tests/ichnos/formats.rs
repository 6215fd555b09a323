//! Library formats for each set of features.

use std::path::Path;

use ichnos::{OpenError, OpenOptions};

/// All possible formats, with `true` if enabled, and an example trace for each.
const ALL: &[(&str, bool, &str)] = &[
    ("ctf", cfg!(feature = "ctf"), "hello-lttng"),
    ("fuchsia-log", cfg!(feature = "fuchsia-log"), "hello-fuchsia"),
    ("fxt", cfg!(feature = "fxt"), "hello-fxt"),
    ("nettrace", cfg!(feature = "nettrace"), "hello-dotnet/hello.nettrace.zst"),
    ("xtrace", cfg!(feature = "xtrace"), "hello-xtrace"),
    ("otlp", cfg!(feature = "otlp"), "hello-otlp"),
    ("jsonl", cfg!(feature = "jsonl"), "hello-jsonl/requests.jsonl"),
];

#[test]
fn enabled_formats_are_available() {
    let chosen: Vec<&str> = ALL.iter().filter(|(_, is, _)| *is).map(|(name, ..)| *name).collect();
    assert_eq!(ichnos::formats().map(|format| format.name).collect::<Vec<_>>(), chosen);
}

#[test]
fn traces_of_the_formats_are_opened() {
    for (name, is_chosen, example) in ALL {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples").join(example);
        match ichnos::open([&path], &OpenOptions::default()) {
            Ok(session) => {
                assert!(*is_chosen, "{name}");
                assert!(session.traces().iter().all(|trace| trace.format() == *name));
                let mut events = session.events().unwrap();
                assert!(events.next_event().is_some(), "{name}");
            }
            Err(error) => assert!(!is_chosen && matches!(error, OpenError::NoTrace(_)), "{name}: {error}"),
        }
    }
}
