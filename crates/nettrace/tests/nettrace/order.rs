//! Order of events, time windows, losses, and reading from several positions.

use ichnos_model::{OpenedTrace, Window};
use ichnos_nettrace::{NettraceFile, NettraceOptions};
use ichnos_testing::{Random, cases};
use serde_json::{Value, json};

use crate::builder::{Bytes, Event, File, Form, Metadata, field};
use crate::reading::{Read, check, read, read_unsorted, read_window};
use crate::truncated::recorded;

/// Time of tick 0 in nanoseconds.
const TICK_0: i128 = 1_714_979_289_010_000_000 - 1_000;

fn file(form: Form) -> File {
    let mut file = File::new(form);
    file.metadata(&[Metadata::new(1, "Number", [field(form, 9, "number")])]);
    if form == Form::V6 {
        file.threads(&(0..9).map(|thread| (thread, thread, "")).collect::<Vec<_>>());
    }
    file
}

fn number(thread: u64, sequence: u32, time: u64, value: u32) -> Event {
    Event::new(1, thread, sequence, time).with(Bytes::new().u32(value))
}

/// Random file: phases between sequence points. In each phase, threads have runs of events.
pub(crate) struct RandomFile {
    pub(crate) bytes: Vec<u8>,
    /// Events in file order.
    events: Vec<Event>,
}

/// Creates events of random threads between two sequence points, in file order. Each thread has one or two runs. Marks
/// are placed where they keep their promise. Events have only threads and times, at most `1_000 * phase + 400`.
pub(crate) fn random_phase(random: &mut Random, threads: u64, phase: u64) -> Vec<Event> {
    let mut runs: Vec<Vec<Event>> = Vec::new();
    for thread in 0..threads {
        let mut times: Vec<u64> =
            (0..random.below(30)).map(|_| 1 + 1_000 * phase + random.below(400)).collect();
        times.sort_unstable();
        let mut run: Vec<Event> = times.into_iter().map(|time| number(thread, 0, time, 0)).collect();
        // The events of a thread come in one or two runs.
        let cut = random.index(run.len() + 1);
        let behind = run.split_off(cut);
        runs.extend([run, behind]);
    }
    // First runs in any order, then second runs.
    let mut order: Vec<usize> = (0..runs.len()).step_by(2).collect();
    for i in (1..order.len()).rev() {
        order.swap(i, random.index(i + 1));
    }
    let order: Vec<usize> = order.iter().copied().chain(order.iter().map(|run| run + 1)).collect();
    let mut events: Vec<Event> = order.iter().flat_map(|run| runs[*run].clone()).collect();
    let mut earliest = u64::MAX;
    for event in events.iter_mut().rev() {
        event.is_sorted = event.time <= earliest && random.is_one_in(3);
        earliest = earliest.min(event.time);
    }
    events
}

/// Writes a random file. `padding` is the number of additional payload bytes.
pub(crate) fn random_file(random: &mut Random, form: Form, padding: usize) -> RandomFile {
    let threads = 1 + random.below(6);
    let mut sequences = [0u32; 8];
    let mut events: Vec<Vec<Event>> = Vec::new();
    let mut count = 0;
    for phase in 0..1 + random.below(5) {
        let mut phase = random_phase(random, threads, phase);
        for event in &mut phase {
            let sequence = &mut sequences[event.capture_thread as usize];
            *sequence += 1;
            (event.sequence, event.processor) = (*sequence, random.below(3) as u32);
            event.payload = Bytes::new().u32(count).0;
            event.payload.resize(4 + padding, 1);
            if form != Form::V6 && random.is_one_in(4) {
                event.activity = [random.below(3) as u8; 16];
            }
            if random.is_one_in(9) {
                event.thread = random.below(threads);
            }
            count += 1;
        }
        events.push(phase);
    }
    let mut written = file(form);
    let mut last = [0u32; 8];
    for (number, phase) in events.iter().enumerate() {
        let mut rest = &phase[..];
        while !rest.is_empty() {
            let (block, behind) = rest.split_at(1 + random.index(rest.len()));
            written.events(random.is_one_in(2), block);
            rest = behind;
        }
        phase.iter().for_each(|event| last[event.capture_thread as usize] = event.sequence);
        if form != Form::V3 && number + 1 < events.len() {
            let threads: Vec<(u64, u32)> =
                (0..threads).map(|thread| (thread, last[thread as usize])).collect();
            written.sequence_point(1_000 * number as u64 + 600, 0, &threads);
        }
    }
    RandomFile { bytes: written.end(), events: events.concat() }
}

