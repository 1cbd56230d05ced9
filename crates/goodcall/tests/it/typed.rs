//! Tests tools from Rust types and functions: one definition gives schema, value and documentation.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use goodcall::{
    Context, ErrorClass, Failure, Invalid, Tool, ToolError, ToolResult, Toolbox, TypedTool,
    async_trait, wire,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

/// The unit of a temperature.
#[derive(Clone, Copy, Debug, Deserialize, Serialize, JsonSchema, PartialEq)]
#[serde(rename_all = "lowercase")]
enum Unit {
    Celsius,
    Fahrenheit,
}

#[derive(Debug, Deserialize, JsonSchema)]
struct Place {
    /// The city.
    city: String,
    country: Option<String>,
}

/// The weather of a place.
///
/// Up to a week ahead.
#[goodcall::tool]
async fn weather_of(
    /// Where.
    place: Place,
    /// How many days.
    #[tool(default = 3, range(min = 1, max = 7))]
    days: u8,
    unit: Option<Unit>,
    #[tool(length(max = 5), default)] tags: Vec<String>,
) -> Result<String, Failure> {
    if place.city == "Atlantis" {
        return Err(Failure::new("no such city").recommend("choose one above the sea"));
    }
    let (city, country) = (place.city, place.country.unwrap_or_default());
    Ok(format!("{city}{country} {days} {unit:?} {}", tags.len()))
}

/// Counts the words of a text.
#[goodcall::tool(name = "words", inline)]
fn count_words(#[tool(regex(pattern = "^[a-z ]*$"))] text: &str, context: &Context) -> usize {
    assert!(context.call_id().is_empty());
    text.split_whitespace().count()
}

#[derive(Serialize)]
struct Sum {
    sum: i64,
}

/// Adds numbers.
#[goodcall::tool]
fn add(numbers: &[i64]) -> Sum {
    Sum {
        sum: numbers.iter().sum(),
    }
}

/// Does nothing.
#[goodcall::tool(destructive, repeatable, time_limit_ms = 250)]
async fn nothing() {}

/// Returns a result of its own.
#[goodcall::tool]
async fn own_result() -> ToolResult {
    ToolResult::success("own").with_note("noted")
}

/// Fails with an error of the system.
#[goodcall::tool]
async fn io_error() -> Result<ToolResult, std::io::Error> {
    Err(std::io::Error::other("the disk is gone"))
}

/// Halves a number.
#[goodcall::tool]
async fn half(of: i64) -> Result<i64, String> {
    match of % 2 {
        0 => Ok(of / 2),
        _ => Err(format!("{of} is odd")),
    }
}

/// Fails with a text.
#[goodcall::tool]
fn closed() -> Result<ToolResult, &'static str> {
    Err("closed on Sundays")
}

/// Reads a number.
#[goodcall::tool]
fn parsed(text: &str) -> Result<i64, Box<dyn std::error::Error + Send + Sync>> {
    Ok(text.parse::<i64>()?)
}

