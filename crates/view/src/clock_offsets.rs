//! Clock offsets in requests.

use std::collections::BTreeMap;

use crate::query::Query;
use crate::response::ApiError;

/// Maximum number of traces with an offset.
const MOST_OFFSETS: usize = 64;

/// Nanoseconds to add to the times of traces, by track number. Offsets of 0 are left out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct TrackOffsets(pub(crate) BTreeMap<u32, i64>);

impl TrackOffsets {
    /// Parses the parameter `offsets`, for example `3:-500,7:1000`: track number and nanoseconds.
    pub(crate) fn from_query(query: &Query) -> Result<Self, ApiError> {
        let mut offsets = BTreeMap::new();
        for text in query.text("offsets").into_iter().flat_map(|text| text.split(',')) {
            let parsed = text.split_once(':').and_then(|(track, nanoseconds)| {
                Some((track.parse::<u32>().ok()?, nanoseconds.parse::<i64>().ok()?))
            });
            let wrong = || ApiError::bad(format!("offsets: expected TRACK:NANOSECONDS, found `{text}`"));
            let (track, nanoseconds) = parsed.ok_or_else(wrong)?;
            if offsets.insert(track, nanoseconds).is_some() {
                return Err(ApiError::bad(format!("offsets: track {track} has two offsets")));
            }
            if offsets.len() > MOST_OFFSETS {
                return Err(ApiError::bad(format!("offsets: at most {MOST_OFFSETS}")));
            }
        }
        offsets.retain(|_, nanoseconds| *nanoseconds != 0);
        Ok(Self(offsets))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn offsets(text: &str) -> Result<TrackOffsets, ApiError> {
        TrackOffsets::from_query(&Query::new(&format!("offsets={text}")).unwrap())
    }

    #[test]
    fn offsets_are_bounded_numbers_of_tracks() {
        let expected = TrackOffsets(BTreeMap::from([(3, -5), (7, i64::MAX)]));
        assert_eq!(offsets("7:9223372036854775807,3:-5,4:0").unwrap(), expected);
        assert_eq!(offsets("").unwrap(), TrackOffsets::default());
        for text in ["1", "1:", "x:1", "1:9223372036854775808", "1:1.5", "-1:1", "1:2,1:3", ","] {
            assert_eq!(offsets(text).unwrap_err().status, 400, "{text}");
        }
        let list = |number: u32| (0..number).map(|i| format!("{i}:1")).collect::<Vec<_>>().join(",");
        assert!(offsets(&list(64)).is_ok() && offsets(&list(65)).is_err());
    }
}
