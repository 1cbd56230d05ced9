/// Borrows inside another type.
#[goodcall::tool]
async fn read(path: Option<&str>) -> String {
    path.unwrap_or_default().to_owned()
}

fn main() {}
