//! Sets what the linker needs for an addon of node.

fn main() {
    napi_build::setup();
}
