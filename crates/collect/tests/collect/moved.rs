//! Moved files, and links in place of files.

use std::fs;
use std::io::Write;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::time::Duration;

use ichnos_collect::{Index, SYNC};

use crate::support::{COLLECT, answer, connect, counted, frame, options, report, start, sync};

/// Reports outside of the directory are not acknowledged. When the directory is back, all are.
#[test]
fn a_directory_that_is_moved_away() {
    let parent = tempfile::tempdir().unwrap();
    let [path, away] = ["reports", "away"].map(|name| parent.path().join(name));
    let (collector, notices) = start(&path, options());
    let mut stream = connect(collector.tcp()[0]);
    let send = |stream: &mut std::net::TcpStream, number| {
        stream.write_all(&frame(&report(1, 0, number))).unwrap();
    };
    send(&mut stream, 0);
    assert_eq!(sync(&mut stream).unwrap(), (1, 0));
    fs::rename(&path, &away).unwrap();
    send(&mut stream, 1);
    stream.write_all(&SYNC.to_be_bytes()).unwrap();
    stream.set_read_timeout(Some(Duration::from_millis(700))).unwrap();
    assert!(answer(&mut stream).is_err());
    // A replacement directory is not used either, even if a collector made it.
    fs::create_dir(&path).unwrap();
    fs::write(path.join("collection"), "ichnos collection 1\nformat: test\n").unwrap();
    assert!(answer(&mut stream).is_err());
    assert_eq!(fs::read_dir(&path).unwrap().count(), 1);
    let first_notices = notices.lock().unwrap().clone();
    assert_eq!(first_notices.len(), 1);
    assert!(
        first_notices[0].contains("reports: the directory was moved, replaced or removed"),
        "{first_notices:?}"
    );
    fs::remove_dir_all(&path).unwrap();
    fs::rename(&away, &path).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    assert_eq!(answer(&mut stream).unwrap(), (2, 0));
    assert_eq!(counted(&path).len(), 2);
    drop(stream);
    assert_eq!(collector.stop().unwrap().reports, 2);
}

/// Stopping then reports that data may be lost.
#[test]
fn it_ends_while_the_directory_is_away() {
    let parent = tempfile::tempdir().unwrap();
    let [path, away] = ["reports", "away"].map(|name| parent.path().join(name));
    let (collector, _) = start(&path, options());
    let mut stream = connect(collector.tcp()[0]);
    assert_eq!(sync(&mut stream).unwrap(), (0, 0));
    fs::rename(&path, &away).unwrap();
    stream.write_all(&frame(&report(1, 0, 0))).unwrap();
    std::thread::sleep(Duration::from_millis(300));
    let statistics = collector.stop().unwrap();
    assert_eq!((statistics.reports, statistics.not_written), (0, 1));
}

/// If only the segment is removed, a new segment is started.
#[test]
fn a_segment_that_is_removed() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let (collector, notices) = start(path, options());
    let mut stream = connect(collector.tcp()[0]);
    for number in 0..3u64 {
        stream.write_all(&frame(&report(1, 0, number))).unwrap();
        assert_eq!(sync(&mut stream).unwrap(), (number + 1, 0));
        let segment = path.join(format!("{:08}.reports", number + 1));
        // Earlier acknowledged reports are lost with the segment.
        assert_eq!(fs::read_to_string(&segment).unwrap().matches("number").count(), 1);
        if number < 2 {
            fs::remove_file(&segment).unwrap();
        }
    }
    drop(stream);
    assert_eq!(collector.stop().unwrap().not_written, 0);
    let notices = notices.lock().unwrap();
    assert!(
        notices[0].contains("00000001.reports: moved, replaced or removed during writing"),
        "{notices:?}"
    );
}

/// Targets of links with any name do not change.
#[test]
fn links_are_not_followed() {
    let directory = tempfile::tempdir().unwrap();
    let foreign = directory.path().join("foreign");
    let content = "not a report\n\n";
    fs::write(&foreign, content).unwrap();
    let names = [
        "00000002.reports",
        "00000001.sums",
        "00000001.damaged",
        "00000001.new",
        "00000001.sums-new",
        "index.redb",
        "collection",
        "00000003.sums",
    ];
    for name in names {
        let path = directory.path().join(format!("{name}-collected"));
        let run = |path: &Path| -> Result<u64, String> {
            let (collector, _) =
                std::panic::catch_unwind(|| start(path, options())).map_err(|_| "refused")?;
            let mut stream = connect(collector.tcp()[0]);
            stream.write_all(&frame(&report(7, 0, 0))).unwrap();
            assert_eq!(sync(&mut stream).unwrap(), (1, 0), "{name}");
            drop(stream);
            Ok(collector.stop().unwrap().reports)
        };
        assert_eq!(run(&path), Ok(1));
        // The first segment contains data that must be moved to another file.
        let segment = path.join("00000001.reports");
        let damaged = format!("x\n\n{}", fs::read_to_string(&segment).unwrap());
        fs::write(&segment, damaged).unwrap();
        let link = path.join(name);
        let _ = fs::remove_file(&link);
        symlink(&foreign, &link).unwrap();
        let result = run(&path);
        assert_eq!(result.is_err(), name == "collection", "{name}: {result:?}");
        assert_eq!(fs::read_to_string(&foreign).unwrap(), content, "{name}");
        if result.is_ok() && !name.ends_with(".reports") && name != "00000001.sums" {
            let index = Index::open(&path, &COLLECT).unwrap();
            assert_eq!(index.tasks().unwrap().iter().map(|task| task.reports).sum::<u64>(), 2, "{name}");
        }
    }
}
