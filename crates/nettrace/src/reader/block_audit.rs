//! Finds a block's trusted rows. Rows lack checksums, and compressed headers depend on each other.
//!
//! Almost any bytes are a valid row. For example, two zeros repeat the previous event. A block with impossible rows is
//! searched for signs of lost storage: sectors filled with one value, and pages that repeat the previous page. Rows
//! from there on are not read.

use crate::EventRows;

/// Storage sector size in bytes. A sector is lost as a whole.
const SECTOR: usize = 512;

/// Page size in bytes.
const PAGE: usize = 4096;

/// Minimum size of a partial lost sector at a block edge, in bytes.
const LEAST: usize = 16;

/// Minimum size of consecutive all-zero rows, in bytes.
const ZERO_ROWS: usize = 64;

/// Maximum share of odd rows in a block without damage: one of this many. Such rows come from producers. After lost
/// storage, almost all rows are odd.
const ODD_SHARE: usize = 16;

/// Finds the end of the trusted rows in a block. The rows fill the block, unless the file ends in it. `rows` is at the
/// first row. `is_known` returns `true` for a known metadata id. `times` are from the block header. Returns `None` if
/// all rows can be trusted, or if damage cannot be located. Rows that fill the block can be trusted even if a few of
/// them have unknown ids or times out of range.
pub(super) fn find_damage(
    bytes: &[u8],
    mut rows: EventRows,
    times: Option<(u64, u64)>,
    is_known: impl Fn(u32) -> bool,
) -> Option<usize> {
    let begin = rows.position();
    let end = begin + rows.rest();
    // Some writers omit the times.
    let times = times.filter(|(_, last)| *last != 0);
    let is_in_range = |time| times.is_none_or(|(first, last)| first <= time && time <= last);
    let (mut count, mut odd, mut zeros, mut zeros_at) = (0, 0, 0, None);
    let (mut first, mut last) = (u64::MAX, 0);
    loop {
        let at = rows.position();
        let Some(row) = rows.next(bytes) else { break };
        count += 1;
        odd += usize::from(!is_known(row.metadata_id) || !is_in_range(row.timestamp));
        (first, last) = (first.min(row.timestamp), last.max(row.timestamp));
        if zeros_at.is_none() {
            // The rows were read from these bytes.
            let row = bytes.get(at..rows.position()).unwrap_or_default();
            zeros = if row.iter().all(|byte| *byte == 0) { zeros + row.len() } else { 0 };
            zeros_at = (zeros >= ZERO_ROWS).then(|| rows.position() - zeros);
        }
    }
    let is_filled = rows.is_at_end();
    // Writers state the exact times or none. Zeros repeat a time, so the last time must appear.
    let misses_last =
        is_filled && count > 0 && times.is_some_and(|(begin, end)| first == begin && last < end);
    let is_sound = match odd {
        0 => is_filled || end >= bytes.len(),
        _ => is_filled && odd <= (count / ODD_SHARE).max(1),
    };
    if is_sound && !misses_last {
        return None;
    }
    let zeros_at = zeros_at.map(|at| without_end_of(bytes, begin, at, 0));
    [zeros_at, find_lost(bytes, begin, end)].into_iter().flatten().min()
}

/// Returns the start of a run of equal bytes before a position.
fn without_end_of(bytes: &[u8], begin: usize, at: usize, value: u8) -> usize {
    let before = bytes.get(begin..at).unwrap_or_default();
    begin + before.iter().rposition(|byte| *byte != value).map_or(0, |last| last + 1)
}

/// Finds the first lost sector or page between two file positions.
fn find_lost(bytes: &[u8], begin: usize, end: usize) -> Option<usize> {
    let first = begin / SECTOR * SECTOR;
    (first..end).step_by(SECTOR).map(|at| at.max(begin)).find_map(|at| {
        // Sectors start before the end.
        let sector = bytes.get(at..(at / SECTOR * SECTOR + SECTOR).min(end)).unwrap_or_default();
        let is_filled = |value: &u8| sector.len() >= LEAST && sector.iter().all(|byte| byte == value);
        if repeats_page(bytes, at / PAGE * PAGE) {
            return Some(at);
        }
        // Equal bytes before the sector may be lost, too.
        let value = [0, 0xff].into_iter().find(is_filled)?;
        Some(without_end_of(bytes, begin, at, value))
    })
}

/// Returns `true` for a position in a page that repeats the previous page.
pub(super) fn begins_in_repeated_page(bytes: &[u8], at: usize) -> bool {
    repeats_page(bytes, at / PAGE * PAGE)
}

/// Returns `true` if a page repeats the previous page.
fn repeats_page(bytes: &[u8], at: usize) -> bool {
    let page = |at: usize| bytes.get(at..(at + PAGE).min(bytes.len()));
    let before = at.checked_sub(PAGE).and_then(page);
    before.zip(page(at)).is_some_and(|(before, page)| before.starts_with(page))
}
