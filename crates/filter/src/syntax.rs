//! Syntax tree of an expression.

use std::fmt::{self, Write as _};
use std::ops::Range;

/// Syntax node with its position. Comparisons ignore the position.
#[derive(Clone, Debug)]
pub(super) struct SyntaxNode {
    pub(super) span: Range<usize>,
    pub(super) kind: NodeKind,
}

impl PartialEq for SyntaxNode {
    fn eq(&self, other: &Self) -> bool {
        self.kind == other.kind
    }
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum NodeKind {
    /// Two parts or more. Nested conjunctions are flattened.
    And(Vec<SyntaxNode>),
    Or(Vec<SyntaxNode>),
    Not(Box<SyntaxNode>),
    Compare(CompareOp, Box<SyntaxNode>, Box<SyntaxNode>),
    Match {
        text: Box<SyntaxNode>,
        pattern: Pattern,
        is_negated: bool,
    },
    /// Containment: a part in a string or BLOB, or a value in an array or bit map.
    Part {
        op: PartOp,
        value: Box<SyntaxNode>,
        part: Box<SyntaxNode>,
        is_negated: bool,
    },
    /// Membership in a list or in a field.
    In {
        value: Box<SyntaxNode>,
        list: Box<SyntaxNode>,
        is_negated: bool,
    },
    /// List, only after `in`.
    List(Vec<SyntaxNode>),
    /// Range in a list. Both bounds are included, and one of them may be missing.
    Range(Option<Box<SyntaxNode>>, Option<Box<SyntaxNode>>),
    Arithmetic(ArithmeticOp, Box<SyntaxNode>, Box<SyntaxNode>),
    Negate(Box<SyntaxNode>),
    Complement(Box<SyntaxNode>),
    Has(NamePath),
    Length(Box<SyntaxNode>),
    Name(NamePath),
    Integer(i128),
    Float(f64),
    Boolean(bool),
    /// Duration in nanoseconds.
    Duration(i128),
    Text(Literal),
    /// Time as written.
    Time(String),
}

/// String literal. In string comparisons, unescaped stars match any text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Literal {
    pub(super) text: String,
    /// Unescaped star positions in the text.
    pub(super) stars: Vec<usize>,
}

/// Regular expression.
#[derive(Clone, Debug)]
pub(super) struct Pattern {
    pub(super) text: String,
    /// Pattern index in the expression.
    pub(super) index: usize,
}

impl PartialEq for Pattern {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

ichnos_model::named_enum! {
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub(super) enum CompareOp: "operator" {
        Equal = "==",
        NotEqual = "!=",
        Less = "<",
        LessOrEqual = "<=",
        Greater = ">",
        GreaterOrEqual = ">=",
    }
}

impl CompareOp {
    /// Returns the operator with both sides exchanged.
    pub(super) const fn mirrored(self) -> Self {
        match self {
            Self::Less => Self::Greater,
            Self::LessOrEqual => Self::GreaterOrEqual,
            Self::Greater => Self::Less,
            Self::GreaterOrEqual => Self::LessOrEqual,
            op => op,
        }
    }
}

ichnos_model::named_enum! {
    /// Position of a part within a string.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub(super) enum PartOp: "operator" {
        Contains = "contains",
        StartsWith = "startswith",
        EndsWith = "endswith",
    }
}

impl PartOp {
    /// Returns `true` if a string or BLOB contains a part.
    pub(super) fn holds(self, whole: &[u8], part: &[u8]) -> bool {
        match self {
            Self::Contains => memchr::memmem::find(whole, part).is_some(),
            Self::StartsWith => whole.starts_with(part),
            Self::EndsWith => whole.ends_with(part),
        }
    }
}

ichnos_model::named_enum! {
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub(super) enum ArithmeticOp: "operator" {
        Add = "+",
        Subtract = "-",
        Multiply = "*",
        Divide = "/",
        Remainder = "%",
        And = "&",
        Or = "|",
        ExclusiveOr = "^",
        ShiftLeft = "<<",
        ShiftRight = ">>",
    }
}

