struct Weather {
    city: String,
}

/// Has the name of another type.
#[goodcall::tool]
fn weather(city: String) -> String {
    Weather { city }.city
}

struct Notes;

#[goodcall::tool]
impl Notes {
    /// Counts the notes.
    #[tool]
    async fn count(&self) -> usize {
        0
    }
}

#[goodcall::tool]
impl Notes {
    /// Lists the notes.
    #[tool]
    async fn list(&self) -> usize {
        0
    }
}

fn main() {}
