//! Shards: shares of the work if several processes write one output.

use std::collections::HashSet;
use std::fmt;
use std::num::NonZeroU32;
use std::str::FromStr;

/// One of several shards, numbered from 1. Several processes, each with a different shard of the same total, read
/// different parts of the same input and write one output.
///
/// ```
/// use ichnos_io::Shard;
///
/// let shard: Shard = "2/8".parse().unwrap();
/// assert_eq!((shard.index(), shard.count()), (2, 8));
/// assert!("9/8".parse::<Shard>().is_err());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Shard {
    index: NonZeroU32,
    count: NonZeroU32,
}

impl Shard {
    /// Maximum number of shards.
    pub const MOST: u32 = 65_536;

    /// Creates a shard. `None` unless `index` is from 1 to `count`, and `count` is at most [`Shard::MOST`].
    #[must_use]
    pub fn new(index: u32, count: u32) -> Option<Self> {
        if count > Self::MOST {
            return None;
        }
        let (index, count) = (NonZeroU32::new(index)?, NonZeroU32::new(count)?);
        (index <= count).then_some(Self { index, count })
    }

    /// Returns the shard number, from 1.
    #[must_use]
    pub fn index(self) -> u32 {
        self.index.get()
    }

    /// Returns the number of shards.
    #[must_use]
    pub fn count(self) -> u32 {
        self.count.get()
    }
}

/// Writes `I/N`.
impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.index, self.count)
    }
}

/// Error for a text that is not a shard.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected a shard such as 2/8, from 1/8 to 8/8, of at most {most}, found `{0}`", most = Shard::MOST)]
pub struct ShardError(String);

impl FromStr for Shard {
    type Err = ShardError;

    fn from_str(text: &str) -> Result<Self, ShardError> {
        let parse = || {
            let (index, count) = text.split_once('/')?;
            Self::new(index.parse().ok()?, count.parse().ok()?)
        };
        parse().ok_or_else(|| ShardError(text.to_owned()))
    }
}

/// A shard of an output, and the data streams that start in it.
#[derive(Clone, Debug)]
pub struct WriteShard {
    /// The shard.
    pub shard: Shard,
    /// Keys of the data streams that start in this shard. Each data stream starts in one shard, which writes everything
    /// that is written once per data stream.
    pub streams: HashSet<u32>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shards_are_counted_from_one() {
        assert_eq!("1/1".parse(), Ok(Shard::new(1, 1).unwrap()));
        assert_eq!("12/300".parse::<Shard>().unwrap().to_string(), "12/300");
        for wrong in ["", "1", "0/1", "2/1", "1/0", "-1/2", "1/2/3", "a/2", "1/4294967296"] {
            let error = wrong.parse::<Shard>().unwrap_err().to_string();
            assert!(error.ends_with(&format!("`{wrong}`")), "{error}");
        }
    }
}
