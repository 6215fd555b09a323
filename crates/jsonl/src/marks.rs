//! Times in lines other than events.

/// Times of a data stream's lines other than events, in the order of the file. Compressed, because a whole file can
/// consist of such lines.
#[derive(Clone, Debug, Default)]
pub(crate) struct LineTimes {
    /// Two LEB128 numbers per line: the distance from the previous line, and the time difference plus 1, or 0 without a
    /// time.
    packed: Vec<u8>,
    last: LineTime,
    /// Offset of the last line `stream-begin` in the file. Later lines without a time are sorted before all times, but
    /// after all data stream starts.
    pub(crate) last_begin: usize,
}

/// Line offset and time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct LineTime {
    /// Line offset.
    pub(crate) at: usize,
    pub(crate) time: Option<i128>,
}

impl LineTimes {
    /// Appends a line.
    pub(crate) fn push(&mut self, mark: LineTime) {
        push_number(&mut self.packed, (mark.at - self.last.at) as u128);
        let by = mark.time.map(|time| {
            // Before the first time, differences are from 0.
            let by = time.wrapping_sub(self.last.time.unwrap_or_default());
            // Zigzag encoding: small numbers of both signs.
            ((by << 1) ^ (by >> 127)) as u128
        });
        push_number(&mut self.packed, by.map_or(0, |by| by.saturating_add(1)));
        self.last = LineTime { at: mark.at, time: mark.time.or(self.last.time) };
    }

    /// Returns a cursor over all lines.
    pub(crate) fn cursor(&self) -> LineTimeCursor {
        let mut cursor = LineTimeCursor::default();
        cursor.advance(self);
        cursor
    }
}

/// Cursor over [`LineTimes`].
#[derive(Clone, Debug, Default)]
pub(crate) struct LineTimeCursor {
    at: usize,
    last: LineTime,
    next: Option<LineTime>,
}

impl LineTimeCursor {
    /// Returns the line at an offset and advances, if it is the next line.
    pub(crate) fn take(&mut self, marks: &LineTimes, at: usize) -> Option<LineTime> {
        let mark = self.next.filter(|mark| mark.at == at)?;
        self.advance(marks);
        Some(mark)
    }

    /// Continues in a longer list.
    pub(crate) fn resumed(mut self, marks: &LineTimes) -> Self {
        if self.next.is_none() {
            self.advance(marks);
        }
        self
    }

    fn advance(&mut self, marks: &LineTimes) {
        self.next = None;
        let Some(gap) = self.number(marks) else { return };
        let Some(by) = self.number(marks) else { return };
        let at = self.last.at + gap as usize;
        let time = by.checked_sub(1).map(|by| {
            let by = (by >> 1) as i128 ^ -((by & 1) as i128);
            // Before the first time, differences are from 0.
            self.last.time.unwrap_or_default().wrapping_add(by)
        });
        self.last = LineTime { at, time: time.or(self.last.time) };
        let before_all = (at > marks.last_begin).then_some(i128::from(i64::MIN) + 1);
        self.next = Some(LineTime { at, time: time.or(before_all) });
    }

    fn number(&mut self, marks: &LineTimes) -> Option<u128> {
        let (mut value, mut shift) = (0, 0);
        loop {
            let byte = *marks.packed.get(self.at)?;
            self.at += 1;
            value |= u128::from(byte & 0x7f) << shift;
            shift += 7;
            if byte < 0x80 {
                return Some(value);
            }
        }
    }
}

/// Appends a number as LEB128.
pub(crate) fn push_number(out: &mut Vec<u8>, mut number: u128) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_are_what_they_were() {
        let most = 1 << 120;
        let times =
            [None, Some(5), Some(5), Some(-most), Some(most), None, Some(0), Some(i128::from(i64::MIN))];
        let expected: Vec<LineTime> =
            times.iter().enumerate().map(|(i, time)| LineTime { at: i * i * 1000, time: *time }).collect();
        let mut marks = LineTimes { last_begin: usize::MAX, ..LineTimes::default() };
        expected.iter().for_each(|mark| marks.push(*mark));
        let mut cursor = marks.cursor();
        assert_eq!(cursor.take(&marks, 7), None);
        for mark in &expected {
            assert_eq!(cursor.take(&marks, mark.at), Some(*mark));
        }
        assert_eq!(cursor.take(&marks, usize::MAX), None);
        marks.last_begin = 0;
        let mut cursor = marks.cursor();
        cursor.take(&marks, 0);
        assert_eq!(cursor.take(&marks, 1000).unwrap().time, Some(5));
        let times: Vec<_> =
            expected[2..].iter().map(|mark| cursor.take(&marks, mark.at).unwrap().time).collect();
        assert_eq!(times[3], Some(i128::from(i64::MIN) + 1));
    }

    #[test]
    fn lines_of_a_byte_take_few() {
        let mut marks = LineTimes::default();
        (0..1000).for_each(|at| marks.push(LineTime { at: at * 2, time: Some(1 << 60) }));
        assert!(marks.packed.len() < 2100);
    }
}
