//! A model that repeats itself: it gets another text, then the user is asked, then the run stops.
//!
//! `cargo run -p goodcall --example doom_loop`

use goodcall::{Call, Driver, Event, Reply, Run, Script, Toolbox};

/// Reads a file.
#[goodcall::tool(inline)]
fn read_file(path: String) -> Result<String, goodcall::Failure> {
    Err(goodcall::Failure::new(format!("{path} is empty")))
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut toolbox = Toolbox::new();
    toolbox.register(ReadFile)?;
    let call = |turn: usize| {
        // The same call in different notations.
        let arguments = match turn % 2 {
            0 => r#"{"path":"notes.txt"}"#,
            _ => r#"{ "path": "notes\u002etxt" }"#,
        };
        Reply::calls([Call::new("", "read_file", arguments)])
    };
    let model = Script::new((0..20).map(call));
    let mut run = Run::new().user("What is in my notes?");
    let driver = Driver::new(&toolbox, &model)
        .ask(|reason| {
            println!("asked:     {reason}");
            Some("Try again.".to_owned())
        })
        .on_event(|event| match event {
            Event::ModelCalled { step, .. } => println!("step {step}"),
            Event::LoopSuspected(loops) => {
                println!(
                    "suspected: {} -> {:?}",
                    loops.signal.name(),
                    loops.escalation
                );
            }
            Event::Finished { message, .. } => println!("finished:  {message}"),
            _ => {}
        });
    driver.drive(&mut run).await?;
    let told = run.messages().iter().find_map(|message| match message {
        goodcall::Message::Tools { outcomes, .. } => outcomes.iter().find(|o| o.steer.is_some()),
        _ => None,
    });
    if let Some(outcome) = told {
        println!("\nThe model was told:\n{}", outcome.text());
    }
    Ok(())
}
