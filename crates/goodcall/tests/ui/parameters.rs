struct Place {
    city: String,
}

/// Takes a type without a schema.
#[goodcall::tool]
fn weather(place: Place, days: u8) -> String {
    format!("{} {days}", place.city)
}

#[derive(goodcall::Args)]
struct Local {
    text: String,
    #[serde(skip)]
    here: std::marker::PhantomData<*const u8>,
}

/// Takes a type that cannot be sent to another thread.
#[goodcall::tool]
fn measure(place: Local) -> usize {
    place.text.len()
}

/// Keeps such a value while it waits.
#[goodcall::tool]
async fn kept(text: String) -> usize {
    let text = std::rc::Rc::new(text);
    std::future::ready(()).await;
    text.len()
}

#[derive(goodcall::Args)]
#[serde(renam_all = "lowercase")]
struct Misspelt {
    city: String,
}

fn main() {}
