//! `goodcall probe` against servers on loopback that break in each way.
#![allow(clippy::unwrap_used, reason = "a test may fail loudly")]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Command, Output};

use serde_json::{Value, json};

/// How a server breaks.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Breakage {
    Nothing,
    ObjectArguments,
    CallInText,
    CallInProse,
    MissingIds,
    FinishReason,
    ThoughtInText,
    HttpError,
    NoDone,
    SharedIndex,
    HiddenCutOff,
    NumbersAsText,
    OneCallOnly,
    NoCalls,
    OtherText,
    NoStream,
    Unreadable,
    WrongUnit,
    RepeatedCall,
    IgnoredResult,
}

/// The calls for a request, or the text: the right ones, but for the turn after a result.
fn wanted(request: &Value, breakage: Breakage) -> Result<Vec<(&'static str, Value)>, String> {
    let messages = request["messages"].as_array().unwrap();
    if messages.len() > 1 {
        return match breakage {
            Breakage::RepeatedCall => Ok(vec![("get_weather", json!({"city": "Paris"}))]),
            Breakage::IgnoredResult => Err("I cannot know the weather.".to_owned()),
            _ => Err("It is 18 degrees in Paris.".to_owned()),
        };
    }
    let asked = messages[0]["content"].as_str().unwrap();
    Ok(match asked.split_once("exactly this text: ") {
        Some((_, text)) => vec![("save_note", json!({"text": text}))],
        None if asked.contains("Rome") => vec![
            ("get_weather", json!({"city": "Paris"})),
            ("get_weather", json!({"city": "Rome"})),
        ],
        None if asked.contains("record_order") => {
            let customer = json!({"name": "Ada", "tags": ["new", "vip"]});
            vec![("record_order", json!({"number": 7, "customer": customer}))]
        }
        None if asked.contains("set_unit") => vec![("set_unit", json!({"unit": "fahrenheit"}))],
        None => vec![("get_time", json!({}))],
    })
}

/// Writes another value wherever a call has this argument.
fn replace(calls: &mut [(&str, Value)], name: &str, value: &str) {
    for (_, arguments) in calls {
        if let Some(argument) = arguments.get_mut(name) {
            *argument = json!(value);
        }
    }
}

/// The message and the finish reason of a reply.
fn message(request: &Value, breakage: Breakage) -> (Value, &'static str) {
    let mut calls = match wanted(request, breakage) {
        Ok(calls) => calls,
        Err(text) if breakage == Breakage::ThoughtInText => {
            return (
                json!({"role": "assistant", "content": format!("<think>Hm.</think>{text}")}),
                "stop",
            );
        }
        Err(text) => return (json!({"role": "assistant", "content": text}), "stop"),
    };
    let is_cut = request["max_tokens"].is_number();
    let text = |content: String| (json!({"role": "assistant", "content": content}), "stop");
    match breakage {
        Breakage::OneCallOnly => calls.truncate(1),
        Breakage::NoCalls => return text("I cannot call tools.".to_owned()),
        Breakage::OtherText => replace(&mut calls, "text", "something else"),
        Breakage::WrongUnit => replace(&mut calls, "unit", "kelvin"),
        Breakage::NumbersAsText => replace(&mut calls, "number", "7"),
        Breakage::CallInText | Breakage::CallInProse if !is_cut => {
            let write = |(name, arguments): &(&str, Value)| match breakage {
                Breakage::CallInText => {
                    format!(
                        "<tool_call>{}</tool_call>",
                        json!({"name": name, "arguments": arguments})
                    )
                }
                _ => format!("I call {}.", json!({"name": name, "arguments": arguments})),
            };
            return text(calls.iter().map(write).collect::<Vec<_>>().join("\n"));
        }
        _ => {}
    }
    let calls = calls.iter().enumerate().map(|(at, (name, arguments))| {
        let mut sent = arguments.to_string();
        if is_cut {
            sent.truncate(20);
        }
        let arguments = match breakage {
            Breakage::ObjectArguments if !is_cut => arguments.clone(),
            _ => Value::from(sent),
        };
        let id = match breakage {
            Breakage::MissingIds => Value::Null,
            _ => Value::from(format!("call_{at}")),
        };
        json!({"id": id, "type": "function", "function": {"name": name, "arguments": arguments}})
    });
    let finish = match breakage {
        Breakage::HiddenCutOff | Breakage::CallInText if is_cut => "tool_calls",
        _ if is_cut => "length",
        Breakage::FinishReason => "stop",
        _ => "tool_calls",
    };
    (
        json!({"role": "assistant", "content": null, "tool_calls": calls.collect::<Vec<_>>()}),
        finish,
    )
}

