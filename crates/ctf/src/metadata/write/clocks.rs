//! Clock keys and identities in dialects.

use std::collections::HashSet;

use ichnos_model::class::Uuid;
use ichnos_model::clock::ClockClass;

use super::unsupported::Refusals;

/// Returns the keys by which other classes refer to clock classes: ids, or names in dialects without ids.
pub(super) fn keys(clocks: &[ClockClass], by_name: bool, refusals: &mut Refusals) -> Vec<String> {
    let mut known = HashSet::new();
    let mut keys = Vec::with_capacity(clocks.len());
    for clock in clocks {
        let name = clock.name.as_ref().filter(|_| by_name);
        let key = name.unwrap_or(&clock.id);
        refusals.within(format!("clock class `{}`", clock.id), |refusals| {
            refusals.refuse_if(!known.insert(key), "a duplicate clock class name");
        });
        keys.push(key.clone());
    }
    keys
}

/// Returns a clock class's UID in the dialect without clock UUIDs. The UUID is the default.
pub(super) fn uid(clock: &ClockClass, refusals: &mut Refusals) -> Option<String> {
    let uuid = clock.uuid.map(|uuid| uuid.hyphenated().to_string());
    if let (Some(uid), Some(uuid)) = (&clock.uid, &uuid)
        && uid != uuid
    {
        refusals.refuse("a clock class UUID next to a different UID");
    }
    clock.uid.clone().or(uuid)
}

/// Returns a clock class's UUID in dialects without UIDs. A UID that is a UUID is the default.
pub(super) fn uuid(clock: &ClockClass, refusals: &mut Refusals) -> Option<Uuid> {
    let Some(uid) = &clock.uid else { return clock.uuid };
    let of_uid = Uuid::try_parse(uid).ok().filter(|uuid| uuid.hyphenated().to_string() == *uid);
    let is_right = of_uid.is_some_and(|uuid| clock.uuid.is_none_or(|other| other == uuid));
    refusals.refuse_if(!is_right, "a clock class UID that differs from its UUID");
    clock.uuid.or(of_uid)
}

/// Returns the offset, with the cycles below a second.
pub(super) fn offset(clock: &ClockClass, refusals: &mut Refusals) -> (i64, u64) {
    let frequency = clock.frequency.max(1);
    refusals.refuse_if(clock.frequency == 0, "a clock with the frequency 0");
    let whole = i128::from(clock.offset_seconds) + i128::from(clock.offset_cycles / frequency);
    let seconds = i64::try_from(whole);
    refusals.refuse_if(seconds.is_err(), "a clock offset that does not fit 64 bits of seconds");
    (seconds.unwrap_or(clock.offset_seconds), clock.offset_cycles % frequency)
}
