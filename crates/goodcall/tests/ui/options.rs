/// Has an option that nobody knows.
#[goodcall::tool(titel = "Read")]
fn unknown(path: String) -> String {
    path
}

/// Has an option of impl blocks.
#[goodcall::tool(tools = "more")]
fn misplaced(path: String) -> String {
    path
}

/// Contradicts itself.
#[goodcall::tool(destructive, read_only)]
fn contradictory(path: String) -> String {
    path
}

/// Has a name twice.
#[goodcall::tool(name = "a", name = "b")]
fn twice(path: String) -> String {
    path
}

/// Has no name.
#[goodcall::tool(name = "")]
fn nameless(path: String) -> String {
    path
}

/// Has a misspelt option of a parameter.
#[goodcall::tool]
fn parameter(#[tool(minimum = 5)] limit: u32) -> u32 {
    limit
}

/// Has a default of another type.
#[goodcall::tool]
fn default(#[tool(default = "x")] limit: u32) -> u32 {
    limit
}

struct Notes;

#[goodcall::tool(destructive)]
impl Notes {
    /// Counts the notes.
    #[tool(type = "Count")]
    async fn count(&self) -> usize {
        0
    }
}

#[goodcall::tool]
struct Read;

fn main() {
    let mut toolbox = goodcall::Toolbox::new();
    toolbox.register(Unknown).unwrap();
    toolbox.register(Parameter).unwrap();
}
