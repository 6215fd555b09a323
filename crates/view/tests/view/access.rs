//! Permitted and rejected requests.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use ichnos_testing::join_chunks;

use crate::client::{Server, example};

#[test]
fn requests_without_the_token_or_from_elsewhere_are_refused() {
    let server = Server::of(&example("hello-lttng"));
    let Server { port, token, .. } = &server;
    let wrong = "0".repeat(32);
    let status = |path: &str, headers: &str| server.send(&format!("GET {path} HTTP/1.1\r\n{headers}\r\n")).0;
    let host = format!("Host: 127.0.0.1:{port}\r\n");
    let page = format!("/{token}/api/trace");
    assert_eq!(status(&page, &host), 200);
    assert_eq!(status(&page, &format!("Host: localhost:{port}\r\n")), 200);
    assert_eq!(status(&page, &format!("{host}Origin: http://localhost:{port}\r\n")), 200);
    for path in ["/", "/api/trace", &format!("/{wrong}/api/trace"), &format!("/{}/api/trace", &token[1..])] {
        assert_eq!(status(path, &host), 403, "{path}");
    }
    for headers in [
        String::new(),
        "Host: example.com\r\n".to_owned(),
        format!("Host: example.com:{port}\r\n"),
        "Host: 127.0.0.1\r\n".to_owned(),
        format!("{host}Origin: http://example.com\r\n"),
        format!("{host}Origin: https://127.0.0.1:{port}\r\n"),
        format!("{host}Origin: null\r\n"),
    ] {
        assert_eq!(status(&page, &headers), 403, "{headers}");
    }
    assert_eq!(status(&page, &format!("{host}{host}")), 400);
    assert_eq!(server.send("nonsense\r\n\r\n").0, 400);
    assert_eq!(server.send(&format!("DELETE {page} HTTP/1.1\r\n{host}\r\n")).0, 405);
    assert_eq!(server.send(&format!("POST {page} HTTP/1.1\r\n{host}\r\n")).0, 405);
    assert_eq!(status(&format!("/{token}/api/{}", "x".repeat(9_000)), &host), 431);
}

#[test]
fn the_page_loads_only_its_own_files() {
    let server = Server::of(&example("hello-lttng"));
    for (path, kind) in [("", "text/html"), ("app.js", "text/javascript"), ("app.css", "text/css")] {
        let (status, head, body) = server.get(path);
        assert_eq!(status, 200);
        assert!(head.contains(&format!("Content-Type: {kind}")) && !body.is_empty(), "{head}");
        assert!(head.contains("default-src 'none'; script-src 'self'; style-src 'self'"), "{head}");
        assert!(
            head.contains("nosniff") && head.contains("no-store") && head.contains("frame-ancestors 'none'")
        );
    }
    assert_eq!(server.ask("no").0, 404);
    assert_eq!(server.ask("api/no").0, 404);
    assert_eq!(server.ask("../../etc/passwd").0, 404);
}

#[test]
fn requests_for_too_much_are_refused() {
    let server = Server::of(&example("hello-lttng"));
    let many = vec!["0"; 257].join(",");
    for query in [
        "tracks=0&begin=0&end=1&pixels=8193".to_owned(),
        format!("tracks={many}&begin=0&end=1"),
        "tracks=0&begin=1&end=0".to_owned(),
        "tracks=0&begin=-1&end=-2".to_owned(),
        "tracks=x&begin=0&end=1".to_owned(),
        "tracks=0&begin=0".to_owned(),
        "tracks=0&begin=0&end=1&filter=a%20%3D".to_owned(),
        "tracks=0&begin=%zz&end=1".to_owned(),
    ] {
        let (status, answer) = server.ask(&format!("api/tiles?{query}"));
        assert_eq!(status, 400, "{query}: {answer}");
        assert!(!answer["error"].as_str().unwrap().is_empty());
    }
    let (status, answer) = server.ask("api/check?filter=next_tid%20%3D%3D");
    assert_eq!((status, answer["at"].is_u64(), answer["length"].is_u64()), (400, true, true), "{answer}");
    assert_eq!(server.json("api/check?filter=event%20%3D%3D%20%22a%22")["ok"], true);
    server.json("api/tiles?tracks=4000000000&begin=0&end=18446744073709551615");
}

