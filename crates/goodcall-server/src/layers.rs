//! Settings that come in layers: flags over the file, a server's own section over the common one.

use serde::Deserialize;

/// A setting, or a group of settings, that may be left unset.
pub(crate) trait Layer {
    /// Returns this setting, or the one from the `lower` layer where this one is unset.
    fn over(self, lower: Self) -> Self;
}

impl<T> Layer for Option<T> {
    fn over(self, lower: Self) -> Self {
        self.or(lower)
    }
}

impl<K, V> Layer for std::collections::BTreeMap<K, V> {
    fn over(self, lower: Self) -> Self {
        if self.is_empty() { lower } else { self }
    }
}

impl<T> Layer for Vec<T> {
    fn over(self, lower: Self) -> Self {
        if self.is_empty() { lower } else { self }
    }
}

/// A setting that is on or off, or that nobody has set.
///
/// In a file it is `true` or `false`. As a flag it has no value and can only switch on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(from = "bool")]
pub enum Switch {
    /// Not set here; a lower layer or the default decides.
    #[default]
    Unset,
    /// Set to true.
    On,
    /// Set to false.
    Off,
}

impl Switch {
    /// Returns true if the switch is set to true. Unset counts as false.
    pub fn is_on(self) -> bool {
        self == Switch::On
    }
}

impl From<bool> for Switch {
    fn from(on: bool) -> Self {
        if on { Switch::On } else { Switch::Off }
    }
}

impl Layer for Switch {
    fn over(self, lower: Self) -> Self {
        if self == Switch::Unset { lower } else { self }
    }
}

/// Declares a struct of settings once, for serde, for clap and for layering.
///
/// `#[arg(…)]` is clap's, and is there only with the feature `clap`. A field below `groups` is
/// another such struct, whose keys and flags appear as if they were fields of this one.
macro_rules! settings {
    (
        $(#[doc = $about:literal])*
        pub struct $name:ident {
            $(
                $(#[doc = $doc:literal])*
                $(#[serde($($serde:tt)*)])?
                $(#[arg($($arg:tt)*)])?
                pub $field:ident: $type:ty,
            )*
            $(
                groups:
                $(
                    $(#[doc = $group_doc:literal])*
                    pub $group:ident: $group_type:ty,
                )*
            )?
        }
    ) => {
        $(#[doc = $about])*
        #[derive(Clone, Debug, Default, PartialEq, Eq, serde::Deserialize)]
        #[cfg_attr(feature = "clap", derive(clap::Args))]
        #[serde(default)]
        #[non_exhaustive]
        pub struct $name {
            $(
                $(#[doc = $doc])*
                $(#[serde($($serde)*)])?
                $(#[cfg_attr(feature = "clap", arg($($arg)*))])?
                pub $field: $type,
            )*
            $($(
                $(#[doc = $group_doc])*
                #[serde(flatten)]
                #[cfg_attr(feature = "clap", command(flatten))]
                pub $group: $group_type,
            )*)?
        }

        impl $name {
            /// Returns these settings, filled up with those of the `lower` layer where they are
            /// unset.
            #[must_use]
            pub fn over(self, lower: Self) -> Self {
                $crate::layers::Layer::over(self, lower)
            }

            /// The keys of these settings in `goodcall.toml`.
            pub(crate) fn keys() -> Vec<&'static str> {
                #[allow(unused_mut, reason = "without groups, nothing is added")]
                let mut keys = vec![$(stringify!($field),)*];
                $($(keys.extend(<$group_type>::keys());)*)?
                keys
            }
        }

        impl $crate::layers::Layer for $name {
            fn over(self, lower: Self) -> Self {
                Self {
                    $($field: $crate::layers::Layer::over(self.$field, lower.$field),)*
                    $($($group: $crate::layers::Layer::over(self.$group, lower.$group),)*)?
                }
            }
        }
    };
}

pub(crate) use settings;

/// Reads a type that has `FromStr` from a string, with the error text of the type.
pub(crate) fn parsed<'de, T, D>(from: D) -> Result<Option<T>, D::Error>
where
    T: std::str::FromStr<Err: std::fmt::Display>,
    D: serde::Deserializer<'de>,
{
    let text = String::deserialize(from)?;
    text.parse().map(Some).map_err(serde::de::Error::custom)
}
