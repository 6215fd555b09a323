//! Files in `/proc`.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Maximum length that is read from a file, in bytes.
const LIMIT: u64 = 8 << 20;

/// The directory `/proc`.
#[derive(Debug)]
pub(super) struct ProcFiles {
    root: PathBuf,
}

impl ProcFiles {
    pub(super) fn new(root: &Path) -> Self {
        Self { root: root.to_owned() }
    }

    pub(super) fn path(&self, pid: u32, name: &str) -> PathBuf {
        self.root.join(pid.to_string()).join(name)
    }

    fn read(&self, pid: u32, name: &str) -> Option<Vec<u8>> {
        let mut bytes = Vec::new();
        File::open(self.path(pid, name)).ok()?.take(LIMIT).read_to_end(&mut bytes).ok()?;
        Some(bytes)
    }

    /// Returns all process ids, sorted.
    pub(super) fn pids(&self) -> Vec<u32> {
        let entries = fs::read_dir(&self.root).into_iter().flatten().flatten();
        let mut pids: Vec<u32> =
            entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect();
        pids.sort_unstable();
        pids
    }

    pub(super) fn exists(&self, pid: u32) -> bool {
        self.path(pid, "").exists()
    }

    /// Returns a field of `stat` after the program name, which can contain spaces and parentheses. Fields are counted
    /// from 1, as in proc(5).
    fn stat(&self, pid: u32, field: usize) -> Option<u64> {
        let bytes = self.read(pid, "stat")?;
        let text = String::from_utf8_lossy(&bytes);
        let (_, fields) = text.rsplit_once(')')?;
        fields.split_whitespace().nth(field.checked_sub(3)?)?.parse().ok()
    }

    /// Returns the start time of a process, in clock ticks since boot.
    pub(super) fn start_time(&self, pid: u32) -> Option<u64> {
        self.stat(pid, 22)
    }

    /// Returns a process and its descendants.
    pub(super) fn tree(&self, root: u32) -> BTreeSet<u32> {
        let parent = |pid| Some((pid, u32::try_from(self.stat(pid, 4)?).ok()?));
        let parents: Vec<(u32, u32)> = self.pids().into_iter().filter_map(parent).collect();
        let mut tree = BTreeSet::from([root]);
        let mut length = 0;
        // Each iteration adds a generation.
        while length < tree.len() {
            length = tree.len();
            let children = parents.iter().filter(|(_, parent)| tree.contains(parent)).map(|(pid, _)| *pid);
            tree = children.chain(tree.iter().copied()).collect();
        }
        tree
    }

    /// Returns the values of a line of `status`.
    fn status(&self, pid: u32, name: &str) -> Vec<u32> {
        let bytes = self.read(pid, "status").unwrap_or_default();
        let text = String::from_utf8_lossy(&bytes);
        let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
        line.unwrap_or_default().split_whitespace().map_while(|value| value.parse().ok()).collect()
    }

    /// Returns the process id in the process's own PID namespace.
    pub(super) fn namespace_pid(&self, pid: u32) -> u32 {
        self.status(pid, "NSpid").last().copied().unwrap_or(pid)
    }

    /// Returns the effective user id.
    pub(super) fn user(&self, pid: u32) -> Option<u32> {
        self.status(pid, "Uid").get(1).copied()
    }

    /// Returns an environment variable from the start of the process.
    pub(super) fn variable(&self, pid: u32, name: &str) -> Option<PathBuf> {
        let bytes = self.read(pid, "environ")?;
        let mut variables = bytes.split(|byte| *byte == 0);
        let value =
            variables.find_map(|variable| variable.strip_prefix(name.as_bytes())?.strip_prefix(b"="))?;
        Some(PathBuf::from(OsStr::from_bytes(value)))
    }

    /// Returns `true` if a process has another namespace of a kind than we have.
    pub(super) fn has_other_namespace(&self, pid: u32, kind: &str) -> bool {
        let own = fs::read_link(self.root.join("self/ns").join(kind));
        let other = fs::read_link(self.path(pid, "ns").join(kind));
        own.ok().zip(other.ok()).is_some_and(|(own, other)| own != other)
    }

    /// Returns `true` if the root directory of a process is not `/`.
    pub(super) fn has_other_root(&self, pid: u32) -> bool {
        fs::read_link(self.path(pid, "root")).is_ok_and(|root| root != Path::new("/"))
    }

    pub(super) fn arguments(&self, pid: u32) -> Vec<String> {
        let bytes = self.read(pid, "cmdline").unwrap_or_default();
        let arguments = bytes.strip_suffix(b"\0").unwrap_or(&bytes);
        if arguments.is_empty() {
            return Vec::new();
        }
        arguments.split(|byte| *byte == 0).map(|text| String::from_utf8_lossy(text).into_owned()).collect()
    }

