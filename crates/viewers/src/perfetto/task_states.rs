//! Scheduling as task states. Unlike in ftrace, a state can be unknown.

use super::ftrace::push_name;
use super::packet_writer::PacketWriter;
use super::schema::{packet, task_state, trace};
use crate::protobuf::{begin, end, push_unsigned};
use ichnos_analysis::events::thread_fields::{NamedThread, PreviousState, linux};

/// Returns the Perfetto number of a state, or `None` if Perfetto lacks it.
fn number(state: PreviousState) -> Option<u64> {
    Some(match state {
        PreviousState::Runnable | PreviousState::Linux(0 | linux::PREEMPTED) => task_state::RUNNABLE,
        PreviousState::Blocked => task_state::INTERRUPTIBLE_SLEEP,
        PreviousState::Suspended => task_state::STOPPED,
        PreviousState::Dying => task_state::DEAD,
        PreviousState::Dead => task_state::DESTROYED,
        PreviousState::Linux(_) if state.is_end() => task_state::DEAD,
        PreviousState::Linux(bits) if bits & linux::STOPPED != 0 => task_state::STOPPED,
        PreviousState::Linux(bits) if bits & linux::UNINTERRUPTIBLE != 0 => task_state::UNINTERRUPTIBLE_SLEEP,
        PreviousState::Linux(bits) if bits & linux::INTERRUPTIBLE != 0 => task_state::INTERRUPTIBLE_SLEEP,
        PreviousState::Linux(_) => return None,
    })
}

impl PacketWriter<'_> {
    /// Writes a thread switch, and the state of `previous` if both are known. Returns `false` if a number does not
    /// fit.
    pub(super) fn run(
        &mut self,
        processor: u64,
        previous: Option<(NamedThread<'_>, PreviousState)>,
        next: NamedThread<'_>,
    ) -> bool {
        let previous = previous.and_then(|(thread, state)| Some((thread, number(state)?)));
        previous.is_none_or(|(thread, state)| self.task_state(processor, thread, state))
            && self.task_state(processor, next, task_state::RUNNING)
    }

    /// Writes that a thread is ready but not running.
    pub(super) fn can_run(&mut self, processor: u64, thread: NamedThread<'_>) -> bool {
        self.task_state(processor, thread, task_state::RUNNABLE)
    }

    fn task_state(&mut self, processor: u64, thread: NamedThread<'_>, state: u64) -> bool {
        if i64::try_from(thread.number).is_err() {
            return false;
        }
        let at = begin(self.out, trace::PACKET);
        push_unsigned(self.out, packet::TIMESTAMP, self.time);
        self.sequence.id.push(self.out);
        let task = begin(self.out, packet::TASK_STATE);
        push_unsigned(self.out, task_state::PROCESSOR, processor);
        push_name(self.out, task_state::NAME, &thread.name);
        push_unsigned(self.out, task_state::THREAD, thread.number);
        push_unsigned(self.out, task_state::STATE, state);
        end(self.out, task);
        end(self.out, at)
    }
}
