//! Parsed TSDL text: types with resolved names, and blocks.
//!
//! Types are shared: an alias with many uses is a single tree here. Byte order, clocks and locations are kept as
//! written, because only a type's use determines their meaning.

use std::rc::Rc;

use ichnos_model::class::{ByteOrder, DisplayBase, Mappings, Uuid, Value};
use ichnos_model::trace::TextPosition;

/// Type with its position and nesting depth.
///
/// Walking types is recursive, so the parser refuses types that are too deep.
#[derive(Debug)]
pub(super) struct ParsedType {
    pub(super) at: TextPosition,
    pub(super) kind: TypeKind,
    pub(super) depth: u32,
}

impl ParsedType {
    pub(super) fn new(at: TextPosition, kind: TypeKind) -> Self {
        let depth = match &kind {
            TypeKind::Structure(structure) => structure.fields.iter().map(|field| field.class.depth).max(),
            TypeKind::Variant { body, .. } => body.fields.iter().map(|field| field.class.depth).max(),
            TypeKind::Array { element, .. } => Some(element.depth),
            TypeKind::Alias { target, .. } => Some(target.depth),
            _ => None,
        };
        Self { at, kind, depth: depth.unwrap_or(0).saturating_add(1) }
    }

    /// Returns the type after resolving all aliases.
    pub(super) fn resolved(&self) -> &ParsedType {
        let mut class = self;
        while let TypeKind::Alias { target, .. } = &class.kind {
            class = target;
        }
        class
    }
}

/// Type kinds (CTF 1.8, section 4).
#[derive(Debug)]
pub(super) enum TypeKind {
    Integer(IntegerType),
    Float(FloatType),
    String,
    Enumeration {
        base: IntegerType,
        mappings: Mappings,
    },
    Structure(Rc<CompoundBody>),
    Variant {
        body: Rc<CompoundBody>,
        tag: Option<PathLocation>,
    },
    Array {
        element: Rc<ParsedType>,
        length: ArrayLength,
    },
    /// Another type by name. Relative locations inside are looked up from the structure that declares the name (section
    /// 7.3.2).
    Alias {
        target: Rc<ParsedType>,
        declared_in: Option<u32>,
    },
    /// Type with an error that was reported. Its uses are not reported again.
    Broken,
}

/// Integer type (section 4.1.5).
#[derive(Clone, Debug)]
pub(super) struct IntegerType {
    pub(super) size: u64,
    pub(super) align: u64,
    pub(super) signed: bool,
    /// Byte order. `None`: the trace's byte order.
    pub(super) byte_order: Option<ByteOrder>,
    pub(super) base: DisplayBase,
    /// `true` for characters.
    pub(super) encoded: bool,
    /// Clock that provides its values.
    pub(super) clock: Option<Box<(String, TextPosition)>>,
}

/// Floating-point type (section 4.1.7).
#[derive(Clone, Debug)]
pub(super) struct FloatType {
    pub(super) size: u64,
    pub(super) align: u64,
    pub(super) byte_order: Option<ByteOrder>,
}

/// Structure or variant body (sections 4.2.1 and 4.2.2).
#[derive(Debug)]
pub(super) struct CompoundBody {
    /// Unique body id.
    pub(super) id: u32,
    pub(super) fields: Vec<DeclaredField>,
    pub(super) minimum_alignment: u64,
}

/// Structure member or variant option.
#[derive(Debug)]
pub(super) struct DeclaredField {
    pub(super) name: String,
    pub(super) class: Rc<ParsedType>,
}

/// Array or sequence length (sections 4.2.3 and 4.2.4).
#[derive(Clone, Debug)]
pub(super) enum ArrayLength {
    Static(u64),
    Located(PathLocation),
}

/// Path to another field or an environment entry (section 7.3.2).
#[derive(Clone, Debug)]
pub(super) struct PathLocation {
    pub(super) names: Vec<String>,
    pub(super) at: TextPosition,
}

/// A complete text.
#[derive(Debug, Default)]
pub(super) struct Document {
    pub(super) trace: Option<TraceBlock>,
    pub(super) environment: Vec<(String, Value)>,
    pub(super) clocks: Vec<ClockBlock>,
    pub(super) streams: Vec<StreamBlock>,
    pub(super) events: Vec<EventBlock>,
    pub(super) call_sites: Vec<Value>,
}

/// `trace` block (section 7.4).
#[derive(Debug)]
pub(super) struct TraceBlock {
    pub(super) at: TextPosition,
    pub(super) uuid: Option<Uuid>,
    pub(super) byte_order: ByteOrder,
    pub(super) packet_header: Option<Rc<ParsedType>>,
}

/// `clock` block (section 8).
#[derive(Debug)]
pub(super) struct ClockBlock {
    pub(super) at: TextPosition,
    pub(super) name: String,
    pub(super) uuid: Option<Uuid>,
    pub(super) description: Option<String>,
    pub(super) frequency: u64,
    pub(super) precision: Option<u64>,
    pub(super) offset_seconds: i64,
    pub(super) offset: i128,
    pub(super) absolute: bool,
}

/// `stream` block (section 7.4).
#[derive(Debug)]
pub(super) struct StreamBlock {
    pub(super) at: TextPosition,
    pub(super) id: Option<u64>,
    pub(super) packet_context: Option<Rc<ParsedType>>,
    pub(super) event_header: Option<Rc<ParsedType>>,
    pub(super) event_context: Option<Rc<ParsedType>>,
}

/// `event` block (section 7.4).
#[derive(Debug)]
pub(super) struct EventBlock {
    pub(super) at: TextPosition,
    pub(super) name: Option<String>,
    pub(super) id: Option<u64>,
    pub(super) stream_id: Option<(u64, TextPosition)>,
    pub(super) log_level: Option<i64>,
    pub(super) emf_uri: Option<String>,
    pub(super) context: Option<Rc<ParsedType>>,
    pub(super) fields: Option<Rc<ParsedType>>,
}
