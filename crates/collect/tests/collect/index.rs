//! Index of collected reports.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::Path;

use ichnos_collect::{Index, Task, rebuild_index};
use ichnos_io::TaskKey;

use crate::support::{COLLECT, connect, files, frame, options, report, start, stored, sync};

/// Returns the tasks and the texts of their reports, from the index.
fn contents(directory: &Path) -> (Vec<Task>, BTreeMap<TaskKey, String>) {
    let index = Index::open(directory, &COLLECT).unwrap();
    let tasks = index.tasks().unwrap();
    let text = |task: &Task| {
        let locations = index.reports_of(&task.key).unwrap();
        assert_eq!(locations.len() as u64, task.reports);
        (task.key, String::from_utf8(index.read(&locations).unwrap()).unwrap())
    };
    let texts = tasks.iter().map(text).collect();
    (tasks, texts)
}

/// Returns the reports of each task, from the segments.
fn expected(directory: &Path) -> BTreeMap<TaskKey, String> {
    let mut texts: BTreeMap<TaskKey, String> = BTreeMap::new();
    for report in stored(directory) {
        let task = report.lines().next().unwrap().strip_prefix("task ").unwrap();
        texts.entry(TaskKey::new(task.as_bytes()).unwrap()).or_default().push_str(&report);
    }
    texts
}

/// Collects some reports into several segments.
fn collect(directory: &Path, client: u64) {
    let mut small = options();
    small.segment_bytes = 20_000;
    small.flush_bytes = 3_000;
    let (collector, _) = start(directory, small);
    let mut stream = connect(collector.tcp()[0]);
    for number in 0..3_000 {
        stream.write_all(&frame(&report(number % 7 * (number % 3), client, number))).unwrap();
        if number % 100 == 0 {
            sync(&mut stream).unwrap();
        }
    }
    sync(&mut stream).unwrap();
    // While reports arrive, all of them are found.
    assert_eq!(contents(directory).1, expected(directory));
    drop(stream);
    collector.stop().unwrap();
}

#[test]
fn made_again_it_is_the_same() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    collect(path, 0);
    collect(path, 1);
    assert!(files(path, ".reports").len() > 4);
    let kept = contents(path);
    assert_eq!(kept.1, expected(path));
    assert_eq!(kept.0.iter().map(|task| task.reports).sum::<u64>(), 6_000);
    assert!(kept.0.iter().all(|task| task.first <= task.last && task.first > 1_600_000_000_000));
    assert_eq!(Index::open(path, &COLLECT).unwrap().reports_without_index(), 0);
    // Without an index, all reports are found in the segments.
    fs::remove_file(path.join("index.redb")).unwrap();
    assert_eq!(contents(path), kept);
    assert_eq!(Index::open(path, &COLLECT).unwrap().reports_without_index(), 6_000);
    let says = |notice: &ichnos_collect::Notice| panic!("{notice}");
    assert_eq!(rebuild_index(path, "test", &COLLECT, says).unwrap(), kept.0.len() as u64);
    assert_eq!(contents(path), kept);
    assert_eq!(Index::open(path, &COLLECT).unwrap().reports_without_index(), 0);
    // A damaged index is rebuilt by the next collector.
    for damage in [b"garbage".to_vec(), Vec::new(), vec![0xFF; 100_000]] {
        fs::write(path.join("index.redb"), damage).unwrap();
        assert_eq!(contents(path), kept);
        let (collector, _) = start(path, options());
        assert_eq!(collector.stop().unwrap().tasks, kept.0.len() as u64);
        assert_eq!(contents(path), kept);
        assert_eq!(Index::open(path, &COLLECT).unwrap().reports_without_index(), 0);
    }
}

/// Segments may be removed to free space.
#[test]
fn segments_that_are_gone() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    collect(path, 0);
    let mut segments = files(path, ".reports");
    segments.sort();
    fs::remove_file(&segments[0]).unwrap();
    fs::remove_file(segments[0].with_extension("sums")).unwrap();
    assert_eq!(contents(path).1, expected(path));
    let (collector, _) = start(path, options());
    collector.stop().unwrap();
    assert_eq!(contents(path).1, expected(path));
    assert_eq!(Index::open(path, &COLLECT).unwrap().reports_without_index(), 0);
}

/// A segment with a torn end, and one with overwritten data in the middle.
#[test]
fn damaged_segments_are_recovered() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    collect(path, 0);
    let before = stored(path);
    let mut segments = files(path, ".reports");
    segments.sort();
    let first = fs::read(&segments[0]).unwrap();
    fs::write(&segments[0], &first[..first.len() - 5]).unwrap();
    let mut second = fs::read(&segments[1]).unwrap();
    let middle = second.len() / 2;
    second[middle..middle + 3].copy_from_slice(b"\0\0\0");
    second[0] = b'X';
    fs::write(&segments[1], &second).unwrap();
    fs::remove_file(path.join("index.redb")).unwrap();
    let (collector, notices) = start(path, options());
    collector.stop().unwrap();
    assert_eq!(notices.lock().unwrap().len(), 2, "{notices:?}");
    assert_eq!(files(path, ".damaged").len(), 2);
    // Zeros within a report do not invalidate it. Text with a wrong start does.
    let after = stored(path);
    assert_eq!(before.len() - after.len(), 2);
    assert_eq!(contents(path).1, expected(path));
    let (collector, notices) = start(path, options());
    collector.stop().unwrap();
    assert!(notices.lock().unwrap().is_empty(), "{notices:?}");
}

/// A segment that cannot be recovered does not prevent collecting, and is recovered later.
#[test]
fn a_segment_that_cannot_be_recovered() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    collect(path, 0);
    let mut segments = files(path, ".reports");
    segments.sort();
    let mut file = fs::OpenOptions::new().append(true).open(&segments[1]).unwrap();
    file.write_all(b"task 1\ntorn").unwrap();
    // Torn data would be moved there.
    let damaged = segments[1].with_extension("damaged");
    fs::create_dir(&damaged).unwrap();
    let before = stored(path).len();
    let (collector, notices) = start(path, options());
    let mut stream = connect(collector.tcp()[0]);
    stream.write_all(&frame(&report(1, 1, 1))).unwrap();
    assert_eq!(sync(&mut stream).unwrap(), (1, 0));
    drop(stream);
    collector.stop().unwrap();
    let notices = notices.lock().unwrap().clone();
    assert!(notices.len() == 1 && notices[0].contains("not closed properly"), "{notices:?}");
    assert_eq!(stored(path).len(), before + 1);
    fs::remove_dir(&damaged).unwrap();
    let (collector, notices) = start(path, options());
    collector.stop().unwrap();
    let notices = notices.lock().unwrap().clone();
    assert!(notices.len() == 1 && notices[0].contains("moved 11 bytes of damaged data"), "{notices:?}");
    assert_eq!(stored(path).len(), before);
    assert_eq!(contents(path).1, expected(path));
    assert_eq!(Index::open(path, &COLLECT).unwrap().reports_without_index(), 0);
}

#[test]
fn what_is_no_collection() {
    let directory = tempfile::tempdir().unwrap();
    for path in [directory.path(), Path::new("/does/not/exist")] {
        let error = Index::open(path, &COLLECT).unwrap_err();
        assert!(error.to_string().contains("not a collector directory"), "{error}");
        assert!(rebuild_index(path, "test", &COLLECT, |_| {}).is_err());
    }
    assert_eq!(files(directory.path(), "").len(), 0);
}
