//! Derive macros of `ichnos-tracer`, which re-exports and describes them.
#![forbid(unsafe_code)]

mod bit_flags;
mod crate_path;
mod event;
mod event_attributes;
mod field_attributes;
mod mapped_enum;
mod member_list;
mod static_type;
mod structure;
#[cfg(test)]
mod tests;

use proc_macro::TokenStream;
use syn::{Data, Fields};

/// Implements `TraceEvent` for a structure whose fields implement `TraceField`.
///
/// Attributes of the structure, all in `#[trace(…)]`:
///
/// | attribute | meaning |
/// |---|---|
/// | `name = "…"` | name of the event record class instead of the type's name |
/// | `namespace = "…"` | its namespace |
/// | `level = "…"` | log level: `emergency`, `alert`, `critical`, `error`, `warning`, `notice`, `info`, `debug` |
/// | `emf_uri = "…"` | URI of a model in the Eclipse Modeling Framework |
/// | `begin = "…"`, `end = "…"` | the event begins or ends a span with this name |
/// | `role = "…"` | another role, for example `counter` or `sample` |
/// | `crate = path` | path of `ichnos_tracer`, by default `::ichnos_tracer` |
///
/// Attributes of a field:
///
/// | attribute | meaning |
/// |---|---|
/// | `name = "…"` | name of the member instead of the field's name |
/// | `key` | value that the events which begin and end a span share |
/// | `meaning = "…"` | another meaning, for example `thread` or `message` |
/// | `base = N` | preferred base of an integer: 2, 8, 10 or 16 |
/// | `big_endian` | byte order of numbers |
/// | `align = N` | alignment in bits: 8, 16, 32 or 64 |
/// | `blob`, `media_type = "…"` | bytes are a BLOB, with this media type |
/// | `skip` | not recorded |
/// | `flags(NAME = 0, OTHER = 1..=2)` | names of bits of an unsigned integer |
#[proc_macro_derive(TraceEvent, attributes(trace))]
pub fn derive_trace_event(item: TokenStream) -> TokenStream {
    let item = syn::parse_macro_input!(item as syn::DeriveInput);
    event::expand(&item).unwrap_or_else(|error| error.to_compile_error()).into()
}

/// Implements `TraceField` for an enumeration, a structure, or a type of the crate `bitflags`.
///
/// | type | field class |
/// |---|---|
/// | enumeration without data | integer whose values have names. It needs `#[repr(…)]` with an integer type, and `#[trace(name = "…")]` renames a variant |
/// | structure with named fields | structure. Its fields can have the field attributes of `TraceEvent`, except `key` and `meaning` |
/// | structure in `bitflags::bitflags!` | bits with names. A flag with several bits is left out if another flag has one of them |
///
/// `#[trace(crate = path)]` names `ichnos_tracer`.
#[proc_macro_derive(TraceField, attributes(trace))]
pub fn derive_trace_field(item: TokenStream) -> TokenStream {
    let item = syn::parse_macro_input!(item as syn::DeriveInput);
    let expanded = match &item.data {
        Data::Struct(data) => match &data.fields {
            Fields::Unnamed(_) => bit_flags::expand(&item),
            _ => structure::expand(&item),
        },
        _ => mapped_enum::expand(&item),
    };
    expanded.unwrap_or_else(|error| error.to_compile_error()).into()
}
