//! Identities of CTF traces.

use ichnos::model::TraceClass;
use ichnos::model::class::UuidOf;

/// Namespace, name and unique identifier of a trace. A trace of CTF 1.8 with a UUID has an empty name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TraceIdentity {
    namespace: Option<String>,
    name: String,
    uid: String,
}

impl TraceIdentity {
    /// Returns the identity that a class declares, if any.
    pub(crate) fn of_class(class: &TraceClass) -> Option<Self> {
        let (name, uid) = match (&class.uid, class.uuid) {
            (Some(uid), _) => (class.name.clone()?, uid.clone()),
            (None, Some(uuid)) if class.uuid_of != UuidOf::MetadataStream => {
                (class.name.clone().unwrap_or_default(), uuid.to_string())
            }
            (None, _) => return None,
        };
        let namespace = class.namespace.clone().or_else(|| class.implied_namespace.clone());
        Some(Self { namespace, name, uid })
    }

    /// Returns the group of traces with this identity, for source discovery.
    pub(crate) fn group(&self) -> String {
        let Self { namespace, name, uid } = self;
        match namespace {
            Some(namespace) => format!("namespace: {namespace}, name: {name}, uid: {uid}"),
            None => format!("name: {name}, uid: {uid}"),
        }
    }

    /// Returns the part of port names that stands for the trace.
    pub(crate) fn port_name(&self) -> String {
        let Self { namespace, name, uid } = self;
        let namespace = namespace.as_ref().map(|namespace| format!("namespace: `{namespace}`, "));
        format!("{{{}name: `{name}`, uid: `{uid}`}}", namespace.unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identities_are_compared_by_name_and_uid() {
        let mut class = TraceClass::new("CTF 2", [], []);
        assert_eq!(TraceIdentity::of_class(&class), None);
        class.uid = Some("u".to_owned());
        assert_eq!(TraceIdentity::of_class(&class), None);
        class.name = Some("n".to_owned());
        let identity = TraceIdentity::of_class(&class).unwrap();
        assert_eq!(
            (&*identity.group(), &*identity.port_name()),
            ("name: n, uid: u", "{name: `n`, uid: `u`}")
        );
        class.namespace = Some("s".to_owned());
        let identity = TraceIdentity::of_class(&class).unwrap();
        assert_eq!(identity.group(), "namespace: s, name: n, uid: u");
        assert_eq!(identity.port_name(), "{namespace: `s`, name: `n`, uid: `u`}");
    }
}
