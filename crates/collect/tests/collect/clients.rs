//! Clients, well-behaved or misbehaving.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream, UdpSocket};
use std::time::Duration;

use ichnos_collect::SYNC;

use crate::support::{answer, connect, counted, frame, options, report, start, stored, sync, wait_until};

#[test]
fn datagrams_and_frames() {
    let directory = tempfile::tempdir().unwrap();
    let (collector, notices) = start(directory.path(), options());
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    for number in 0..10 {
        socket.send_to(&report(1, 0, number), collector.udp()[0]).unwrap();
    }
    socket.send_to(b"garbage", collector.udp()[0]).unwrap();
    socket.send_to(b"", collector.udp()[0]).unwrap();
    socket.send_to(&[b'x'; 5_000], collector.udp()[0]).unwrap();
    let mut stream = connect(collector.tcp()[0]);
    for number in 0..10 {
        stream.write_all(&frame(&report(2, 1, number))).unwrap();
    }
    stream.write_all(&frame(b"garbage")).unwrap();
    stream.write_all(&frame(&report(2, 1, 3))).unwrap();
    assert_eq!(sync(&mut stream).unwrap(), (11, 1));
    // Acknowledged reports are stored while the collector runs.
    let is_of_client = |text: &&String| text.contains("client 1");
    assert_eq!(stored(directory.path()).iter().filter(is_of_client).count(), 11);
    wait_until("datagrams", || collector.statistics().datagrams == 13);
    drop(stream);
    let statistics = collector.stop().unwrap();
    assert_eq!((statistics.reports, statistics.duplicates, statistics.refused), (21, 1, 2));
    assert_eq!((statistics.bad_lengths, statistics.kernel_drops, statistics.not_written), (2, 0, 0));
    assert_eq!((statistics.connections, statistics.open_connections, statistics.tasks), (1, 0, 2));
    assert_eq!(statistics.bytes, stored(directory.path()).iter().map(|text| text.len() as u64).sum::<u64>());
    let counted = counted(directory.path());
    assert_eq!((counted.len(), counted["task 2\nclient 1 number 3\n\n"]), (20, 2));
    assert!(notices.lock().unwrap().is_empty(), "{notices:?}");
}

/// Reports sent before the stop are received, and questions are answered.
#[test]
fn a_graceful_end() {
    let directory = tempfile::tempdir().unwrap();
    let (collector, _) = start(directory.path(), options());
    let mut streams: Vec<TcpStream> = (0..20).map(|_| connect(collector.tcp()[0])).collect();
    wait_until("connections", || collector.statistics().open_connections == 20);
    for (client, stream) in streams.iter_mut().enumerate() {
        for number in 0..500 {
            stream.write_all(&frame(&report(3, client as u64, number))).unwrap();
        }
        stream.write_all(&SYNC.to_be_bytes()).unwrap();
    }
    let statistics = collector.stop().unwrap();
    assert_eq!(statistics.reports, 20 * 500);
    for stream in &mut streams {
        assert_eq!(answer(stream).unwrap(), (500, 0));
        assert_eq!(stream.read(&mut [0]).unwrap(), 0);
    }
}

/// Wrong lengths, garbage, endless reports and disappearing clients do not affect other clients.
#[test]
fn clients_that_misbehave() {
    let directory = tempfile::tempdir().unwrap();
    let (collector, _) = start(directory.path(), options());
    let address = collector.tcp()[0];
    let mut good = connect(address);
    let bad: [&[u8]; 5] = [
        b"GET /latestTask HTTP/1.1\r\nHost: x\r\n\r\n",
        &[0, 0, 0, 0, 1],
        &[0, 0, 0x10, 1],
        &[0x7F, 0xFF, 0xFF, 0xFF],
        &[0xFF, 0xFF, 0xFF, 0xFE],
    ];
    for (number, bytes) in bad.iter().enumerate() {
        let mut stream = connect(address);
        stream.write_all(&frame(&report(4, 1, number as u64))).unwrap();
        stream.write_all(bytes).unwrap();
        // The connection is closed, with or without reading the rest.
        assert!(matches!(stream.read(&mut [0]), Ok(0) | Err(_)), "{bytes:?}");
        good.write_all(&frame(&report(4, 0, number as u64))).unwrap();
    }
    let mut cut_off = connect(address);
    cut_off.write_all(&frame(&report(4, 2, 0))[..20]).unwrap();
    drop(cut_off);
    let mut half = connect(address);
    half.write_all(&[0, 0]).unwrap();
    wait_until("the end of a connection", || collector.statistics().cut_off == 1);
    assert_eq!(sync(&mut good).unwrap(), (5, 0));
    let statistics = collector.stop().unwrap();
    assert_eq!((statistics.reports, statistics.bad_lengths, statistics.refused), (10, 5, 0));
    drop(half);
}

/// Bytes may arrive one by one. A client that closes after its question gets an answer.
#[test]
fn slow_senders() {
    let directory = tempfile::tempdir().unwrap();
    let (collector, _) = start(directory.path(), options());
    let mut stream = connect(collector.tcp()[0]);
    let bytes = [frame(&report(5, 0, 1)), SYNC.to_be_bytes().to_vec(), frame(&report(5, 0, 2))].concat();
    for byte in bytes {
        stream.write_all(&[byte]).unwrap();
    }
    stream.write_all(&SYNC.to_be_bytes()).unwrap();
    stream.shutdown(Shutdown::Write).unwrap();
    assert_eq!(answer(&mut stream).unwrap(), (1, 0));
    assert_eq!(answer(&mut stream).unwrap(), (2, 0));
    assert_eq!(stream.read(&mut [0]).unwrap(), 0);
    collector.stop().unwrap();
}

