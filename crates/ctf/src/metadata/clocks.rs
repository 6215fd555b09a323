//! Clocks of data streams other than the default clock.

use std::collections::BTreeSet;
use std::sync::Arc;

use ichnos_model::TraceClass;
use ichnos_model::class::FieldClass;
use ichnos_model::memory::{allocated, size};
use ichnos_model::trace::TextPosition;

use super::{Dialect, Problems};

/// Records the further clocks of all data stream classes. In PROP-1.0, each data stream has all trace clocks ("Data
/// stream clock"). In CTF 1.8, it has the clocks mapped to its fields or to packet header fields. In PROP-2.0 and
/// SPEC-2.0 it lacks further clocks. The lists count against the description's memory, because many clocks and many
/// data stream classes multiply.
pub(super) fn record_other_clocks(trace: &mut TraceClass, dialect: Dialect, problems: &mut Problems) {
    let all: BTreeSet<u16> = match dialect {
        Dialect::Prop1 => (0..=u16::MAX).take(trace.clocks.len()).collect(),
        Dialect::Ctf18 => {
            let mut named = BTreeSet::new();
            trace.packet_header.iter().for_each(|class| collect(class, &mut named));
            named
        }
        Dialect::Prop2 | Dialect::Spec2 => return,
    };
    for stream in &mut trace.data_streams {
        let mut named = BTreeSet::new();
        if dialect == Dialect::Ctf18 && trace.clocks.len() > 1 {
            let shared = [&stream.packet_context, &stream.event_record_header, &stream.common_context];
            let own = stream.event_records.iter().flat_map(|it| [&it.specific_context, &it.payload]);
            shared.into_iter().chain(own).flatten().for_each(|class| collect(class, &mut named));
        }
        named.retain(|clock| !all.contains(clock));
        let most = all.len() + named.len();
        if !problems.charge(allocated(most * size::<u16>()), TextPosition::default()) {
            return;
        }
        let mut clocks = Vec::with_capacity(most);
        clocks.extend(all.iter().copied().chain(named).filter(|clock| Some(*clock) != stream.default_clock));
        clocks.sort_unstable();
        stream.other_clocks = clocks;
    }
}

/// Collects the clocks named by a class's fields.
fn collect(class: &Arc<FieldClass>, clocks: &mut BTreeSet<u16>) {
    clocks.extend(class.roles.clock);
    class.children().for_each(|child| collect(child.class(), clocks));
}
