//! Files that grow while they are read: everything that is printed equals the text of the finished files.

use std::fs::{self, File, OpenOptions as FileOptions};
use std::io::Write as _;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use ichnos::create::{CreateOptions, create};
use ichnos::io::Kept;
use ichnos::live::follow::{FollowError, FollowFeed, FollowOptions};
use ichnos::model::class::{FieldClass, Member};
use ichnos::model::clock::ClockClass;
use ichnos::model::cursor::ResumePoint;
use ichnos::model::event::EventValues;
use ichnos::model::live::{LiveFeed as _, LiveOptions, LivePoll};
use ichnos::model::{Cursor as _, Message, Sink, Window};
use ichnos::{OpenOptions, Pass, Session};
use ichnos_testing::fxt_file::FxtBuilder;
use ichnos_testing::is_complete_sweep;

/// Follows paths on a thread.
struct Follower {
    stop: &'static AtomicBool,
    is_open: &'static AtomicBool,
    messages: Transcript,
    thread: JoinHandle<()>,
}

/// Messages as text, and the number of events among them.
#[derive(Clone, Default)]
struct Transcript(Arc<Mutex<(Vec<String>, usize)>>);

impl Sink for Transcript {
    fn message(&mut self, message: &Message<'_>) -> std::io::Result<ControlFlow<()>> {
        let name = message.stream().map(|stream| stream.name.to_string());
        let time = message.nanoseconds();
        let text = match message {
            Message::Event(event) => {
                let mut values = EventValues::default();
                values.copy_from(event).unwrap();
                format!("{time:?} {} {values:?}", event.name())
            }
            Message::PacketBegin(packet) => format!("{time:?} packet of {}", packet.total_length),
            Message::Damage(damage) => damage.to_string(),
            _ => format!("{time:?} {:?}", MessageKindOf(message)),
        };
        let mut messages = self.0.lock().unwrap();
        messages.0.push(format!("{name:?} {text}"));
        messages.1 += usize::from(matches!(message, Message::Event(_)));
        Ok(ControlFlow::Continue(()))
    }
}

/// Name of a message without content.
struct MessageKindOf<'m>(&'m Message<'m>);

impl std::fmt::Debug for MessageKindOf<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self.0 {
            Message::StreamBegin(_) => "stream begin",
            Message::StreamEnd(_) => "stream end",
            Message::PacketEnd(_) => "packet end",
            _ => "loss",
        })
    }
}

impl Transcript {
    fn events(&self) -> usize {
        self.0.lock().unwrap().1
    }

    fn lines(&self) -> Vec<String> {
        self.0.lock().unwrap().0.clone()
    }

    /// Returns the messages, without regard to the order of data streams.
    fn sorted(&self) -> Vec<String> {
        let mut lines = self.lines();
        lines.sort_unstable();
        lines
    }

    /// Reads finished files.
    fn of(path: &Path) -> Self {
        let mut options = OpenOptions::default();
        options.read.unsorted = true;
        let session = ichnos::open([path], &options).unwrap();
        let mut transcript = Self::default();
        session.reader().unwrap().pass().run(&mut transcript).unwrap();
        transcript
    }
}

fn follow_options() -> FollowOptions {
    let mut options = FollowOptions::default();
    options.interval = Duration::from_millis(1);
    options
}

impl Follower {
    fn new(paths: &[&Path]) -> Self {
        let stop: &'static AtomicBool = Box::leak(Box::default());
        let is_open: &'static AtomicBool = Box::leak(Box::default());
        let messages = Transcript::default();
        let paths: Vec<PathBuf> = paths.iter().map(|path| path.to_path_buf()).collect();
        let mut sink = messages.clone();
        let thread = std::thread::spawn(move || {
            let mut live = LiveOptions::default();
            live.stop = Some(stop);
            let feed = FollowFeed::open(paths, &OpenOptions::default(), &follow_options(), &live).unwrap();
            is_open.store(true, Ordering::Relaxed);
            let session = Session::of_live(vec![Box::new(feed.into_trace(live))], &OpenOptions::default());
            session.reader().unwrap().pass().with(Pass::default().live()).run(&mut sink).unwrap();
        });
        Self { stop, is_open, messages, thread }
    }