impl ArithmeticOp {
    /// Returns the binding power. Operators with greater power bind more tightly.
    pub(super) const fn power(self) -> u8 {
        match self {
            Self::Or => 1,
            Self::ExclusiveOr => 2,
            Self::And => 3,
            Self::ShiftLeft | Self::ShiftRight => 4,
            Self::Add | Self::Subtract => 5,
            Self::Multiply | Self::Divide | Self::Remainder => 6,
        }
    }
}

/// Path to a field, or name of a property.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct NamePath {
    /// `true` after `$`: the name must be a property.
    pub(super) is_property: bool,
    /// Steps. The first is a member.
    pub(super) steps: Vec<NameStep>,
}

/// Path step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum NameStep {
    Member(String),
    /// Array element. Negative indexes count from the end, and -1 is the last element.
    Index(i64),
}

impl NamePath {
    /// Returns the name, if it has a single step.
    pub(super) fn word(&self) -> Option<&str> {
        match &self.steps[..] {
            [NameStep::Member(name)] => Some(name),
            _ => None,
        }
    }

    /// Returns the first member's name, and the other steps.
    pub(super) fn split(&self) -> (&str, &[NameStep]) {
        match self.steps.split_first() {
            Some((NameStep::Member(name), rest)) => (name, rest),
            _ => ("", &[]),
        }
    }
}

/// Keywords with their forms in capitals. To use one as a name, quote it.
const KEYWORDS: [[&str; 2]; 6] =
    [["and", "AND"], ["or", "OR"], ["not", "NOT"], ["in", "IN"], ["true", "TRUE"], ["false", "FALSE"]];

/// Returns the keyword for a word, in lower case.
pub(super) fn keyword(word: &str) -> Option<&'static str> {
    KEYWORDS.into_iter().find(|forms| forms.contains(&word)).map(|[keyword, _]| keyword)
}

impl fmt::Display for NamePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_property {
            f.write_str("$")?;
        }
        for (i, step) in self.steps.iter().enumerate() {
            match step {
                NameStep::Index(index) => write!(f, "[{index}]")?,
                NameStep::Member(name) => {
                    if i > 0 {
                        f.write_str(".")?;
                    }
                    let mut chars = name.chars();
                    let is_plain = chars.next().is_some_and(|c| c.is_alphabetic() || c == '_')
                        && chars.all(|c| c.is_alphabetic() || c.is_numeric() || c == '_')
                        && keyword(name).is_none();
                    if is_plain { f.write_str(name)? } else { write!(f, "`{name}`")? }
                }
            }
        }
        Ok(())
    }
}

impl fmt::Display for Literal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_char('"')?;
        for (at, c) in self.text.char_indices() {
            match c {
                '"' | '\\' => write!(f, "\\{c}")?,
                '*' if !self.stars.contains(&at) => f.write_str("\\*")?,
                c if c.is_control() => write!(f, "\\u{{{:x}}}", u32::from(c))?,
                c => f.write_char(c)?,
            }
        }
        f.write_char('"')
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Only the quote is escaped for the surrounding string. A quote that the pattern itself escapes needs the other
        // kind of surrounding quote.
        let has_escaped = |quote: char| {
            let mut is_escaped = false;
            self.text.chars().any(|c| {
                let found = c == quote && is_escaped;
                is_escaped = c == '\\' && !is_escaped;
                found
            })
        };
        let quote = if has_escaped('"') { '\'' } else { '"' };
        f.write_char(quote)?;
        for c in self.text.chars() {
            if c == quote {
                f.write_char('\\')?;
            }
            f.write_char(c)?;
        }
        f.write_char(quote)
    }
}

