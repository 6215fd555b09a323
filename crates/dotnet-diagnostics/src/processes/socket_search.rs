//! Search for diagnostics sockets.
//!
//! A socket is named after the process id and the start time, so that the socket of an ended process is never taken for
//! a new process with the same id.

use std::fs;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

use super::proc_files::ProcFiles;

/// Directory for temporary files, unless `TMPDIR` names another.
const DEFAULT_DIRECTORY: &str = "/tmp";

/// Diagnostics socket of a running process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SocketFile {
    pub(crate) pid: u32,
    pub(crate) namespace_pid: u32,
    pub(crate) user: u32,
    pub(crate) path: PathBuf,
}

/// Search for sockets.
#[derive(Debug)]
pub(crate) struct SocketSearch<'a> {
    files: &'a ProcFiles,
    own_directory: PathBuf,
}

impl<'a> SocketSearch<'a> {
    pub(super) fn new(files: &'a ProcFiles) -> Self {
        Self { files, own_directory: std::env::temp_dir() }
    }

    /// Returns the sockets of all processes, sorted by process id.
    pub(crate) fn all(&self) -> Vec<SocketFile> {
        self.files.pids().into_iter().filter_map(|pid| self.find(pid)).collect()
    }

    /// Returns the socket of a process.
    pub(super) fn find(&self, pid: u32) -> Option<SocketFile> {
        let files = self.files;
        let user = files.user(pid)?;
        let namespace_pid = files.namespace_pid(pid);
        let start_time = files.start_time(pid)?;
        let is_elsewhere = files.has_other_namespace(pid, "mnt") || files.has_other_root(pid);
        let has_other_clock = files.has_other_namespace(pid, "time");
        let path = self.directories(pid).into_iter().find_map(|directory| {
            let directory = match is_elsewhere {
                true => files.path(pid, "root").join(directory.strip_prefix("/").unwrap_or(&directory)),
                false => directory,
            };
            let path = directory.join(format!("dotnet-diagnostic-{namespace_pid}-{start_time}-socket"));
            if is_socket(&path) {
                return Some(path);
            }
            // Another time namespace counts from another boot time.
            if has_other_clock { newest(&directory, namespace_pid) } else { None }
        })?;
        Some(SocketFile { pid, namespace_pid, user, path })
    }

    /// Returns the directories where a process may have its socket. The environment of other users is not readable.
    fn directories(&self, pid: u32) -> Vec<PathBuf> {
        let own = self.files.variable(pid, "TMPDIR").filter(|directory| directory.is_absolute());
        let mut directories: Vec<PathBuf> =
            own.into_iter().chain([PathBuf::from(DEFAULT_DIRECTORY), self.own_directory.clone()]).collect();
        directories.dedup();
        directories
    }
}

fn is_socket(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|metadata| metadata.file_type().is_socket())
}

/// Returns the newest socket of a process id in a directory.
fn newest(directory: &Path, pid: u32) -> Option<PathBuf> {
    let is_match = |path: &PathBuf| socket_pid(path) == Some(pid) && is_socket(path);
    let paths = fs::read_dir(directory).ok()?.flatten().map(|entry| entry.path()).filter(is_match);
    paths.max_by_key(|path| fs::symlink_metadata(path).and_then(|metadata| metadata.modified()).ok())
}

/// Returns the process id in a socket name.
fn socket_pid(path: &Path) -> Option<u32> {
    let name = path.file_name()?.to_str()?;
    let (pid, key) = name.strip_prefix("dotnet-diagnostic-")?.strip_suffix("-socket")?.split_once('-')?;
    key.parse::<u64>().ok()?;
    pid.parse().ok()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;
    use std::os::unix::net::UnixListener;

    use super::*;

    fn write(path: &Path, text: &str) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// Process with a start time, an id in its namespace, and `TMPDIR`.
    fn add_process(root: &Path, pid: u32, start_time: u64, namespace_pid: u32, directory: &Path) {
        let files = root.join(pid.to_string());
        let stat = format!("{pid} (app) S 1 1 1 0 -1 0 0 0 0 0 1 2 3 4 20 0 9 0 {start_time} 5 6");
        write(&files.join("stat"), &stat);
        write(&files.join("status"), &format!("Uid:\t5\t6\t5\t5\nNSpid:\t{pid}\t{namespace_pid}\n"));
        write(&files.join("environ"), &format!("TMPDIR={}\0", directory.display()));
    }

    #[test]
    fn sockets_are_found_and_stale_ones_are_not() {
        let directory = tempfile::tempdir().unwrap();
        let (proc, sockets) = (directory.path().join("proc"), directory.path().join("sockets"));
        fs::create_dir(&sockets).unwrap();
        let bind = |path: PathBuf| {
            UnixListener::bind(&path).unwrap();
            path
        };
        add_process(&proc, 10, 100, 10, &sockets);
        let found = bind(sockets.join("dotnet-diagnostic-10-100-socket"));
        bind(sockets.join("dotnet-diagnostic-10-99-socket"));
        // Other start time, no process, and no socket.
        add_process(&proc, 11, 101, 11, &sockets);
        bind(sockets.join("dotnet-diagnostic-11-55-socket"));
        bind(sockets.join("dotnet-diagnostic-12-102-socket"));
        add_process(&proc, 13, 103, 13, &sockets);
        write(&sockets.join("dotnet-diagnostic-13-103-socket"), "");
        // Another root directory and PID namespace.
        let container = directory.path().join("container");
        fs::create_dir_all(container.join("run")).unwrap();
        add_process(&proc, 14, 104, 1, Path::new("/run"));
        symlink(&container, proc.join("14/root")).unwrap();
        bind(container.join("run/dotnet-diagnostic-1-104-socket"));
        // Another clock.
        add_process(&proc, 15, 105, 2, &sockets);
        fs::create_dir_all(proc.join("15/ns")).unwrap();
        fs::create_dir_all(proc.join("self/ns")).unwrap();
        symlink("time:[2]", proc.join("15/ns/time")).unwrap();
        symlink("time:[1]", proc.join("self/ns/time")).unwrap();
        let other_clock = bind(sockets.join("dotnet-diagnostic-2-7-socket"));

        let files = ProcFiles::new(&proc);
        let all = SocketSearch::new(&files).all();
        let file = |pid, namespace_pid, path: PathBuf| SocketFile { pid, namespace_pid, user: 6, path };
        let in_container = proc.join("14/root/run/dotnet-diagnostic-1-104-socket");
        assert_eq!(all, [file(10, 10, found), file(14, 1, in_container), file(15, 2, other_clock)]);
    }

    #[test]
    fn socket_names() {
        for (name, pid) in [
            ("dotnet-diagnostic-10-99-socket", Some(10)),
            ("dotnet-diagnostic-10-socket", None),
            ("dotnet-diagnostic-10-x-socket", None),
            ("dotnet-diagnostic-dsrouter-10-99-socket", None),
            ("dotnet-diagnostic-10-99-sockets", None),
        ] {
            assert_eq!(socket_pid(&Path::new("/tmp").join(name)), pid, "{name}");
        }
    }
}