    fn wait_until(&self, is_so: impl Fn() -> bool, what: &str) {
        let begin = Instant::now();
        while !is_so() {
            assert!(begin.elapsed() < Duration::from_secs(60), "{what}: {:#?}", self.messages.lines());
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// Waits until there are this many events.
    fn wait_for(&self, events: usize) {
        self.wait_until(|| self.messages.events() >= events, &format!("{events} events"));
    }

    /// Ends the input, which must exist, and returns its messages.
    fn finish(self) -> Transcript {
        self.wait_until(|| self.is_open.load(Ordering::Relaxed), "a trace");
        self.stop.store(true, Ordering::Relaxed);
        self.thread.join().unwrap();
        self.messages
    }
}

fn example(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples").join(path)
}

/// Appends bytes to a file.
fn append(path: &Path, bytes: &[u8]) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    FileOptions::new().create(true).append(true).open(path).unwrap().write_all(bytes).unwrap();
}

/// Lists the files of a directory, or a file itself, by relative path. Metadata come first.
fn files(path: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut files = Vec::new();
    let mut left = vec![path.to_owned()];
    while let Some(next) = left.pop() {
        if next.is_dir() {
            left.extend(fs::read_dir(&next).unwrap().map(|entry| entry.unwrap().path()));
        } else {
            files.push((next.strip_prefix(path).unwrap().to_owned(), fs::read(&next).unwrap()));
        }
    }
    files.sort_by_key(|(path, _)| (!path.ends_with("metadata"), path.clone()));
    files
}

/// Lets an example grow in pieces of `size` bytes, and compares the text.
fn grow(name: &str, size: usize) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("followed");
    let from = example(name);
    let follower = Follower::new(&[&path]);
    let files = files(&from);
    for (file, bytes) in &files {
        let target = if file.as_os_str().is_empty() { path.clone() } else { path.join(file) };
        for piece in bytes.chunks(size) {
            append(&target, piece);
            std::thread::sleep(Duration::from_millis(1));
        }
    }
    let (found, expected) = (follower.finish(), Transcript::of(&path));
    assert_eq!(found.sorted(), expected.sorted(), "{name}, {size} bytes");
    let streams = found.lines().iter().filter(|line| line.ends_with("stream begin")).count();
    if streams == 1 {
        assert_eq!(found.lines(), expected.lines(), "{name}, {size} bytes");
    }
    assert!(found.events() > 0);
}

#[test]
fn growing_files_of_several_formats() {
    for name in [
        "hello-jsonl/requests.jsonl",
        "hello-xtrace/proxy.reports",
        "hello-fuchsia/boot.log",
        "hello-ctf2/trace",
        "hello-proposals/prop1",
    ] {
        for size in [1, 7, 100, 1000] {
            // Most pieces are between two looks anyway.
            if size > 1 || is_complete_sweep() || name.ends_with(".jsonl") {
                grow(name, size);
            }
        }
    }
}

#[test]
fn files_that_are_read_once() {
    let opened = FollowFeed::open(
        vec![example("hello-dotnet/hello.nettrace.zst")],
        &OpenOptions::default(),
        &FollowOptions::default(),
        &LiveOptions::default(),
    );
    assert!(matches!(opened, Err(FollowError::ReadOnce("nettrace"))));
}

/// Events and damage, without the names of data streams: the name changes when a file gets a second data stream.
fn unnamed(transcript: &Transcript) -> Vec<String> {
    let lines = transcript.lines().into_iter().filter(|line| !line.contains(" stream "));
    let text = |line: String| line.split_once("\") ").map_or(line.clone(), |(_, text)| text.to_owned());
    let mut lines: Vec<_> = lines.map(text).collect();
    lines.sort_unstable();
    lines
}

