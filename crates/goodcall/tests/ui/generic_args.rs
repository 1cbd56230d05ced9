#[derive(goodcall::Args)]
struct Edit<T> {
    value: T,
}

fn main() {}
