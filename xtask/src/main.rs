//! Tasks of this repository: `cargo xtask NAME`.

mod corpus;

fn main() -> std::process::ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let done = match args.split_first() {
        Some((task, rest)) if task == "corpus" => corpus::run(rest),
        _ => Err("usage: cargo xtask corpus DIR".to_owned()),
    };
    match done {
        Ok(()) => std::process::ExitCode::SUCCESS,
        Err(reason) => {
            eprintln!("{reason}");
            std::process::ExitCode::FAILURE
        }
    }
}