/// Records of several providers, which are not sorted by time.
#[test]
fn growing_fuchsia_traces() {
    let bytes = fs::read(example("hello-fxt/frames.fxt")).unwrap();
    for size in [7, 100, 1000] {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("growing.fxt");
        let follower = Follower::new(&[&path]);
        for piece in bytes.chunks(size) {
            append(&path, piece);
            std::thread::sleep(Duration::from_millis(1));
        }
        let (found, expected) = (follower.finish(), Transcript::of(&path));
        assert_eq!(unnamed(&found), unnamed(&expected), "{size} bytes");
        assert_eq!(found.events(), expected.events());
    }
}

/// Returns a Fuchsia trace with events at these ticks.
fn fuchsia_trace(ticks: &[u64]) -> Vec<u8> {
    let mut builder = FxtBuilder::new();
    for ticks in ticks {
        builder.event(0, *ticks, ["c", "tick"], vec![], &[]);
    }
    builder.bytes
}

/// Events that one look has found are sorted, later ones come when they are found.
#[test]
fn fuchsia_events_are_sorted_at_each_look() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("growing.fxt");
    let bytes = fuchsia_trace(&[30, 10, 20, 5, 60, 50, 70]);
    let event = (bytes.len() - 8) / 7;
    append(&path, &bytes[..8 + 3 * event]);
    let follower = Follower::new(&[&path]);
    follower.wait_for(3);
    // A record that is not whole waits.
    append(&path, &bytes[8 + 3 * event..8 + 6 * event + 16]);
    follower.wait_for(6);
    append(&path, &bytes[8 + 6 * event + 16..]);
    follower.wait_for(7);
    let lines = follower.finish().lines();
    let times = lines.iter().filter(|line| line.contains("c:tick"));
    let times: Vec<_> =
        times.map(|line| line.split("Some(").nth(2).unwrap().split(')').next().unwrap()).collect();
    assert_eq!(times, ["10", "20", "30", "5", "50", "60", "70"]);
}

/// A writer that was killed leaves a record that is not whole. Another writer begins the file again.
#[test]
fn fuchsia_traces_that_are_cut_off_and_truncated() {
    ichnos::io::handle_bus_errors().unwrap();
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("growing.fxt");
    let bytes = fuchsia_trace(&[30, 10, 20]);
    append(&path, &bytes[..bytes.len() - 8]);
    let follower = Follower::new(&[&path]);
    follower.wait_for(2);
    let first = fuchsia_trace(&[1]);
    fs::write(&path, &first).unwrap();
    follower.wait_for(3);
    append(&path, &bytes[8..bytes.len() - 8]);
    follower.wait_for(5);
    let found = follower.finish();
    assert_eq!(found.events(), 5);
    let is_damage = |line: &&String| line.contains("byte 152: a record has the size in its header");
    assert_eq!(found.lines().iter().filter(is_damage).count(), 1, "{:#?}", found.lines());
}

#[test]
fn growing_directories_with_several_data_streams() {
    for size in [37, 512, 4096] {
        grow("hello-lttng/trace", size);
    }
}

fn line(time: u32, text: &str) -> String {
    format!("{{\"ts\": {time}, \"name\": \"tick\", \"payload\": {{\"text\": \"{text}\"}}}}\n")
}

#[test]
fn events_come_while_files_grow() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("log.jsonl");
    let follower = Follower::new(&[&path]);
    for time in 1..=20 {
        append(&path, line(time, "a").as_bytes());
        follower.wait_for(time as usize);
    }
    // A line that is not whole is not an event yet, even if it could be read.
    append(&path, line(21, "a").trim_end().as_bytes());
    std::thread::sleep(Duration::from_millis(50));
    assert_eq!(follower.messages.events(), 20);
    append(&path, b"\n");
    follower.wait_for(21);
    // At the end, it is.
    append(&path, line(22, "a").trim_end().as_bytes());
    let found = follower.finish();
    assert_eq!(found.lines(), Transcript::of(&path).lines());
    assert_eq!(found.events(), 22);
}

