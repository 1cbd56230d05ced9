//! What the macro says of functions that cannot be tools, and where it says it.

#[test]
fn compile_errors_point_at_the_users_code() {
    trybuild::TestCases::new().compile_fail("tests/ui/*.rs");
}
