//! Collects reports from the network.

use std::collections::BTreeSet;
use std::io;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{channel, sync_channel};
use std::thread::JoinHandle;

use ichnos_io::CollectSettings;
use mio::{Interest, Poll, Token, Waker};

use crate::batch::WAITING_BATCHES;
use crate::directory::{self, CollectorDirectory};
use crate::indexer::Indexer;
use crate::recovery::recover;
use crate::shared::CollectorState;
use crate::statistics::Statistics;
use crate::tcp::{self, Tcp};
use crate::udp::{self, Udp};
use crate::writer::{AnswerSender, SegmentWriter};
use crate::{CollectError, CollectorOptions, Notice};

/// Upper limit for [`CollectorOptions::longest`], because longer reports cannot be distinguished from damage.
const LONGEST: usize = 8 << 20;

/// Receives reports on its own threads until it is [stopped](Self::stop).
#[derive(Debug)]
pub struct Collector {
    shared: Arc<CollectorState>,
    udp: Vec<SocketAddr>,
    tcp: Vec<SocketAddr>,
    threads: Vec<JoinHandle<()>>,
    _directory: Arc<CollectorDirectory>,
}

impl Collector {
    /// Recovers a directory, and starts collecting reports in one format into it. Several threads call `notify` with
    /// messages for people.
    ///
    /// # Errors
    /// If the directory cannot be written, belongs to another format or another collector, or an address cannot be
    /// used.
    pub fn start(
        path: &Path,
        format: &str,
        collect: CollectSettings,
        mut options: CollectorOptions,
        notify: impl Fn(&Notice) + Send + Sync + 'static,
    ) -> Result<Self, CollectError> {
        options.longest = options.longest.clamp(1, LONGEST);
        // Addresses first: if one is in use, nothing is changed.
        let udp = options.udp.iter().map(|address| {
            udp::bind(*address, options.receive_buffer).map_err(address_error("UDP", *address))
        });
        let udp = udp.collect::<Result<Vec<_>, _>>()?;
        let tcp = options
            .tcp
            .iter()
            .map(|address| tcp::bind(*address, options.connections).map_err(address_error("TCP", *address)));
        let mut tcp = tcp.collect::<Result<Vec<_>, _>>()?;
        let directory = Arc::new(CollectorDirectory::open(path, format)?);
        let shared = Arc::new(CollectorState::new(options, collect, Box::new(notify)));
        let indexer = Indexer::new(path, collect).only_in(&directory);
        let behind = bring_into_order(path, &indexer, &shared, &collect)?;

        let (batches, waiting) = sync_channel(WAITING_BATCHES);
        let (done, is_done) = channel();
        let (close, closed) = channel();
        let poll = Poll::new().map_err(CollectError::Thread)?;
        let mut tell = AnswerSender { done, waker: None };
        let mut collector = Self {
            udp: udp.iter().filter_map(|socket| socket.local_addr().ok()).collect(),
            tcp: tcp.iter().filter_map(|listener| listener.local_addr().ok()).collect(),
            threads: Vec::new(),
            shared: Arc::clone(&shared),
            _directory: Arc::clone(&directory),
        };
        if !tcp.is_empty() {
            let waker = Waker::new(poll.registry(), tcp::WAKER).map_err(CollectError::Thread)?;
            tell.waker = Some(Arc::new(waker));
            for (number, listener) in tcp.iter_mut().enumerate() {
                poll.registry()
                    .register(listener, Token(1 + number), Interest::READABLE)
                    .map_err(CollectError::Thread)?;
            }
            let tcp = Tcp::new(Arc::clone(&shared), poll, tcp, batches.clone(), is_done);
            collector.spawn("collect-tcp", move || tcp.run())?;
        }
        if !udp.is_empty() {
            let udp = Udp::new(Arc::clone(&shared), udp, batches.clone()).map_err(CollectError::Thread)?;
            collector.spawn("collect-udp", move || udp.run())?;
        }
        // The writer ends after all receiving threads.
        drop(batches);
        let writer = SegmentWriter::new(Arc::clone(&shared), directory, waiting, close, tell);
        collector.spawn("collect-write", move || writer.run())?;
        collector.spawn("collect-index", move || indexer.run(behind, &closed, &shared))?;
        Ok(collector)
    }

