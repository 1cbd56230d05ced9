/// Is unsafe.
#[goodcall::tool]
unsafe fn read(path: String) -> String {
    path
}

fn main() {}
