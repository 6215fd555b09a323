//! Files, arguments and connections of `ichnos view` are unreadable for other users.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Output;
use std::time::Duration;

use crate::support::{Directory, command};
use crate::threads::other_user;
use crate::view::{Viewing, example, wait_until_read, with_opener};

/// Creates a directory that all users can read.
fn public(directory: &Path, name: &str) -> PathBuf {
    let path = directory.join(name);
    fs::create_dir(&path).unwrap();
    fs::set_permissions(&path, Permissions::from_mode(0o755)).unwrap();
    path
}

/// Returns all files and directories below a directory.
fn all_below(directory: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(all_below(&path));
        }
        found.push(path);
    }
    found.sort();
    found
}

/// Waits until a path exists.
fn wait_for(mut exists: impl FnMut() -> bool) {
    for _ in 0..1_200 {
        if exists() {
            return;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    panic!("it does not appear");
}

/// The next start removes files that killed processes left, in any form.
#[test]
fn the_next_view_removes_files_of_a_killed_one() {
    let directory = Directory::new("view-killed");
    let temporary = directory.to_str().unwrap();
    let example = example();
    let in_viewer = ["--viewer", "firefox", "--temp-dir", temporary, example.as_str()];
    let mut running = Viewing::start(&in_viewer);
    running.link();
    let kept = all_below(&directory);
    assert!(!kept.is_empty());
    let page = ["view", "--export", "-", "--temp-dir", temporary, example.as_str()];
    let starts: [&dyn Fn(); 3] = [
        &|| {
            let mut next = Viewing::start(&["--temp-dir", temporary, &example]);
            next.link();
            assert_eq!(next.interrupt().0, Some(0));
        },
        &|| {
            let mut next = Viewing::start(&in_viewer);
            next.link();
            assert_eq!(next.interrupt().0, Some(0));
        },
        &|| assert!(command().args(page).output().unwrap().status.success()),
    ];
    for start in starts {
        let mut killed = Viewing::start(&in_viewer);
        killed.link();
        killed.child.kill().unwrap();
        killed.child.wait().unwrap();
        assert!(all_below(&directory).len() > kept.len());
        start();
        assert_eq!(all_below(&directory), kept);
    }
    assert_eq!(running.interrupt().0, Some(0));
    assert!(all_below(&directory).is_empty());
}

/// Runs a command as another user.
fn as_other_user(arguments: &[&str]) -> std::io::Result<Output> {
    other_user().args(arguments).current_dir("/").output()
}

/// Returns the output of a command run by another user.
fn read_as_other_user(arguments: &[&str]) -> String {
    let output = as_other_user(arguments).unwrap();
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Returns the port and the secret in a link.
fn address_of(link: &str) -> (&str, String) {
    let (_, port) = link.rsplit_once("127.0.0.1").unwrap();
    let port = port.trim_start_matches("%3A").trim_start_matches(':');
    let end = port.find(|c: char| !c.is_ascii_digit()).unwrap();
    let (port, rest) = port.split_at(end);
    let secret = rest.trim_start_matches("%2F").trim_start_matches('/').get(..32).unwrap();
    assert!(secret.chars().all(|c| c.is_ascii_hexdigit()), "{link}");
    (port, secret.to_owned())
}

/// Event name in the example.
const CONTENT: &str = "RenderFrame";

/// Checks that another user can read neither these paths nor the link in process arguments, and gets no answer from the
/// server.
fn check_nothing_is_read(private: &[PathBuf], link: &str) {
    let (port, secret) = address_of(link);
    for path in private {
        let path = path.to_str().unwrap();
        for program in ["cat", "ls"] {
            // File names in a public directory are not secret.
            let is_listed = program == "ls" && !path.contains("ichnos-view-");
            let read = read_as_other_user(&[program, path]);
            assert!(is_listed || read.is_empty(), "{program} {path}: {read}");
        }
    }
    let processes =
        "cat /proc/[0-9]*/cmdline /proc/[0-9]*/environ 2>/dev/null | tr '\\0' ' '; ps -ef 2>/dev/null";
    let processes = read_as_other_user(&["sh", "-c", processes]);
    assert!(!processes.contains(&secret), "{processes}");
    let wrong = "0".repeat(32);
    for path in ["", "api/trace", "profile.json", &format!("{wrong}/"), &format!("{wrong}/profile.json")] {
        let ask = format!(
            "exec 3<>/dev/tcp/127.0.0.1/{port}; \
            printf 'GET /{path} HTTP/1.1\\r\\nHost: 127.0.0.1:{port}\\r\\n\\r\\n' >&3; cat <&3"
        );
        let answer = read_as_other_user(&["bash", "-c", &ask]);
        assert!(answer.starts_with("HTTP/1.1 403 "), "{path}: {answer}");
        assert!(!answer.contains(CONTENT) && !answer.contains(&secret), "{path}: {answer}");
    }
}

#[test]
fn another_user_reads_nothing() {
    let directory = Directory::new("view-private");
    fs::set_permissions(&*directory, Permissions::from_mode(0o755)).unwrap();
    let [temporary, cache] = ["tmp", "cache"].map(|name| public(&directory, name));
    let control = directory.join("control");
    fs::write(&control, "public").unwrap();
    fs::set_permissions(&control, Permissions::from_mode(0o644)).unwrap();
    // Only root can become another user.
    match as_other_user(&["bash", "-c", &format!("cat '{}'", control.display())]) {
        Ok(read) if read.stdout == b"public" => {}
        Ok(read) => {
            let err = String::from_utf8_lossy(&read.stderr);
            println!("skipped: another_user_reads_nothing: {}", err.trim());
            return;
        }
        Err(error) => {
            println!("skipped: another_user_reads_nothing: setpriv: {error}");
            return;
        }
    }
    let arguments = directory.join("arguments");
    let path = with_opener(&directory, &arguments);
    let with_cache = ["--keep-running", "--cache", cache.to_str().unwrap()];
    // The first file stays there.
    for (options, opens) in [
        (&with_cache[..], true),
        (&["--viewer", "firefox"], true),
        (&["--viewer", "firefox", "--no-open"], false),
        (&["--no-open"], false),
    ] {
        let mut child = command();
        child.arg("view").args(options).arg(example()).env("PATH", &path).env("TMPDIR", &temporary);
        let mut viewing = Viewing::spawn(child);
        let link = viewing.link();
        if opens {
            wait_for(|| arguments.exists());
            fs::remove_file(&arguments).unwrap();
        }
        if options == with_cache.as_slice() {
            wait_until_read(&link);
            let is_kept = |path: &PathBuf| path.extension().is_some_and(|end| end == "ichnos-timeline");
            wait_for(|| all_below(&cache).iter().any(is_kept));
        }
        let private = [all_below(&temporary), all_below(&cache)].concat();
        assert!(!private.is_empty());
        check_nothing_is_read(&private, &link);
        assert_eq!(viewing.interrupt().0, Some(0));
    }
}
