//! A strict reader of packets.

use std::fs;
use std::path::Path;

use super::EVENT;
use crate::packet::{CONTENT, HEAD, TOTAL};

/// An event of the tests: its thread, and the number in its payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FoundEvent {
    pub(super) thread: u32,
    pub(super) number: u32,
}

/// Returns the size of the payload of an event.
pub(super) fn size(number: u32) -> usize {
    4 + number as usize * 37 % 90
}

/// Writes the payload of an event.
pub(super) fn write(number: u32, out: &mut [u8]) {
    out[..4].copy_from_slice(&number.to_le_bytes());
    out[4..].fill(number as u8);
}

/// Reads all files of a data stream, or of all, file by file. Returns the events.
pub(super) fn read_files(directory: &Path) -> Vec<FoundEvent> {
    let mut names: Vec<_> = fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.starts_with("stream-"))
        .collect();
    names.sort();
    let mut events = Vec::new();
    let mut last: Option<(String, u64)> = None;
    for name in names {
        let stream = name[..12].to_owned();
        let mut sequence = last.take().filter(|(before, _)| *before == stream).map(|(_, sequence)| sequence);
        packets(&fs::read(directory.join(&name)).unwrap(), &mut sequence, &mut events);
        last = sequence.map(|sequence| (stream, sequence));
    }
    events
}

fn number<const N: usize>(bytes: &[u8], at: usize) -> u64 {
    bytes[at..at + N].iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte))
}

/// Reads a file as strictly as CTF readers do.
fn packets(mut file: &[u8], sequence: &mut Option<u64>, found: &mut Vec<FoundEvent>) {
    let mut time = 0;
    assert!(!file.is_empty());
    while !file.is_empty() {
        assert_eq!(number::<4>(file, 0), 0xC1FC_1FC1);
        let [total, content] = [TOTAL, CONTENT].map(|at| number::<4>(file, at) as usize);
        assert!(content <= total && total <= 8 * file.len() && content % 8 == 0 && total % 64 == 0);
        let (begin, end) = (number::<8>(file, 16), number::<8>(file, 24));
        assert!(time <= begin && begin <= end);
        time = begin;
        // The packet that takes the place of the padding for an instant has no event.
        let this = number::<4>(file, 32);
        assert!(sequence.is_none_or(|before| this == before + 1), "{sequence:?} {this}");
        *sequence = Some(this);
        let mut events = &file[HEAD..content / 8];
        while !events.is_empty() {
            let now = begin & !0xffff_ffff | number::<4>(events, 2);
            assert!(time <= now && now <= end);
            time = now;
            let thread = number::<4>(events, 6) as u32;
            if number::<2>(events, 0) != u64::from(EVENT) {
                assert_eq!(number::<4>(events, 10), u64::from(thread));
                let length = number::<4>(events, 14) as usize;
                assert_eq!(&events[18..18 + length], super::ThreadName::of_this_thread().shown().as_bytes());
                events = &events[18 + length..];
                continue;
            }
            let event = number::<4>(events, 10) as u32;
            let size = size(event);
            assert!(events[14..10 + size].iter().all(|byte| *byte == event as u8));
            events = &events[10 + size..];
            found.push(FoundEvent { thread, number: event });
        }
        file = &file[total / 8..];
    }
}
