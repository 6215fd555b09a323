//! Copies of a trace while it grows.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::sync::atomic::{Ordering, fence};

use super::file_limit::check_file_size;
use super::trace_directory::TraceDirectory;
use crate::packet::{CONTENT, HEAD, TOTAL, aligned, bits, put};

/// Copies all events to a new directory.
pub(super) fn copy(directory: &TraceDirectory, to: &Path) -> io::Result<()> {
    fs::create_dir(to)?;
    let names: io::Result<Vec<_>> =
        fs::read_dir(&directory.path)?.map(|entry| Ok(entry?.file_name())).collect();
    let mut names = names?;
    // The oldest files vanish first. So they come last, and the copy has no gap.
    names.sort_unstable_by(|first, second| second.cmp(first));
    for name in names.iter().filter(|name| name.to_string_lossy().starts_with("stream-")) {
        match File::open(directory.path.join(name)) {
            Ok(file) => copy_packets(&file, &to.join(name))?,
            // It was the oldest file.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    // It describes all events that were there before.
    directory.metadata().copy(to)
}

/// Copies the packets of a file without their padding. Events that are added meanwhile may be missing.
fn copy_packets(file: &File, to: &Path) -> io::Result<()> {
    let length = file.metadata()?.len();
    let mut copied = Vec::new();
    let mut at = 0;
    while at + HEAD as u64 <= length {
        let mut head = [0; HEAD];
        if !read_at(file, &mut head, at)? {
            break;
        }
        // Events are there before their packet says so.
        fence(Ordering::Acquire);
        let [total, content] = [TOTAL, CONTENT].map(|index| bytes(&head, index));
        if content < HEAD || total < content {
            break;
        }
        let begin = copied.len();
        copied.resize(begin + aligned(content, 8), 0);
        let Some(packet) = copied.get_mut(begin..) else { break };
        if let Some(events) = packet.get_mut(HEAD..content)
            && !read_at(file, events, at + HEAD as u64)?
        {
            copied.truncate(begin);
            break;
        }
        put(&mut head, TOTAL, bits(aligned(content, 8)).to_le_bytes());
        if let Some(out) = packet.get_mut(..HEAD) {
            out.copy_from_slice(&head);
        }
        at += total as u64;
    }
    check_file_size(copied.len() as u64)?;
    fs::write(to, copied)
}

/// Reads bytes. Returns `false` if the file has become shorter: its padding was cut off.
fn read_at(file: &File, out: &mut [u8], at: u64) -> io::Result<bool> {
    match file.read_exact_at(out, at) {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
        result => result.map(|()| true),
    }
}

/// Returns a size in a packet's head, in bytes.
fn bytes(head: &[u8; HEAD], index: usize) -> usize {
    let bits =
        head.get(index..).and_then(|head| head.first_chunk()).map_or(0, |bytes| u32::from_le_bytes(*bytes));
    bits as usize / 8
}
