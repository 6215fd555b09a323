//! Meanings: processes, threads, operations, causes and others, whatever a format calls them.

pub use crate::activity_path::ActivityPaths;
pub use crate::event_display::{EventDisplay, EventTrack};
pub use crate::event_role::EventRole;
pub use crate::event_rule::{ClassMap, EventRule};
pub use crate::identifier::{Chain, FindMentions, Identifier, Mention};
pub use crate::meaning::{CauseKind, Meaning, Meanings, MemberIndex};
pub use crate::named_enum::UnknownName;
