//! Cached timelines equal timelines built by reading.

use std::fs;
use std::path::{Path, PathBuf};

use ichnos_view::TimelineCache;
use serde_json::Value;

use crate::client::Server;
use crate::tiles::traces;

/// Returns the files in a directory.
fn files(directory: &Path) -> Vec<PathBuf> {
    fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()).collect()
}

/// Returns a server's answers about its timeline, without the number of changes.
fn answers(path: &str, directory: &Path) -> Vec<Value> {
    let server = Server::with(path, |options| options.cache = Some(TimelineCache::new(directory, 7)));
    let trace = server.json("api/trace");
    let (begin, end) = (trace["begin"].as_str().unwrap(), trace["end"].as_str().unwrap());
    let tracks = server.json("api/tracks");
    let count = tracks["tracks"].as_array().unwrap().len().min(256);
    let ids: Vec<String> = (0..count).map(|id| id.to_string()).collect();
    let mut answers = vec![trace.clone(), tracks, server.json("api/names?from=0")];
    let (first, last): (u64, u64) = (begin.parse().unwrap(), end.parse().unwrap());
    // The whole timeline, and a range that is read again.
    for (begin, end) in [(first, last), (first + (last - first) / 3, first + (last - first) / 2)] {
        let range = format!("begin={begin}&end={end}");
        answers.push(server.json(&format!("api/tiles?{range}&pixels=700&tracks={}", ids.join(","))));
        answers.push(server.json(&format!("api/events?{range}&limit=50")));
    }
    for answer in &mut answers {
        answer.as_object_mut().unwrap().remove("generation");
    }
    assert_eq!(trace["warnings"], Value::Array(Vec::new()));
    answers
}

#[test]
fn cached_timelines_are_shown_again() {
    for path in traces() {
        let directory = tempfile::tempdir().unwrap();
        let read = answers(&path, directory.path());
        // The file is written after the state is `done`.
        while files(directory.path()).iter().all(|path| path.extension().is_none_or(|ending| ending == "tmp"))
        {
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        let [file] = &files(directory.path())[..] else { panic!("{:?}", files(directory.path())) };
        let written = fs::metadata(file).unwrap().modified().unwrap();
        let kept = answers(&path, directory.path());
        for (kept, read) in kept.iter().zip(&read) {
            let (kept, read) = (kept.to_string(), read.to_string());
            let at = kept
                .bytes()
                .zip(read.bytes())
                .position(|(a, b)| a != b)
                .unwrap_or(kept.len().min(read.len()));
            let around = |text: &str| text.chars().skip(at.saturating_sub(60)).take(120).collect::<String>();
            assert!(kept == read, "{path}: {:?} {:?}", around(&kept), around(&read));
        }
        assert_eq!(fs::metadata(file).unwrap().modified().unwrap(), written, "{path}: it was written again");
    }
}

#[test]
fn damaged_files_count_as_missing() {
    let path = crate::client::example("hello-fxt");
    let directory = tempfile::tempdir().unwrap();
    let read = answers(&path, directory.path());
    while files(directory.path()).iter().all(|path| path.extension().is_none_or(|ending| ending == "tmp")) {
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    let file = files(directory.path()).remove(0);
    let bytes = fs::read(&file).unwrap();
    for at in (0..bytes.len()).step_by(bytes.len() / 20) {
        let mut damaged = bytes.clone();
        damaged[at] ^= 0x41;
        for content in [&damaged[..], &bytes[..at]] {
            fs::write(&file, content).unwrap();
            assert!(answers(&path, directory.path()) == read, "byte {at}");
            // The file is written again.
            while fs::read(&file).unwrap() == content {
                std::thread::sleep(std::time::Duration::from_millis(5));
            }
        }
    }
}

/// Timelines that another user could have written are not used, and links are not followed.
#[cfg(unix)]
#[test]
fn files_from_other_users_count_as_missing() {
    use std::os::unix::fs::PermissionsExt as _;
    let path = crate::client::example("hello-fxt");
    let directory = tempfile::tempdir().unwrap();
    let place = directory.path().join("cache");
    let read = answers(&path, &place);
    let wait = || {
        while files(&place).iter().all(|path| path.extension().is_none_or(|ending| ending == "tmp")) {
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        files(&place).remove(0)
    };
    let file = wait();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&place), mode(&file)), (0o700, 0o600));
    let bytes = fs::read(&file).unwrap();
    let inode = |path: &Path| std::os::unix::fs::MetadataExt::ino(&fs::symlink_metadata(path).unwrap());
    let is_replaced = |before: u64| {
        assert!(answers(&path, &place) == read);
        while inode(&file) == before {
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        assert_eq!(mode(&file), 0o600);
    };
    // The group can write the file.
    fs::set_permissions(&file, fs::Permissions::from_mode(0o660)).unwrap();
    is_replaced(inode(&file));
    // A link to an intact file.
    let elsewhere = directory.path().join("elsewhere");
    fs::write(&elsewhere, &bytes).unwrap();
    fs::remove_file(&file).unwrap();
    std::os::unix::fs::symlink(&elsewhere, &file).unwrap();
    is_replaced(inode(&file));
    assert_eq!(fs::read(&elsewhere).unwrap(), bytes);
}

/// A read-only directory is a warning on the page.
#[test]
fn a_place_that_is_not_a_directory() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let place = file.path().join("below");
    let path = crate::client::example("hello-fxt");
    let server = Server::with(&path, |options| options.cache = Some(TimelineCache::new(place, 7)));
    for _ in 0..200 {
        if server.json("api/trace")["warnings"].to_string().contains("cannot be cached") {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    panic!("{}", server.json("api/trace"));
}
