//! Terminal text colors.

/// Painter of texts with SGR codes. Without colors, texts do not change.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Paint(bool);

impl Paint {
    /// Painter without colors.
    pub const PLAIN: Self = Self(false);

    /// Creates a painter that uses colors if `is_on`.
    #[must_use]
    pub fn new(is_on: bool) -> Self {
        Self(is_on)
    }

    /// Returns `true` if texts are painted.
    #[must_use]
    pub fn is_on(self) -> bool {
        self.0
    }

    fn paint(self, code: &str, text: &str) -> String {
        if self.0 { format!("{code}{text}\x1b[0m") } else { text.to_owned() }
    }

    /// Title or heading: bold.
    #[must_use]
    pub fn title(self, text: &str) -> String {
        self.paint("\x1b[1m", text)
    }

    /// Name in a trace: cyan.
    #[must_use]
    pub fn name(self, text: &str) -> String {
        self.paint("\x1b[36m", text)
    }

    /// Less important text: dim.
    #[must_use]
    pub fn faint(self, text: &str) -> String {
        self.paint("\x1b[2m", text)
    }

    /// Word for an error: bold and red.
    #[must_use]
    pub fn error(self, text: &str) -> String {
        self.paint("\x1b[1m\x1b[31m", text)
    }

    /// Warning: bold and yellow.
    #[must_use]
    pub fn warning(self, text: &str) -> String {
        self.paint("\x1b[1m\x1b[33m", text)
    }

    /// Helpful word: green.
    #[must_use]
    pub fn good(self, text: &str) -> String {
        self.paint("\x1b[32m", text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes() {
        assert_eq!(Paint::PLAIN.error("a"), "a");
        assert_eq!(Paint::new(true).error("a"), "\x1b[1m\x1b[31ma\x1b[0m");
        assert_eq!(Paint::new(true).faint("a"), "\x1b[2ma\x1b[0m");
    }
}
