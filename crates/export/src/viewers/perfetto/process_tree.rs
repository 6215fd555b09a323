//! Processes of threads that an event or a trace lists: those of threads that only the scheduler mentions are not known
//! from tracks.

use ichnos_model::{Event, Trace};

use super::Perfetto;
use super::schema::{packet, process_tree, trace};
use super::sequence::SequenceId;
use crate::viewers::class::ViewerClass;
use crate::viewers::protobuf::{begin, end, push_bytes, push_unsigned};
use crate::viewers::scheduling::Scheduling;

/// A thread and its process.
#[derive(Clone, Copy, Debug)]
struct ThreadOfProcess<'n> {
    thread: u64,
    process: u64,
    name: &'n str,
}

impl Perfetto {
    /// Writes the threads that a trace lists.
    pub(super) fn listed_threads(&mut self, sequence: SequenceId, trace: &Trace, time: u64) {
        let threads = trace.threads().iter().filter_map(|thread| {
            Some(ThreadOfProcess { thread: thread.number, process: thread.process?, name: &thread.name })
        });
        push_process_tree(&mut self.out, sequence, time, threads);
    }
}

/// Writes the process of the thread that an event is about, if it is new.
pub(super) fn new_thread(
    out: &mut Vec<u8>,
    sequence: SequenceId,
    (time, trace): (u64, u32),
    event: &Event<'_>,
    class: &ViewerClass,
    scheduling: &Scheduling,
) {
    let Some(threads) = &class.threads else { return };
    let (Some(target), Some(process)) = (threads.target(event), threads.target_process(event)) else {
        return;
    };
    if scheduling.process(trace, target.number) != Some(process) {
        let thread = ThreadOfProcess { thread: target.number, process, name: target.name };
        push_process_tree(out, sequence, time, std::iter::once(thread));
    }
}

fn push_process_tree<'n>(
    out: &mut Vec<u8>,
    sequence: SequenceId,
    time: u64,
    threads: impl Iterator<Item = ThreadOfProcess<'n>>,
) {
    // Perfetto has 31 bits for both. Thread 0 is that of each idle processor.
    let fits = |number: u64| i32::try_from(number).is_ok();
    let mut threads =
        threads.filter(|thread| thread.thread != 0 && fits(thread.thread) && fits(thread.process)).peekable();
    if threads.peek().is_none() {
        return;
    }
    let begins = out.len();
    let at = begin(out, trace::PACKET);
    push_unsigned(out, packet::TIMESTAMP, time);
    sequence.push(out);
    let tree = begin(out, packet::PROCESS_TREE);
    for ThreadOfProcess { thread, process, name } in threads {
        if thread == process && !name.is_empty() {
            let at = begin(out, process_tree::PROCESSES);
            push_unsigned(out, process_tree::PROCESS_ID, process);
            push_bytes(out, process_tree::COMMAND_LINE, name.as_bytes());
            end(out, at);
        }
        let at = begin(out, process_tree::THREADS);
        push_unsigned(out, process_tree::THREAD_ID, thread);
        if !name.is_empty() {
            push_bytes(out, process_tree::THREAD_NAME, name.as_bytes());
        }
        push_unsigned(out, process_tree::THREAD_PROCESS, process);
        end(out, at);
    }
    if !(end(out, tree) & end(out, at)) {
        out.truncate(begins);
    }
}
