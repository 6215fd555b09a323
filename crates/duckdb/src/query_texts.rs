//! Arguments of a function.

use std::path::PathBuf;

use ichnos::query::QueryTexts;

use crate::duckdb::{CallArguments, Parameter};
use crate::paths;

/// Named parameters of functions about all events.
pub(crate) const OPENING: &[Parameter] = &[c"map", c"clock_offset", c"assume_correlated"];

/// Named parameters of functions about selected events.
pub(crate) const SELECTING: &[Parameter] =
    &[c"event", c"filter", c"begin", c"end", c"map", c"clock_offset", c"assume_correlated"];

/// Named parameters for functions that return events.
pub(crate) const READING: &[Parameter] =
    &[c"event", c"filter", c"begin", c"end", c"map", c"clock_offset", c"assume_correlated", c"timestamps"];

/// Returns the arguments that say how the traces are opened.
pub(crate) fn opening(arguments: &CallArguments) -> Result<QueryTexts, String> {
    let mut texts = QueryTexts::new(paths::expand(&arguments.first_texts()?)?);
    texts.maps = arguments.texts("map")?.into_iter().map(PathBuf::from).collect();
    texts.offsets = arguments.texts("clock_offset")?;
    texts.assume_correlated = arguments.flag("assume_correlated")?;
    Ok(texts)
}

/// Returns all arguments that select events.
pub(crate) fn all(arguments: &CallArguments) -> Result<QueryTexts, String> {
    let mut texts = opening(arguments)?;
    texts.events = arguments.texts("event")?;
    texts.filter = arguments.text("filter")?;
    texts.begin = arguments.text("begin")?;
    texts.end = arguments.text("end")?;
    Ok(texts)
}