    /// Returns the file name of the executable.
    pub(super) fn executable(&self, pid: u32) -> String {
        let path = fs::read_link(self.path(pid, "exe")).ok();
        let path = path.or_else(|| self.arguments(pid).first().map(PathBuf::from));
        let name = path.as_deref().and_then(Path::file_name).unwrap_or_default();
        name.to_string_lossy().into_owned()
    }

    /// Returns the name of the first library in the arguments. A host like `dotnet` runs it.
    pub(super) fn assembly(&self, pid: u32) -> String {
        let arguments = self.arguments(pid);
        let library = arguments.iter().skip(1).find_map(|argument| argument.strip_suffix(".dll"));
        library.and_then(|path| path.rsplit('/').next()).unwrap_or_default().to_owned()
    }

    /// Returns the runtime version in the path of the loaded runtime: `.../3.1.23/libcoreclr.so`.
    pub(super) fn runtime_version(&self, pid: u32) -> String {
        let maps = self.read(pid, "maps").unwrap_or_default();
        let maps = String::from_utf8_lossy(&maps);
        let directory = maps.lines().find_map(|line| line.strip_suffix("/libcoreclr.so"));
        let name = directory.and_then(|path| path.rsplit('/').next()).unwrap_or_default();
        let is_version = name.starts_with(|first: char| first.is_ascii_digit());
        if is_version { name.to_owned() } else { String::new() }
    }

    /// Returns the architecture in the ELF header of the executable, as .NET names it.
    pub(super) fn architecture(&self, pid: u32) -> &'static str {
        let mut header = [0; 20];
        let read = File::open(self.path(pid, "exe")).and_then(|mut file| file.read_exact(&mut header));
        if read.is_err() || !header.starts_with(b"\x7fELF") {
            return "";
        }
        // Member `e_machine`, in the byte order of the machine.
        match u16::from_ne_bytes([header[18], header[19]]) {
            3 => "x86",
            40 => "arm32",
            62 => "x64",
            183 => "arm64",
            _ => "",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Creates process files in a directory that replaces `/proc`.
    fn fake(files: &[(&str, &str)]) -> (tempfile::TempDir, ProcFiles) {
        let root = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let files = ProcFiles::new(root.path());
        (root, files)
    }

    #[test]
    fn files_are_read() {
        let stat = |parent| format!("7 (a) b (c) S {parent} 7 7 0 -1 0 0 0 0 0 1 2 3 4 20 0 9 0 4711 5 6");
        let (_root, files) = fake(&[
            ("7/stat", &stat(6)),
            ("6/stat", &stat(1)),
            ("5/stat", &stat(5)),
            ("7/status", "Name:\ta\nUid:\t1\t1000\t1\t1\nNSpid:\t7\t20\t3\n"),
            ("7/environ", "A=b\0TMPDIR=/var/x\0"),
            ("7/cmdline", "/usr/bin/dotnet\0exec\0/srv/shop.dll\0--x\0"),
            ("7/maps", "7f00-7f01 r-xp 0 08:01 1   /opt/shared/Microsoft.NETCore.App/3.1.23/libcoreclr.so\n"),
            ("self/stat", ""),
        ]);
        assert_eq!(files.pids(), [5, 6, 7]);
        assert_eq!(files.start_time(7), Some(4_711));
        assert_eq!((files.user(7), files.namespace_pid(7)), (Some(1000), 3));
        assert_eq!((files.user(6), files.namespace_pid(6)), (None, 6));
        assert_eq!(files.variable(7, "TMPDIR"), Some(PathBuf::from("/var/x")));
        assert_eq!(files.variable(7, "TMP"), None);
        assert_eq!(files.arguments(7), ["/usr/bin/dotnet", "exec", "/srv/shop.dll", "--x"]);
        assert_eq!((files.executable(7).as_str(), files.assembly(7).as_str()), ("dotnet", "shop"));
        assert_eq!((files.runtime_version(7).as_str(), files.runtime_version(6).as_str()), ("3.1.23", ""));
        for (root, tree) in [(1, &[1, 6, 7][..]), (6, &[6, 7]), (7, &[7]), (5, &[5])] {
            assert_eq!(files.tree(root), tree.iter().copied().collect());
        }
    }

    #[test]
    fn damaged_files_are_empty() {
        let (_root, files) = fake(&[("7/stat", "7 (a"), ("7/status", "Uid: x"), ("7/cmdline", "")]);
        assert_eq!((files.start_time(7), files.user(7)), (None, None));
        assert!(files.arguments(7).is_empty() && files.executable(7).is_empty());
        assert!(!files.has_other_root(7) && !files.has_other_namespace(7, "mnt"));
        assert_eq!(files.architecture(7), "");
    }

    #[test]
    fn our_own_files() {
        let files = ProcFiles::new(Path::new("/proc"));
        let pid = std::process::id();
        assert!(files.exists(pid) && files.start_time(pid).is_some());
        assert_eq!(files.user(pid), Some(rustix::process::geteuid().as_raw()));
        assert!(!files.has_other_namespace(pid, "mnt") && !files.architecture(pid).is_empty());
    }
}
