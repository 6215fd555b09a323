//! Collects OpenTelemetry requests.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;

use ichnos_collect::{
    CollectError, Notice, RecordKind, RecordStore, RecordStoreOptions, RecordStoreStatistics,
};

use crate::otlp::receiver::{ReceiverCounts, ReceiverOptions, RequestCollector, RequestStore};
use crate::otlp::{RequestSignal, StoredKind};

/// Name of the format in directories with requests.
const FORMAT: &str = "otlp";

/// Receives OpenTelemetry requests over HTTP, and stores them in a directory. A request is acknowledged when it is on the
/// disk.
#[derive(Debug)]
pub struct OtlpCollector {
    requests: RequestCollector,
    store: Arc<RecordStore>,
}

/// Store that the receiver shares.
struct SharedStore(Arc<RecordStore>);

impl RequestStore for SharedStore {
    fn store(&self, kind: StoredKind, record: Vec<u8>) -> bool {
        let index = StoredKind::ALL.iter().position(|other| *other == kind);
        index.is_some_and(|index| self.0.append(index, record))
    }
}

impl OtlpCollector {
    /// Recovers a directory, and starts to receive. A thread calls `notify` with messages for people.
    ///
    /// # Errors
    /// If the directory cannot be written, belongs to another format or another collector, or the address cannot be
    /// used.
    pub fn start(
        path: &Path,
        receiver: &ReceiverOptions,
        options: RecordStoreOptions,
        notify: impl Fn(&Notice) + Send + 'static,
    ) -> Result<Self, CollectError> {
        let kinds = StoredKind::ALL.map(record_kind);
        let store = Arc::new(RecordStore::open(path, FORMAT, &kinds, options, notify)?);
        let shared = Box::new(SharedStore(Arc::clone(&store)));
        let address = receiver.address;
        let requests = RequestCollector::bind(receiver, shared).map_err(|error| CollectError::Address {
            protocol: "TCP",
            address,
            error,
        })?;
        Ok(Self { requests, store })
    }

    /// Returns the address. Port 0 is replaced by the port that the system chose.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.requests.address()
    }

    /// Returns the counts of requests and elements so far.
    #[must_use]
    pub fn counts(&self) -> &ReceiverCounts {
        self.requests.counts()
    }

    /// Returns the counts of stored requests so far.
    #[must_use]
    pub fn stored(&self) -> RecordStoreStatistics {
        self.store.statistics()
    }

    /// Returns `false` after an error has ended the thread that writes.
    #[must_use]
    pub fn is_running(&self) -> bool {
        self.store.is_running()
    }

    /// Refuses further requests, and answers the current ones.
    pub fn stop(&self) {
        self.requests.stop();
    }
}

fn record_kind(kind: StoredKind) -> RecordKind {
    let whole: fn(&[u8]) -> usize = match kind {
        StoredKind::Json => |file| StoredKind::Json.whole(file),
        // The form does not depend on the signal.
        StoredKind::Protobuf(_) => |file| StoredKind::Protobuf(RequestSignal::Traces).whole(file),
    };
    RecordKind { extension: kind.extension(), whole }
}
