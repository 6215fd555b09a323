//! Times of messages.

use ichnos_model::clock::ClockValue;

use super::push_all;
use crate::block::ShortText;
use crate::color::Palette;
use crate::recent_number::RecentNumber;

/// Writer of clock values.
#[derive(Debug)]
pub(super) struct DetailsClock {
    cycles: RecentNumber,
    nanoseconds: RecentNumber,
    /// Text after the numbers.
    end: ShortText,
    /// Text without a value.
    unknown: Box<[u8]>,
}

impl DetailsClock {
    pub(super) fn new(palette: &Palette, compact: bool) -> Self {
        let Palette { bold, bright_blue, reset, .. } = palette;
        let text = |parts: &[&str]| {
            let mut text = Vec::new();
            push_all(&mut text, parts);
            text
        };
        let end = if compact { "] " } else { "]\n" };
        Self {
            cycles: RecentNumber::new(&text(&["[", bold, bright_blue])),
            nanoseconds: RecentNumber::new(&text(&[
                reset,
                if compact { " " } else { " cycles, " },
                bold,
                bright_blue,
            ])),
            end: ShortText::new(&text(&[reset, if compact { "" } else { " ns from origin" }, end])),
            unknown: text(&["[", bold, bright_blue, "Unknown", reset, end]).into(),
        }
    }

    /// Appends a value.
    #[inline]
    pub(super) fn push(&mut self, out: &mut Vec<u8>, value: Option<&ClockValue>) {
        let Some(value) = value else { return out.extend_from_slice(&self.unknown) };
        self.cycles.push_grouped(out, value.cycles.into());
        self.nanoseconds.push_grouped(out, value.nanoseconds);
        self.end.push(out);
    }
}
