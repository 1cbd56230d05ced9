//! `derive(Args)`: `Deserialize` and `JsonSchema` in one.
//!
//! serde's and schemars' own derives do the work, on a copy of the type that nobody sees: a derive
//! cannot add the attributes that tell them where their crates are.

use proc_macro2::TokenStream as Tokens;
use quote::{format_ident, quote};
use syn::{Attribute, Data, DeriveInput, Field, Fields, Ident, Path};

use crate::options::root;
use crate::params::{names, names_functions};
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
    let assertions = assertions(&copy, &root);
    let default = default(ident, &copy);
    Ok(quote! {
        #[allow(dead_code, unused_imports, clippy::all, clippy::pedantic, clippy::nursery, missing_docs)]
        const _: () = {
            use #root::__private::{Underived as _, Unread as _};

            const _: fn() = || { #(#assertions)* };

            #[derive(#root::__private::serde::Deserialize, #root::__private::schemars::JsonSchema)]
            #attributes
            #[serde(remote = #name)]
            #copy

            #default

            impl<'de> #root::__private::serde::Deserialize<'de> for #ident {
                fn deserialize<D: #root::__private::serde::Deserializer<'de>>(
                    from: D,
                ) -> ::std::result::Result<Self, D::Error> {
                    #mirror::deserialize(from)
                }
            }

            impl #root::__private::schemars::JsonSchema for #ident {
                fn inline_schema() -> bool {
                    #root::__private::Derived::<#mirror>::new().inline_schema()
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
                    #root::__private::Derived::<#mirror>::new().json_schema(generator)
                }
            }
        };
    })
}

/// Returns the default of the copy, if fields that are left out take theirs from that of the type.
fn default(ident: &Ident, copy: &DeriveInput) -> Option<Tokens> {
    let Data::Struct(data) = &copy.data else {
        return None;
    };
    if !copy
        .attrs
        .iter()
        .any(|attribute| names(attribute, &["default"]))
    {
        return None;
    }
    let (mirror, fields) = (&copy.ident, &data.fields);
    let members: Vec<_> = fields.members().collect();
    let values: Vec<_> = (0..members.len())
        .map(|at| format_ident!("value_{at}"))
        .collect();
    Some(quote! {
        impl ::std::default::Default for #mirror {
            fn default() -> Self {
                let #ident { #(#members: #values),* } = ::std::default::Default::default();
                Self { #(#members: #values),* }
            }
        }
    })
}

/// Returns statements that fail for the fields that cannot be part of arguments. The derives complain
/// about such a field, too; this says what to do.
fn assertions(input: &DeriveInput, root: &Path) -> Vec<Tokens> {
    // The fields of a type that is read as another one need not be readable.
    let converts = |attribute: &Attribute| names(attribute, &["from", "try_from"]);
    if input.attrs.iter().any(converts) {
        return Vec::new();
    }
    let fields: Vec<&Field> = match &input.data {
        Data::Struct(data) => data.fields.iter().collect(),
        Data::Enum(data) => {
            let variants = data.variants.iter();
            variants.flat_map(|variant| &variant.fields).collect()
        }
        Data::Union(_) => Vec::new(),
    };
    let plain = fields
        .into_iter()
        .filter(|field| !field.attrs.iter().any(names_functions));
    plain
        .map(|field| {
            let ty = &field.ty;
            quote!(#root::__private::is_parameter::<#ty>();)
        })
        .collect()
}

fn is_copied(attribute: &Attribute) -> bool {
    COPIED.iter().any(|name| attribute.path().is_ident(name))
}

fn keep_copied(fields: &mut Fields) {
    for field in fields {
        field.attrs.retain(is_copied);
    }
}
