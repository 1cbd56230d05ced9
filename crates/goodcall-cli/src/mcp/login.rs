//! `goodcall mcp login` and `goodcall mcp logout`: tokens of servers behind URLs.

use std::process::{Command, Stdio};
use std::time::Duration;

use goodcall_mcp::{LoginOptions, LoginStore, Upstream, log_in};

use super::variable;
use crate::input::user_folder;
use crate::{CliError, runtime};

/// Log in to a server behind a URL by OAuth, in a browser.
///
/// The tokens are kept in logins.json of your configuration folder, which only you can read. goodcall
/// mcp --url with the same URL uses and renews them.
#[derive(clap::Args)]
pub(crate) struct LoginArgs {
    /// The server's address
    url: String,
    /// A scope to ask for, in place of those that the server names
    #[arg(long, value_name = "SCOPE")]
    scope: Vec<String>,
    /// A client that is registered with the authorization server [default: register one now]
    #[arg(long, value_name = "ID")]
    client_id: Option<String>,
    /// The environment variable with the secret of that client
    #[arg(long, value_name = "VARIABLE", requires = "client_id")]
    client_secret_env: Option<String>,
    /// The port of 127.0.0.1 to which the browser returns [default: any]
    #[arg(
        long,
        value_name = "PORT",
        default_value_t = 0,
        hide_default_value = true
    )]
    port: u16,
    /// Print the address of the login, and open no browser
    #[arg(long)]
    no_browser: bool,
    /// How long to wait for you, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 300)]
    wait: u64,
}

/// Forget the login to a server. The tokens are deleted here, and stay valid until they expire.
#[derive(clap::Args)]
pub(crate) struct LogoutArgs {
    /// The server's address
    url: String,
}

/// The logins of the user; `None` if the user has no configuration folder.
pub(super) fn store() -> Option<LoginStore> {
    Some(LoginStore::new(user_folder()?.join("logins.json")))
}

pub(super) fn log_in_to(args: &LoginArgs) -> Result<bool, CliError> {
    let server = Upstream::new(&args.url).map_err(|error| error.to_string())?;
    let store = store().ok_or("there is no folder for the login: HOME is not set")?;
    let mut options = LoginOptions::default();
    options.scopes.clone_from(&args.scope);
    options.client_id.clone_from(&args.client_id);
    if let Some(name) = &args.client_secret_env {
        options.client_secret = Some(variable("--client-secret-env", name)?);
    }
    options.port = args.port;
    options.limit = Duration::from_secs(args.wait);
    let show = |address: &str| {
        anstream::eprintln!("Log in with your browser at:\n\n{address}\n");
        if !args.no_browser {
            open(address);
        }
    };
    let logged_in = runtime()?.block_on(log_in(&server, &options, &store, show));
    logged_in.map_err(|error| error.to_string())?;
    anstream::println!("logged in to {}", server.host());
    Ok(true)
}

pub(super) fn log_out_of(args: &LogoutArgs) -> Result<bool, CliError> {
    let server = Upstream::new(&args.url).map_err(|error| error.to_string())?;
    let removed = match store() {
        Some(store) => store.remove(&server).map_err(|error| error.to_string())?,
        None => false,
    };
    if !removed {
        return Err(format!("there is no login to {}", server.host()));
    }
    anstream::println!("logged out of {}", server.host());
    Ok(true)
}

/// Opens an address in the user's browser. If that fails, the user has read the address.
fn open(address: &str) {
    let named = std::env::var("BROWSER").ok();
    let named = named.as_deref().and_then(shlex::split);
    let words = named.filter(|words| !words.is_empty()).unwrap_or_else(|| {
        let opener: &[&str] = if cfg!(target_os = "macos") {
            &["open"]
        } else if cfg!(windows) {
            &["rundll32", "url.dll,FileProtocolHandler"]
        } else {
            &["xdg-open"]
        };
        opener.iter().map(|word| (*word).to_owned()).collect()
    });
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]).arg(address);
    let quiet = command.stdin(Stdio::null()).stdout(Stdio::null());
    let _ = quiet.stderr(Stdio::null()).spawn();
}
