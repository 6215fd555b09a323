//! Event batches that several threads make.

use std::mem::ManuallyDrop;
use std::process;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, SyncSender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use ichnos::flow::{ChunkSender, in_order};
use ichnos::table::BATCH_ROWS;
use ichnos::tables::{EventReader, EventScan};

use crate::batches::BatchSource;
use crate::event_batch::batch;
use crate::failure::{CallFailure, caught};
use crate::interrupts::{INTERVAL, Interrupts};

/// Maximum number of batches of a part of the events that wait.
const ROOM: usize = 2;

/// Batches in the order of the data streams. Dropping it ends the threads.
pub(crate) struct ThreadedBatches {
    /// `None` follows the last batch: threads that end without it have failed.
    batches: ManuallyDrop<Receiver<Result<Option<RecordBatch>, CallFailure>>>,
    is_over: Arc<AtomicBool>,
    interrupts: Interrupts,
    /// Process of the threads.
    process: u32,
}

/// Scan with its readers, which keep each class's columns.
struct SharedScan {
    scan: EventScan,
    schema: SchemaRef,
    readers: Mutex<Vec<EventReader>>,
    is_over: Arc<AtomicBool>,
}

impl ThreadedBatches {
    /// Starts to read on some threads.
    pub(crate) fn start(scan: EventScan, schema: SchemaRef, threads: usize) -> Result<Self, CallFailure> {
        let (sender, batches) = mpsc::sync_channel(1);
        let is_over = Arc::new(AtomicBool::new(false));
        let shared = SharedScan { scan, schema, readers: Mutex::default(), is_over: Arc::clone(&is_over) };
        let run = move || {
            let end = caught(|| shared.run(threads, &sender)).map(|()| None);
            let _ = sender.send(end);
        };
        thread::Builder::new()
            .spawn(run)
            .map_err(|error| CallFailure::new(format!("a thread cannot be started: {error}")))?;
        let (batches, interrupts) = (ManuallyDrop::new(batches), Interrupts::default());
        Ok(Self { batches, is_over, interrupts, process: process::id() })
    }

    /// Returns `true` in a process that was forked after the start. The threads are not there, and one of them can have
    /// locked the channel for ever.
    fn is_forked(&self) -> bool {
        self.process != process::id()
    }
}

impl Drop for ThreadedBatches {
    #[allow(unsafe_code)]
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        if !self.is_forked() {
            // SAFETY: the channel is dropped only here, and not used afterwards.
            unsafe { ManuallyDrop::drop(&mut self.batches) };
        }
    }
}

impl BatchSource for ThreadedBatches {
    fn next_batch(&mut self) -> Result<Option<RecordBatch>, CallFailure> {
        loop {
            if self.is_forked() {
                return Err(CallFailure::new("a stream cannot be read in a forked process"));
            }
            self.interrupts.look()?;
            match self.batches.recv_timeout(INTERVAL) {
                Ok(found) => return found,
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(CallFailure::new("internal error: a thread ended"));
                }
            }
        }
    }
}

impl SharedScan {
    fn run(
        &self,
        threads: usize,
        sender: &SyncSender<Result<Option<RecordBatch>, CallFailure>>,
    ) -> Result<(), CallFailure> {
        let make = |part: usize, batches: &ChunkSender<Result<RecordBatch, CallFailure>>| {
            if let Err(failure) = caught(|| self.read(part, batches)) {
                batches.send(Err(failure));
            }
        };
        let count = self.scan.most_readers();
        let ran = in_order(count, threads, ROOM, make, |_, mut batches| {
            // Nothing follows an error.
            batches.all(|batch| {
                let is_batch = batch.is_ok();
                sender.send(batch.map(Some)).is_ok() && is_batch
            })
        });
        ran.map_err(|error| CallFailure::new(format!("a thread cannot be started: {error}")))
    }

    /// Reads a part of the events.
    fn read(
        &self,
        part: usize,
        batches: &ChunkSender<Result<RecordBatch, CallFailure>>,
    ) -> Result<(), CallFailure> {
        let free = self.readers.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let mut reader = free.unwrap_or_else(|| EventReader::new(&self.scan));
        let mut check = || match self.is_over.load(Ordering::Relaxed) {
            true => Err(CallFailure::new("the stream was dropped").into()),
            false => Ok(()),
        };
        reader.start_part(&self.scan, part);
        while let Some(block) = reader.read_part(&self.scan, BATCH_ROWS, &mut check)? {
            if !batches.send(Ok(batch(&block, &self.scan, &self.schema)?)) {
                return Ok(());
            }
        }
        self.readers.lock().unwrap_or_else(PoisonError::into_inner).push(reader);
        Ok(())
    }
}