#[test]
fn files_that_are_truncated_and_rotated() {
    // The files are mapped while they are truncated.
    ichnos::io::handle_bus_errors().unwrap();
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("log.jsonl");
    let follower = Follower::new(&[directory.path()]);
    append(&path, (line(1, "a") + &line(2, "a")).as_bytes());
    follower.wait_for(2);
    // Truncated, and shorter than before.
    File::create(&path).unwrap().write_all(line(3, "b").as_bytes()).unwrap();
    follower.wait_for(3);
    append(&path, line(4, "b").as_bytes());
    follower.wait_for(4);
    // Renamed: its events are not delivered again, but new ones are.
    let old = directory.path().join("log.1.jsonl");
    fs::rename(&path, &old).unwrap();
    append(&old, line(5, "b").as_bytes());
    append(&path, line(6, "c").as_bytes());
    follower.wait_for(6);
    append(&path, line(7, "c").as_bytes());
    follower.wait_for(7);
    let found = follower.finish();
    assert_eq!(found.events(), 7, "{:#?}", found.lines());
    for time in 1..=7u64 {
        let is_event = |line: &&String| line.contains(&format!("Some({time}) tick"));
        assert_eq!(found.lines().iter().filter(is_event).count(), 1, "{time}: {:#?}", found.lines());
    }
}

/// Each event of a trace with packets comes once, whatever its directory is called.
#[test]
fn trace_directories_that_are_renamed() {
    let directory = tempfile::tempdir().unwrap();
    let [new, old] = ["new", "old"].map(|name| directory.path().join(name));
    for (file, bytes) in files(&example("hello-lttng/trace")) {
        append(&new.join(file), &bytes);
    }
    let events = Transcript::of(&new).events();
    let follower = Follower::new(&[directory.path()]);
    follower.wait_for(events);
    // The last look is after the renaming.
    fs::rename(&new, &old).unwrap();
    assert_eq!(follower.finish().events(), events);
}

/// When LTTng has rotated, a data stream has files in several directories, and the directory of the last files moves.
#[test]
fn directories_that_are_rotated() {
    let directory = tempfile::tempdir().unwrap();
    let [hidden, first, second] =
        [".hidden", "archives/1", "archives/2"].map(|name| directory.path().join(name));
    for (file, bytes) in files(&example("hello-lttng/trace")) {
        let is_index = file.iter().any(|part| part == "index");
        // Each directory has whole packets, which are of 4096 bytes.
        let half = bytes.len() / 4096 / 2 * 4096;
        if file.ends_with("metadata") {
            append(&first.join(&file), &bytes);
            append(&hidden.join(&file), &bytes);
        } else if !is_index {
            append(&first.join(&file), &bytes[..half]);
            append(&hidden.join(&file), &bytes[half..]);
        }
    }
    let events = Transcript::of(directory.path()).events();
    let follower = Follower::new(&[directory.path()]);
    follower.wait_for(events);
    fs::rename(&hidden, &second).unwrap();
    assert_eq!(follower.finish().events(), events);
}

/// What was written just before a file vanished, and after it, as long as it is open.
#[test]
fn files_that_vanish() {
    let directory = tempfile::tempdir().unwrap();
    let elsewhere = tempfile::tempdir().unwrap();
    let path = directory.path().join("log.jsonl");
    append(&path, line(1, "a").as_bytes());
    for (paths, first) in [([path.as_path()], 1), ([directory.path()], 11)] {
        if first > 1 {
            append(&path, line(first, "a").as_bytes());
        }
        let follower = Follower::new(&paths);
        follower.wait_for(1);
        let rotated = elsewhere.path().join(first.to_string());
        append(&path, line(first + 1, "a").as_bytes());
        fs::rename(&path, &rotated).unwrap();
        follower.wait_for(2);
        append(&rotated, line(first + 2, "a").as_bytes());
        follower.wait_for(3);
        append(&path, line(first + 3, "a").as_bytes());
        follower.wait_for(4);
        append(&path, line(first + 4, "a").as_bytes());
        fs::remove_file(&path).unwrap();
        follower.wait_for(5);
        // Removed and stopped at once.
        append(&path, line(first + 5, "a").as_bytes());
        follower.wait_for(6);
        append(&path, line(first + 6, "a").trim_end().as_bytes());
        fs::remove_file(&path).unwrap();
        let found = follower.finish();
        for time in first..first + 7 {
            let is_event = |line: &&String| line.contains(&format!("Some({time}) tick"));
            assert_eq!(found.lines().iter().filter(is_event).count(), 1, "{time}: {:#?}", found.lines());
        }
    }
}

