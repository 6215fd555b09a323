//! `#[trace(crate = path)]`.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{Attribute, Path};

/// Returns the path of `ichnos_tracer`, for types without further attributes.
pub(crate) fn crate_path(attributes: &[Attribute]) -> syn::Result<TokenStream> {
    let mut root = None;
    for attribute in attributes.iter().filter(|attribute| attribute.path().is_ident("trace")) {
        attribute.parse_nested_meta(|meta| {
            if !meta.path.is_ident("crate") {
                return Err(meta.error("expected `crate = path`"));
            }
            root = Some(meta.value()?.parse::<Path>()?);
            Ok(())
        })?;
    }
    Ok(root.map_or_else(|| quote!(::ichnos_tracer), |root| quote!(#root)))
}