/// Writes parentheses around the operands of each operator, unless they are single words.
impl fmt::Display for SyntaxNode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let joined = |f: &mut fmt::Formatter<'_>, nodes: &[Self], sign: &str| {
            nodes.iter().enumerate().try_for_each(|(i, node)| {
                if i > 0 {
                    f.write_str(sign)?;
                }
                write!(f, "{}", Operand(node))
            })
        };
        match &self.kind {
            NodeKind::And(nodes) => joined(f, nodes, " && "),
            NodeKind::Or(nodes) => joined(f, nodes, " || "),
            NodeKind::Not(node) => write!(f, "!{}", Operand(node)),
            NodeKind::Compare(op, a, b) => write!(f, "{} {} {}", Operand(a), op.name(), Operand(b)),
            NodeKind::Match { text, pattern, is_negated } => {
                write!(f, "{} {} {pattern}", Operand(text), if *is_negated { "!~" } else { "=~" })
            }
            NodeKind::Part { op, value, part, is_negated } => {
                let not = if *is_negated { "not " } else { "" };
                write!(f, "{} {not}{} {}", Operand(value), op.name(), Operand(part))
            }
            NodeKind::In { value, list, is_negated } => {
                let word = if *is_negated { "not in" } else { "in" };
                write!(f, "{} {word} {}", Operand(value), Operand(list))
            }
            NodeKind::List(nodes) => {
                f.write_str("[")?;
                joined(f, nodes, ", ")?;
                f.write_str("]")
            }
            NodeKind::Range(begin, end) => {
                let operand = |node: &Option<Box<Self>>| {
                    node.as_ref().map(|node| Operand(node).to_string()).unwrap_or_default()
                };
                write!(f, "{}..{}", operand(begin), operand(end))
            }
            NodeKind::Arithmetic(op, a, b) => write!(f, "{} {} {}", Operand(a), op.name(), Operand(b)),
            NodeKind::Negate(node) => write!(f, "-{}", Operand(node)),
            NodeKind::Complement(node) => write!(f, "~{}", Operand(node)),
            NodeKind::Has(path) => write!(f, "has({path})"),
            NodeKind::Length(node) => write!(f, "len({})", Operand(node)),
            NodeKind::Name(path) => write!(f, "{path}"),
            NodeKind::Integer(value) => write!(f, "{value}"),
            NodeKind::Float(value) => write!(f, "{value:?}"),
            NodeKind::Boolean(value) => write!(f, "{value}"),
            NodeKind::Duration(value) => write!(f, "{value}ns"),
            NodeKind::Text(literal) => write!(f, "{literal}"),
            NodeKind::Time(text) => f.write_str(text),
        }
    }
}

/// Operand.
struct Operand<'n>(&'n SyntaxNode);

impl fmt::Display for Operand<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let is_word = matches!(
            self.0.kind,
            NodeKind::List(_)
                | NodeKind::Range(..)
                | NodeKind::Has(_)
                | NodeKind::Length(_)
                | NodeKind::Name(_)
                | NodeKind::Integer(_)
                | NodeKind::Float(_)
                | NodeKind::Boolean(_)
                | NodeKind::Duration(_)
                | NodeKind::Text(_)
                | NodeKind::Time(_)
        );
        if is_word { write!(f, "{}", self.0) } else { write!(f, "({})", self.0) }
    }
}

impl SyntaxNode {
    /// Calls `take` for the node and all its descendants, sorted by position.
    pub(super) fn for_each<'n>(&'n self, take: &mut dyn FnMut(&'n Self)) {
        take(self);
        match &self.kind {
            NodeKind::And(nodes) | NodeKind::Or(nodes) | NodeKind::List(nodes) => {
                nodes.iter().for_each(|node| node.for_each(take));
            }
            NodeKind::Not(node)
            | NodeKind::Negate(node)
            | NodeKind::Complement(node)
            | NodeKind::Length(node) => {
                node.for_each(take);
            }
            NodeKind::Compare(_, a, b)
            | NodeKind::Arithmetic(_, a, b)
            | NodeKind::Part { value: a, part: b, .. }
            | NodeKind::In { value: a, list: b, .. } => {
                a.for_each(take);
                b.for_each(take);
            }
            NodeKind::Range(begin, end) => {
                begin.iter().chain(end).for_each(|node| node.for_each(take));
            }
            NodeKind::Match { text, .. } => text.for_each(take),
            NodeKind::Has(_)
            | NodeKind::Name(_)
            | NodeKind::Integer(_)
            | NodeKind::Float(_)
            | NodeKind::Boolean(_)
            | NodeKind::Duration(_)
            | NodeKind::Text(_)
            | NodeKind::Time(_) => {}
        }
    }
}
