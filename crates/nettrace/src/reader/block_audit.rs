//! Finds out how much of a block can be trusted: rows have no checksums, and those of compressed headers depend on each other.
//!
//! Almost all bytes are a valid row: two zeros are an event like the one before. So a block with impossible rows is searched
//! for what storage leaves when it loses data: sectors of one value, and pages that repeat the page before them. Rows from
//! there on are not read.

use crate::EventRows;

/// Size in bytes of a sector, of which storage loses all or nothing.
const SECTOR: usize = 512;

/// Size in bytes of a page.
const PAGE: usize = 4096;

/// Minimum size in bytes of a lost part of a sector at the edge of a block.
const LEAST: usize = 64;

/// Minimum size in bytes of rows that consist of zeros, in sequence.
const ZERO_ROWS: usize = 64;

/// Finds the end of the trusted rows of a block: `rows` is at the first one of them, and fills the block if it `is_whole`.
/// `is_known` returns `true` for an id of metadata, and `times` are those in the header of the block. Returns `None` if all
/// rows can be trusted, or if none can be told from the others.
pub(super) fn find_damage(
    bytes: &[u8],
    mut rows: EventRows,
    times: (u64, u64),
    is_whole: bool,
    is_known: impl Fn(u32) -> bool,
) -> Option<usize> {
    let begin = rows.position();
    let end = begin + rows.rest();
    let mut zeros = 0;
    loop {
        let at = rows.position();
        let Some(row) = rows.next(bytes) else { break };
        let is_possible = is_known(row.metadata_id) && (times.0..=times.1).contains(&row.timestamp);
        let row = bytes.get(at..rows.position()).unwrap_or_default();
        zeros = if row.iter().all(|byte| *byte == 0) { zeros + row.len() } else { 0 };
        if !is_possible || zeros >= ZERO_ROWS {
            return find_lost(bytes, begin, end);
        }
    }
    if rows.is_at_end() || !is_whole { None } else { find_lost(bytes, begin, end) }
}

/// Finds the first lost sector or page between two positions of a file.
fn find_lost(bytes: &[u8], begin: usize, end: usize) -> Option<usize> {
    let first = begin / SECTOR * SECTOR;
    (first..end).step_by(SECTOR).map(|at| at.max(begin)).find_map(|at| {
        let sector = bytes.get(at..(at / SECTOR * SECTOR + SECTOR).min(end)).unwrap_or_default();
        let is_filled = |value: &u8| sector.len() >= LEAST && sector.iter().all(|byte| byte == value);
        if repeats_page(bytes, at / PAGE * PAGE) {
            return Some(at);
        }
        // Bytes of the same value before the sector may be lost, too.
        let value = [0, 0xff].into_iter().find(is_filled)?;
        let before = bytes.get(begin..at).unwrap_or_default();
        Some(begin + before.iter().rposition(|byte| *byte != value).map_or(0, |last| last + 1))
    })
}

/// Returns `true` for a position in a page that is like the page before it.
pub(super) fn begins_in_repeated_page(bytes: &[u8], at: usize) -> bool {
    repeats_page(bytes, at / PAGE * PAGE)
}

/// Returns `true` if a page is like the page before it.
fn repeats_page(bytes: &[u8], at: usize) -> bool {
    let page = |at: usize| bytes.get(at..(at + PAGE).min(bytes.len()));
    let before = at.checked_sub(PAGE).and_then(page);
    before.zip(page(at)).is_some_and(|(before, page)| before.starts_with(page))
}
