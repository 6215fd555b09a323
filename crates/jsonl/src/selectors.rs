//! Finds selector values in the JSON of the scope that contains the selected field.

use ichnos_json::read::Reader;
use ichnos_model::Scope;
use ichnos_model::class::{FieldClass, FieldKind, FieldLocation, LocationStep, Member, Value};

use crate::fault::value;
use crate::members::integer_of;

/// Structure that is being read.
#[derive(Clone, Debug)]
pub(crate) struct EnclosingStructure<'s, 'a> {
    scope: Scope,
    /// Position at the start of its object.
    json: Reader<'a>,
    members: &'s [Member],
    /// Enclosing member, or `None` for a scope.
    outer: Option<MemberPlace<'s, 'a>>,
}

/// Member in a structure that is being read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MemberPlace<'s, 'a> {
    pub(crate) structure: &'s EnclosingStructure<'s, 'a>,
    pub(crate) member: &'s Member,
}

impl<'s, 'a> EnclosingStructure<'s, 'a> {
    /// Creates the outermost structure of a scope.
    pub(crate) fn from_scope(scope: Scope, json: Reader<'a>, members: &'s [Member]) -> Self {
        Self { scope, json, members, outer: None }
    }

    /// Creates a structure within a member of another structure.
    pub(crate) fn within(outer: MemberPlace<'s, 'a>, json: Reader<'a>, members: &'s [Member]) -> Self {
        Self { scope: outer.structure.scope, json, members, outer: Some(outer) }
    }

    /// Returns the value of the field at a location relative to a member of the structure. Returns `None` if the value
    /// is unknown or in another scope. `work` is the number of members that may still be visited.
    pub(crate) fn value(&self, location: &FieldLocation, work: &mut u64) -> Option<i128> {
        let mut path = location.path.as_slice();
        let mut from = self;
        match location.origin {
            None => {
                while let [LocationStep::Parent, rest @ ..] = path {
                    (from, path) = (from.outer?.structure, rest);
                }
            }
            // Start at the deepest current structure on the path.
            Some(scope) if scope == self.scope => (from, path) = self.deepest(path),
            Some(_) => return None,
        }
        member_value(from.json.clone(), from.members, path, work)
    }

    /// Returns the deepest current structure on a path from the scope, and the rest of the path.
    fn deepest<'p>(&self, path: &'p [LocationStep]) -> (&Self, &'p [LocationStep]) {
        let Some(outer) = self.outer else { return (self, path) };
        let (found, rest) = outer.structure.deepest(path);
        match rest {
            [LocationStep::Member(name), rest @ .., _last]
                if std::ptr::eq(found, outer.structure) && outer.member.is_called(name) =>
            {
                // The rest is a part of the path.
                let rest = path.get(path.len() - rest.len() - 1..).unwrap_or_default();
                (self, rest)
            }
            _ => (found, rest),
        }
    }
}

/// Returns the value of the field at a path from an object.
fn member_value(
    mut json: Reader<'_>,
    members: &[Member],
    path: &[LocationStep],
    work: &mut u64,
) -> Option<i128> {
    let (LocationStep::Member(name), rest) = path.split_first()? else { return None };
    let member = members.iter().find(|member| member.is_called(name))?;
    json.take(b'{').then_some(())?;
    let mut is_first = true;
    while let Some(key) = json.key(&mut is_first).ok()? {
        if key.is(&member.name) {
            return field_value(json, &member.class, rest, work);
        }
        let begin = json.offset();
        json.skip().ok()?;
        *work = work.checked_sub(1 + (json.offset() - begin) as u64 / 64)?;
    }
    None
}

fn field_value(
    mut json: Reader<'_>,
    class: &FieldClass,
    path: &[LocationStep],
    work: &mut u64,
) -> Option<i128> {
    match &class.kind {
        FieldKind::Optional { field, .. } => field_value(json, field, path, work),
        FieldKind::Structure { members, .. } | FieldKind::Union { members, .. } if !path.is_empty() => {
            json.peek();
            member_value(json, members, path, work)
        }
        FieldKind::Integer { .. } | FieldKind::VariableLength { .. } | FieldKind::Boolean(_)
            if path.is_empty() =>
        {
            match value(&mut json).ok()? {
                Value::Boolean(value) => Some(value.into()),
                value => integer_of(value.get("value").unwrap_or(&value)),
            }
        }
        _ => None,
    }
}
