//! Parameter values.

/// Value of a component's or query's parameter.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum ParameterValue {
    Null,
    Boolean(bool),
    Unsigned(u64),
    Signed(i64),
    Real(f64),
    Text(String),
    Array(Vec<ParameterValue>),
    Map(Map),
}

/// Named values, in the order in which they were first inserted.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Map(Vec<(String, ParameterValue)>);

impl Map {
    /// Returns the value with a name.
    pub(crate) fn get(&self, name: &str) -> Option<&ParameterValue> {
        self.0.iter().find(|(known, _)| known == name).map(|(_, value)| value)
    }

    /// Inserts a value, or replaces the value with the same name.
    pub(crate) fn insert(&mut self, name: impl Into<String>, value: ParameterValue) {
        let name = name.into();
        match self.0.iter_mut().find(|(known, _)| *known == name) {
            Some((_, old)) => *old = value,
            None => self.0.push((name, value)),
        }
    }

    /// Returns the names and values.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, &ParameterValue)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value))
    }
}
