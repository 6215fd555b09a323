//! Selects a task's events.

use std::collections::HashSet;
use std::sync::Mutex;

use ichnos_model::Event;
use ichnos_model::event::StreamTable;
use ichnos_model::locks::IgnorePoison as _;
use ichnos_model::meaning::{FindMentions, Identifier};

use super::Tasks;
use super::fields::{EventContent, TaskFields};

/// Events of a task. They name the task, or name one of its operations without a task, or mention it in a text.
///
/// If operations in several traces share an identifier, the events of all of them are selected.
pub struct TaskEvents {
    task: Identifier,
    operations: HashSet<Identifier>,
    find_mentions: Vec<FindMentions>,
    state: Mutex<EventState>,
}

/// Reading state.
#[derive(Debug, Default)]
struct EventState {
    classes: StreamTable<(), (), Option<TaskFields>>,
    content: EventContent,
}

impl std::fmt::Debug for TaskEvents {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TaskEvents").field("task", &self.task).finish_non_exhaustive()
    }
}

impl Tasks {
    /// Returns a task's events. `find_mentions` finds operations in texts. `None` if the task does not exist.
    #[must_use]
    pub fn events_of(&self, task: usize, find_mentions: Vec<FindMentions>) -> Option<TaskEvents> {
        let id = self.id(task)?;
        let begin = task.checked_sub(1).and_then(|before| self.member_ends.get(before)).copied().unwrap_or(0);
        let members = self.members.get(begin..*self.member_ends.get(task)?).unwrap_or_default();
        let operations = members.iter().filter_map(|number| self.all.operations.get(*number as usize));
        Some(TaskEvents {
            task: id,
            operations: operations.map(|operation| operation.id).collect(),
            find_mentions,
            state: Mutex::default(),
        })
    }
}

impl TaskEvents {
    /// Returns `true` if the event belongs to the task.
    pub fn contain(&self, event: &Event<'_>) -> bool {
        let mut state = self.state.lock().ignore_poison();
        let EventState { classes, content } = &mut *state;
        if !classes.has(event.stream) {
            classes.insert(event.stream, (), || ());
        }
        let Some((_, _, classes)) = classes.get_mut(event.stream) else { return false };
        let fields = classes.for_event(event, || {
            let fields = TaskFields::from_event(event, !self.find_mentions.is_empty());
            (!fields.is_empty()).then_some(fields)
        });
        let Some(fields) = fields else { return false };
        fields.read(event, &self.find_mentions, content);
        match (content.task, content.operation) {
            (Some(task), _) => self.is_task(task),
            (None, Some(operation)) if self.operations.contains(&operation) => true,
            // The event names a different operation, whatever its text mentions.
            (None, Some(_)) => false,
            (None, None) => content.mentions.iter().any(|mention| self.is_task(mention.task)),
        }
    }

    /// Returns `true` for the task's identifier. Its length can differ between formats.
    fn is_task(&self, task: Identifier) -> bool {
        let both_are_whole = |a: Identifier, b: Identifier| {
            a.as_bytes().len() == Identifier::MOST && b.as_bytes().len() == Identifier::MOST
        };
        task == self.task || task.common_part() == self.task.common_part() && !both_are_whole(task, self.task)
    }
}