fn events(mut message: Value, finish: &str, breakage: Breakage) -> String {
    let calls = message["tool_calls"].as_array_mut().into_iter().flatten();
    for (at, call) in calls.enumerate() {
        let index = if breakage == Breakage::SharedIndex {
            0
        } else {
            at
        };
        call["index"] = json!(index);
    }
    let event = |delta: Value, finish: Value| {
        let chunk = json!({"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]});
        format!("data: {chunk}\n\n")
    };
    let mut out = event(message, Value::Null) + &event(json!({}), json!(finish));
    if breakage != Breakage::NoDone {
        out.push_str("data: [DONE]\n\n");
    }
    out
}

fn answer(mut stream: TcpStream, breakage: Breakage) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut size = 0;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            size = value.trim().parse().unwrap();
        }
        if line.trim().is_empty() {
            break;
        }
    }
    let mut body = vec![0; size];
    reader.read_exact(&mut body)?;
    let request: Value = serde_json::from_slice(&body).unwrap_or_default();
    let (status, body) = match breakage {
        Breakage::HttpError => (
            "500 Internal Server Error",
            "cannot parse the call".to_owned(),
        ),
        Breakage::Unreadable if request["stream"] == true => {
            ("200 OK", "data: {\"choices\": [}\n\n".to_owned())
        }
        Breakage::Unreadable => ("200 OK", "{\"choices\": [}".to_owned()),
        _ => {
            let (message, finish) = message(&request, breakage);
            let streamed = request["stream"] == true && breakage != Breakage::NoStream;
            let body = if streamed {
                events(message, finish, breakage)
            } else {
                json!({"choices": [{"index": 0, "message": message, "finish_reason": finish}]})
                    .to_string()
            };
            ("200 OK", body)
        }
    };
    let size = body.len();
    write!(
        stream,
        "HTTP/1.1 {status}\r\ncontent-length: {size}\r\nconnection: close\r\n\r\n{body}"
    )
}

/// Probes a server that breaks in one way.
fn probe(breakage: Breakage, flags: &[&str]) -> Output {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/v1", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            answer(stream.unwrap(), breakage).unwrap();
        }
    });
    let mut command = Command::new(env!("CARGO_BIN_EXE_goodcall"));
    command.args(["probe", &url, "--model", "m"]).args(flags);
    command.output().unwrap()
}

#[test]
fn server_without_faults_is_right_in_all_questions() {
    let output = probe(Breakage::Nothing, &[]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{text}");
    assert_eq!(text.matches("right").count(), 18, "{text}");
    assert!(!text.contains("the gateway"), "{text}");
}

#[test]
fn each_breakage_is_named_with_what_mends_it() {
    let cases = [
        (Breakage::ObjectArguments, "object-arguments", None, true),
        (
            Breakage::CallInText,
            "call-in-text",
            Some("--text-calls"),
            true,
        ),
        (
            Breakage::CallInProse,
            "call-in-text",
            Some("--text-calls=anywhere"),
            true,
        ),
        (Breakage::MissingIds, "missing-id", None, true),
        (Breakage::FinishReason, "finish-reason", None, true),
        (
            Breakage::ThoughtInText,
            "thought-in-text",
            Some("--text-calls"),
            true,
        ),
        (Breakage::HttpError, "http-error", None, false),
        (Breakage::NoDone, "no-done", None, true),
        (Breakage::SharedIndex, "shared-index", None, true),
        (Breakage::HiddenCutOff, "hidden-cut-off", None, true),
        (Breakage::NumbersAsText, "mended-call", None, true),
        (Breakage::OneCallOnly, "missing-call", None, false),
        (Breakage::NoCalls, "no-call", None, false),
        (Breakage::OtherText, "other-values", None, false),
        (Breakage::NoStream, "no-stream", None, false),
        (Breakage::Unreadable, "unreadable", None, false),
        (Breakage::WrongUnit, "bad-call", None, false),
        (Breakage::RepeatedCall, "repeated-call", None, false),
        (Breakage::IgnoredResult, "ignored-result", None, false),
    ];
    for (breakage, kind, flag, mended) in cases {
        let output = probe(breakage, &["--json"]);
        let text = String::from_utf8(output.stdout).unwrap();
        let report: Value = serde_json::from_str(&text).unwrap();
        let findings = report["findings"].as_array().unwrap();
        let problems = findings
            .iter()
            .flat_map(|finding| finding["problems"].as_array().unwrap());
        let own: Vec<_> = problems.filter(|problem| problem["kind"] == kind).collect();
        assert!(!own.is_empty(), "{kind}: {text}");
        assert!(
            own.iter().all(|problem| problem["mended"] == mended),
            "{kind}: {text}"
        );
        let flags: Vec<_> = flag.into_iter().collect();
        assert_eq!(report["flags"], json!(flags), "{kind}: {text}");
        assert_eq!(
            output.status.code(),
            Some(i32::from(!mended)),
            "{kind}: {text}"
        );
    }
}

#[test]
fn server_that_is_not_there_is_a_usage_error() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_goodcall"));
    let output = command
        .args(["probe", "http://127.0.0.1:1/v1", "--model", "m"])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2));
}
