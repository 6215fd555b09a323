//! Task graph edges, from an event to the operations before it.

use core::fmt;
use core::str::FromStr;

use crate::id::{IdError, OpId};
use crate::option::ChainId;

/// Relation between an operation and its predecessor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum EdgeKind {
    /// Within the same layer.
    #[default]
    Next,
    /// To a lower layer, which the predecessor used.
    Down,
    /// To an upper layer, which the predecessor worked for.
    Up,
}

impl EdgeKind {
    /// Returns the word used in reports: `next`, `down` or `up`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Next => "next",
            Self::Down => "down",
            Self::Up => "up",
        }
    }
}

/// An edge in a report: the preceding operation, its relation to the reported operation, and its chain of events.
///
/// ```
/// use ichnos_xtrace::{Edge, EdgeKind};
///
/// let edge: Edge = "0A0A0A0A, down, 0xF8E6".parse()?;
/// assert_eq!((edge.kind, edge.chain.map(|chain| chain.0)), (EdgeKind::Down, Some(0xF8E6)));
/// assert_eq!(edge.to_string(), "0A0A0A0A, down, 0xF8E6");
/// # Ok::<(), ichnos_xtrace::EdgeError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Edge {
    /// Preceding operation. All zeros mark the start of the task.
    pub op: OpId,
    /// Relation between the reported operation and the preceding operation.
    pub kind: EdgeKind,
    /// Chain of the preceding operation, if it is known and differs from the reported chain.
    pub chain: Option<ChainId>,
}

impl Edge {
    /// Creates an edge within a layer and a chain.
    #[must_use]
    pub const fn next(op: OpId) -> Self {
        Self { op, kind: EdgeKind::Next, chain: None }
    }

    /// Returns `true` if the edge only marks the start of a task. The original libraries write an edge from an all-zero
    /// operation without a report.
    #[must_use]
    pub fn is_root(&self) -> bool {
        !self.op.is_valid()
    }
}

/// Writes an edge as in reports: hexadecimal digits, then `, down` or `, up` (`next` is omitted), then the chain.
impl fmt::Display for Edge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.op)?;
        if self.kind != EdgeKind::Next {
            write!(f, ", {}", self.kind.name())?;
        }
        match self.chain {
            Some(chain) => write!(f, ", {chain}"),
            None => Ok(()),
        }
    }
}

/// Reason why a text is not an edge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum EdgeError {
    /// The text does not start with an identifier.
    Id(IdError),
    /// The words after the identifier are not a kind with an optional chain.
    Word,
}

impl fmt::Display for EdgeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Id(error) => error.fmt(f),
            Self::Word => {
                f.write_str("an identifier is followed by `next`, `down` or `up`, and by `0x` and the chain")
            }
        }
    }
}

impl core::error::Error for EdgeError {}

impl From<IdError> for EdgeError {
    fn from(error: IdError) -> Self {
        Self::Id(error)
    }
}

impl FromStr for Edge {
    type Err = EdgeError;

    fn from_str(text: &str) -> Result<Self, EdgeError> {
        let mut words = text.split(',').map(|word| word.trim_matches([' ', '\t']));
        // Splitting yields at least one word, which must be an identifier.
        let mut edge = Self::next(words.next().unwrap_or_default().parse()?);
        let mut word = words.next();
        let kinds = [EdgeKind::Next, EdgeKind::Down, EdgeKind::Up];
        if let Some(kind) = word.and_then(|word| kinds.into_iter().find(|kind| kind.name() == word)) {
            edge.kind = kind;
            word = words.next();
        }
        if let Some(word) = word {
            let digits = word.strip_prefix("0x").or_else(|| word.strip_prefix("0X"));
            let digits = digits.filter(|digits| (1..=4).contains(&digits.len()) && !digits.starts_with('+'));
            let chain = digits.and_then(|digits| u16::from_str_radix(digits, 16).ok());
            edge.chain = Some(ChainId(chain.ok_or(EdgeError::Word)?));
        }
        if words.next().is_some() { Err(EdgeError::Word) } else { Ok(edge) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts() {
        for text in ["01020304", "0102030405060708, up", "01020304, 0x00FF", "01020304, down, 0xF8E6"] {
            assert_eq!(text.parse::<Edge>().unwrap().to_string(), text);
        }
        assert_eq!("0a0a0a0a,next , 0xf".parse::<Edge>().unwrap().to_string(), "0A0A0A0A, 0x000F");
        assert!("00000000".parse::<Edge>().unwrap().is_root());
        for text in
            ["", "0102", "0102030x", "01020304, sideways", "01020304, up, 12", "01020304, 0x", "01020304,"]
        {
            assert!(text.parse::<Edge>().is_err(), "{text}");
        }
        for text in ["01020304, 0x12345", "01020304, 0x+1", "01020304, up, 0x1, up", "01020304, 0x1, up"] {
            assert_eq!(text.parse::<Edge>(), Err(EdgeError::Word), "{text}");
        }
    }
}
