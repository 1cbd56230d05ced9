#[goodcall::tool]
async fn read(path: String) -> String {
    path
}

struct Notes;

#[goodcall::tool]
impl Notes {
    #[tool]
    async fn count(&self) -> usize {
        0
    }
}

fn main() {
    goodcall::Toolbox::new().register(Read).unwrap();
}
