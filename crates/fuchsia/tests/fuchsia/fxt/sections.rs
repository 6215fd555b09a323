//! Providers with their tables and clocks.

use ichnos_fuchsia::fxt_reader::FxtOptions;
use ichnos_model::OpenedTrace;
use ichnos_model::clock::ClockOrigin;

use super::builder::{Builder, body, header};
use super::dump::{messages, open, open_with, read};

/// An event with category, name and thread in the tables.
fn event(builder: &mut Builder, ticks: u64) {
    builder.record(header(4, &[(16, 2), (24, 1), (32, 1), (48, 2)]), body().word(ticks));
}

#[test]
fn registrations_count_for_the_records_after_them() {
    let mut builder = Builder::new();
    builder.string(1, "cat").string(2, "old").thread(1, 5, 6);
    event(&mut builder, 10);
    builder.string(2, "new");
    event(&mut builder, 20);
    builder.thread(1, 7, 8);
    event(&mut builder, 30);
    // Index 0 is ignored.
    builder.string(0, "zero").thread(0, 1, 1);
    event(&mut builder, 40);
    // Events are sorted, but an event is never resolved with a later registration.
    builder.string(2, "last");
    event(&mut builder, 5);
    event(&mut builder, 4);
    assert_eq!(
        read(&builder.bytes),
        [
            "10 cat:old:begin | pid=5 tid=6",
            "20 cat:new:begin | pid=5 tid=6",
            "30 cat:new:begin | pid=7 tid=8",
            "40 cat:new:begin | pid=7 tid=8",
            "4 cat:last:begin | pid=7 tid=8",
            "5 cat:last:begin | pid=7 tid=8",
        ]
    );
}

#[test]
fn each_provider_has_its_own_tables_and_clock() {
    let mut builder = Builder::new();
    builder.provider(1, "one").initialization(1_000).string(1, "cat").string(2, "first").thread(1, 5, 6);
    event(&mut builder, 1);
    builder.provider(2, "two").initialization(2_000).string(1, "CAT").string(2, "second").thread(1, 7, 8);
    event(&mut builder, 3);
    builder.section(1);
    event(&mut builder, 2);
    // The record names provider 2, independent of sections.
    builder.record(header(0, &[(16, 3), (20, 2)]), body());
    event(&mut builder, 3);
    builder.section(2);
    event(&mut builder, 8);
    let trace = open(&builder.bytes);
    assert_eq!(
        messages(&trace),
        [
            "1 cat:first:begin | pid=5 tid=6",
            "2 cat:first:begin | pid=5 tid=6",
            "3 cat:first:begin | pid=5 tid=6",
            "3 CAT:second:begin | pid=7 tid=8",
            "discarded",
            "8 CAT:second:begin | pid=7 tid=8",
        ]
    );
    let names: Vec<_> = trace.streams().iter().map(|summary| summary.stream.name.to_string()).collect();
    assert_eq!(names, ["a.fxt/one (provider 1)", "a.fxt/two (provider 2)"]);
    let clocks = &trace.trace().class.clocks;
    assert_eq!(clocks.iter().map(|clock| clock.frequency).collect::<Vec<_>>(), [1_000, 2_000]);
    assert!(clocks[0].correlates_with(&clocks[1]));
    let ranges: Vec<_> = trace.streams().iter().map(|summary| summary.time_range).collect();
    assert_eq!(ranges, [Some((1_000_000, 3_000_000)), Some((1_500_000, 4_000_000))]);
}

#[test]
fn a_provider_whose_clock_changes_has_two_data_streams() {
    let mut builder = Builder::new();
    builder.provider(1, "one").string(1, "cat").string(2, "first").thread(1, 5, 6);
    event(&mut builder, 1_000);
    // The same clock again is not a change: without a record, one tick is one nanosecond.
    builder.initialization(1_000_000_000);
    event(&mut builder, 2_000);
    builder.initialization(1_000);
    event(&mut builder, 3);
    let trace = open(&builder.bytes);
    assert_eq!(
        messages(&trace),
        [
            "1000 cat:first:begin | pid=5 tid=6",
            "2000 cat:first:begin | pid=5 tid=6",
            "3 cat:first:begin | pid=5 tid=6",
        ]
    );
    let streams = trace.streams();
    assert_eq!(streams.len(), 2);
    assert_eq!(&*streams[1].stream.name, "a.fxt/one (provider 1, after a change of its clock)");
    assert_eq!(streams[1].time_range, Some((3_000_000, 3_000_000)));
}

/// Each data stream starts with the provider tables at the clock change.
#[test]
fn tables_outlive_changes_of_the_clock() {
    let mut builder = Builder::new();
    builder.provider(1, "one").string(1, "cat").string(2, "first").string(9_000, "far").thread(1, 5, 6);
    event(&mut builder, 1);
    builder.initialization(1_000).string(2, "second");
    event(&mut builder, 2);
    builder.provider(2, "two").string(1, "other").string(2, "name").thread(1, 7, 8);
    event(&mut builder, 3);
    builder.section(1).thread(1, 9, 10).initialization(2_000);
    event(&mut builder, 4);
    builder.string(2, "third");
    event(&mut builder, 5);
    builder.initialization(3_000);
    builder.record(header(4, &[(24, 1), (32, 2), (48, 9_000)]), body().word(6));
    assert_eq!(
        read(&builder.bytes),
        [
            "1 cat:first:begin | pid=5 tid=6",
            "2 cat:second:begin | pid=5 tid=6",
            "3 other:name:begin | pid=7 tid=8",
            "4 cat:second:begin | pid=9 tid=10",
            "5 cat:third:begin | pid=9 tid=10",
            "6 third:far | pid=9 tid=10",
        ]
    );
}

