#[goodcall::tool(title = "Read")]
fn read(path: String) -> String {
    path
}

#[goodcall::tool]
struct Read;

fn main() {}