/// Checks that exactly these events were read, with all their data.
fn assert_same(form: Form, read: &Read, expected: &[Event]) {
    let numbers: Vec<Value> = expected
        .iter()
        .map(|event| json!(u32::from_le_bytes(*event.payload.first_chunk().unwrap())))
        .collect();
    assert_eq!(read.payload("number"), numbers);
    assert_eq!(read.times(), expected.iter().map(|event| event.time).collect::<Vec<_>>());
    let context = |value: &dyn Fn(&Event) -> Value| expected.iter().map(value).collect::<Vec<_>>();
    assert_eq!(read.context("thread"), context(&|event| json!(event.thread)));
    if form != Form::V3 {
        assert_eq!(read.context("processor"), context(&|event| json!(event.processor)));
        let capture = |event: &Event| (event.capture_thread != event.thread).then_some(event.capture_thread);
        assert_eq!(read.context("capture_thread"), context(&|event| json!(capture(event))));
    }
    let guid = |event: &Event| {
        let digits: String = event.activity.iter().map(|byte| format!("{byte:02x}")).collect();
        let parts = [&digits[..8], &digits[8..12], &digits[12..16], &digits[16..20], &digits[20..]];
        (event.activity != [0; 16]).then(|| parts.join("-"))
    };
    assert_eq!(read.context("activity"), context(&|event| json!(guid(event))));
    assert_eq!((&read.lost, &read.damage), (&vec![], &vec![]));
}

/// With any runs, blocks and marks, events are sorted by time. Events with equal times stay in file order.
#[test]
fn random_events_come_in_the_order_of_time() {
    cases(150, |random| {
        let form = random.pick(&[Form::V3, Form::V4, Form::V6]);
        let file = random_file(random, form, random.seed() as usize % 3);
        let mut sorted = file.events.clone();
        if form == Form::V3 {
            // The file has them one after the other, without marks.
            sorted.iter_mut().for_each(|event| (event.processor, event.capture_thread) = (0, event.thread));
        } else {
            sorted.sort_by_key(|event| event.time);
        }
        assert_same(form, &read(&file.bytes), &sorted);
        assert_same(form, &read_unsorted(&file.bytes), &file.events);
    });
}

/// A time window contains exactly the events within it.
#[test]
fn time_windows_are_parts_of_the_whole() {
    cases(60, |random| {
        let form = random.pick(&[Form::V3, Form::V4, Form::V6]);
        let file = random_file(random, form, 0);
        let opened =
            NettraceFile::open("file", file.bytes.clone().into(), &NettraceOptions::default()).unwrap();
        let whole = read(&file.bytes);
        for _ in 0..5 {
            let begin = random.below(5_500);
            let end = begin + random.below(2_000);
            let mut window = Window::default();
            let (from, to) = (TICK_0 + i128::from(begin), TICK_0 + i128::from(end));
            (window.begin, window.end) =
                (random.percent(80).then_some(from), random.percent(80).then_some(to));
            let is_in = |event: &&Value| {
                let time = event["cycles"].as_u64().unwrap();
                (window.begin.is_none() || time >= begin) && (window.end.is_none() || time <= end)
            };
            let expected: Vec<&Value> = whole.events.iter().filter(is_in).collect();
            let found = read_window(&opened, window);
            assert_eq!(found.events.iter().collect::<Vec<_>>(), expected, "{window:?}");
            assert_eq!((found.lost, found.damage), (vec![], vec![]), "{window:?}");
        }
    });
}

/// Blocks outside of a time window are not read, so invalid rows in them do not matter.
#[test]
fn blocks_outside_of_a_time_window_are_skipped() {
    for form in [Form::V4, Form::V6] {
        let mut file = file(form);
        file.events(true, &[number(1, 1, 100, 1), number(1, 2, 200, 2)]);
        let damaged = crate::builder::block_header(true, (300, 400), 0).raw(&[0xff; 30]);
        file.block(crate::builder::kind::EVENT, &damaged.0);
        file.events(true, &[number(1, 9, 500, 5)]);
        let opened = NettraceFile::open("file", file.end().into(), &NettraceOptions::default()).unwrap();
        let window = |begin: i128, end: i128| {
            let mut window = Window::default();
            (window.begin, window.end) = (Some(TICK_0 + begin), Some(TICK_0 + end));
            read_window(&opened, window)
        };
        let read = window(150, 250);
        assert_eq!((read.times(), read.damage.len()), (vec![200], 0));
        let read = window(450, 600);
        // The loss is between 200, which is outside, and 500. It counts as if everything was read.
        assert_eq!((read.times(), read.damage.len(), read.lost()), (vec![500], 0, 6));
        assert_eq!(window(350, 360).damage.len(), 1);
    }
}

