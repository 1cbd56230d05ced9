//! An HTTP service with a toolbox: a route that checks a call, one that makes it, and a middleware
//! that mends the bodies of other routes. Requests are made in the process, so that nothing listens.
//!
//! `cargo run -p goodcall --example axum_service`

use std::sync::Arc;

use axum::body::{Body, to_bytes};
use axum::extract::{Path, Request, State};
use axum::http::StatusCode;
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use axum::{Json, Router};
use goodcall::{Gate, Schema, ToolResult, Toolbox};
use serde_json::{Value, json};
use tower::ServiceExt;

/// Books a table.
#[goodcall::tool]
async fn book_table(name: String, #[tool(range(min = 1, max = 12))] guests: u8) -> String {
    format!("a table for {guests}, {name}")
}

/// The verdict on a call, in the form of the machine protocol; nothing is run.
async fn check_call(
    State(toolbox): State<Arc<Toolbox>>,
    Path(tool): Path<String>,
    raw: String,
) -> Response {
    match toolbox.check(&tool, &raw) {
        Ok(call) => {
            Json(json!({"arguments": call.arguments(), "changes": call.changes()})).into_response()
        }
        Err(refused) => {
            let body = Json(ToolResult::from(refused).structured());
            (StatusCode::UNPROCESSABLE_ENTITY, body).into_response()
        }
    }
}

/// The structured result of a call.
async fn make_call(
    State(toolbox): State<Arc<Toolbox>>,
    Path(tool): Path<String>,
    raw: String,
) -> Response {
    Json(toolbox.invoke(&tool, &raw).await.structured()).into_response()
}

/// Hands on a body that matches the schema, mended if need be, or refuses it.
async fn mend_body(State(schema): State<Schema>, request: Request, next: Next) -> Response {
    let (head, body) = request.into_parts();
    let Ok(bytes) = to_bytes(body, 1 << 20).await else {
        return StatusCode::PAYLOAD_TOO_LARGE.into_response();
    };
    match Gate::new(&schema).check_bytes(&bytes).into_result() {
        Ok(tree) => {
            let body = Body::from(tree.to_json());
            next.run(Request::from_parts(head, body)).await
        }
        Err(refused) => (StatusCode::UNPROCESSABLE_ENTITY, Json(refused)).into_response(),
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut toolbox = Toolbox::new();
    toolbox.register(BookTable)?;
    let schema = Schema::compile(&json!({"properties": {"n": {"type": "integer"}}}))?;
    let echo = Router::new()
        .route(
            "/echo",
            post(|Json(body): Json<Value>| async { Json(body) }),
        )
        .layer(middleware::from_fn_with_state(schema, mend_body));
    let app = Router::new()
        .route("/check/{tool}", post(check_call))
        .route("/call/{tool}", post(make_call))
        .with_state(Arc::new(toolbox))
        .merge(echo);
    for (path, body) in [
        ("/check/book_table", r#"{"name": "Ada", "guests": "4"}"#),
        ("/check/book_table", r#"{"guests": 40}"#),
        ("/call/book_table", "{'name': 'Ada', 'guests': 4,}"),
        ("/echo", r#"{"n": "5"}"#),
        ("/echo", r#"{"n": "five"}"#),
    ] {
        let request = Request::post(path)
            .header("content-type", "application/json")
            .body(Body::from(body))?;
        let response = app.clone().oneshot(request).await?;
        let status = response.status();
        let answer = to_bytes(response.into_body(), 1 << 20).await?;
        println!(
            "POST {path} {body}\n{status} {}\n",
            String::from_utf8_lossy(&answer)
        );
    }
    Ok(())
}
