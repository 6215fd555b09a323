//! Edges of the task graph: what an event replaced.

use core::fmt;
use core::str::FromStr;

use crate::id::{IdError, OpId};
use crate::option::ChainId;

/// How an operation comes after another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum EdgeKind {
    /// In the same layer.
    #[default]
    Next,
    /// In the layer below, which the operation made use of.
    Down,
    /// In the layer above, which the operation was done for.
    Up,
}

impl EdgeKind {
    /// The word in reports: `next`, `down` or `up`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Next => "next",
            Self::Down => "down",
            Self::Up => "up",
        }
    }
}

/// An edge, as a report has it: the operation that came before, how the reported one follows it, and the chain
/// of events that it was in.
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
    /// The operation before. All zeros stand for the begin of the task.
    pub op: OpId,
    /// How the reported operation follows.
    pub kind: EdgeKind,
    /// The chain of the operation before, if it is known and another one.
    pub chain: Option<ChainId>,
}

impl Edge {
    /// An edge within a layer and a chain.
    #[must_use]
    pub const fn next(op: OpId) -> Self {
        Self { op, kind: EdgeKind::Next, chain: None }
    }

    /// Whether it is only a mark that the task begins here: reports of the original libraries have an edge from
    /// an operation of zeros there, which no report is about.
    #[must_use]
    pub fn is_root(&self) -> bool {
        !self.op.is_valid()
    }
}

/// As reports have it: `HEX`, then `, down` or `, up` (`next` is left out), then the chain.
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

/// Why a text is not an edge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum EdgeError {
    /// It does not begin with an identifier.
    Id(IdError),
    /// Something follows the identifier that is neither a kind nor, behind it, a chain.
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
