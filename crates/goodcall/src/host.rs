//! Names of this machine, for servers that listen on it.

use std::net::IpAddr;

/// Does the authority of a URL, or a `Host` header, name this machine: `localhost`, `127.0.0.1:80`?
///
/// A server on the loopback address refuses others: a page of a foreign site may have a name that
/// leads to this machine.
///
/// ```
/// assert!(goodcall::names_this_machine("[::1]:8787"));
/// assert!(!goodcall::names_this_machine("localhost.example"));
/// ```
pub fn names_this_machine(authority: &str) -> bool {
    let host = match authority.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => authority.split(':').next().unwrap_or_default(),
    };
    let loopback = host.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback());
    host.eq_ignore_ascii_case("localhost") || loopback
}
