//! Processes and thread names. Some threads appear only in scheduling events and have no track, and names change.

use super::schema::{packet, process_tree, trace};
use super::sequence::SequenceId;
use crate::protobuf::{begin, end, push_bytes, push_unsigned};
use ichnos_analysis::events::scheduling::Scheduling;

/// Writes the threads with a new process or name.
#[inline]
pub(super) fn push_changes(out: &mut Vec<u8>, sequence: SequenceId, time: u64, scheduling: &mut Scheduling) {
    while let Some((thread, process, name)) = scheduling.take_change() {
        push_thread(out, sequence, time, (thread, process), name);
    }
}

/// Writes the process and name of a thread. The first thread of a process also names the process.
fn push_thread(
    out: &mut Vec<u8>,
    sequence: SequenceId,
    time: u64,
    (thread, process): (u64, u64),
    name: &str,
) {
    // Perfetto has 31 bits for both. Thread 0 is the idle thread of every processor.
    let fits = |number: u64| i32::try_from(number).is_ok();
    if thread == 0 || !fits(thread) || !fits(process) {
        return;
    }
    let at = begin(out, trace::PACKET);
    push_unsigned(out, packet::TIMESTAMP, time);
    sequence.push(out);
    let tree = begin(out, packet::PROCESS_TREE);
    if thread == process && !name.is_empty() {
        let at = begin(out, process_tree::PROCESSES);
        push_unsigned(out, process_tree::PROCESS_ID, process);
        push_bytes(out, process_tree::COMMAND_LINE, name.as_bytes());
        end(out, at);
    }
    let thread_at = begin(out, process_tree::THREADS);
    push_unsigned(out, process_tree::THREAD_ID, thread);
    if !name.is_empty() {
        push_bytes(out, process_tree::THREAD_NAME, name.as_bytes());
    }
    push_unsigned(out, process_tree::THREAD_PROCESS, process);
    end(out, thread_at);
    end(out, tree);
    end(out, at);
}
