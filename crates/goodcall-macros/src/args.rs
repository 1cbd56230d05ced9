//! `derive(Args)`: `Deserialize` and `JsonSchema` in one.
//!
//! serde's and schemars' own derives do the work, on a copy of the type that nobody sees: a derive
//! cannot add the attributes that tell them where their crates are.

use proc_macro2::TokenStream as Tokens;
use quote::{format_ident, quote};
use syn::{Attribute, Data, DeriveInput, Fields};

use crate::options::root;
use crate::tool::crate_attributes;

/// The attributes that are copied: those of the derives, and the documentation.
const COPIED: [&str; 4] = ["serde", "schemars", "validate", "doc"];

pub(crate) fn derive(input: &DeriveInput) -> syn::Result<Tokens> {
    if !input.generics.params.is_empty() {
        let message = "arguments cannot be generic: their schema is made once";
        return Err(syn::Error::new_spanned(&input.generics, message));
    }
    if let Data::Union(union) = &input.data {
        let message = "arguments are a struct or an enum";
        return Err(syn::Error::new_spanned(union.union_token, message));
    }
    let (root, ident) = (root(), &input.ident);
    let mut copy = input.clone();
    copy.ident = format_ident!("__Goodcall{ident}");
    copy.attrs.retain(is_copied);
    match &mut copy.data {
        Data::Struct(data) => keep_copied(&mut data.fields),
        Data::Enum(data) => data.variants.iter_mut().for_each(|variant| {
            variant.attrs.retain(is_copied);
            keep_copied(&mut variant.fields);
        }),
        Data::Union(_) => {}
    }
    let (mirror, name) = (&copy.ident, ident.to_string());
    let attributes = crate_attributes(&root);
    Ok(quote! {
        #[allow(dead_code, clippy::all, clippy::pedantic, clippy::nursery, missing_docs)]
        const _: () = {
            #[derive(#root::__private::serde::Deserialize, #root::__private::schemars::JsonSchema)]
            #attributes
            #[serde(remote = #name)]
            #copy

            impl<'de> #root::__private::serde::Deserialize<'de> for #ident {
                fn deserialize<D: #root::__private::serde::Deserializer<'de>>(
                    from: D,
                ) -> ::std::result::Result<Self, D::Error> {
                    #mirror::deserialize(from)
                }
            }

            impl #root::__private::schemars::JsonSchema for #ident {
                fn inline_schema() -> bool {
                    <#mirror as #root::__private::schemars::JsonSchema>::inline_schema()
                }
                fn schema_name() -> ::std::borrow::Cow<'static, str> {
                    ::std::borrow::Cow::Borrowed(#name)
                }
                fn schema_id() -> ::std::borrow::Cow<'static, str> {
                    ::std::borrow::Cow::Borrowed(::std::concat!(::std::module_path!(), "::", #name))
                }
                fn json_schema(
                    generator: &mut #root::__private::schemars::SchemaGenerator,
                ) -> #root::__private::schemars::Schema {
                    <#mirror as #root::__private::schemars::JsonSchema>::json_schema(generator)
                }
            }
        };
    })
}

fn is_copied(attribute: &Attribute) -> bool {
    COPIED.iter().any(|name| attribute.path().is_ident(name))
}

fn keep_copied(fields: &mut Fields) {
    for field in fields {
        field.attrs.retain(is_copied);
    }
}