/// A text is an error like any other, never data with a key `Ok` or `Err`.
#[tokio::test]
async fn result_is_not_serialized_as_data() {
    let half = toolbox(Half);
    assert_eq!(half.invoke("half", r#"{"of": 4}"#).await.text(), "2");
    let odd = half.invoke("half", r#"{"of": 3}"#).await;
    assert!(!odd.is_ok());
    assert!(odd.text().contains("3 is odd") && !odd.text().contains("Err"));
    let closed = toolbox(Closed).invoke("closed", "{}").await;
    assert!(!closed.is_ok() && closed.text().contains("closed on Sundays"));
    let parsed = toolbox(Parsed);
    assert_eq!(
        parsed.invoke("parsed", r#"{"text": "7"}"#).await.text(),
        "7"
    );
    let wrong = parsed.invoke("parsed", r#"{"text": "x"}"#).await;
    let ToolError::Runtime(error) = wrong.tool_error().unwrap() else {
        panic!("{wrong:?}")
    };
    assert!(!wrong.text().contains("invalid digit"), "{}", wrong.text());
    assert_eq!(
        error.source.as_deref(),
        Some("invalid digit found in string")
    );
}

fn toolbox(tool: impl Tool + 'static) -> Toolbox {
    let mut toolbox = Toolbox::new();
    toolbox.register(tool).unwrap();
    toolbox
}

#[test]
fn schema_follows_the_signature() {
    let toolbox = toolbox(WeatherOf);
    let definition = toolbox.list().next().unwrap();
    assert_eq!(definition.name, "weather_of");
    assert_eq!(
        definition.description,
        "The weather of a place.\n\nUp to a week ahead."
    );
    assert_eq!(
        definition.parameters.unwrap(),
        &json!({
            "type": "object",
            "properties": {
                "place": {
                    "description": "Where.",
                    "type": "object",
                    "properties": {
                        "city": {"description": "The city.", "type": "string"},
                        "country": {"type": ["string", "null"]},
                    },
                    "required": ["city"],
                },
                "days": {
                    "description": "How many days.",
                    "type": "integer", "minimum": 1, "maximum": 7, "default": 3,
                },
                "unit": {
                    "description": "The unit of a temperature.",
                    "type": ["string", "null"],
                    "enum": ["celsius", "fahrenheit", null],
                },
                "tags": {
                    "type": "array", "items": {"type": "string"}, "maxItems": 5, "default": [],
                },
            },
            "required": ["place"],
            "additionalProperties": false,
        })
    );
}

#[tokio::test]
async fn function_gets_its_parameters() {
    let toolbox = toolbox(WeatherOf);
    let raw = r#"{"place": {"city": "Oslo"}, "unit": "celsius", "tags": ["a", "b"]}"#;
    let result = toolbox.invoke("weather_of", raw).await;
    assert_eq!(result.text(), "Oslo 3 Some(Celsius) 2");
    let raw = r#"{"place": {"city": "Atlantis"}, "days": 1}"#;
    let result = toolbox.invoke("weather_of", raw).await;
    assert_eq!(result.class(), Some(ErrorClass::Logical));
    assert_eq!(result.recommendations(), ["choose one above the sea"]);
    // The function itself stays callable.
    let place = Place {
        city: "Rome".to_owned(),
        country: None,
    };
    assert!(weather_of(place, 1, None, vec![]).await.is_ok());
}

#[tokio::test]
async fn validation_attributes_are_enforced() {
    let result = toolbox(WeatherOf)
        .invoke("weather_of", r#"{"place": {"city": "Oslo"}, "days": 9}"#)
        .await;
    assert_eq!(
        result.text(),
        "The tool `weather_of` was not run. Correct its arguments and call it again:\n\
         days: 9 is too large, it must be at most 7"
    );
    let words = toolbox(CountWords);
    assert_eq!(
        words.invoke("words", r#"{"text": "a b c"}"#).await.text(),
        "3"
    );
    assert!(!words.invoke("words", r#"{"text": "A!"}"#).await.is_ok());
}

#[tokio::test]
async fn return_types_become_results() {
    assert_eq!(
        toolbox(Add)
            .invoke("add", r#"{"numbers": [1, 2, 3]}"#)
            .await
            .text(),
        r#"{"sum":6}"#
    );
    assert_eq!(
        toolbox(Nothing).invoke("nothing", "{}").await.text(),
        "null"
    );
    let own = toolbox(OwnResult).invoke("own_result", "{}").await;
    assert_eq!(
        (own.text().as_str(), own.note()),
        ("own\nnoted", Some("noted"))
    );
    let io = toolbox(IoError).invoke("io_error", "{}").await;
    assert_eq!(io.class(), Some(ErrorClass::Runtime));
    assert_eq!(
        io.text(),
        "The tool failed for a reason of its own; the arguments were valid."
    );
    let mut shown = Toolbox::new().show_errors();
    shown.register(IoError).unwrap();
    let io = shown.invoke("io_error", "{}").await;
    assert_eq!(io.text(), "the disk is gone");
}

#[test]
fn options_set_the_flags_of_the_tool() {
    assert!(Nothing.is_destructive() && Nothing.is_repeatable() && !Nothing.is_blocking());
    assert_eq!(Nothing.time_limit().unwrap().as_millis(), 250);
    // A plain function may block, unless it is marked `inline`.
    assert!(Add.is_blocking() && !CountWords.is_blocking());
}

#[derive(Default)]
struct Counter {
    count: AtomicU32,
}

#[goodcall::tool]
impl Counter {
    /// Adds to the count.
    #[tool]
    async fn add(&self, by: u32) -> u32 {
        self.count.fetch_add(by, Ordering::SeqCst) + by
    }

    /// The count.
    #[tool(name = "count", inline)]
    fn get(&self) -> u32 {
        self.count.load(Ordering::SeqCst)
    }

    fn helper(&self) -> bool {
        self.get() > 0
    }
}

#[tokio::test]
async fn methods_share_their_state() {
    let counter = Arc::new(Counter::default());
    let mut toolbox = Toolbox::new();
    toolbox.register_all(Arc::clone(&counter).tools()).unwrap();
    let names: Vec<_> = toolbox.list().map(|tool| tool.name.to_owned()).collect();
    assert_eq!(names, ["add", "count"]);
    assert_eq!(toolbox.invoke("add", r#"{"by": 2}"#).await.text(), "2");
    assert_eq!(toolbox.invoke("add", r#"{"by": 3}"#).await.text(), "5");
    assert_eq!(toolbox.invoke("count", "").await.text(), "5");
    assert!(counter.helper());
}

/// A number that the schema allows and the type does not hold.
#[derive(Deserialize, JsonSchema)]
struct Narrow {
    items: Vec<Item>,
}

#[derive(Deserialize, JsonSchema)]
struct Item {
    #[schemars(with = "i64")]
    size: u8,
}

struct NarrowTool;

#[async_trait]
impl TypedTool for NarrowTool {
    type Args = Narrow;
    type Output = u64;

    fn name(&self) -> &str {
        "narrow"
    }

    fn validate(&self, args: &Narrow) -> Result<(), Invalid> {
        match args.items.iter().position(|item| item.size == 13) {
            Some(at) => Err(Invalid::at(&format!("items.{at}.size"), "not 13")),
            None => Ok(()),
        }
    }

    async fn execute(&self, args: Narrow, _: &Context) -> Result<u64, Failure> {
        Ok(args.items.iter().map(|item| u64::from(item.size)).sum())
    }
}

#[tokio::test]
async fn serde_error_is_an_issue_with_its_place() {
    let toolbox = toolbox(NarrowTool);
    let raw = r#"{"items": [{"size": 1}, {"size": 300}]}"#;
    let result = toolbox.invoke("narrow", raw).await;
    let Some(ToolError::Argument(error)) = result.tool_error() else {
        panic!("{result:?}")
    };
    assert_eq!(error.faults[0].path, "/items/1/size");
    assert_eq!(
        result.text(),
        "The tool `narrow` was not run. Correct its arguments and call it again:\n\
         items[1].size: integer `300` does not fit, use an integer from 0 to 255"
    );
    let raw = r#"{"items": [{"size": 13}]}"#;
    assert!(
        toolbox
            .invoke("narrow", raw)
            .await
            .text()
            .ends_with("items[0].size: not 13")
    );
    let raw = r#"{"items": [{"size": 1}, {"size": 200}]}"#;
    assert_eq!(toolbox.invoke("narrow", raw).await.text(), "201");
    // The same without a toolbox.
    let validate = |size: u32| goodcall::validate(&NarrowTool, &json!({"items": [{"size": size}]}));
    assert!(validate(1).is_ok() && validate(13).is_err() && validate(300).is_err());
    assert_eq!(
        toolbox.list().next().unwrap().description,
        "A number that the schema allows and the type does not hold."
    );
}

#[derive(Deserialize, JsonSchema)]
struct Folder {
    name: String,
    folders: Vec<Folder>,
}

/// Counts the levels of folders.
#[goodcall::tool]
fn depth(
    /// Where to begin.
    root: Folder,
    other: Option<Folder>,
) -> usize {
    fn of(folder: &Folder) -> usize {
        folder.name.len().min(1) + folder.folders.iter().map(of).max().unwrap_or(0)
    }
    of(&root) + other.as_ref().map_or(0, of)
}

/// Takes integers of every width.
#[goodcall::tool]
fn widths(a: i8, b: u16, c: i32, d: u32, #[tool(range(max = 9))] e: Option<u32>, f: u64) -> String {
    format!("{a} {b} {c} {d} {e:?} {f}")
}

#[tokio::test]
async fn schema_tells_the_bounds_of_small_integers() {
    let toolbox = toolbox(Widths);
    let properties = &toolbox.list().next().unwrap().parameters.unwrap()["properties"];
    let integer =
        |least: i64, most: i64| json!({"type": "integer", "minimum": least, "maximum": most});
    assert_eq!(properties["a"], integer(-128, 127));
    assert_eq!(properties["b"], integer(0, 65535));
    assert_eq!(properties["c"], integer(i32::MIN.into(), i32::MAX.into()));
    assert_eq!(properties["d"], integer(0, u32::MAX.into()));
    let optional = json!({"type": ["integer", "null"], "minimum": 0, "maximum": 9});
    assert_eq!(properties["e"], optional);
    assert_eq!(properties["f"], json!({"type": "integer", "minimum": 0}));
    let raw = r#"{"a": 1, "b": 2, "c": 3, "d": 5000000000, "f": 6}"#;
    assert_eq!(
        toolbox.invoke("widths", raw).await.text(),
        "The tool `widths` was not run. Correct its arguments and call it again:\n\
         d: 5000000000 is too large, it must be at most 4294967295"
    );
}

const ABOUT: &str = "Does what its options say.";

/// Options that people and MCP clients read.
#[goodcall::tool(title = "Look around", description = ABOUT, read_only, open_world = false)]
fn look(#[tool(name = "type")] kind: String) -> String {
    kind
}

#[tokio::test]
async fn titles_and_annotations_reach_mcp_clients() {
    assert!(Look.is_read_only() && Look.is_repeatable() && !Look.is_destructive());
    let mut toolbox = toolbox(Look);
    toolbox.register(Nothing).unwrap();
    let tools: Vec<_> = toolbox.list().collect();
    let (look, nothing) = (tools[0], tools[1]);
    assert_eq!((look.title, look.description), (Some("Look around"), ABOUT));
    assert!(nothing.annotations.destructive && nothing.annotations.repeatable);
    let mcp: serde_json::Value =
        serde_json::from_str(&wire::tools(wire::Provider::Mcp, &tools)).unwrap();
    let mcp = &mcp["tools"];
    assert_eq!(mcp[0]["title"], "Look around");
    assert_eq!(
        mcp[0]["annotations"],
        json!({"readOnlyHint": true, "idempotentHint": true, "openWorldHint": false})
    );
    assert_eq!(
        mcp[1]["annotations"],
        json!({"destructiveHint": true, "idempotentHint": true})
    );
    let openai = wire::tools(wire::Provider::OpenAi, &tools);
    assert!(
        !openai.contains("Hint") && !openai.contains("Look around"),
        "{openai}"
    );
}

#[tokio::test]
async fn parameter_has_the_name_that_the_model_writes() {
    let toolbox = toolbox(Look);
    assert_eq!(
        toolbox.invoke("look", r#"{"type": "cat"}"#).await.text(),
        "cat"
    );
    assert!(!toolbox.invoke("look", r#"{"kind": "cat"}"#).await.is_ok());
}

#[derive(goodcall::Args, Debug, Default, PartialEq)]
#[serde(default)]
struct Settings {
    depth: u8,
    name: String,
}

#[derive(goodcall::Args, Debug, PartialEq)]
#[serde(try_from = "i64")]
struct Even(i64);

impl TryFrom<i64> for Even {
    type Error = String;

    fn try_from(number: i64) -> Result<Self, String> {
        if number % 2 == 0 {
            Ok(Self(number))
        } else {
            Err(format!("{number} is odd"))
        }
    }
}

#[derive(goodcall::Args, Debug, PartialEq)]
#[serde(tag = "kind")]
enum Shape {
    Circle { radius: f32 },
    Group { parts: Vec<Shape> },
}

#[derive(goodcall::Args, Debug, PartialEq)]
struct Everything {
    #[serde(flatten)]
    settings: Settings,
    even: Even,
    shape: Shape,
    pair: (u8, String),
    #[serde(rename = "at-least")]
    least: Option<u32>,
}

#[test]
fn args_takes_the_attributes_of_serde() {
    let raw = r#"{"depth": 3, "even": 4, "pair": [1, "a"], "at-least": 7,
        "shape": {"kind": "Group", "parts": [{"kind": "Circle", "radius": 1.5}]}}"#;
    let everything: Everything = goodcall::validate_args(raw).unwrap();
    let settings = Settings {
        depth: 3,
        name: String::new(),
    };
    let parts = vec![Shape::Circle { radius: 1.5 }];
    assert_eq!(
        everything,
        Everything {
            settings,
            even: Even(4),
            shape: Shape::Group { parts },
            pair: (1, "a".to_owned()),
            least: Some(7),
        }
    );
    let error = goodcall::validate_args::<Everything>(&raw.replace('4', "5")).unwrap_err();
    assert!(error.message.ends_with("Errors: even: 5 is odd"), "{error}");
}

#[tokio::test]
async fn recursive_type_is_in_the_schema_once() {
    let toolbox = toolbox(Depth);
    let reference = json!({"$ref": "#/$defs/Folder"});
    assert_eq!(
        toolbox.list().next().unwrap().parameters.unwrap(),
        &json!({
            "type": "object",
            "properties": {
                "root": {"$ref": "#/$defs/Folder", "description": "Where to begin."},
                "other": {"anyOf": [reference, {"type": "null"}]},
            },
            "required": ["root"],
            "additionalProperties": false,
            "$defs": {"Folder": {
                "type": "object",
                "properties": {
                    "name": {"type": "string"},
                    "folders": {"type": "array", "items": reference},
                },
                "required": ["name", "folders"],
            }},
        })
    );
    let raw = r#"{"root": {"name": "a", "folders": [{"name": "b", "folders": []}]}}"#;
    assert_eq!(toolbox.invoke("depth", raw).await.text(), "2");
    let raw = r#"{"root": {"name": "a", "folders": [{"name": {}, "folders": []}]}}"#;
    let result = toolbox.invoke("depth", raw).await;
    assert_eq!(result.class(), Some(ErrorClass::Validation));
}
