//! Temporary outputs next to their final path, and those that killed processes left.
//!
//! A process holds a lock on its temporary outputs. A later run with the same path removes those without a lock, if they
//! come from this system since it started: other systems that share the directory may not see the lock. Of a directory
//! with very many entries, it searches only a part.

use std::collections::hash_map::RandomState;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File, OpenOptions};
use std::hash::BuildHasher as _;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU32, Ordering};

/// Number for the start of this system. `None` if it is unknown.
static SYSTEM: LazyLock<Option<u32>> = LazyLock::new(|| {
    let id = fs::read("/proc/sys/kernel/random/boot_id").ok().filter(|id| !id.is_empty())?;
    // FNV-1a: equal in all versions of this program.
    Some(id.iter().fold(0x811c_9dc5, |hash, byte| (hash ^ u32::from(*byte)).wrapping_mul(0x0100_0193)))
});

/// Returns an unused name in the directory of `target`, since a rename is atomic only within a directory.
pub(crate) fn beside(target: &Path) -> PathBuf {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    // Processes in several containers can have the same number.
    static RANDOM: LazyLock<u64> = LazyLock::new(|| RandomState::new().hash_one(()));
    let (random, number) = (*RANDOM as u32, NUMBER.fetch_add(1, Ordering::Relaxed));
    let system = SYSTEM.unwrap_or((*RANDOM >> 32) as u32);
    let mut name = prefix(target);
    name.push(format!("{}-{system:08x}{random:08x}-{number}.tmp", std::process::id()));
    target.with_file_name(name)
}

/// Returns an unused name for a file of the user that waits until its replacement is complete. Unlike a temporary output,
/// it is never removed by a later run.
pub(crate) fn beside_for_old(target: &Path) -> PathBuf {
    beside(target).with_extension("replaced")
}

/// Returns the prefix of temporary output names for a path.
fn prefix(target: &Path) -> OsString {
    let mut name = OsString::from(".");
    name.push(target.file_name().unwrap_or_default());
    name.push(".");
    name
}

/// Returns `true` for the name of a temporary output of this system, for paths with this prefix.
fn is_of_system(name: &OsStr, prefix: &OsStr, system: u32) -> bool {
    let number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let rest = name.as_encoded_bytes().strip_prefix(prefix.as_encoded_bytes());
    let rest = rest.and_then(|rest| std::str::from_utf8(rest).ok()?.strip_suffix(".tmp"));
    let mut parts = rest.unwrap_or_default().split('-');
    let (Some(process), Some(hash), Some(count), None) =
        (parts.next(), parts.next(), parts.next(), parts.next())
    else {
        return false;
    };
    let random = hash.strip_prefix(&format!("{system:08x}"));
    let is_random = random.is_some_and(|random| random.len() == 8 && u32::from_str_radix(random, 16).is_ok());
    number(process) && number(count) && is_random
}

/// Result of an attempt to lock a file or a directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FileLock {
    Held,
    /// Another process has locked it.
    Busy,
    Unsupported,
}

/// Locks a file or a directory.
#[cfg(unix)]
fn lock(file: &File) -> FileLock {
    match rustix::fs::flock(file, rustix::fs::FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => FileLock::Held,
        Err(rustix::io::Errno::WOULDBLOCK) => FileLock::Busy,
        Err(_) => FileLock::Unsupported,
    }
}

#[cfg(not(unix))]
fn lock(_: &File) -> FileLock {
    FileLock::Unsupported
}

/// Maximum number of directory entries to search for temporary outputs. In a directory with 10,000 entries, a search of
/// all took longer than a third of a small conversion.
const MOST_SEARCHED: usize = 2_000;

/// Removes the temporary outputs for a path that killed processes left. What cannot be removed stays.
fn remove_abandoned(target: &Path) {
    let (Some(system), Some(parent)) = (*SYSTEM, target.parent()) else { return };
    let parent = if parent.as_os_str().is_empty() { Path::new(".") } else { parent };
    let prefix = prefix(target);
    for item in fs::read_dir(parent).into_iter().flatten().take(MOST_SEARCHED).flatten() {
        if !is_of_system(&item.file_name(), &prefix, system) {
            continue;
        }
        let Some(kind) = item.file_type().ok().filter(|kind| kind.is_dir() || kind.is_file()) else {
            continue;
        };
        let path = item.path();
        let file = File::open(&path).ok();
        if file.is_some_and(|file| lock(&file) == FileLock::Held && is_at(&file, &path)) {
            let _ = if kind.is_dir() { fs::remove_dir_all(&path) } else { fs::remove_file(&path) };
        }
    }
}

