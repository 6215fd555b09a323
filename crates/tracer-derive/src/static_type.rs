//! Types with all lifetimes replaced by `'static`, so that constants can name them.

use proc_macro2::{Group, Ident, TokenStream, TokenTree};
use quote::ToTokens as _;
use syn::Type;

/// Returns the tokens of a type, with `'static` instead of each lifetime.
pub(crate) fn static_type(ty: &Type) -> TokenStream {
    replace(ty.to_token_stream())
}

fn replace(tokens: TokenStream) -> TokenStream {
    let mut is_lifetime = false;
    let replaced = tokens.into_iter().map(|token| match token {
        TokenTree::Group(group) => {
            let mut new = Group::new(group.delimiter(), replace(group.stream()));
            new.set_span(group.span());
            TokenTree::Group(new)
        }
        TokenTree::Ident(name) if std::mem::take(&mut is_lifetime) => {
            TokenTree::Ident(Ident::new("static", name.span()))
        }
        TokenTree::Punct(punct) => {
            is_lifetime = punct.as_char() == '\'';
            TokenTree::Punct(punct)
        }
        token => token,
    });
    replaced.collect()
}
