//! PROP-1.0 tags, which express roles.

use std::collections::HashMap;

use ichnos_model::Scope;
use ichnos_model::class::{FieldClass, FieldKind, Role, Value};

use super::field_type::path;
use crate::metadata::json::TAGS;
use crate::metadata::write::json::{self, JsonObject};
use crate::metadata::write::unsupported::Refusals;

/// Field tags in a root field, and the clocks they name.
pub(super) struct FieldTags {
    pub(super) values: Vec<Value>,
    /// Clock in the first tag that names a clock.
    pub(super) first_clock: Option<u16>,
}

/// Clocks for tags.
pub(super) struct TagClocks<'n> {
    /// Clock names.
    pub(super) names: &'n [String],
    /// Clock for timestamps that do not name a clock.
    pub(super) default: Option<u16>,
}

/// Returns a root field's tags.
pub(super) fn of_root(
    root: &FieldClass,
    scope: Scope,
    clocks: &TagClocks<'_>,
    refusals: &mut Refusals,
) -> FieldTags {
    refusals.enter(scope.name());
    let mut found = RoleFields { default: clocks.default, fields: Vec::new() };
    found.collect(&[root], &mut Vec::new(), refusals);
    let fields = found.fields;
    // Readers use the first tag's clock as the default clock.
    let clock_of = |field: &TaggedField<'_>| field.tags.iter().find_map(|(_, clock)| *clock);
    let is_first = |field: &&TaggedField<'_>| clocks.default.is_some() && clock_of(field) == clocks.default;
    let (first, others): (Vec<_>, Vec<_>) = fields.iter().partition(is_first);
    let mut values = Vec::new();
    for field in first.iter().chain(&others) {
        for (role, clock) in &field.tags {
            values.extend(tag(*role, *clock, scope, &field.names, clocks, refusals));
        }
    }
    let first_clock = first.iter().chain(&others).find_map(|field| clock_of(field));
    refusals.leave();
    FieldTags { values, first_clock }
}

/// Field with roles: its path and its tags.
struct TaggedField<'c> {
    names: Vec<&'c str>,
    tags: Vec<RoleTag>,
}

/// Role and its clock.
type RoleTag = (Role, Option<u16>);

/// Fields with roles.
struct RoleFields<'c> {
    /// Clock for timestamps that do not name a clock.
    default: Option<u16>,
    fields: Vec<TaggedField<'c>>,
}

impl<'c> RoleFields<'c> {
    /// Collects the roles of all classes on a path. A tag applies to all of them: a path through variants leads to
    /// several classes.
    fn collect(&mut self, classes: &[&'c FieldClass], names: &mut Vec<&'c str>, refusals: &mut Refusals) {
        let mut pending = Vec::new();
        classes.iter().for_each(|class| push_options(class, &mut pending));
        let mut all = pending.iter().map(|class| tags_of(class, self.default));
        let tags = all.next().unwrap_or_default();
        if all.any(|other| other != tags) {
            refusals.refuse(format!(
                "roles of the fields at {} that differ between variant options",
                names.join("/")
            ));
        }
        if !tags.is_empty() {
            self.fields.push(TaggedField { names: names.clone(), tags });
        }
        let mut groups: Vec<(&'c str, Vec<&'c FieldClass>)> = Vec::new();
        let mut known: HashMap<&str, usize> = HashMap::new();
        while let Some(class) = pending.pop() {
            match &class.kind {
                FieldKind::Structure { members, .. } | FieldKind::Union { members, .. } => {
                    for member in members {
                        let index = *known.entry(&member.name).or_insert(groups.len());
                        match groups.get_mut(index) {
                            Some((_, group)) => group.push(&member.class),
                            None => groups.push((&member.name, vec![&member.class])),
                        }
                    }
                }
                FieldKind::Array { element, .. } => {
                    let begin = pending.len();
                    push_options(element, &mut pending);
                    let has_tags = |class: &&FieldClass| !tags_of(class, self.default).is_empty();
                    if pending.iter().skip(begin).any(has_tags) {
                        refusals.refuse(format!("a role of the elements of the array {}", names.join("/")));
                    }
                }
                _ => {}
            }
        }
        for (name, group) in groups {
            names.push(name);
            self.collect(&group, names, refusals);
            names.pop();
        }
    }
}

/// Adds a class, or the option classes of a variant.
fn push_options<'c>(class: &'c FieldClass, classes: &mut Vec<&'c FieldClass>) {
    match &class.kind {
        FieldKind::Variant { options, .. } => {
            options.iter().for_each(|option| push_options(&option.class, classes));
        }
        _ => classes.push(class),
    }
}

/// Returns a class's roles as tags, in the order in which a reader adds them.
fn tags_of(class: &FieldClass, default: Option<u16>) -> Vec<RoleTag> {
    let own = class.roles.iter().map(|role| match role {
        Role::Timestamp | Role::PacketEndTimestamp => (role, class.roles.clock.or(default)),
        _ => (role, None),
    });
    own.chain(class.clock_updates().iter().map(|update| (update.role, Some(update.clock)))).collect()
}

fn tag(
    role: Role,
    clock: Option<u16>,
    scope: Scope,
    names: &[&str],
    clocks: &TagClocks<'_>,
    refusals: &mut Refusals,
) -> Option<Value> {
    let known = TAGS.iter().find(|(_, other, scopes)| *other == role && scopes.contains(&scope));
    let Some((name, ..)) = known else {
        refusals.refuse(format!("the role {role} in the {scope}"));
        return None;
    };
    let mut tag = JsonObject::default();
    tag.set("tag", *name);
    tag.set("path", path(scope, names.iter().copied()));
    if matches!(role, Role::Timestamp | Role::PacketEndTimestamp) {
        let Some(name) = clock.and_then(|clock| clocks.names.get(usize::from(clock))) else {
            refusals.refuse("a timestamp without a clock");
            return None;
        };
        tag.set("data-stream-clock-class-name", json::text(name));
    }
    if role == Role::DiscardedEventCounter {
        tag.set("reason", "legacy");
    }
    Some(tag.finish())
}
