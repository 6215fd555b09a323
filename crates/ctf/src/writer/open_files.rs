//! Open output files, limited in number.

/// Maximum number of open files.
const MOST_OPEN: usize = 128;

/// Open file keys, the most recently used file last.
#[derive(Debug, Default)]
pub(super) struct OpenFiles(Vec<(usize, usize)>);

impl OpenFiles {
    /// Marks a file as used. Returns a file to close, if too many are open.
    pub(super) fn touch(&mut self, key: (usize, usize)) -> Option<(usize, usize)> {
        if self.0.last() == Some(&key) {
            return None;
        }
        self.0.retain(|open| *open != key);
        self.0.push(key);
        (self.0.len() > MOST_OPEN).then(|| self.0.remove(0))
    }
}
