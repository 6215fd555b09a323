//! Full disks, simulated by a file size limit.

use std::io::Write;
use std::net::UdpSocket;
use std::process::Command;
use std::time::{Duration, Instant};

use crate::support::{Process, connect, counted, frame, report, sync, wait_until};

/// Returns a command that runs this program with a file size limit, in blocks of 512 bytes. A write above the limit is
/// an error instead of a signal.
fn limited(blocks: u32) -> Command {
    let mut command = Command::new("sh");
    let script = format!("trap '' XFSZ; ulimit -S -f {blocks} && exec \"$0\" \"$@\"");
    command.args(["-c", &script]).arg(std::env::current_exe().unwrap());
    command
}

fn has_room(id: u32) -> bool {
    let mut command = Command::new("prlimit");
    command
        .args(["--pid", &id.to_string(), "--fsize=unlimited:unlimited"])
        .status()
        .is_ok_and(|it| it.success())
}

/// Nothing is lost while the disk is full, and collecting continues when there is space.
#[test]
fn goes_on_when_there_is_room() {
    if Command::new("prlimit").arg("--version").output().is_err() {
        eprintln!("skipped: there is no `prlimit`");
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let process = Process::start_by(limited(400), path, 64 << 20);
    let mut stream = connect(process.tcp);
    let mut blocked = connect(process.tcp);
    let mut sent = 0;
    for _ in 0..10 {
        stream.write_all(&frame(&report(1, 0, sent))).unwrap();
        sent += 1;
    }
    assert_eq!(sync(&mut stream).unwrap(), (10, 0));
    // Write until no more data is accepted.
    blocked.set_write_timeout(Some(Duration::from_secs(2))).unwrap();
    let mut begun = 0;
    let padding = vec![b'x'; 4_000];
    let begin = Instant::now();
    loop {
        let text = [&report(2, 1, begun)[..], &padding].concat();
        let frame = frame(&text);
        let mut written = 0;
        while written < frame.len() {
            match blocked.write(&frame[written..]) {
                Ok(size) => written += size,
                Err(_) => break,
            }
        }
        if written < frame.len() {
            // The rest of the report follows when there is space.
            blocked.set_write_timeout(None).unwrap();
            let id = process.id();
            let rest = frame[written..].to_vec();
            assert_eq!(std::fs::metadata(path.join("00000001.reports")).unwrap().len(), 400 * 512);
            // Datagrams are dropped in the meantime, or wait.
            UdpSocket::bind("127.0.0.1:0").unwrap().send_to(&report(3, 2, 0), process.udp).unwrap();
            assert!(has_room(id));
            blocked.write_all(&rest).unwrap();
            begun += 1;
            break;
        }
        begun += 1;
        assert!(begun < 1_000_000, "nothing stops it");
    }
    assert!(begin.elapsed() < Duration::from_secs(120));
    assert_eq!(sync(&mut blocked).unwrap(), (begun, 0));
    stream.write_all(&frame(&report(1, 0, sent))).unwrap();
    assert_eq!(sync(&mut stream).unwrap(), (sent + 1, 0));
    wait_until("datagram", || counted(path).keys().any(|text| text.starts_with("task 3\n")));
    drop((stream, blocked));
    assert_eq!(process.stop(), (begun + sent + 2, 0, 0));
    assert_eq!(counted(path).len() as u64, begun + sent + 2);
    eprintln!("{begun} reports were taken, most of them without room");
}

/// Stopping with a full disk reports missing data. Acknowledged reports are stored.
#[test]
fn ends_without_room() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let process = Process::start_by(limited(8), path, 64 << 20);
    let mut stream = connect(process.tcp);
    for number in 0..5 {
        stream.write_all(&frame(&report(1, 0, number))).unwrap();
    }
    assert_eq!(sync(&mut stream).unwrap(), (5, 0));
    for number in 5..1_000 {
        stream.write_all(&frame(&report(1, 0, number))).unwrap();
    }
    std::thread::sleep(Duration::from_millis(500));
    let (reports, _, not_written) = process.stop();
    assert!((5..200).contains(&reports), "{reports}");
    assert_eq!(reports + not_written, 1_000);
    // The next collector recovers complete reports.
    let process = Process::start(path, 64 << 20);
    assert_eq!(process.stop(), (0, 0, 0));
    let there = counted(path);
    assert!(there.len() as u64 >= reports, "{}", there.len());
    for number in 0..reports {
        let text = String::from_utf8(report(1, 0, number)).unwrap() + "\n";
        assert!(there.contains_key(&text), "{text}");
    }
}
