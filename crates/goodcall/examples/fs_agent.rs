//! An agent that reads and edits files in a temporary folder: read, edit and multi-edit tools,
//! wrong calls and their correction.
//!
//! `cargo run -p goodcall --example fs_agent`

use std::fs;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use goodcall::{Args, Call, Driver, Failure, ForModel, Message, Reply, Run, Script, Toolbox};

/// A folder that tools cannot leave.
struct Files {
    root: PathBuf,
}

#[derive(Args)]
#[serde(deny_unknown_fields)]
struct Edit {
    /// The text to replace; must occur exactly once.
    #[schemars(length(min = 1))]
    old: String,
    /// What to put there.
    new: String,
}

#[goodcall::tool]
impl Files {
    /// Reads a file.
    #[tool(repeatable)]
    fn read(
        &self,
        /// Relative to the folder.
        path: String,
        /// At most this many lines.
        #[tool(default = 100, range(min = 1, max = 1000))]
        limit: u32,
    ) -> Result<String, Failure> {
        let text = fs::read_to_string(self.inside(&path)?).for_model("the file cannot be read")?;
        let lines = text.lines().take(usize::try_from(limit)?);
        Ok(lines.collect::<Vec<_>>().join("\n"))
    }

    /// Replaces one piece of text in a file.
    #[tool(destructive)]
    fn edit(&self, path: String, old: String, new: String) -> Result<String, Failure> {
        self.apply(&path, &[Edit { old, new }])
    }

    /// Replaces several pieces of text in a file: all of them, or none.
    #[tool(destructive)]
    fn multi_edit(
        &self,
        path: String,
        #[tool(length(min = 1))] edits: Vec<Edit>,
    ) -> Result<String, Failure> {
        self.apply(&path, &edits)
    }

    fn inside(&self, path: &str) -> Result<PathBuf, Failure> {
        let plain = Path::new(path)
            .components()
            .all(|c| matches!(c, Component::Normal(_)));
        if !plain {
            return Err(Failure::new(format!("{path} is outside of the folder"))
                .recommend("use a path relative to the folder"));
        }
        Ok(self.root.join(path))
    }

    fn apply(&self, path: &str, edits: &[Edit]) -> Result<String, Failure> {
        let file = self.inside(path)?;
        let mut text = fs::read_to_string(&file)?;
        for (at, edit) in edits.iter().enumerate() {
            text = match text.matches(&edit.old).count() {
                1 => text.replacen(&edit.old, &edit.new, 1),
                0 => {
                    return Err(
                        Failure::new(format!("edit {at}: the text is not in {path}"))
                            .recommend("read the file first")
                            .note("nothing was changed"),
                    );
                }
                n => {
                    return Err(
                        Failure::new(format!("edit {at}: the text occurs {n} times"))
                            .recommend("take in more of the lines around it")
                            .note("nothing was changed"),
                    );
                }
            };
        }
        fs::write(&file, text)?;
        Ok(format!("{} edits in {path}", edits.len()))
    }
}

fn call(name: &str, arguments: &str) -> Reply {
    Reply::calls([Call::new("", name, arguments)])
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let root = std::env::temp_dir().join(format!("goodcall-fs-agent-{}", std::process::id()));
    fs::create_dir_all(&root)?;
    fs::write(root.join("poem.txt"), "Roses are blue\nViolets are red\n")?;
    let mut toolbox = Toolbox::new();
    toolbox.register_all(Arc::new(Files { root: root.clone() }).tools())?;
    // A script in place of a model.
    let model = Script::new([
        call("read", r#"{"path": "../secrets.txt"}"#),
        call("read", r#"{"path": "poem.txt", "limit": 5000}"#),
        call("read", r#"{"path": "poem.txt"}"#),
        call(
            "multi_edit",
            r#"{"path": "poem.txt", "edits": [{"old": "are", "new": "were"}]}"#,
        ),
        call(
            "multi_edit",
            r#"{"path": "poem.txt", "edits": [{"old": "blue", "new": "red"}, {"old": "Violets are red"}]}"#,
        ),
        call(
            "multi_edit",
            r#"{"path": "poem.txt", "edits": [{"old": "Roses are blue", "new": "Roses are red"}, {"old": "Violets are red", "new": "Violets are blue"}]}"#,
        ),
        call(
            "edit",
            r#"{"path": "poem.txt", "old": "Violets are blue", "new": "Violets are blue, I hear"}"#,
        ),
        Reply::text("The poem is right now."),
    ]);
    let mut run = Run::new().user("Correct the poem.");
    Driver::new(&toolbox, &model).drive(&mut run).await?;
    for message in run.messages() {
        match message {
            Message::Assistant(reply) => {
                for call in &reply.calls {
                    println!("model: {}({})", call.name, call.arguments);
                }
                if !reply.text.is_empty() {
                    println!("model: {}", reply.text);
                }
            }
            Message::Tools { outcomes, .. } => {
                for outcome in outcomes {
                    println!("tool:  {}\n", outcome.text().replace('\n', "\n       "));
                }
            }
            _ => {}
        }
    }
    print!("\n{}", fs::read_to_string(root.join("poem.txt"))?);
    fs::remove_dir_all(&root)?;
    Ok(())
}
