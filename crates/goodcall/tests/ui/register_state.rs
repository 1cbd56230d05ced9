#[derive(Default)]
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
    toolbox.register(Notes).unwrap();
}
