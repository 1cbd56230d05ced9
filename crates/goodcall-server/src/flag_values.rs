//! Values of flags and environment variables, as clap reads them.

use std::net::{SocketAddr, ToSocketAddrs};
use std::str::FromStr;

use crate::layers::Switch;

/// Reads an address to listen on: an IP address or a name of this machine, with a port.
///
/// # Errors
/// If the text has no port, or the name cannot be resolved.
pub fn listen_address(text: &str) -> Result<SocketAddr, String> {
    let addresses = text.to_socket_addrs().ok();
    addresses
        .and_then(|mut addresses| addresses.next())
        .ok_or_else(|| "use an address with a port, such as 127.0.0.1:8787".to_owned())
}

pub(crate) fn whole_number<T: FromStr>(text: &str) -> Result<T, String> {
    text.parse().map_err(|_| "use a whole number".to_owned())
}

/// Reads a switch, which clap hands in as `false` where the flag is absent. An environment
/// variable may be written in the usual ways.
pub(crate) fn switch(text: &str) -> Result<Switch, String> {
    match text.to_ascii_lowercase().as_str() {
        "true" | "1" | "yes" | "on" => Ok(Switch::On),
        "false" | "0" | "no" | "off" | "" => Ok(Switch::Unset),
        _ => Err("use true or false".to_owned()),
    }
}
