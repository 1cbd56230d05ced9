struct Weather;

/// Returns a type that serde does not know.
#[goodcall::tool]
async fn look(city: String) -> Weather {
    drop(city);
    Weather
}

/// Returns it in a result.
#[goodcall::tool]
async fn forecast(city: String) -> Result<Weather, goodcall::Failure> {
    drop(city);
    Ok(Weather)
}

fn main() {}