/// Tables at clock changes are kept up to a limit, so that nothing must be read again.
#[test]
fn tables_are_kept_up_to_a_limit() {
    let mut builder = Builder::new();
    for index in 1..=1_100 {
        builder.string(index, "text");
    }
    builder.thread(1, 5, 6);
    for ticks in 1..=1_000 {
        builder.initialization(ticks);
        event(&mut builder, ticks);
    }
    let trace = open(&builder.bytes);
    let problems: Vec<_> = trace.damage().iter().map(ToString::to_string).collect();
    assert_eq!(problems.len(), 1, "{problems:?}");
    assert!(
        problems[0].contains("more than 1048576 strings and threads at clock changes, the limit"),
        "{problems:?}"
    );
    let lines = messages(&trace);
    assert_eq!(lines.len(), trace.streams().len());
    // Each clock change keeps 1,100 strings, and threads with the indexes 0 and 1.
    assert_eq!(lines.len(), 1 + (1 << 20) / 1_102);
    let expected = (1..=lines.len()).map(|ticks| format!("{ticks} text:text:begin | pid=5 tid=6"));
    assert_eq!(lines, expected.collect::<Vec<_>>());
}

#[test]
fn modules_are_known_after_a_change_of_the_clock() {
    let mut builder = Builder::new();
    builder.thread(3, 50, 60);
    event(&mut builder, 1);
    builder.initialization(1_000);
    builder.record(header(10, &[(20, 3), (28, 1), (44, 2)]), body().word(2).text("so"));
    builder.record(header(10, &[(16, 1), (20, 3), (28, 1)]), body().words(&[2, 0x100, 0x100, 0]));
    builder.record(header(10, &[(16, 2), (20, 3), (28, 1)]), body().words(&[3, 0x123]));
    let trace = open(&builder.bytes);
    assert_eq!(messages(&trace).last().unwrap(), "3 backtrace | pid=50 tid=60 |  | stack=0 flags=0");
    let frames = trace.trace().frames(0, None);
    assert_eq!(frames[0].module.as_deref(), Some("so"));
}

/// Several providers share the class limit according to their sizes.
#[test]
fn classes_of_all_providers_are_limited_together() {
    let mut options = FxtOptions::default();
    options.limits.dynamic_event_record_classes = 404;
    let mut builder = Builder::new();
    for (id, count) in [(1, 300), (2, 100)] {
        builder.provider(id, "p");
        for name in 0..count {
            builder.event(0, name, ["c", &format!("{name:03}")], vec![], &[]);
        }
    }
    let trace = open_with(&builder.bytes, &options);
    let is_shared = |line: &String| line.contains(" event | ");
    assert_eq!(messages(&trace).iter().filter(|line| is_shared(line)).count(), 0);
    // Half the limit: half as many classes for each provider, and a class for all others.
    options.limits.dynamic_event_record_classes = 202;
    let trace = open_with(&builder.bytes, &options);
    let shared = messages(&trace).iter().filter(|line| is_shared(line)).count();
    let classes = [0, 1].map(|stream| trace.trace().event_records(stream).count());
    assert_eq!((classes, shared), ([152, 65], 149 + 36));
}

#[test]
fn a_clock_that_says_its_time_counts_from_the_epoch() {
    let mut builder = Builder::new();
    builder.record(1, body().words(&[1_000, 500, 1_700_000_000_000_000_000]));
    builder.string(1, "cat").string(2, "first").thread(1, 5, 6);
    event(&mut builder, 750);
    let trace = open(&builder.bytes);
    let clock = &trace.trace().class.clocks[0];
    assert_eq!(clock.origin, ClockOrigin::UnixEpoch);
    assert_eq!(clock.nanoseconds(750), 1_700_000_000_250_000_000);
}

#[test]
fn events_are_sorted_by_time_or_in_file_order() {
    let mut builder = Builder::new();
    builder.string(1, "c").string(2, "n").thread(1, 5, 6);
    for ticks in [50, 10, 30] {
        event(&mut builder, ticks);
        // Records without a time stay after the record before them.
        builder.record(header(7, &[(16, 1)]), body().word(ticks));
    }
    let times = |trace| -> Vec<String> {
        let word = |line: String| line.split(' ').take(2).collect::<Vec<_>>().join(" ");
        messages(&trace).into_iter().map(word).collect()
    };
    let sorted = [
        "10 c:n:begin",
        "- kernel_object",
        "30 c:n:begin",
        "- kernel_object",
        "50 c:n:begin",
        "- kernel_object",
    ];
    assert_eq!(times(open(&builder.bytes)), sorted);
    let mut unsorted = FxtOptions::default();
    unsorted.unsorted = true;
    let of_file = [
        "50 c:n:begin",
        "- kernel_object",
        "10 c:n:begin",
        "- kernel_object",
        "30 c:n:begin",
        "- kernel_object",
    ];
    assert_eq!(times(open_with(&builder.bytes, &unsorted)), of_file);
}
