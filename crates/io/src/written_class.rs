//! Event record classes in written files.

use ichnos_model::Event;
use ichnos_model::lower::{LossCounts, LossSet};

/// Treatment of a class, decided once.
#[derive(Debug)]
pub enum ClassTreatment<O, F> {
    /// A class from the same format.
    Own(O),
    /// A class from another format, with a decision for each field.
    Foreign(Box<F>),
}

/// A written class, and its losses.
#[derive(Debug)]
pub struct WrittenClass<O, F, L: LossSet> {
    /// Class name, for losses.
    pub name: String,
    /// Treatment of its events.
    pub treatment: ClassTreatment<O, F>,
    /// Losses in its events.
    pub losses: LossCounts<L>,
}

impl<O, F, L: LossSet> WrittenClass<O, F, L> {
    /// Creates an event's class. If it is not an own class, `foreign` decides its treatment.
    pub fn new(event: &Event<'_>, own: Option<O>, foreign: impl FnOnce() -> F) -> Self {
        let treatment = match own {
            Some(own) => ClassTreatment::Own(own),
            None => ClassTreatment::Foreign(Box::new(foreign())),
        };
        Self { name: event.name().to_owned(), treatment, losses: LossCounts::default() }
    }
}
