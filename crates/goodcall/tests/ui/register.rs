/// Shows the weather.
#[goodcall::tool]
fn weather(city: String) -> String {
    city
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

fn main() {
    let mut toolbox = goodcall::Toolbox::new();
    toolbox.register(weather).unwrap();
    toolbox.register_all(Notes.tools()).unwrap();
}
