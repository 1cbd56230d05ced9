struct Files;

impl Files {
    #[goodcall::tool]
    fn read(&self, path: String) -> String {
        path
    }
}

#[goodcall::tool]
impl Files {
    #[tool]
    fn write(self, path: String) -> String {
        path
    }
}

fn main() {}