/// A client that does not read its answers is no longer read from. Other clients are not affected.
#[test]
fn slow_readers() {
    let directory = tempfile::tempdir().unwrap();
    let (collector, _) = start(directory.path(), options());
    let mut slow = connect(collector.tcp()[0]);
    slow.set_write_timeout(Some(Duration::from_millis(500))).unwrap();
    let questions = [frame(&report(6, 0, 0)), SYNC.to_be_bytes().repeat(1_000)].concat();
    let mut asked = 0;
    while slow.write_all(&questions).is_ok() {
        asked += 1;
        assert!(asked < 100_000, "nothing stops it");
    }
    let mut good = connect(collector.tcp()[0]);
    for number in 0..100 {
        good.write_all(&frame(&report(6, 1, number))).unwrap();
        assert_eq!(sync(&mut good).unwrap(), (number + 1, 0));
    }
    // Now it reads.
    let first = answer(&mut slow).unwrap();
    assert_eq!(first, (1, 0));
    for _ in 1..1_000 {
        assert_eq!(answer(&mut slow).unwrap(), first);
    }
    assert_eq!(answer(&mut slow).unwrap(), (2, 0));
    collector.stop().unwrap();
}

#[test]
fn connections_are_limited() {
    let directory = tempfile::tempdir().unwrap();
    let mut few = options();
    few.connections = 2;
    few.idle = Duration::from_millis(300);
    let (collector, _) = start(directory.path(), few);
    let mut streams: Vec<TcpStream> = (0..2).map(|_| connect(collector.tcp()[0])).collect();
    wait_until("connections", || collector.statistics().open_connections == 2);
    let mut third = connect(collector.tcp()[0]);
    assert!(matches!(third.read(&mut [0]), Ok(0) | Err(_)));
    // Idle connections are closed, and then there is space.
    for stream in &mut streams {
        assert_eq!(stream.read(&mut [0]).unwrap(), 0);
    }
    let mut fourth = connect(collector.tcp()[0]);
    fourth.write_all(&frame(&report(7, 0, 0))).unwrap();
    assert_eq!(sync(&mut fourth).unwrap(), (1, 0));
    let statistics = collector.stop().unwrap();
    assert_eq!((statistics.refused_connections, statistics.idle_connections), (1, 2));
}

#[cfg(unix)]
#[test]
fn a_thousand_connections() {
    const CONNECTIONS: u64 = 1_000;
    // Both ends of each connection are in this process.
    #[cfg(target_os = "linux")]
    {
        use nix::sys::resource::{Resource, getrlimit, setrlimit};
        let (soft, hard) = getrlimit(Resource::RLIMIT_NOFILE).unwrap();
        if hard < 2 * CONNECTIONS + 200 {
            eprintln!("skipped: a process may have {hard} open files only");
            return;
        }
        setrlimit(Resource::RLIMIT_NOFILE, soft.max(2 * CONNECTIONS + 200), hard).unwrap();
    }
    let directory = tempfile::tempdir().unwrap();
    let (collector, _) = start(directory.path(), options());
    let mut streams: Vec<TcpStream> = (0..CONNECTIONS).map(|_| connect(collector.tcp()[0])).collect();
    for number in 0..20 {
        for (client, stream) in streams.iter_mut().enumerate() {
            stream.write_all(&frame(&report(client as u64, client as u64, number))).unwrap();
        }
    }
    assert_eq!(collector.statistics().connections, CONNECTIONS);
    for stream in &mut streams {
        stream.write_all(&SYNC.to_be_bytes()).unwrap();
    }
    for stream in &mut streams {
        assert_eq!(answer(stream).unwrap(), (20, 0));
    }
    let statistics = collector.stop().unwrap();
    assert_eq!((statistics.reports, statistics.tasks), (20 * CONNECTIONS, CONNECTIONS));
    assert_eq!(counted(directory.path()).len() as u64, 20 * CONNECTIONS);
}

/// Datagrams that arrive too fast are dropped by the system, and counted.
#[cfg(target_os = "linux")]
#[test]
fn drops_are_counted() {
    let directory = tempfile::tempdir().unwrap();
    let mut small = options();
    small.receive_buffer = 4_096;
    let (collector, _) = start(directory.path(), small);
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.connect(collector.udp()[0]).unwrap();
    const SENT: u64 = 30_000;
    for number in 0..SENT {
        socket.send(&report(8, 0, number)).unwrap();
    }
    // All datagrams are either received or dropped.
    let is_all = || {
        let statistics = collector.statistics();
        statistics.datagrams + statistics.kernel_drops == SENT
    };
    wait_until("datagrams", is_all);
    let statistics = collector.stop().unwrap();
    assert_eq!(statistics.reports + statistics.kernel_drops, SENT);
    eprintln!("{} of {SENT} datagrams were dropped", statistics.kernel_drops);
}
