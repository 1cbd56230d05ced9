//! Logins to servers by OAuth: found out, made once in a browser, kept in a file, renewed in use.

pub(crate) mod discovery;
mod flow;
mod redirect;
mod store;
mod token_request;
mod tokens;

pub use flow::{LoginError, LoginOptions, log_in};
pub use store::LoginStore;
pub(crate) use token_request::http_client;
pub(crate) use tokens::ActiveLogin;