#[test]
fn many_clients_and_slow_clients_are_served() {
    let server = Server::of(&example("hello-lttng"));
    let slow: Vec<_> = (0..50)
        .map(|_| {
            let mut stream = TcpStream::connect(("127.0.0.1", server.port)).unwrap();
            stream.write_all(b"GET / HT").unwrap();
            stream
        })
        .collect();
    let begun = Instant::now();
    let barrier = Barrier::new(100);
    std::thread::scope(|scope| {
        for _ in 0..100 {
            scope.spawn(|| {
                barrier.wait();
                (0..3).for_each(|_| assert_eq!(server.get("api/tracks").0, 200));
            });
        }
    });
    assert!(begun.elapsed() < Duration::from_secs(60));
    drop(slow);
}

#[test]
fn names_that_are_scripts_stay_text() {
    let path = std::env::temp_dir().join(format!("ichnos-view-{}.jsonl", std::process::id()));
    // A name after a slash would have a category.
    let name = "<script>alert(1)<script>";
    let line = |time: u64| {
        format!(r#"{{"type":"event","stream":0,"ts":{time},"name":"{name}","payload":{{"a":"</script>"}}}}"#)
            + "\n"
    };
    std::fs::write(&path, (1..5).map(line).collect::<String>()).unwrap();
    let server = Server::of(path.to_str().unwrap());
    std::fs::remove_file(&path).unwrap();
    let names = server.json("api/names");
    assert!(names["names"].as_array().unwrap().iter().any(|known| known == name), "{names}");
    for path in ["api/names", "api/events?begin=0&end=9", "api/search?q=alert", "api/stats?begin=0&end=9"] {
        let (status, head, body) = server.get(path);
        assert_eq!(status, 200);
        assert!(head.contains("Content-Type: application/json") && head.contains("nosniff"), "{head}");
        assert!(String::from_utf8(body).unwrap().contains(name), "{path}");
    }
    let (_, head, body) = server.get("api/export?kind=csv&begin=0&end=9");
    assert!(head.contains("Content-Disposition: attachment"), "{head}");
    assert_eq!(String::from_utf8(body).unwrap().lines().count(), 5);
}

/// Connections without the token do not lock out the owner.
#[test]
fn unauthorized_clients_give_way() {
    let server = Server::of(&example("hello-lttng"));
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for _ in 0..200 {
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    let Ok(mut stream) = TcpStream::connect(("127.0.0.1", server.port)) else { continue };
                    let _ = stream.write_all(b"G");
                    let _ = stream.set_read_timeout(Some(Duration::from_secs(11)));
                    let _ = stream.read(&mut [0]);
                    std::thread::sleep(Duration::from_millis(5));
                }
            });
        }
        std::thread::sleep(Duration::from_secs(1));
        let begun = Instant::now();
        let answers: Vec<u16> = (0..3).map(|_| server.get("api/trace").0).collect();
        is_over.store(true, Ordering::Relaxed);
        assert_eq!(answers, [200, 200, 200]);
        // Each would take more than ten seconds if unauthorized clients could wait that long.
        assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", begun.elapsed());
    });
}

/// An HTTP/1.0 client cannot know if a download is complete.
#[test]
fn old_clients_are_refused() {
    let server = Server::of(&example("hello-lttng"));
    let Server { port, token, .. } = &server;
    let (status, ..) = server.send(&format!("GET /{token}/ HTTP/1.0\r\nHost: 127.0.0.1:{port}\r\n\r\n"));
    assert_eq!(status, 505);
}

/// Stopped downloads lack the last chunk.
#[test]
fn stopped_downloads_are_incomplete() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("large.jsonl");
    let line = |time: u64| format!("{{\"ts\":{time},\"name\":\"a\",\"payload\":{{\"x\":{time}}}}}\n");
    std::fs::write(&path, (1..400_000).map(line).collect::<String>()).unwrap();
    let server = Server::of(path.to_str().unwrap());
    let (_, _, body) = server.get("api/export?kind=jsonl&begin=0&end=1000");
    assert!(body.ends_with(b"}\n"));
    let Server { port, token, .. } = &server;
    let mut stream = TcpStream::connect(("127.0.0.1", *port)).unwrap();
    let path = format!("/{token}/api/export?kind=jsonl&begin=0&end=400000");
    stream.write_all(format!("GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n").as_bytes()).unwrap();
    let mut answer = vec![0; 1 << 20];
    stream.read_exact(&mut answer).unwrap();
    drop(server);
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    // The connection may be reset.
    let _ = stream.read_to_end(&mut answer);
    let at = answer.windows(4).position(|bytes| bytes == b"\r\n\r\n").unwrap();
    assert!(String::from_utf8_lossy(&answer[..at]).contains("Transfer-Encoding: chunked"));
    assert_eq!(join_chunks(&answer[at + 4..]), None);
}
