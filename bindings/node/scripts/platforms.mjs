// The platforms that the package has a native part for: the target of the compiler, the name of the
// platform package, and what npm needs to know to install the right one.

const linux = (arch, libc) => ({
  target: `${arch === 'x64' ? 'x86_64' : 'aarch64'}-unknown-linux-${libc}`,
  name: `linux-${arch}-${libc}`,
  os: 'linux',
  cpu: arch,
  libc: libc === 'gnu' ? 'glibc' : 'musl',
  library: 'libgoodcall_node.so',
})

const macos = (arch) => ({
  target: `${arch === 'x64' ? 'x86_64' : 'aarch64'}-apple-darwin`,
  name: `darwin-${arch}`,
  os: 'darwin',
  cpu: arch,
  library: 'libgoodcall_node.dylib',
})

const windows = (arch) => ({
  target: `${arch === 'x64' ? 'x86_64' : 'aarch64'}-pc-windows-msvc`,
  name: `win32-${arch}-msvc`,
  os: 'win32',
  cpu: arch,
  library: 'goodcall_node.dll',
})

export const platforms = [
  linux('x64', 'gnu'),
  linux('arm64', 'gnu'),
  linux('x64', 'musl'),
  linux('arm64', 'musl'),
  macos('x64'),
  macos('arm64'),
  windows('x64'),
  windows('arm64'),
]