/// The call stacks of each look get the numbers of the first trace, so that no trace is kept per look.
#[test]
fn call_stacks_keep_their_trace() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("log.jsonl");
    let from = ichnos::open([example("hello-dotnet/hello.nettrace.zst")], &OpenOptions::default()).unwrap();
    let target = ichnos::convert::target(Some("jsonl"), &path, None).unwrap();
    let whole = directory.path().join("whole.jsonl");
    let converted = ichnos::convert::ConvertOptions::default();
    from.reader().unwrap().convert(target.writer, Some(whole.clone()), &converted).unwrap();
    let bytes = fs::read(&whole).unwrap();
    // The lines that describe classes, then some events.
    let lines: Vec<&[u8]> = bytes.split_inclusive(|byte| *byte == b'\n').collect();
    let (live, follow) = (LiveOptions::default(), follow_options());
    append(&path, &lines[..40].concat());
    let mut feed = FollowFeed::open(vec![path.clone()], &OpenOptions::default(), &follow, &live).unwrap();
    let (mut traces, mut stacks, mut next) = (std::collections::BTreeSet::new(), 0, 40);
    let begin = Instant::now();
    while next < lines.len().min(400) {
        match feed.poll() {
            LivePoll::Message(_) => {
                if let Some(Message::Event(event)) = feed.current() {
                    traces.insert(Arc::as_ptr(&event.stream.trace).addr());
                    let members = event.class.meanings.members(ichnos::model::meaning::Meaning::Stack);
                    for member in members {
                        let field = ichnos::model::field::FieldRef::for_member(&event, member).unwrap();
                        let number = event.get(&field).and_then(|value| value.as_u64());
                        if let Some(number) = number.and_then(|number| u32::try_from(number).ok()) {
                            assert!(!event.stream.stacks().table.frames(number).is_empty());
                            stacks += 1;
                        }
                    }
                }
            }
            LivePoll::Pending(_) => {
                append(&path, lines[next]);
                next += 1;
                std::thread::sleep(Duration::from_millis(2));
            }
            other => panic!("{other:?}"),
        }
        assert!(begin.elapsed() < Duration::from_secs(60));
    }
    assert!(stacks > 5, "{stacks}");
    // Only new classes make a new trace.
    assert!(traces.len() < 20, "{}", traces.len());
}

/// A .NET file is read from its start, in pieces of any size.
#[test]
fn growing_dotnet_files() {
    let whole = tempfile::tempdir().unwrap();
    let packed = File::open(example("hello-dotnet/hello.nettrace.zst")).unwrap();
    let bytes = zstd::decode_all(packed).unwrap();
    let finished = whole.path().join("finished.nettrace");
    fs::write(&finished, &bytes).unwrap();
    let expected = Transcript::of(&finished);
    let path = whole.path().join("growing.nettrace");
    let stop: &'static AtomicBool = Box::leak(Box::default());
    let (messages, paths) = (Transcript::default(), vec![path.clone()]);
    let mut sink = messages.clone();
    let thread = std::thread::spawn(move || {
        let mut live = LiveOptions::default();
        live.stop = Some(stop);
        let traces =
            ichnos::live::follow::open(paths, &OpenOptions::default(), &follow_options(), &live).unwrap();
        let traces = traces.into_iter().map(|trace| Box::new(trace) as _).collect();
        let session = Session::of_live(traces, &OpenOptions::default());
        session.reader().unwrap().pass().with(Pass::default().live()).run(&mut sink).unwrap();
    });
    for piece in bytes.chunks(bytes.len() / 20 + 1) {
        append(&path, piece);
        std::thread::sleep(Duration::from_millis(2));
    }
    let begin = Instant::now();
    while messages.events() < expected.events() {
        assert!(begin.elapsed() < Duration::from_secs(60), "{}", messages.events());
        std::thread::sleep(Duration::from_millis(1));
    }
    stop.store(true, Ordering::Relaxed);
    thread.join().unwrap();
    assert_eq!(messages.events(), expected.events());
}

