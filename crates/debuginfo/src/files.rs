//! Access to files that a trace names. Such paths cannot be trusted.

use std::fs::{File, Metadata};
use std::io::{self, Read as _};
use std::path::{Component, Path, PathBuf};

use crate::error::{DebugInfoError, hexadecimal};

/// Default directory for separate debug files.
const DEBUG_DIRECTORY: &str = "/usr/lib/debug";

/// Directories with binaries and separate debug files.
#[derive(Clone, Debug, Default)]
pub(crate) struct Directories {
    /// Root directory of the traced system. Binaries outside it are not read, and without it no binaries.
    pub(crate) target_prefix: Option<PathBuf>,
    /// Directory for separate debug files.
    pub(crate) debug_info: Option<PathBuf>,
}

/// A path, and the directory that must contain it even if the path has links.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FilePath<'d> {
    pub(crate) path: PathBuf,
    root: &'d Path,
}

impl Directories {
    fn debug_info(&self) -> &Path {
        self.debug_info.as_deref().unwrap_or(Path::new(DEBUG_DIRECTORY))
    }

    /// Returns a binary's place, from its path in the traced system.
    pub(crate) fn binary(&self, path: &str) -> Result<FilePath<'_>, DebugInfoError> {
        let refuse = |reason| DebugInfoError::Path { path: path.to_owned(), reason };
        let inner = Path::new(path);
        let mut components = inner.components();
        if components.next() != Some(Component::RootDir) {
            return Err(refuse("not an absolute path"));
        }
        if !components.all(|part| matches!(part, Component::Normal(_))) {
            return Err(refuse("the path has `..`"));
        }
        let Some(root) = self.target_prefix.as_deref() else { return Err(DebugInfoError::NoPrefix) };
        let path = root.join(inner.strip_prefix("/").unwrap_or(inner));
        Ok(FilePath { path, root })
    }

    /// Returns the place for the separate debug file with a build id.
    pub(crate) fn build_id(&self, id: &[u8]) -> Option<FilePath<'_>> {
        let (first, rest) = id.split_at_checked(1).filter(|(_, rest)| !rest.is_empty())?;
        let directory = self.debug_info();
        let name = format!("{}.debug", hexadecimal(rest));
        let path = directory.join(".build-id").join(hexadecimal(first)).join(name);
        Some(FilePath { path, root: directory })
    }

    /// Returns the places where a binary's separate debug file can be, from the name in its debug link.
    pub(crate) fn debug_link<'d>(&'d self, binary: &FilePath<'d>, name: &str) -> Vec<FilePath<'d>> {
        let mut components = Path::new(name).components();
        let is_name = matches!((components.next(), components.next()), (Some(Component::Normal(_)), None));
        let Some(directory) = binary.path.parent().filter(|_| is_name && !name.contains('/')) else {
            return Vec::new();
        };
        let debug = self.debug_info();
        let in_debug = |inner: &Path| {
            let path = debug.join(inner.strip_prefix("/").unwrap_or(inner)).join(name);
            FilePath { path, root: debug }
        };
        let mut places = vec![
            FilePath { path: directory.join(name), root: binary.root },
            FilePath { path: directory.join(".debug").join(name), root: binary.root },
        ];
        // Debuggers use the directory in the traced system, Babeltrace the directory with the prefix.
        if let Ok(inner) = directory.strip_prefix(binary.root) {
            places.push(in_debug(inner));
        }
        if directory.is_absolute() {
            places.push(in_debug(directory));
        }
        places
    }
}

impl FilePath<'_> {
    pub(crate) fn shown(&self) -> String {
        self.path.display().to_string()
    }

    /// Reads a regular file of at most `limit` bytes.
    pub(crate) fn read(&self, limit: u64) -> Result<Vec<u8>, DebugInfoError> {
        self.open()?.read(limit)
    }

    /// Opens a regular file in the root directory.
    ///
    /// Links can lead anywhere, and the path can change at any time. So the opened file is checked, not its path.
    fn open(&self) -> Result<OpenedFile, DebugInfoError> {
        let failure =
            |error: io::Error| DebugInfoError::Io { path: self.shown(), message: error.to_string() };
        let refuse = |reason| DebugInfoError::Path { path: self.shown(), reason };
        let place = Place::new(&self.path).map_err(failure)?;
        if !place.path().map_err(failure)?.starts_with(self.root.canonicalize().map_err(failure)?) {
            return Err(refuse("a link leads out of the directory"));
        }
        let metadata = place.metadata().map_err(failure)?;
        // Kernel files lack a size, and reading them can block.
        if !metadata.is_file() || metadata.len() == 0 {
            return Err(refuse("not a regular file, or empty"));
        }
        Ok(OpenedFile { shown: self.shown(), file: place.open().map_err(failure)?, size: metadata.len() })
    }
}

/// A file that may be read.
struct OpenedFile {
    shown: String,
    file: File,
    size: u64,
}

impl OpenedFile {
    /// Reads the file, unless it is larger than `limit`.
    fn read(self, limit: u64) -> Result<Vec<u8>, DebugInfoError> {
        let Self { shown: path, file, size } = self;
        if size > limit {
            return Err(DebugInfoError::TooLarge { path, size, limit });
        }
        let mut data = Vec::with_capacity(usize::try_from(size).unwrap_or_default());
        match file.take(size).read_to_end(&mut data) {
            Ok(_) => Ok(data),
            Err(error) => Err(DebugInfoError::Io { path, message: error.to_string() }),
        }
    }
}

/// A file or a directory that is not opened for reading yet. Opening a device or a pipe for reading can block, or have
/// side effects.
#[cfg(target_os = "linux")]
struct Place {
    place: File,
    /// Link to the file, even if its path changes.
    link: PathBuf,
}

