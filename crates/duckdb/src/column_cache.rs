//! Columns of earlier queries. Files without declared classes are read once to find their columns, and queries about the
//! same file often follow each other.

use std::collections::VecDeque;
use std::ffi::CStr;
use std::path::PathBuf;
use std::sync::Mutex;
use std::time::SystemTime;

use ichnos::model::locks::IgnorePoison as _;
use ichnos::query::{QueryTexts, TraceQuery};
use ichnos::table::{TableOptions, TimestampUnit};
use ichnos::tables::EventColumn;

/// Maximum number of queries, and of columns of a query.
const MOST: usize = 16;
const MOST_COLUMNS: usize = 2_000;

static KNOWN: Mutex<VecDeque<KnownColumns>> = Mutex::new(VecDeque::new());

/// Columns of a query.
pub(crate) struct KnownColumns {
    key: ColumnsKey,
    columns: Vec<EventColumn>,
}

/// All that the columns depend on.
#[derive(PartialEq)]
pub(crate) struct ColumnsKey {
    function: &'static CStr,
    texts: QueryTexts,
    timestamps: Option<TimestampUnit>,
    /// Size and time of each file.
    files: Vec<(u64, SystemTime)>,
}

impl KnownColumns {
    /// Returns the columns of an equal query about the same files. Otherwise returns the key to add them, `None` if they
    /// are not worth it.
    pub(crate) fn find(
        function: &'static CStr,
        query: &TraceQuery,
        options: &TableOptions,
    ) -> Result<Vec<EventColumn>, Option<Box<ColumnsKey>>> {
        if !query.session().traces().iter().any(|trace| trace.has_dynamic_classes()) {
            return Err(None);
        }
        let texts = query.texts().clone();
        let file = |path: &PathBuf| {
            let found = std::fs::metadata(path).ok().filter(std::fs::Metadata::is_file)?;
            Some((found.len(), found.modified().ok()?))
        };
        let files =
            texts.paths.iter().chain(&texts.maps).map(file).collect::<Option<Vec<_>>>().ok_or(None)?;
        let key = ColumnsKey { function, texts, timestamps: options.timestamps, files };
        let known = KNOWN.lock().ignore_poison();
        match known.iter().find(|known| known.key == key) {
            Some(known) => Ok(known.columns.clone()),
            None => Err(Some(Box::new(key))),
        }
    }

    /// Adds the columns of a query.
    pub(crate) fn add(key: Option<Box<ColumnsKey>>, columns: &[EventColumn]) {
        let Some(key) = key.filter(|_| columns.len() <= MOST_COLUMNS) else { return };
        let mut known = KNOWN.lock().ignore_poison();
        if known.len() >= MOST {
            known.pop_front();
        }
        known.push_back(Self { key: *key, columns: columns.to_vec() });
    }
}
