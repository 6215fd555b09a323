//! Enumerations as integers with mappings.

use std::collections::HashSet;

use proc_macro2::{Ident, TokenStream};
use quote::quote;
use syn::ext::IdentExt as _;
use syn::{Data, DeriveInput, Fields, LitStr, Variant};

use crate::crate_path::crate_path;
use crate::field_attributes::EMPTY_NAME;

/// Integer types of `#[repr(…)]`.
const INTEGERS: [&str; 10] = ["u8", "u16", "u32", "u64", "usize", "i8", "i16", "i32", "i64", "isize"];

pub(crate) fn expand(item: &DeriveInput) -> syn::Result<TokenStream> {
    let Data::Enum(data) = &item.data else {
        return Err(syn::Error::new_spanned(&item.ident, "expected an enumeration or a structure"));
    };
    let repr = repr(item)?;
    let root = crate_path(&item.attrs)?;
    let name = &item.ident;
    let mut mappings = Vec::new();
    let mut arms = Vec::new();
    let mut labels = HashSet::new();
    for variant in &data.variants {
        if !matches!(variant.fields, Fields::Unit) {
            return Err(syn::Error::new_spanned(variant, "expected a variant without data"));
        }
        let ident = &variant.ident;
        let label = label(variant)?;
        if label.is_empty() {
            return Err(syn::Error::new_spanned(variant, EMPTY_NAME));
        }
        if !labels.insert(label.clone()) {
            let message = format!("another variant has the name `{label}`");
            return Err(syn::Error::new_spanned(variant, message));
        }
        mappings.push(quote!(#root::MappingDescription { name: #label, value: #name::#ident as i128 }));
        arms.push(quote!(Self::#ident => #name::#ident as #repr));
    }
    Ok(quote! {
        impl #root::TraceField for #name {
            const DESCRIPTION: #root::FieldDescription =
                <#repr as #root::TraceField>::DESCRIPTION.with_mappings(&[#(#mappings),*]);
            const FIXED: usize = <#repr as #root::TraceField>::FIXED;

            #[inline]
            fn write_fixed(&self, order: #root::FieldOrder, out: &mut [u8]) {
                let value: #repr = match self { #(#arms),* };
                #root::TraceField::write_fixed(&value, order, out);
            }
        }
    })
}

/// Returns the integer type of `#[repr(…)]`.
fn repr(item: &DeriveInput) -> syn::Result<Ident> {
    let mut found = None;
    for attribute in item.attrs.iter().filter(|attribute| attribute.path().is_ident("repr")) {
        attribute.parse_nested_meta(|meta| {
            found =
                meta.path.get_ident().filter(|name| INTEGERS.contains(&name.to_string().as_str())).cloned();
            Ok(())
        })?;
    }
    found
        .ok_or_else(|| syn::Error::new_spanned(&item.ident, "expected `#[repr(u8)]` or another integer type"))
}

fn label(variant: &Variant) -> syn::Result<String> {
    let mut label = variant.ident.unraw().to_string();
    for attribute in variant.attrs.iter().filter(|attribute| attribute.path().is_ident("trace")) {
        attribute.parse_nested_meta(|meta| {
            if !meta.path.is_ident("name") {
                return Err(meta.error("expected `name = \"…\"`"));
            }
            label = meta.value()?.parse::<LitStr>()?.value();
            Ok(())
        })?;
    }
    Ok(label)
}
