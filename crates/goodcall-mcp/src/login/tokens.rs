//! The token of a login, renewed when it has expired.

use std::fmt;
use std::io;

use reqwest::Client;
use reqwest::header::HeaderValue;
use tokio::sync::Mutex;

use super::store::{LoginStore, StoredLogin};
use super::token_request::{http_client, now, refresh};

/// A token is renewed so many seconds before it expires.
const EARLY: u64 = 30;

/// A login that requests use.
pub(crate) struct ActiveLogin {
    url: String,
    store: LoginStore,
    client: Client,
    current: Mutex<StoredLogin>,
}

impl fmt::Debug for ActiveLogin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ActiveLogin").finish_non_exhaustive()
    }
}

impl ActiveLogin {
    /// The login to a server; `None` if there is none.
    pub(crate) fn load(store: &LoginStore, url: &str) -> io::Result<Option<Self>> {
        let Some(login) = store.get(url)? else {
            return Ok(None);
        };
        Ok(Some(Self {
            url: url.to_owned(),
            store: store.clone(),
            client: http_client().map_err(io::Error::other)?,
            current: Mutex::new(login),
        }))
    }

    /// The header for a request. A token that cannot be renewed is sent all the same: the server's
    /// answer says what is wrong.
    pub(crate) async fn header(&self) -> Option<HeaderValue> {
        let mut login = self.current.lock().await;
        if login.expires_at.is_some_and(|at| at <= now() + EARLY) {
            // The server refuses the old one.
            let _ = self.renew(&mut login).await;
        }
        bearer(&login)
    }

    /// A header with another token than the one that the server has refused; `None` if there is none.
    pub(crate) async fn other_header(&self, refused: &HeaderValue) -> Option<HeaderValue> {
        let mut login = self.current.lock().await;
        // Another request may have renewed it meanwhile.
        if bearer(&login).as_ref() == Some(refused) {
            self.renew(&mut login).await.ok()?;
        }
        bearer(&login).filter(|new| new != refused)
    }

    /// Renews the token, or takes over the one that another process has saved.
    async fn renew(&self, login: &mut StoredLogin) -> Result<(), String> {
        let store = self.store.clone();
        let locked = tokio::task::spawn_blocking(move || store.lock()).await;
        let locked = locked.map_err(|error| error.to_string())?;
        let held = locked.map_err(|error| error.to_string())?;
        let saved = self.store.get(&self.url);
        if let Some(saved) = saved.map_err(|error| error.to_string())? {
            let is_new = saved.access_token != login.access_token;
            *login = saved;
            if is_new && login.expires_at.is_none_or(|at| at > now() + EARLY) {
                return Ok(());
            }
        }
        refresh(&self.client, login).await?;
        let saved = self.store.save(&self.url, login.clone(), &held);
        saved.map_err(|error| error.to_string())
    }
}

fn bearer(login: &StoredLogin) -> Option<HeaderValue> {
    let mut value = HeaderValue::try_from(format!("Bearer {}", login.access_token)).ok()?;
    value.set_sensitive(true);
    Some(value)
}
