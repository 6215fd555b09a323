//! Thread names from records without a time.

use std::path::Path;

use ichnos::analysis::{ThreadCollector, ThreadOptions};
use ichnos::model::Window;
use ichnos::{OpenOptions, Selection};

use crate::client::Server;

/// Fuchsia trace, word by word.
struct Words(Vec<u64>);

impl Words {
    /// Returns an inline text as the reference and its word, of at most 8 bytes.
    fn text(text: &str) -> (u64, u64) {
        let mut word = [0; 8];
        word[..text.len()].copy_from_slice(text.as_bytes());
        (0x8000 | text.len() as u64, u64::from_le_bytes(word))
    }

    /// Adds a kernel object: a process (type 1) or a thread (type 2) of a process.
    fn object(&mut self, kind: u64, id: u64, name: &str, process: Option<u64>) {
        let (reference, name) = Self::text(name);
        let (size, arguments) = if process.is_some() { (6, 1) } else { (3, 0) };
        self.0.extend([7 | size << 4 | kind << 16 | reference << 24 | arguments << 40, id, name]);
        if let Some(process) = process {
            let (reference, name) = Self::text("process");
            self.0.extend([8 | 3 << 4 | reference << 16, name, process]);
        }
    }

    /// Adds a switch between two threads. The first one is blocked.
    fn switch(&mut self, time: u64, from: u64, to: u64) {
        self.0.extend([8 | 4 << 4 | 3 << 36 | 1 << 60, time, from, to]);
    }

    fn write(&self, path: &Path) {
        let bytes: Vec<u8> = self.0.iter().flat_map(|word| word.to_le_bytes()).collect();
        std::fs::write(path, bytes).unwrap();
    }
}

#[test]
fn kernel_objects_name_threads_in_reports_and_on_the_timeline() {
    let mut words = Words(vec![0x0016_5478_4604_0010]);
    words.object(1, 11, "app", None);
    words.object(2, 12, "main", Some(11));
    words.object(2, 13, "worker", Some(11));
    for time in [10, 20, 30, 40] {
        let (from, to) = if time % 20 == 0 { (13, 12) } else { (12, 13) };
        words.switch(time, from, to);
    }
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("objects.fxt");
    words.write(&path);
    let session = ichnos::open([&path], &OpenOptions::default()).unwrap();
    let mut collector = ThreadCollector::new(ThreadOptions::default());
    let reader = Selection::default().reader(&session, Window::default()).unwrap();
    reader.pass().run(&mut collector).unwrap();
    let report = collector.finish();
    let names = |thread: u64| {
        let found = report.threads().iter().find(|found| found.thread == thread).unwrap();
        let names = &found.names;
        (names.name.clone().unwrap(), names.process.unwrap(), names.process_name.clone().unwrap())
    };
    let named = |name: &str| (name.to_owned(), 11, "app".to_owned());
    assert_eq!((names(12), names(13)), (named("main"), named("worker")));
    let server = Server::of(path.to_str().unwrap());
    let tracks = server.tracks();
    let place = |name: &str| {
        let track = tracks.iter().find(|track| track["name"] == name).unwrap_or_else(|| panic!("{name}"));
        (track["kind"].as_str().unwrap(), track["parent"].as_u64())
    };
    let (kind, _) = place("app (11)");
    let process = tracks.iter().position(|track| track["name"] == "app (11)").map(|number| number as u64);
    assert_eq!(
        (kind, place("main (12)"), place("worker (13)")),
        ("process", ("thread", process), ("thread", process))
    );
}
