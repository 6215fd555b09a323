//! Names of threads.

use std::path::Path;

use ichnos_tracer::{Recording, RecordingOptions, SizeLimit, TraceEvent, record};

use crate::alone;

#[derive(TraceEvent)]
#[trace(begin = "work")]
struct Work {
    #[trace(key)]
    number: u32,
}

/// Returns what viewers show.
fn chrome(path: &Path) -> String {
    use ichnos::convert::{ConvertOptions, target};

    let session = ichnos::open([path], &ichnos::OpenOptions::default()).unwrap();
    let to = path.with_extension("json");
    let target = target(Some("chrome"), &to, None).unwrap();
    session.reader().unwrap().convert(target.writer, Some(to.clone()), &ConvertOptions::default()).unwrap();
    std::fs::read_to_string(to).unwrap()
}

#[test]
fn viewers_show_the_names_of_threads() {
    let _alone = alone();
    let directory = tempfile::tempdir().unwrap();
    let long = format!("{}ä", "x".repeat(63));
    for (name, limit) in [("all", SizeLimit::Unlimited), ("last", SizeLimit::Last(20_000))] {
        let path = directory.path().join(name);
        let mut options = RecordingOptions::new(&path);
        (options.packet_size, options.file_size, options.limit) = (1024, 8192, limit);
        let recording = Recording::start(options).unwrap();
        for thread in ["baker with a long name", &long] {
            let work = || (0..1000).for_each(|number| record(&Work { number }));
            std::thread::Builder::new().name(thread.to_owned()).spawn(work).unwrap().join().unwrap();
        }
        // A thread of the system has its name.
        let work = || {
            record(&Work { number: 1 });
            std::fs::read_to_string("/proc/thread-self/comm").unwrap()
        };
        let own = std::thread::Builder::new().spawn(work).unwrap().join().unwrap();
        recording.finish();
        let shown = chrome(&path);
        assert!(shown.contains(&format!("\"{}\"", &long[..63])), "{name}");
        assert_eq!(shown.contains("\"baker with a long name\""), limit == SizeLimit::Unlimited);
        assert!(shown.contains(&format!("\"{}\"", own.trim())), "{shown}");
    }
}
