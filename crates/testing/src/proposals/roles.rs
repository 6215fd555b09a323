//! Fields with roles.

use super::Proposal;
use super::maker::Maker;
use super::types::{Choice, FieldType, Integer, Kind, Length, TypeField, TypeLocation, TypeRole, Values};

impl Maker<'_> {
    /// Returns an integer type for a role.
    fn role_class(&mut self, role: TypeRole, least: usize) -> FieldType {
        let integer = Integer { signed: false, labels: None, values: Values::TypeRole(role) };
        let is_late =
            matches!(role, TypeRole::Total | TypeRole::Content | TypeRole::EndClock(_) | TypeRole::Begin);
        let class = match self.random.below(8) {
            0 if role != TypeRole::Magic => {
                self.record("role of a variable-length field");
                self.plain(Kind::VariableInteger(integer))
            }
            1 | 2 if !is_late && !matches!(role, TypeRole::Magic | TypeRole::Clock(_)) => {
                self.record("role of more than 64 bits");
                self.plain(Kind::Integer(72, integer))
            }
            _ => {
                let sizes = [8, 16, 16, 32, 32, 64].into_iter().filter(|size| *size >= least);
                let sizes: Vec<usize> = if role == TypeRole::Magic { vec![32] } else { sizes.collect() };
                let size = self.random.pick(&sizes);
                self.plain(Kind::Integer(size, integer))
            }
        };
        let alignment = self.random.pick(&[1, 1, 8, 8, 16, 32]);
        let is_variable = matches!(class.kind, Kind::VariableInteger(_));
        class.aligned(if is_variable { 8 } else { alignment })
    }

    fn with_role(&mut self, mut class: FieldType, role: TypeRole, path: &[&str]) -> FieldType {
        if self.proposal == Proposal::Second {
            class.roles.push(role);
        } else {
            let path = path.iter().map(|name| (*name).to_owned()).collect();
            self.tags.push((role, self.place.scope, path));
        }
        class
    }

    /// Appends fields with a role. `least` is the minimum integer size for its values.
    pub(super) fn role(&mut self, role: TypeRole, least: usize, fields: &mut Vec<TypeField>) {
        let is_clock = matches!(role, TypeRole::Clock(_));
        let is_optional = is_clock || matches!(role, TypeRole::Lost | TypeRole::Number);
        let name = self.name();
        let is_first = self.proposal == Proposal::First;
        match self.random.below(14) {
            0 | 1 if role != TypeRole::Magic => {
                self.record("role of a nested field");
                let (inner, class) = (self.name(), self.role_class(role, least));
                let class = self.with_role(class, role, &[&name, &inner]);
                let class = self.plain(Kind::Structure(vec![TypeField { name: inner, class }]));
                fields.push(TypeField { name, class });
            }
            2 if !is_clock && role != TypeRole::Magic => {
                self.record("role of several fields");
                let decoy = self.name();
                let integer = Integer { signed: false, labels: None, values: Values::Decoy };
                let class = self.plain(Kind::Integer(least.max(8), integer));
                let class = self.with_role(class, role, &[&decoy]);
                fields.push(TypeField { name: decoy, class });
                let class = self.role_class(role, least);
                let class = self.with_role(class, role, &[&name]);
                fields.push(TypeField { name, class });
            }
            3 if role != TypeRole::Magic => {
                self.record("role of several fields");
                for name in [self.name(), name] {
                    let class = self.role_class(role, least);
                    let class = self.with_role(class, role, &[&name]);
                    fields.push(TypeField { name, class });
                }
            }
            4 | 5 if is_optional => {
                self.record("role of an optional field");
                let selector = self.name();
                let id = self.new_id();
                let class = self.role_class(role, least);
                if is_first {
                    self.selected_role(role, class, (selector, name), id, fields);
                } else {
                    let class = self.with_role(class, role, &[]);
                    let boolean = self.plain(Kind::Boolean(1)).saving(id);
                    let selector_field = TypeField { name: selector.clone(), class: boolean };
                    let location = self.location_of(&selector, id);
                    let kind = Kind::Optional { selector: location, ranges: None, class: Box::new(class) };
                    fields.push(selector_field);
                    fields.push(TypeField { name, class: self.plain(kind) });
                }
            }
            6 if is_first && role != TypeRole::Magic => {
                self.record("role of a member of a union");
                let size = self.random.pick(&[32, 64]).max(least);
                let (whole, bits) = (self.name(), self.name());
                let integer = Integer { signed: false, labels: None, values: Values::TypeRole(role) };
                let class = self.plain(Kind::Integer(size, integer));
                let class = self.with_role(class, role, &[&name, &whole]);
                let other = self.plain(Kind::BitArray(size));
                let members = vec![TypeField { name: bits, class: other }, TypeField { name: whole, class }];
                fields.push(TypeField { name, class: self.plain(Kind::Union(size, members)) });
            }
            // PROP-2.0 headers cannot contain arrays.
            7 | 8 if !is_first && self.place.scope == 1 => {
                self.record("role of elements of an array");
                let class = self.role_class(role, least);
                let class = self.with_role(class, role, &[]);
                let kind = Kind::Array(Length::Static(2), Box::new(class));
                fields.push(TypeField { name, class: self.plain(kind) });
            }
            _ => {
                let class = self.role_class(role, least);
                let class = self.with_role(class, role, &[&name]);
                fields.push(TypeField { name, class });
            }
        }
    }

    /// Appends a PROP-1.0 variant with a role in an option.
    fn selected_role(
        &mut self,
        role: TypeRole,
        class: FieldType,
        (selector, name): (String, String),
        id: usize,
        fields: &mut Vec<TypeField>,
    ) {
        let label = |name: &str, value| (name.to_owned(), vec![(value, value)]);
        let labels = vec![label("no", 0), label("yes", 1)];
        let values = Values::Of(vec![0, 1]);
        let integer = Integer { signed: false, labels: Some(labels), values };
        let tag = self.plain(Kind::Integer(8, integer)).saving(id);
        let inner = self.name();
        let class = self.with_role(class, role, &[&name, &inner]);
        let yes = self.plain(Kind::Structure(vec![TypeField { name: inner, class }]));
        let no = self.plain(Kind::Structure(Vec::new()));
        let choice = |name: &str, value, class| Choice {
            name: Some(name.to_owned()),
            ranges: vec![(value, value)],
            class,
        };
        let location = self.location_of(&selector, id);
        let choices = vec![choice("no", 0, no), choice("yes", 1, yes)];
        fields.push(TypeField { name: selector, class: tag });
        fields.push(TypeField { name, class: self.plain(Kind::Variant { tag: location, choices }) });
    }

    /// Appends an event id in few bits. Larger ids follow in many bits.
    pub(super) fn compact_id(&mut self, fields: &mut Vec<TypeField>) {
        self.record("compact and extended ids");
        let (selector, name, inner) = (self.name(), self.name(), self.name());
        let id = self.new_id();
        let compact = ("compact".to_owned(), vec![(0, 2)]);
        let extended = ("extended".to_owned(), vec![(3, 3)]);
        let is_first = self.proposal == Proposal::First;
        let labels = is_first.then(|| vec![compact.clone(), extended.clone()]);
        let integer = Integer { signed: false, labels, values: Values::CompactId(3) };
        let class = self.plain(Kind::Integer(5, integer)).saving(id);
        let class = self.with_role(class, TypeRole::Event, &[&selector]);
        let location = self.location_of(&selector, id);
        fields.push(TypeField { name: selector, class });
        let class = self.role_class(TypeRole::Event, 32);
        let class = self.with_role(class, TypeRole::Event, &[&name, &inner]);
        let extended_class = self.plain(Kind::Structure(vec![TypeField { name: inner, class }]));
        let compact_class = self.plain(Kind::Structure(Vec::new()));
        let choices = vec![
            Choice { name: Some(compact.0), ranges: compact.1, class: compact_class },
            Choice { name: Some(extended.0), ranges: extended.1, class: extended_class },
        ];
        fields.push(TypeField { name, class: self.plain(Kind::Variant { tag: location, choices }) });
    }

    fn location_of(&self, member: &str, id: usize) -> TypeLocation {
        use super::json::{array, string};
        use super::targets::scope_name;
        let json = match self.proposal {
            Proposal::First => array([string(member)]),
            Proposal::Second => array([string(scope_name(self.place.scope, self.proposal)), string(member)]),
        };
        TypeLocation { json, id }
    }
}