/// Follows paths of any format on a thread.
fn follow_all(paths: Vec<PathBuf>) -> Follower {
    let stop: &'static AtomicBool = Box::leak(Box::default());
    let is_open: &'static AtomicBool = Box::leak(Box::default());
    let messages = Transcript::default();
    let mut sink = messages.clone();
    let thread = std::thread::spawn(move || {
        let (mut live, options) = (LiveOptions::default(), OpenOptions::default());
        live.stop = Some(stop);
        let traces = ichnos::live::follow::open(paths, &options, &follow_options(), &live).unwrap();
        is_open.store(true, Ordering::Relaxed);
        let traces = traces.into_iter().map(|trace| Box::new(trace) as _).collect();
        let session = Session::of_live(traces, &options);
        session.reader().unwrap().pass().with(Pass::default().live()).run(&mut sink).unwrap();
    });
    Follower { stop, is_open, messages, thread }
}

/// Returns the bytes of a .NET file.
fn dotnet_bytes() -> Vec<u8> {
    zstd::decode_all(File::open(example("hello-dotnet/hello.nettrace.zst")).unwrap()).unwrap()
}

/// A file with other content is read from its start, even if it is longer, and so is another file.
#[test]
fn dotnet_files_that_are_replaced() {
    let directory = tempfile::tempdir().unwrap();
    let bytes = dotnet_bytes();
    let (path, former) = (directory.path().join("growing.nettrace"), directory.path().join("former"));
    let first = &bytes[..bytes.len() / 2];
    fs::write(&path, first).unwrap();
    fs::write(&former, first).unwrap();
    let mut other = bytes.clone();
    // The process id.
    other[89] ^= 1;
    let events =
        [&former, &example("hello-dotnet/hello.nettrace.zst")].map(|path| Transcript::of(path).events());
    let follower = follow_all(vec![path.clone()]);
    follower.wait_for(1);
    fs::rename(&path, directory.path().join("old")).unwrap();
    fs::write(&path, first).unwrap();
    follower.wait_for(events[0] + 1);
    fs::write(&path, &other).unwrap();
    // The whole file ends it.
    follower.wait_for(2 * events[0] + events[1]);
    let found = follower.finish();
    assert_eq!(found.events(), 2 * events[0] + events[1]);
    assert_eq!(found.lines().iter().filter(|line| line.ends_with("stream begin")).count(), 3);
}

/// Plain and compressed files, beside files of other formats.
#[test]
fn dotnet_files_in_directories() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("followed");
    fs::create_dir(&path).unwrap();
    let expected = Transcript::of(&example("hello-dotnet/hello.nettrace.zst")).events();
    let follower = follow_all(vec![path.clone()]);
    let packed = fs::read(example("hello-dotnet/hello.nettrace.zst")).unwrap();
    let bytes = dotnet_bytes();
    for (piece, part) in bytes.chunks(bytes.len() / 5 + 1).zip(packed.chunks(packed.len() / 5 + 1)) {
        append(&path.join("a/plain.nettrace"), piece);
        append(&path.join("b/packed.nettrace.zst"), part);
    }
    follower.wait_for(2 * expected);
    append(&path.join("log.jsonl"), line(1, "a").as_bytes());
    follower.wait_for(2 * expected + 1);
    assert_eq!(follower.finish().events(), 2 * expected + 1);
    // The file alone.
    let follower = follow_all(vec![path.join("b/packed.nettrace.zst")]);
    follower.wait_for(expected);
    assert_eq!(follower.finish().events(), expected);
}

