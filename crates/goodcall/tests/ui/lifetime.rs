/// Names a lifetime.
#[goodcall::tool]
async fn read<'a>(path: &'a str) -> String {
    path.to_owned()
}

fn main() {}
