/// Names a lifetime.
#[goodcall::tool]
async fn read<'a>(path: &'a str) -> String {
    path.to_owned()
}

/// Keeps its parameter for ever.
#[goodcall::tool]
async fn keep(path: &'static str) -> &'static str {
    path
}

fn main() {}
