use goodcall::Context;

/// Takes the context by value.
#[goodcall::tool]
async fn read(context: Context) -> String {
    context.call_id().to_owned()
}

fn main() {}