/// Returns `true` if an open file or directory is at a path.
#[cfg(unix)]
fn is_at(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    let of = |metadata: io::Result<fs::Metadata>| metadata.ok().map(|it| (it.dev(), it.ino()));
    of(file.metadata()).is_some_and(|found| of(fs::symlink_metadata(path)) == Some(found))
}

#[cfg(not(unix))]
fn is_at(_: &File, _: &Path) -> bool {
    true
}

/// Creates a directory with an unused name in the same parent directory. Returns it with its lock.
pub(crate) fn create_directory(target: &Path) -> io::Result<(PathBuf, Option<File>)> {
    create(target, |path| {
        fs::create_dir(path)?;
        match File::open(path) {
            Ok(directory) => Ok(Some(directory)),
            // Another process took it for an abandoned one before it was locked.
            Err(error) if error.kind() == io::ErrorKind::NotFound => Err(io::ErrorKind::AlreadyExists.into()),
            // It cannot be locked.
            Err(_) => Ok(None),
        }
    })
}

/// Creates a file with an unused name in the same directory.
pub(crate) fn create_file(target: &Path) -> io::Result<(PathBuf, File)> {
    let open = |path: &Path| Ok(Some(OpenOptions::new().write(true).create_new(true).open(path)?));
    let (path, file) = create(target, open)?;
    let file = file.ok_or_else(|| io::Error::from(io::ErrorKind::NotFound))?;
    Ok((path, file))
}

/// Creates something with an unused name.
fn create(
    target: &Path,
    open: impl Fn(&Path) -> io::Result<Option<File>>,
) -> io::Result<(PathBuf, Option<File>)> {
    remove_abandoned(target);
    let mut attempts = 0;
    loop {
        let path = beside(target);
        let error = match open(&path) {
            Ok(Some(file)) => {
                if lock(&file) != FileLock::Busy && is_at(&file, &path) {
                    return Ok((path, Some(file)));
                }
                // Another process takes it for an abandoned one, and removes it.
                io::ErrorKind::AlreadyExists.into()
            }
            // It cannot be locked.
            Ok(None) => return Ok((path, None)),
            Err(error) => error,
        };
        if error.kind() != io::ErrorKind::AlreadyExists || attempts >= 100 {
            return Err(error);
        }
        attempts += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::TestDirectory;

    #[cfg(target_os = "linux")]
    #[test]
    fn what_killed_processes_left_is_removed() {
        let directory = TestDirectory::new("abandoned");
        let target = directory.join("out");
        let (living, lock) = create_directory(&target).unwrap();
        let (living_file, file) = create_file(&target).unwrap();
        let system = SYSTEM.unwrap();
        let dead =
            [format!(".out.12-{system:08x}0a0b0c0d-0.tmp"), format!(".out.1-{system:08x}ffffffff-17.tmp")];
        let others = [
            format!(".out.12-{:08x}0a0b0c0d-0.tmp", system ^ 1),
            format!(".other.12-{system:08x}0a0b0c0d-0.tmp"),
            ".out.tmp".to_owned(),
            format!(".out.x-{system:08x}0a0b0c0d-0.tmp"),
            beside_for_old(&target).file_name().unwrap().to_str().unwrap().to_owned(),
        ];
        fs::create_dir(directory.join(&dead[0])).unwrap();
        fs::write(directory.join(&dead[0]).join("part-0"), "a").unwrap();
        fs::write(directory.join(&dead[1]), "b").unwrap();
        others.iter().for_each(|name| fs::write(directory.join(name), "c").unwrap());
        let (next, _lock) = create_directory(&target).unwrap();
        assert!(dead.iter().all(|name| !directory.join(name).exists()));
        assert!(others.iter().all(|name| directory.join(name).exists()));
        assert!(living.exists() && living_file.exists() && next.exists());
        // Their locks end with the process.
        drop((lock, file));
        let _ = create_directory(&target).unwrap();
        assert!(!living.exists() && !living_file.exists() && next.exists());
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_file_that_another_process_is_removing_is_not_used() {
        let directory = TestDirectory::new("busy");
        let others = std::cell::RefCell::new(Vec::new());
        let open = |path: &Path| {
            let file = OpenOptions::new().write(true).create_new(true).open(path)?;
            if others.borrow().is_empty() {
                let other = File::open(path)?;
                assert_eq!(lock(&other), FileLock::Held);
                others.borrow_mut().push((path.to_owned(), other));
            }
            Ok(Some(file))
        };
        let (path, file) = create(&directory.join("out"), open).unwrap();
        assert_ne!(path, others.borrow()[0].0);
        assert_eq!(lock(&File::open(&path).unwrap()), FileLock::Busy);
        drop(file);
    }
}
