//! What a reader knows of classes beyond what they say, as attributes that travel with them.

use std::sync::Arc;

use crate::{
    Attributes, DataStreamClass, EventRecordClass, EventRole, FieldClass, FieldKind, LevelScale, LevelStep,
    LogLevel, LogRole, LogSeverity, Meaning, Scope, TraceClass, Value,
};

/// The namespace of the attributes that ichnos writes.
pub const NAMESPACE: &str = "ichnos";

const SCOPES: [Scope; 3] = [Scope::CommonContext, Scope::SpecificContext, Scope::Payload];

/// Adds an attribute to an event record class that says what its members mean, what its events are to a viewer and
/// what makes them lines of a log. `stream` is the class of its data streams.
pub fn annotate(class: &mut EventRecordClass, stream: &DataStreamClass) {
    let mut entries = Vec::new();
    let text = |text: &str| Value::Text(text.to_owned());
    if class.role != EventRole::Instant {
        entries.push(("role".to_owned(), text(class.role.name())));
    }
    if class.is_undescribed {
        entries.push(("undescribed".to_owned(), Value::Boolean(true)));
    }
    let meanings: Vec<Value> = class
        .meanings
        .iter()
        .filter_map(|(member, meaning)| {
            let root = root_of(class, stream, member.scope)?;
            let name = member_name(root, member.index as usize)?;
            let entries = [("scope", member.scope.name()), ("member", name), ("meaning", meaning.name())];
            Some(Value::Map(entries.map(|(key, value)| (key.to_owned(), text(value))).to_vec()))
        })
        .collect();
    if !meanings.is_empty() {
        entries.push(("meanings".to_owned(), Value::Array(meanings)));
    }
    if let Some(log) = &class.log {
        entries.push(("log".to_owned(), log_value(log)));
    }
    if !entries.is_empty() {
        class.attributes.set(NAMESPACE, Value::Map(entries));
    }
}

fn log_value(log: &LogRole) -> Value {
    let severity = match log.severity {
        LogSeverity::Unknown => Value::Null,
        LogSeverity::Constant(severity) => Value::Integer(severity.into()),
        LogSeverity::Member => Value::Text("member".to_owned()),
    };
    let step = |step: &LevelStep| {
        Value::Map(vec![
            ("up-to".to_owned(), Value::Integer(step.up_to.into())),
            ("level".to_owned(), Value::Text(step.level.name().to_lowercase())),
            ("exact".to_owned(), step.exact.map_or(Value::Null, |exact| Value::Integer(exact.into()))),
        ])
    };
    let scale = log.scale.0.iter().map(step).collect();
    Value::Map(vec![("severity".to_owned(), severity), ("scale".to_owned(), Value::Array(scale))])
}

fn root_of<'a>(
    class: &'a EventRecordClass,
    stream: &'a DataStreamClass,
    scope: Scope,
) -> Option<&'a Arc<FieldClass>> {
    match scope {
        Scope::CommonContext => stream.common_context.as_ref(),
        Scope::SpecificContext => class.specific_context.as_ref(),
        Scope::Payload => class.payload.as_ref(),
        _ => None,
    }
}

fn member_name(root: &FieldClass, index: usize) -> Option<&str> {
    match &root.kind {
        FieldKind::Structure { members, .. } => members.get(index).map(|member| &*member.name),
        _ => None,
    }
}

/// Takes over what [`annotate`] wrote, where nothing else is known of a class.
pub fn apply_annotations(class: &mut TraceClass) {
    for stream in &mut class.data_streams {
        let mut records = std::mem::take(&mut stream.event_records);
        for record in &mut records {
            if record.attributes.get(NAMESPACE).is_some() {
                let mut known = (**record).clone();
                apply(&mut known, stream);
                *record = Arc::new(known);
            }
        }
        stream.event_records = records;
    }
}

fn apply(class: &mut EventRecordClass, stream: &DataStreamClass) {
    let attributes: Attributes = class.attributes.clone();
    let Some(own) = attributes.get(NAMESPACE) else { return };
    if let Some(name) = own.get("role").and_then(Value::as_text)
        && let Some(role) = EventRole::ALL.into_iter().find(|role| role.name() == name)
    {
        class.role = role;
    }
    class.is_undescribed |= own.get("undescribed") == Some(&Value::Boolean(true));
    let meanings = match own.get("meanings") {
        Some(Value::Array(meanings)) => meanings.as_slice(),
        _ => &[],
    };
    for entry in meanings {
        let get = |key| entry.get(key).and_then(Value::as_text);
        let (Some(scope), Some(member), Some(meaning)) = (get("scope"), get("member"), get("meaning")) else {
            continue;
        };
        let Some(scope) = SCOPES.into_iter().find(|known| known.name() == scope) else { continue };
        let Ok(meaning) = meaning.parse::<Meaning>() else { continue };
        let members = match root_of(class, stream, scope).map(|root| &root.kind) {
            Some(FieldKind::Structure { members, .. }) => members,
            _ => continue,
        };
        if let Some(index) = members.iter().position(|known| known.name == member) {
            class.meanings.insert(scope, index, meaning);
        }
    }
    if let (None, Some(log)) = (&class.log, own.get("log").and_then(log_role)) {
        class.log = Some(Arc::new(log));
    }
}

fn log_role(value: &Value) -> Option<LogRole> {
    let severity = match value.get("severity")? {
        Value::Null => LogSeverity::Unknown,
        Value::Text(text) if text == "member" => LogSeverity::Member,
        severity => LogSeverity::Constant(i64::try_from(severity.as_integer()?).ok()?),
    };
    let Value::Array(steps) = value.get("scale")? else { return None };
    let step = |step: &Value| {
        let name = step.get("level")?.as_text()?;
        let level = LogLevel::ALL.into_iter().find(|level| level.name().eq_ignore_ascii_case(name))?;
        let up_to = i64::try_from(step.get("up-to")?.as_integer()?).ok()?;
        let exact = step.get("exact").and_then(Value::as_integer).and_then(|exact| i64::try_from(exact).ok());
        Some(LevelStep { up_to, level, exact })
    };
    let steps = steps.iter().map(step).collect::<Option<Vec<_>>>()?;
    Some(LogRole::new(severity, LevelScale::kept(steps)?))
}
