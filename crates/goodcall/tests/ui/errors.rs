struct Odd;

/// Returns an error without a text.
#[goodcall::tool]
async fn half(of: i64) -> Result<i64, Odd> {
    drop(of);
    Err(Odd)
}

fn main() {}
