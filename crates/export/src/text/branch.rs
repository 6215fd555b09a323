//! Text as a tree.

use std::io;

/// Line with the lines below it.
// An environment or enumeration can have millions of lines.
#[derive(Debug, Default)]
pub struct Branch {
    text: Box<str>,
    branches: Vec<Branch>,
}

impl Branch {
    /// Creates a line with nothing below it.
    pub fn new(text: impl Into<Box<str>>) -> Self {
        Self::of_branches(text, Vec::new())
    }

    /// Creates a line with other lines below it.
    pub fn of_branches(text: impl Into<Box<str>>, branches: Vec<Self>) -> Self {
        Self { text: text.into(), branches }
    }

    /// Adds a branch below the line.
    pub fn add(&mut self, branch: Self) {
        self.branches.push(branch);
    }

    /// Adds a line below the line.
    pub fn line(&mut self, text: impl Into<Box<str>>) {
        self.branches.push(Self::new(text));
    }

    /// Appends the tree to `out`.
    pub fn render(self, out: &mut String) {
        // Writing into a string cannot fail.
        let _ = self.write(&mut |text| {
            out.push_str(text);
            Ok(())
        });
    }

    /// Writes the tree in pieces, without a copy of the whole tree in memory.
    ///
    /// # Errors
    /// Errors of `put`.
    pub fn write(self, put: &mut dyn FnMut(&str) -> io::Result<()>) -> io::Result<()> {
        put(&self.text)?;
        put("\n")?;
        below(self.branches, &mut String::new(), put)
    }
}

fn below(
    branches: Vec<Branch>,
    indent: &mut String,
    put: &mut dyn FnMut(&str) -> io::Result<()>,
) -> io::Result<()> {
    let count = branches.len();
    for (i, branch) in branches.into_iter().enumerate() {
        let last = i + 1 == count;
        put(indent)?;
        put(if last { "└─ " } else { "├─ " })?;
        put(&branch.text)?;
        put("\n")?;
        let before = indent.len();
        indent.push_str(if last { "   " } else { "│  " });
        below(branch.branches, indent, put)?;
        indent.truncate(before);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draws() {
        let mut root = Branch::new("root");
        let mut first = Branch::new("first");
        first.line("below");
        root.add(first);
        root.line("second");
        let mut out = String::new();
        root.render(&mut out);
        assert_eq!(out, "root\n├─ first\n│  └─ below\n└─ second\n");
    }
}