#[cfg(target_os = "linux")]
impl Place {
    fn new(path: &Path) -> io::Result<Self> {
        use std::os::fd::AsRawFd as _;
        use std::os::unix::fs::OpenOptionsExt as _;
        let place = File::options().read(true).custom_flags(libc::O_PATH).open(path)?;
        let link = format!("/proc/self/fd/{}", place.as_raw_fd()).into();
        Ok(Self { place, link })
    }

    /// Returns the path without links.
    fn path(&self) -> io::Result<PathBuf> {
        self.link.read_link()
    }

    fn metadata(&self) -> io::Result<Metadata> {
        self.place.metadata()
    }

    fn open(&self) -> io::Result<File> {
        File::open(&self.link)
    }
}

/// Path of a file or a directory. On this system, another file can get this path before it is opened.
#[cfg(not(target_os = "linux"))]
struct Place(PathBuf);

#[cfg(not(target_os = "linux"))]
impl Place {
    fn new(path: &Path) -> io::Result<Self> {
        path.canonicalize().map(Self)
    }

    /// Returns the path without links.
    fn path(&self) -> io::Result<PathBuf> {
        Ok(self.0.clone())
    }

    fn metadata(&self) -> io::Result<Metadata> {
        self.0.metadata()
    }

    fn open(&self) -> io::Result<File> {
        File::open(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_stay_within_the_prefix() {
        let inside = Directories { target_prefix: Some("/sys-root".into()), debug_info: None };
        let here = Directories { target_prefix: Some("/".into()), debug_info: None };
        let nowhere = Directories::default();
        for (path, expected) in [
            ("/usr/lib/libc.so.6", Some("usr/lib/libc.so.6")),
            ("//bin/./a", Some("bin/a")),
            ("/usr/../../etc/passwd", None),
            ("/..", None),
            ("linux-vdso.so.1", None),
            ("../a", None),
            ("[vdso]", None),
            ("", None),
        ] {
            let place = |directories: &Directories| directories.binary(path).ok().map(|place| place.path);
            let expected = |root: &str| expected.map(|path| Path::new(root).join(path));
            assert_eq!(place(&inside), expected("/sys-root"), "{path}");
            assert_eq!(place(&here), expected("/"), "{path}");
            assert_eq!(place(&nowhere), None, "{path}");
        }
    }

    #[test]
    fn debug_files_are_searched_where_debuggers_do() {
        let directories =
            Directories { target_prefix: Some("/root".into()), debug_info: Some("/debug".into()) };
        let binary = directories.binary("/usr/lib/a.so").unwrap();
        let places = directories.debug_link(&binary, "a.debug");
        let places: Vec<_> = places.iter().map(|place| place.path.to_str().unwrap()).collect();
        let expected = [
            "/root/usr/lib/a.debug",
            "/root/usr/lib/.debug/a.debug",
            "/debug/usr/lib/a.debug",
            "/debug/root/usr/lib/a.debug",
        ];
        assert_eq!(places, expected);
        for name in ["", "..", ".", "a/b", "/a", "../a", "a/"] {
            assert_eq!(directories.debug_link(&binary, name), [], "{name}");
        }
        let by_id = directories.build_id(&[0xcd, 0xd9, 0x0f]).unwrap();
        assert_eq!(by_id.path, Path::new("/debug/.build-id/cd/d90f.debug"));
        assert_eq!(directories.build_id(&[1]), None);
        assert_eq!(directories.build_id(&[]), None);
    }

    #[test]
    fn only_regular_files_are_read() {
        let read = |path: &str| FilePath { path: path.into(), root: Path::new("/") }.read(1 << 20);
        for path in ["/dev/zero", "/dev", "/proc/self/maps", "/does/not/exist"] {
            assert!(read(path).is_err(), "{path}");
        }
        let this = concat!(env!("CARGO_MANIFEST_DIR"), "/src/files.rs");
        assert!(read(this).unwrap().starts_with(b"//!"));
        let limited = FilePath { path: this.into(), root: Path::new("/") }.read(10);
        assert!(matches!(limited, Err(DebugInfoError::TooLarge { limit: 10, .. })));
        let outside = FilePath { path: this.into(), root: Path::new("/dev") }.read(1 << 20);
        assert!(matches!(outside, Err(DebugInfoError::Path { .. })));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn the_checked_file_is_read_even_if_its_path_changes() {
        use std::os::unix::fs::symlink;
        use std::sync::atomic::{AtomicBool, Ordering};
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().join("root");
        let [inside, secret, other] =
            ["root/inside", "secret", "root/other"].map(|name| directory.path().join(name));
        std::fs::create_dir(&root).unwrap();
        std::fs::write(&inside, "inside").unwrap();
        std::fs::write(&secret, "secret").unwrap();
        let place = FilePath { path: inside.clone(), root: &root };
        let put_link = |target: &Path| {
            symlink(target, &other).unwrap();
            std::fs::rename(&other, &inside).unwrap();
        };
        let opened = place.open().unwrap();
        put_link(&secret);
        assert_eq!(opened.read(10).unwrap(), b"inside");
        assert!(matches!(place.read(10), Err(DebugInfoError::Path { .. })));
        // A link that leads in and out by turns.
        std::fs::write(root.join("target"), "inside").unwrap();
        let is_over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    put_link(&secret);
                    put_link(&root.join("target"));
                }
            });
            let mut contents = (0..5000).filter_map(|_| place.read(10).ok());
            let has_leaked = contents.any(|content| content != b"inside");
            is_over.store(true, Ordering::Relaxed);
            assert!(!has_leaked);
        });
    }
}
