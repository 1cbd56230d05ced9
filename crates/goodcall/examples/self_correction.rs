//! A wrong call, the text that the model gets, the corrected call, the result.
//!
//! `cargo run -p goodcall --example self_correction`

use goodcall::{Call, Driver, Event, Finish, Message, Reply, Run, Script, Toolbox};

/// Books a table.
#[goodcall::tool]
async fn book_table(
    /// Who.
    name: String,
    /// For how many.
    #[tool(range(min = 1, max = 12))]
    guests: u8,
    /// `HH:MM`
    #[tool(regex(pattern = "^[0-2][0-9]:[0-5][0-9]$"))]
    time: String,
) -> String {
    format!("a table for {guests} at {time} in the name of {name}")
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut toolbox = Toolbox::new();
    toolbox.register(BookTable)?;
    // A script in place of a model.
    let model = Script::new([
        Reply::calls([Call::new(
            "call_1",
            "book_table",
            r#"{"guest_name": "Ada", "guests": 40, "time": "eight"}"#,
        )]),
        Reply::calls([Call::new(
            "call_2",
            "book_table",
            r#"{"name": "Ada", "guests": 4, "time": "20:00"}"#,
        )]),
        Reply::text("You have a table for four at eight."),
    ]);
    let mut run = Run::new().user("A table for Ada, four of us, at eight.");
    let driver = Driver::new(&toolbox, &model).on_event(|event| {
        if let Event::ToolExecuted { call: record, .. } = event {
            println!("[{:?} in {} ms]", record.state, record.duration_ms);
        }
    });
    let finish = driver.drive(&mut run).await?;
    for message in run.messages() {
        match message {
            Message::User(user) => println!("user:  {}", user.text),
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
                    println!("tool:  {}", outcome.text().replace('\n', "\n       "));
                }
            }
            _ => {}
        }
    }
    assert!(matches!(finish, Finish::Done(_)));
    Ok(())
}
