//! Text as a tree.

/// A line and what belongs below it.
#[derive(Debug, Default)]
pub(crate) struct Branch {
    pub(crate) text: String,
    pub(crate) branches: Vec<Branch>,
}

impl Branch {
    pub(crate) fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), branches: Vec::new() }
    }

    pub(crate) fn add(&mut self, branch: Self) {
        self.branches.push(branch);
    }

    pub(crate) fn line(&mut self, text: impl Into<String>) {
        self.branches.push(Self::new(text));
    }

    /// Appends the tree to `out`.
    pub(crate) fn render(&self, out: &mut String) {
        out.push_str(&self.text);
        out.push('\n');
        self.below(&mut String::new(), out);
    }

    fn below(&self, indent: &mut String, out: &mut String) {
        for (i, branch) in self.branches.iter().enumerate() {
            let last = i + 1 == self.branches.len();
            out.push_str(indent);
            out.push_str(if last { "└─ " } else { "├─ " });
            out.push_str(&branch.text);
            out.push('\n');
            let before = indent.len();
            indent.push_str(if last { "   " } else { "│  " });
            branch.below(indent, out);
            indent.truncate(before);
        }
    }
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
