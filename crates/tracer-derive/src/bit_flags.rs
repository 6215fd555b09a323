//! Types of the crate `bitflags` as bit maps.

use proc_macro2::TokenStream;
use quote::quote;
use syn::DeriveInput;

use crate::crate_path::crate_path;

/// Describes a type from `bitflags::bitflags!`, which is a structure with one field. Its flags are constants, so that
/// the macro needs only their names: `bitflags` itself is the program's dependency.
pub(crate) fn expand(item: &DeriveInput) -> syn::Result<TokenStream> {
    let root = crate_path(&item.attrs)?;
    let ident = &item.ident;
    if let Some(parameter) = item.generics.params.first() {
        return Err(syn::Error::new_spanned(
            parameter,
            "expected a type from `bitflags!`, without parameters",
        ));
    }
    Ok(quote! {
        const _: () = {
            type __Bits = <#ident as ::bitflags::Flags>::Bits;
            const FLAGS: &[::bitflags::Flag<#ident>] = <#ident as ::bitflags::Flags>::FLAGS;
            const MASKS: [(&str, u64); FLAGS.len()] = {
                let mut masks = [("", 0); FLAGS.len()];
                let mut index = 0;
                while index < FLAGS.len() {
                    let bits = FLAGS[index].value().bits();
                    masks[index] = (FLAGS[index].name(), bits as u64);
                    index += 1;
                }
                masks
            };
            const DESCRIPTIONS: ([#root::FlagDescription; FLAGS.len()], usize) =
                #root::derive::flag_descriptions(MASKS, __Bits::BITS);

            impl #root::TraceField for #ident {
                const DESCRIPTION: #root::FieldDescription = match DESCRIPTIONS.1 {
                    // A bit map has at least one flag.
                    0 => #root::FieldDescription::unsigned(__Bits::BITS as u8),
                    count => #root::FieldDescription::Flags {
                        bits: __Bits::BITS as u8,
                        flags: DESCRIPTIONS.0.split_at(count).0,
                    },
                };
                const FIXED: usize = <__Bits as #root::TraceField>::FIXED;

                #[inline]
                fn write_fixed(&self, order: #root::FieldOrder, out: &mut [u8]) {
                    #root::TraceField::write_fixed(&self.bits(), order, out);
                }
            }
        };
    })
}
