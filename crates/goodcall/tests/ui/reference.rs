#[goodcall::tool]
async fn read(path: &std::path::Path) -> String {
    path.display().to_string()
}

fn main() {}