/// Losses of disjoint time windows add up to the losses of the file, wherever blocks of other threads lie.
#[test]
fn losses_of_time_windows_add_up() {
    for form in [Form::V4, Form::V6] {
        let mut file = file(form);
        // 5 and 3 events are missing between blocks, 2 before the sequence point, 4 after it.
        file.events(true, &[number(1, 1, 100, 1), number(1, 2, 200, 2)]);
        file.events(true, &[number(2, 1, 300, 3), number(2, 5, 350, 4)]);
        file.events(true, &[number(1, 8, 400, 5)]);
        file.sequence_point(450, 0, &[(1, 10), (2, 5)]);
        file.events(true, &[number(2, 6, 500, 6)]);
        file.events(true, &[number(1, 15, 600, 7)]);
        let bytes = file.end();
        let whole = read(&bytes);
        assert_eq!((whole.times().len(), whole.lost()), (7, 5 + 3 + 2 + 4));
        let opened = NettraceFile::open("file", bytes.into(), &NettraceOptions::default()).unwrap();
        for step in [10, 50, 70, 100, 150, 300, 450] {
            let mut found: Vec<Value> = Vec::new();
            for begin in (0..700).step_by(step) {
                let mut window = Window::default();
                let end = begin + step as i128 - 1;
                (window.begin, window.end) = (Some(TICK_0 + begin), Some(TICK_0 + end));
                found.extend(read_window(&opened, window).lost);
            }
            let parts = |lost: &[Value]| -> Vec<(Value, Value)> {
                lost.iter().map(|lost| (lost["count"].clone(), lost["end"]["cycles"].clone())).collect()
            };
            assert_eq!(parts(&found), parts(&whole.lost), "{form:?}, {step}");
        }
    }
}

/// Events that are earlier than a previous mark or sequence point are delivered as soon as they are read.
#[test]
fn broken_promises_lose_nothing() {
    for form in [Form::V4, Form::V6] {
        let mut file = file(form);
        file.events(true, &[number(1, 1, 100, 1), number(1, 2, 500, 2).sorted(), number(2, 1, 50, 3)]);
        file.sequence_point(600, 0, &[(1, 2), (2, 1)]);
        file.events(true, &[number(2, 2, 20, 4), number(1, 3, 700, 5)]);
        let bytes = file.end();
        let read = check(&bytes);
        assert_eq!(read.times(), [50, 100, 500, 20, 700]);
        assert!(read.damage.iter().all(|damage| damage["message"].as_str().unwrap().contains("or later")));
        assert_eq!((read.damage.len(), crate::reading::read(&bytes).damage.len()), (1, 0));
        assert_eq!(read_unsorted(&bytes).times(), [100, 500, 50, 20, 700]);
    }
}

/// More events without marks than may wait: most are sorted, and none is lost.
#[test]
fn events_without_marks() {
    let mut file = file(Form::V4);
    let mut expected = 0u32;
    for block in 0..25u64 {
        // Two threads, one of which is a million ticks ahead.
        let thread = block % 2;
        let events = (0..20_000u64).map(|i| {
            let index = block / 2 * 20_000 + i;
            number(thread, 1 + index as u32, 1_000_000 * thread + index, 0)
        });
        expected += 20_000;
        file.events(true, &events.collect::<Vec<_>>());
    }
    let opened = NettraceFile::open("file", file.end().into(), &NettraceOptions::default()).unwrap();
    assert_eq!(crate::reading::count(&opened), expected as usize);
}

