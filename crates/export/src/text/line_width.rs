//! Line widths to which tables are cut where possible.

use std::borrow::Cow;

/// Minimum width of a text column.
const LEAST: usize = 8;

/// Line width to which long texts are cut. Unlimited by default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LineWidth {
    /// Number of characters.
    pub columns: Option<usize>,
    /// `true` to mark cut text with `...` instead of `…`.
    pub is_ascii: bool,
}

impl LineWidth {
    /// Shortens text columns, widest first, so that a table of `all` characters fits into a line.
    pub fn shorten(self, texts: &mut [usize], all: usize) {
        if let Some(width) = self.columns {
            shorten_by(texts, all.saturating_sub(width));
        }
    }

    /// Cuts a text to the rest of a line that already has `before` characters.
    #[must_use]
    pub fn cut_after(self, text: &str, before: usize) -> Cow<'_, str> {
        match self.columns {
            Some(width) => self.cut(text, width.saturating_sub(before).max(LEAST)),
            None => Cow::Borrowed(text),
        }
    }

    /// Cuts a text to the width of a column.
    pub fn cut(self, text: &str, width: usize) -> Cow<'_, str> {
        if text.chars().count() <= width {
            return Cow::Borrowed(text);
        }
        let end = if self.is_ascii { "..." } else { "…" };
        let kept = width.saturating_sub(end.chars().count());
        Cow::Owned(text.chars().take(kept).chain(end.chars()).collect())
    }
}

fn shorten_by(texts: &mut [usize], mut beyond: usize) {
    // If the table cannot fit, keep the texts readable.
    if texts.iter().map(|text| text.saturating_sub(LEAST)).sum::<usize>() < beyond {
        return;
    }
    while beyond > 0 {
        let Some(widest) = texts.iter_mut().max().filter(|widest| **widest > LEAST) else { return };
        *widest -= 1;
        beyond -= 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_widest_texts_are_shortened() {
        let shortened = |texts: &[usize], beyond| {
            let mut texts = texts.to_vec();
            shorten_by(&mut texts, beyond);
            texts
        };
        assert_eq!(shortened(&[30, 10], 5), [25, 10]);
        assert_eq!(shortened(&[30, 29], 11).iter().sum::<usize>(), 48);
        assert_eq!(shortened(&[9, 3], 1), [8, 3]);
        assert_eq!(shortened(&[9, 3], 2), [9, 3]);
        assert!(shortened(&[], 100).is_empty());
    }

    #[test]
    fn texts_are_cut() {
        let [unicode, ascii] = [false, true].map(|is_ascii| LineWidth { columns: Some(20), is_ascii });
        assert_eq!(unicode.cut("abcdef", 6), "abcdef");
        assert_eq!((unicode.cut("abcdef", 4), ascii.cut("abcdef", 4)), ("abc…".into(), "a...".into()));
        assert_eq!(unicode.cut_after("abcdefghij", 10), "abcdefghij");
        assert_eq!(unicode.cut_after("abcdefghij", 100), "abcdefg…");
        assert_eq!(LineWidth::default().cut_after("abcdefghij", 100), "abcdefghij");
    }
}
