//! Width of the terminal, to which tables are cut as far as possible.

use std::borrow::Cow;
use std::io::IsTerminal as _;
use std::sync::OnceLock;

use crate::charset::ellipsis;

/// Minimum width of a column of texts.
const LEAST: usize = 8;

/// Returns the number of columns of the terminal, from COLUMNS or the terminal itself; `None` if standard
/// output is no terminal, and nothing is cut.
fn width() -> Option<usize> {
    static WIDTH: OnceLock<Option<usize>> = OnceLock::new();
    *WIDTH.get_or_init(|| {
        if !std::io::stdout().is_terminal() {
            return None;
        }
        let columns = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
        let asked =
            || terminal_size::terminal_size_of(std::io::stdout()).map(|(width, _)| usize::from(width.0));
        columns.or_else(asked).filter(|width| *width > 0)
    })
}

/// Shortens columns of texts, widest first, so that a table of `all` characters fits into the terminal.
pub(crate) fn shorten(texts: &mut [usize], all: usize) {
    if let Some(width) = width() {
        shorten_by(texts, all.saturating_sub(width));
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

/// Cuts a text to the width of a column.
pub(crate) fn cut(text: &str, width: usize) -> Cow<'_, str> {
    if text.chars().count() <= width {
        return Cow::Borrowed(text);
    }
    let end = ellipsis();
    let kept = width.saturating_sub(end.chars().count());
    Cow::Owned(text.chars().take(kept).chain(end.chars()).collect())
}

/// Cuts a text to the rest of a line that already has `before` characters.
pub(crate) fn cut_after(text: &str, before: usize) -> Cow<'_, str> {
    match width() {
        Some(width) => cut(text, width.saturating_sub(before).max(LEAST)),
        None => Cow::Borrowed(text),
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
        assert_eq!((cut("abcdef", 6), cut("abcdef", 4).chars().count()), ("abcdef".into(), 4));
    }
}