#[test]
fn losses() {
    let lost = |read: &Read| -> Vec<(Option<u64>, Option<u64>, u64)> {
        let time = |value: &Value| value["cycles"].as_u64();
        read.lost
            .iter()
            .map(|lost| (lost["count"].as_u64(), time(&lost["begin"]), time(&lost["end"]).unwrap()))
            .collect()
    };
    for form in [Form::V4, Form::V6] {
        let is_v6 = form == Form::V6;
        // Between a thread's events, and before its first event. The latter number is unknown.
        let mut file = self::file(form);
        file.events(
            true,
            &[number(1, 3, 100, 1), number(2, 1, 110, 2), number(1, 8, 200, 3), number(2, 2, 210, 4)],
        );
        assert_eq!(lost(&check(&file.end())), [(None, None, 100), (Some(4), Some(100), 200)]);
        // A thread whose last events, or all events, are missing. Only the sequence point shows it.
        let mut file = self::file(form);
        file.events(true, &[number(1, 1, 100, 1)]);
        file.sequence_point(300, 0, &[(1, 5), (2, 7)]);
        file.events(true, &[number(1, 6, 400, 2), number(2, 8, 410, 3)]);
        assert_eq!(lost(&check(&file.end())), [(Some(4), Some(100), 300), (Some(7), None, 300)]);
        // A reused id, for a thread that counts from 1 again. In version 6, indexes are not reused.
        let mut file = self::file(form);
        file.events(
            true,
            &[number(1, 5_000, 100, 1), number(1, 1, 200, 2), number(1, 2, 300, 3), number(1, 5, 400, 4)],
        );
        assert_eq!(lost(&check(&file.end())), [(None, None, 100), (Some(2), Some(300), 400)]);
        // A bound below the known number shows nothing.
        let mut file = self::file(form);
        file.events(true, &[number(1, 1, 100, 1), number(1, 2, 110, 1)]);
        file.sequence_point(300, 0, &[(1, 1)]).events(true, &[number(1, 3, 400, 1)]);
        assert_eq!(lost(&check(&file.end())), []);
        // Numbers continue with 0 after 2^32 - 1.
        let mut file = self::file(form);
        file.sequence_point(50, 0, &[(1, 1 << 31)]);
        file.sequence_point(60, 0, &[(1, u32::MAX - 1)]);
        file.events(true, &[number(1, u32::MAX, 100, 1), number(1, 0, 110, 2), number(1, 3, 120, 3)]);
        let found = lost(&check(&file.end()));
        assert_eq!(found.last(), Some(&(Some(2), Some(110), 120)), "{found:?}");
        // Up to version 5, a thread that is missing in a sequence point has ended.
        let mut file = self::file(form);
        file.events(true, &[number(1, 1, 100, 1), number(1, 2, 110, 1)]);
        file.sequence_point(300, 0, &[]).events(true, &[number(1, 4, 400, 1)]);
        let expected = if is_v6 { (Some(1), Some(110), 400) } else { (None, None, 400) };
        assert_eq!(lost(&check(&file.end())), [expected]);
    }
}

/// Reading from any possible position gives the rest of the file.
#[test]
fn reading_from_several_places() {
    let mut files: Vec<(String, Vec<u8>)> = Vec::new();
    cases(6, |random| {
        let form = random.pick(&[Form::V4, Form::V6]);
        files.push((format!("random {}", random.seed()), random_file(random, form, 4_000).bytes));
    });
    for path in ["runtime/net10.0-drops.nettrace", "runtime/net10.0-small-streaming.nettrace"] {
        files.extend(recorded(path).map(|bytes| (path.to_owned(), bytes)));
    }
    let mut places = 0;
    for (name, bytes) in files {
        let opened = NettraceFile::open("file", bytes.into(), &NettraceOptions::default()).unwrap();
        let whole = crate::reading::heads(&mut opened.cursors(Window::default()).remove(0));
        let points = opened.split_points(0, 1).unwrap();
        let step = (points.len() / 4).max(1);
        for point in points.iter().step_by(step) {
            places += 1;
            let mut cursor = opened.cursor_from(0, Window::default(), point.time).unwrap();
            let rest = crate::reading::heads(&mut cursor);
            let expected: Vec<_> = whole.iter().filter(|(time, ..)| *time >= point.time).copied().collect();
            let rest: Vec<_> = rest.into_iter().filter(|(time, ..)| *time >= point.time).collect();
            assert!(rest == expected, "{name} from {}: {} of {}", point.time, rest.len(), expected.len());
        }
    }
    assert!(places > 3, "{places}");
}

/// A metadata id that was redefined after a flushing sequence point has its new meaning, wherever reading starts.
#[test]
fn reading_from_a_place_behind_flushed_metadata() {
    let mut file = file(Form::V6);
    file.sequence_point(100, 3, &[]);
    file.metadata(&[Metadata::new(1, "Other", [field(Form::V6, 9, "other")])]);
    file.threads(&[(1, 1, "")]);
    let events = |first: u32, time: u64| {
        (0..20u32)
            .map(|i| number(1, first + i, time + u64::from(i), i).with(Bytes::new().u32(i).raw(&[0; 4_000])))
            .collect::<Vec<_>>()
    };
    file.events(true, &events(1, 200));
    file.sequence_point(300, 0, &[(1, 20)]);
    file.events(true, &events(21, 400));
    let opened = NettraceFile::open("file", file.end().into(), &NettraceOptions::default()).unwrap();
    let points = opened.split_points(0, 1).unwrap();
    let begin = TICK_0 + 300;
    assert_eq!(points.last().map(|point| point.time), Some(begin));
    let whole = crate::reading::heads(&mut opened.cursors(Window::default()).remove(0));
    let rest = crate::reading::heads(&mut opened.cursor_from(0, Window::default(), begin).unwrap());
    assert_eq!((rest.len(), rest.as_slice()), (20, &whole[20..]));
    assert!(rest.iter().all(|(_, class)| class.is_some()));
}
