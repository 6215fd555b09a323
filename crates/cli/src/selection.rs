//! Which data streams and events are wanted.

use std::collections::HashMap;

use globset::{Glob, GlobSet, GlobSetBuilder};
use ichnos::model::{Event, Message};

use crate::args::Cat;
use crate::exit::Failure;

/// Which streams and events are printed.
#[derive(Clone)]
pub(crate) struct Selection {
    streams: Option<GlobSet>,
    events: Option<GlobSet>,
    limited: bool,
    known_classes: HashMap<usize, bool>,
}

impl Selection {
    pub(crate) fn new(args: &Cat) -> Result<Self, Failure> {
        let set = |patterns: &[String], option: &str| {
            if patterns.is_empty() {
                return Ok(None);
            }
            let mut builder = GlobSetBuilder::new();
            for pattern in patterns {
                let glob = Glob::new(pattern).map_err(|error| {
                    Failure::new(format!("the pattern of {option} cannot be used: {error}"))
                        .help("`*` is any text, `?` any character, `[a-z]` one of them, `{a,b}` a or b")
                })?;
                builder.add(glob);
            }
            let set = builder.build();
            set.map(Some)
                .map_err(|error| Failure::new(format!("the patterns of {option} cannot be used: {error}")))
        };
        Ok(Self {
            streams: set(&args.stream, "--stream")?,
            events: set(&args.event, "--event")?,
            limited: args.begin.is_some()
                || args.end.is_some()
                || args.timerange.is_some()
                || args.stream_intersection,
            known_classes: HashMap::new(),
        })
    }

    /// Whether something may be left out.
    pub(crate) fn is_some(&self) -> bool {
        self.limited || self.streams.is_some() || self.events.is_some()
    }

    /// Whether there is nothing to ask about events.
    #[inline(always)]
    pub(crate) fn wants_all_events(&self) -> bool {
        self.events.is_none()
    }

    /// Whether a message is printed. Those of data streams that are not wanted never come here.
    pub(crate) fn wants(&mut self, message: &Message<'_>) -> bool {
        match message {
            Message::Event(event) => self.wants_event(event),
            // A file that is part of no data stream, since it cannot be read.
            Message::Damage(damage) if damage.stream.is_none() => self.wants_file(&damage.file),
            _ => true,
        }
    }

    /// Whether a data stream of this name is read.
    pub(crate) fn wants_file(&self, path: &str) -> bool {
        let Some(set) = &self.streams else { return true };
        let name = path.rsplit('/').next().unwrap_or_default();
        set.is_match(path) || set.is_match(name)
    }

    fn wants_event(&mut self, event: &Event<'_>) -> bool {
        let Some(set) = &self.events else { return true };
        // Classes stay where they are as long as their trace is open.
        let address = std::ptr::from_ref(event.class) as usize;
        *self
            .known_classes
            .entry(address)
            .or_insert_with(|| event.class.name.as_deref().is_some_and(|name| set.is_match(name)))
    }
}