    /// Returns the UDP addresses. Port 0 is replaced by the port that the system chose.
    #[must_use]
    pub fn udp(&self) -> &[SocketAddr] {
        &self.udp
    }

    /// Returns the TCP addresses. Port 0 is replaced by the port that the system chose.
    #[must_use]
    pub fn tcp(&self) -> &[SocketAddr] {
        &self.tcp
    }

    /// Returns the counts so far.
    #[must_use]
    pub fn statistics(&self) -> Statistics {
        self.shared.counters.statistics()
    }

    /// Receives pending data, writes everything to the disk, answers pending questions, and adds the last segment to
    /// the index. Returns the final counts.
    ///
    /// # Errors
    /// If a thread has panicked.
    pub fn stop(mut self) -> Result<Statistics, CollectError> {
        self.end()?;
        Ok(self.statistics())
    }

    /// Returns `false` after a system error has ended a thread.
    #[must_use]
    pub fn is_running(&self) -> bool {
        !self.threads.iter().any(std::thread::JoinHandle::is_finished)
    }

    fn spawn(&mut self, name: &str, run: impl FnOnce() + Send + 'static) -> Result<(), CollectError> {
        let thread = std::thread::Builder::new().name(name.to_owned()).spawn(run);
        self.threads.push(thread.map_err(CollectError::Thread)?);
        Ok(())
    }

    fn end(&mut self) -> Result<(), CollectError> {
        self.shared.stop();
        let mut result = Ok(());
        for thread in self.threads.drain(..) {
            if thread.join().is_err() {
                result = Err(CollectError::Thread(io::Error::other("panicked")));
            }
        }
        result
    }
}

impl Drop for Collector {
    fn drop(&mut self) {
        // `drop` cannot return the error.
        let _ = self.end();
    }
}

/// Recovers segments that were not closed properly, and updates the index. Returns the segments that must still be
/// indexed.
fn bring_into_order(
    path: &Path,
    indexer: &Indexer,
    shared: &CollectorState,
    collect: &CollectSettings,
) -> Result<BTreeSet<u32>, CollectError> {
    let mut segments: BTreeSet<u32> = directory::segments(path)?.into_iter().collect();
    for number in indexer.unknown(&segments) {
        match recover(path, number, collect) {
            Ok(Some(notice)) => shared.notice(&notice),
            Ok(None) => {}
            Err(error) => {
                // New reports go to another segment. The next start recovers this one, because it is not in the index.
                shared.notice(&Notice::NotClosed { error: error.to_string() });
                segments.remove(&number);
            }
        }
    }
    if segments.is_empty() && !directory::index(path).exists() {
        return Ok(segments);
    }
    let mut tasks = 0;
    let result = indexer.catch_up(&segments, &mut tasks);
    shared.counters.tasks.set(tasks);
    match result {
        Ok(()) => Ok(BTreeSet::new()),
        Err(error) => {
            // Collecting works without an index, and the index can be rebuilt.
            shared.notice(&Notice::Index { error: error.to_string() });
            Ok(segments)
        }
    }
}

/// Checks all segments of a directory, and rebuilds its index. Returns the number of tasks.
///
/// # Errors
/// If the directory cannot be written, or a collector writes to it.
pub fn rebuild_index(
    path: &Path,
    format: &str,
    collect: &CollectSettings,
    notify: impl Fn(&Notice),
) -> Result<u64, CollectError> {
    // Do not create the directory if it is missing.
    crate::format_of(path)?;
    let _directory = CollectorDirectory::open(path, format)?;
    let segments = directory::segments(path)?;
    for number in &segments {
        if let Some(notice) = recover(path, *number, collect)? {
            notify(&notice);
        }
    }
    let mut tasks = 0;
    Indexer::new(path, *collect).rebuild(&segments.into_iter().collect(), &mut tasks)?;
    Ok(tasks)
}

fn address_error(protocol: &'static str, address: SocketAddr) -> impl FnOnce(io::Error) -> CollectError {
    move |error| CollectError::Address { protocol, address, error }
}
