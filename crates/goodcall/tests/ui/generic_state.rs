struct Files<T>(T);

#[goodcall::tool]
impl<T: Send + Sync + 'static> Files<T> {
    /// Reads a file.
    #[tool]
    async fn read(&self, path: String) -> String {
        path
    }
}

fn main() {}
