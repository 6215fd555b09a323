//! Threads that encode Parquet files. One thread encodes a whole file, so that its rows stay in order. All decisions
//! about files are made before, so that they do not depend on the number of threads.

use std::collections::VecDeque;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::thread::{Builder, JoinHandle};

use arrow_array::RecordBatch;
use ichnos_model::locks::IgnorePoison as _;

use crate::file_encoder::FileEncoder;

/// Maximum size of all batches in the queues, in bytes. A single batch can be larger.
const MOST_WAITING: usize = 64 << 20;

/// File encoder, used by one thread.
pub(crate) type SharedEncoder = Arc<Mutex<FileEncoder>>;

/// Job for a file encoder.
#[derive(Debug)]
pub(crate) enum FileJob {
    /// Append rows.
    Write(RecordBatch),
    /// End the row group.
    EndGroup,
    /// Complete the file.
    Finish,
}

impl FileJob {
    /// Returns the size in memory, in bytes.
    fn size(&self) -> usize {
        match self {
            Self::Write(batch) => batch.get_array_memory_size(),
            Self::EndGroup | Self::Finish => 0,
        }
    }
}

/// State shared by all encoder threads.
#[derive(Debug, Default)]
struct EncoderState {
    /// Job queue per thread.
    queues: Vec<VecDeque<(SharedEncoder, FileJob, usize)>>,
    /// Total size of unfinished jobs, in bytes.
    waiting: usize,
    /// First error. Nothing more is written after it.
    error: Option<io::Error>,
    has_failed: bool,
    /// `true` after the last job.
    is_over: bool,
    /// Total size of complete files, in bytes.
    bytes: u64,
}

impl EncoderState {
    /// Returns the error from an earlier job.
    fn check(&mut self) -> io::Result<()> {
        match (self.error.take(), self.has_failed) {
            (Some(error), _) => Err(error),
            (None, true) => Err(io::Error::other("an earlier part of the dataset could not be written")),
            (None, false) => Ok(()),
        }
    }
}

#[derive(Debug, Default)]
struct EncoderQueues {
    state: Mutex<EncoderState>,
    changed: Condvar,
}

impl EncoderQueues {
    fn lock(&self) -> MutexGuard<'_, EncoderState> {
        self.state.lock().ignore_poison()
    }

    fn wait<'s>(&self, state: MutexGuard<'s, EncoderState>) -> MutexGuard<'s, EncoderState> {
        self.changed.wait(state).ignore_poison()
    }

    /// Runs a thread's jobs.
    fn work(&self, thread: usize) {
        let mut state = self.lock();
        loop {
            let job = state.queues.get_mut(thread).and_then(VecDeque::pop_front);
            let Some((file, job, size)) = job else {
                if state.is_over {
                    return;
                }
                state = self.wait(state);
                continue;
            };
            let has_failed = state.has_failed;
            drop(state);
            // Without this, the caller would wait forever for a thread that has panicked.
            let done = catch_unwind(AssertUnwindSafe(|| if has_failed { Ok(0) } else { run(&file, job) }));
            let done =
                done.unwrap_or_else(|_| Err(io::Error::other("a thread that encodes files has failed")));
            drop(file);
            state = self.lock();
            state.waiting -= size;
            match done {
                Ok(bytes) => state.bytes += bytes,
                Err(error) => {
                    state.has_failed = true;
                    state.error.get_or_insert(error);
                }
            }
            self.changed.notify_all();
        }
    }
}

/// Runs a job. Returns the file size if the job completes the file, else 0.
fn run(file: &Mutex<FileEncoder>, job: FileJob) -> io::Result<u64> {
    let mut file = file.lock().ignore_poison();
    match job {
        FileJob::Write(batch) => file.write(&batch).map(|()| 0),
        FileJob::EndGroup => file.end_group().map(|()| 0),
        FileJob::Finish => file.finish(),
    }
}

/// Encodes files on several threads, or on the caller's thread.
#[derive(Debug)]
pub(crate) struct Encoders {
    shared: Arc<EncoderQueues>,
    /// If empty, the caller runs all jobs.
    threads: Vec<JoinHandle<()>>,
    /// Thread for the next file.
    next: usize,
}

impl Encoders {
    /// Starts this number of threads. For one thread, uses the caller's, which is as fast.
    pub(crate) fn new(threads: usize) -> Self {
        let shared = Arc::new(EncoderQueues::default());
        let mut started = Vec::new();
        let count = if threads > 1 { threads } else { 0 };
        for thread in 0..count {
            let shared = Arc::clone(&shared);
            let work = move || shared.work(thread);
            // Fewer threads write the same files.
            let Ok(handle) = Builder::new().name("tables".to_owned()).spawn(work) else { break };
            started.push(handle);
        }
        shared.lock().queues.resize_with(started.len(), VecDeque::new);
        Self { shared, threads: started, next: 0 }
    }

    /// Chooses a thread for a new file.
    pub(crate) fn assign(&mut self) -> usize {
        self.next += 1;
        self.next % self.threads.len().max(1)
    }

    /// Runs a job on the thread of its file, after the file's earlier jobs.
    ///
    /// # Errors
    /// If the job fails, or an earlier job of any file has failed.
    pub(crate) fn run(&self, file: &SharedEncoder, thread: usize, job: FileJob) -> io::Result<()> {
        if self.threads.is_empty() {
            let bytes = run(file, job)?;
            self.shared.lock().bytes += bytes;
            return Ok(());
        }
        let size = job.size();
        let mut state = self.shared.lock();
        while state.waiting > 0 && state.waiting.saturating_add(size) > MOST_WAITING && !state.has_failed {
            state = self.shared.wait(state);
        }
        state.check()?;
        state.waiting += size;
        if let Some(queue) = state.queues.get_mut(thread) {
            queue.push_back((Arc::clone(file), job, size));
        }
        drop(state);
        self.shared.changed.notify_all();
        Ok(())
    }

    /// Waits for all jobs. Returns the size of all files in bytes.
    ///
    /// # Errors
    /// If a job has failed.
    pub(crate) fn finish(&mut self) -> io::Result<u64> {
        self.join();
        let state = &mut *self.shared.lock();
        state.check()?;
        Ok(state.bytes)
    }

    fn join(&mut self) {
        self.shared.lock().is_over = true;
        self.shared.changed.notify_all();
        for thread in self.threads.drain(..) {
            // The shared state has the thread's errors.
            let _ = thread.join();
        }
    }
}

impl Drop for Encoders {
    /// Waits for the current jobs, so that nothing is written later.
    fn drop(&mut self) {
        self.shared.lock().has_failed = true;
        self.join();
    }
}
