//! Field types in both proposals.

use crate::encoder::Order;

use super::Proposal;

/// Identity of a field that others need. The same field in several options can share it.
pub(super) type Id = usize;

/// Label and its value ranges.
pub(super) type Label = (String, Vec<(i128, i128)>);

/// Field meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum TypeRole {
    Magic,
    Uuid,
    StreamClass,
    Stream,
    Total,
    Content,
    Number,
    Lost,
    /// Updates this clock.
    Clock(usize),
    /// First clock at the start of the packet (PROP-2.0).
    Begin,
    /// This clock at the end of the packet.
    EndClock(usize),
    Event,
}

/// Values that a field may have.
#[derive(Clone, Debug)]
pub(super) enum Values {
    Any,
    Of(Vec<i128>),
    /// Role value.
    TypeRole(TypeRole),
    /// Earlier field with the same role. It does not count.
    Decoy,
    /// Event record class id if it is below a number, otherwise this number.
    CompactId(i128),
}

/// Integer, sometimes with labels.
#[derive(Clone, Debug)]
pub(super) struct Integer {
    pub(super) signed: bool,
    pub(super) labels: Option<Vec<Label>>,
    pub(super) values: Values,
}

/// Length of an array, a string or a BLOB.
#[derive(Clone, Debug)]
pub(super) enum Length {
    Static(u64),
    Dynamic(TypeLocation),
}

/// Field that another field needs.
#[derive(Clone, Debug)]
pub(super) struct TypeLocation {
    pub(super) json: String,
    pub(super) id: Id,
}

#[derive(Clone, Debug)]
pub(super) struct TypeField {
    pub(super) name: String,
    pub(super) class: FieldType,
}

/// Variant option.
#[derive(Clone, Debug)]
pub(super) struct Choice {
    pub(super) name: Option<String>,
    pub(super) ranges: Vec<(i128, i128)>,
    pub(super) class: FieldType,
}

#[derive(Clone, Debug)]
pub(super) enum Kind {
    Null,
    BitArray(usize),
    Boolean(usize),
    Integer(usize, Integer),
    Float(usize),
    VariableBitArray,
    VariableBoolean,
    VariableInteger(Integer),
    String,
    Text(Length),
    Blob(Length),
    Structure(Vec<TypeField>),
    Array(Length, Box<FieldType>),
    Optional {
        selector: TypeLocation,
        ranges: Option<Vec<(i128, i128)>>,
        class: Box<FieldType>,
    },
    Variant {
        tag: TypeLocation,
        choices: Vec<Choice>,
    },
    /// Size of all members, and the members.
    Union(usize, Vec<TypeField>),
}

#[derive(Clone, Debug)]
pub(super) struct FieldType {
    pub(super) kind: Kind,
    /// Explicit alignment. For structures, the minimum.
    pub(super) alignment: u64,
    pub(super) order: Order,
    /// `true` if the byte order is the trace's and is not repeated.
    pub(super) is_default_order: bool,
    pub(super) saves: Option<Id>,
    pub(super) roles: Vec<TypeRole>,
    pub(super) has_attributes: bool,
}

impl FieldType {
    pub(super) fn new(kind: Kind, order: Order) -> Self {
        let alignment = match &kind {
            Kind::VariableBitArray | Kind::VariableBoolean | Kind::VariableInteger(_) | Kind::String => 8,
            _ => 1,
        };
        Self {
            kind,
            alignment,
            order,
            is_default_order: false,
            saves: None,
            roles: Vec::new(),
            has_attributes: false,
        }
    }

    pub(super) fn aligned(self, alignment: u64) -> Self {
        Self { alignment: alignment.max(self.alignment), ..self }
    }

    pub(super) fn saving(self, id: Id) -> Self {
        Self { saves: Some(id), ..self }
    }

    /// Returns the effective alignment.
    pub(super) fn effective_alignment(&self, proposal: Proposal) -> u64 {
        match (&self.kind, proposal) {
            (Kind::Structure(fields), _) => {
                let inner = fields.iter().map(|field| field.class.effective_alignment(proposal)).max();
                self.alignment.max(inner.unwrap_or(1))
            }
            (_, Proposal::First) => self.alignment,
            (Kind::Array(_, element), _) => element.effective_alignment(proposal),
            (Kind::Optional { .. } | Kind::Variant { .. }, _) => 1,
            (Kind::Text(_) | Kind::Blob(_), _) => 8,
            _ => self.alignment,
        }
    }
}