/// Reads the data streams of a session, from places if they are given. Returns the events, and the places at the end.
fn read_on(session: &Session, places: &[Option<ResumePoint>]) -> (Vec<String>, Vec<Option<ResumePoint>>) {
    let (mut events, mut ends) = (Vec::new(), Vec::new());
    for trace in session.traces() {
        for stream in 0..trace.data_streams().len() {
            let mut cursor = match places.get(ends.len()) {
                Some(place) => trace.cursor_at(stream, place.as_ref().unwrap(), 0, false).unwrap(),
                None => trace.cursor(stream, Window::default()).unwrap(),
            };
            let mut place = None;
            while cursor.advance() {
                if let Some(Message::Event(event)) = cursor.current() {
                    let mut values = EventValues::default();
                    values.copy_from(&event).unwrap();
                    events.push(format!("{:?} {} {values:?}", event.clock, event.name()));
                    place = cursor.resume_point();
                }
            }
            ends.push(place);
        }
    }
    (events, ends)
}

/// The rest of a file is read without its beginning.
#[test]
fn reading_continues_where_it_ended() {
    let bytes = |name: &str| fs::read(example(name)).unwrap();
    let events: Vec<u64> = (0..300).map(|number| number * 7 % 300).collect();
    for (name, bytes) in [
        ("a.jsonl", (0..300).map(|time| line(time, "a")).collect::<String>().into_bytes()),
        ("a.reports", bytes("hello-xtrace/proxy.reports")),
        ("a.log", bytes("hello-fuchsia/boot.log")),
        ("a.fxt", fuchsia_trace(&events)),
    ] {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join(name);
        let mut options = OpenOptions::default();
        (options.read.growing, options.read.unsorted) = (true, true);
        let all = {
            let whole = directory.path().join("whole").join(name);
            append(&whole, &bytes);
            read_on(&ichnos::open([whole], &options).unwrap(), &[]).0
        };
        options.read.kept = Kept::enabled();
        let (mut found, mut places) = (Vec::new(), Vec::new());
        let begin = bytes.len() * 3 / 4;
        append(&path, &bytes[..begin]);
        let mut rest = bytes[begin..].chunks(bytes.len() / 40 + 1);
        loop {
            let session = ichnos::open([&path], &options).unwrap();
            let (events, ends) = read_on(&session, &places);
            found.extend(events);
            let ends = ends.into_iter().enumerate();
            places = ends.map(|(number, end)| end.or_else(|| places.get(number)?.clone())).collect();
            match rest.next() {
                Some(piece) => append(&path, piece),
                None => break,
            }
        }
        found.sort_unstable();
        let mut all = all;
        all.sort_unstable();
        assert_eq!(found, all, "{name}");
        assert!(!found.is_empty(), "{name}");
    }
}

/// When it is stopped, paths without a trace do not matter.
#[test]
fn others_are_read_if_a_path_is_missing() {
    static STOP: AtomicBool = AtomicBool::new(true);
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("log.jsonl");
    append(&path, line(1, "a").as_bytes());
    let mut live = LiveOptions::default();
    live.stop = Some(&STOP);
    let options = OpenOptions::default();
    let open = |names: &[&str]| {
        let paths = names.iter().map(|name| directory.path().join(name)).collect();
        ichnos::live::follow::open(paths, &options, &follow_options(), &live).map(|traces| traces.len())
    };
    assert_eq!(open(&["missing.nettrace", "log.jsonl"]).unwrap(), 1);
    assert!(matches!(open(&["missing.nettrace", "missing"]), Err(FollowError::Stopped)));
}

#[test]
fn new_files_with_earlier_data_streams() {
    let directory = tempfile::tempdir().unwrap();
    let follower = Follower::new(&[directory.path()]);
    for file in 0..5 {
        let path = directory.path().join(format!("{}.jsonl", 9 - file));
        append(&path, line(10 * file + 1, "a").as_bytes());
        follower.wait_for(file as usize * 3 + 1);
        append(&path, (line(10 * file + 2, "a") + &line(10 * file + 3, "a")).as_bytes());
        follower.wait_for(file as usize * 3 + 3);
    }
    assert_eq!(follower.finish().sorted(), Transcript::of(directory.path()).sorted());
}

#[test]
fn damage_waits_until_it_is_certain() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("log.jsonl");
    let follower = Follower::new(&[&path]);
    append(&path, line(1, "a").as_bytes());
    follower.wait_for(1);
    append(&path, ("{\"ts\": broken}\n".to_owned() + &line(2, "a")).as_bytes());
    follower.wait_for(2);
    append(&path, b"{\"ts\": 3, \"na");
    let found = follower.finish();
    assert_eq!(found.lines(), Transcript::of(&path).lines());
    assert_eq!(found.events(), 2);
}

#[test]
fn waiting_ends_when_it_is_stopped() {
    static STOP: AtomicBool = AtomicBool::new(true);
    let directory = tempfile::tempdir().unwrap();
    let mut live = LiveOptions::default();
    live.stop = Some(&STOP);
    let missing = vec![directory.path().join("missing")];
    let opened = FollowFeed::open(missing, &OpenOptions::default(), &follow_options(), &live);
    assert_eq!(opened.err().unwrap().to_string(), "stopped before there was a trace");
}

#[test]
fn classes_and_data_streams_stay_the_same() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("log.jsonl");
    append(&path, line(1, "a").as_bytes());
    let live = LiveOptions::default();
    let options = (&OpenOptions::default(), &follow_options());
    let mut feed = FollowFeed::open(vec![path.clone()], options.0, options.1, &live).unwrap();
    let mut found = Vec::new();
    let begin = Instant::now();
    while found.len() < 5 && begin.elapsed() < Duration::from_secs(60) {
        match feed.poll() {
            LivePoll::Message(_) => {
                if let Some(Message::Event(event)) = feed.current() {
                    let stream = std::ptr::from_ref(event.stream).addr();
                    let class = std::ptr::from_ref(event.class).addr();
                    found.push((stream, class, event.class_index()));
                    append(&path, line(found.len() as u32 + 1, "a").as_bytes());
                }
            }
            _ => std::thread::sleep(Duration::from_millis(1)),
        }
    }
    assert_eq!(found.len(), 5);
    found.dedup();
    assert_eq!(found.len(), 1);
}

/// Metadata grow, and data streams appear, while the trace is followed.
#[test]
fn a_trace_that_is_being_written() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("trace");
    let follower = Follower::new(&[&path]);
    let mut options = CreateOptions::default();
    options.packet_size = Some(300);
    let trace = create(&path, &options).unwrap();
    let clock = trace.clock(ClockClass::since_unix_epoch("wall")).unwrap();
    let mut time = 0u64;
    for number in 0..10 {
        let stream = trace.stream(&format!("stream{number}"), Some(&clock)).unwrap();
        let members = [Member::new("n", FieldClass::unsigned(64)), Member::new("s", FieldClass::string())];
        let mut event = stream.declare(&format!("e{number}"), members).unwrap();
        for count in 0..30 {
            event.set("n", time).unwrap().set("s", "some text").unwrap().write(time / 3).unwrap();
            time += 1;
            if count % 4 == 0 {
                trace.flush().unwrap();
                follower.wait_for(usize::try_from(time).unwrap());
            }
        }
    }
    trace.finish().unwrap();
    follower.wait_for(usize::try_from(time).unwrap());
    let found = follower.finish();
    assert_eq!(found.events(), usize::try_from(time).unwrap());
    // Data streams begin again when the metadata have grown.
    let unique = |transcript: Transcript| {
        let mut lines = transcript.sorted();
        lines.dedup();
        lines
    };
    assert_eq!(unique(found), unique(Transcript::of(&path)));
}
