'use strict'
// Finds the native part: beside this package where it was built here, otherwise in the package of
// this platform, which npm installs as an optional dependency.

const { existsSync, readFileSync } = require('node:fs')
const { join } = require('node:path')
const { GoodcallError } = require('./error.js')

/** The platform as the packages name it, such as `linux-x64-gnu`. */
function platform() {
  const { platform, arch } = process
  if (platform === 'linux') return `linux-${arch}-${isMusl() ? 'musl' : 'gnu'}`
  if (platform === 'win32') return `win32-${arch}-msvc`
  return `${platform}-${arch}`
}

function isMusl() {
  try {
    return readFileSync('/usr/bin/ldd', 'latin1').includes('musl')
  } catch {
    const { glibcVersionRuntime } = process.report?.getReport()?.header ?? {}
    return glibcVersionRuntime === undefined
  }
}

function load() {
  const name = platform()
  const built = join(__dirname, '..', `goodcall.${name}.node`)
  if (existsSync(built)) return require(built)
  try {
    return require(`goodcall-${name}`)
  } catch (cause) {
    const message =
      `goodcall has no native part for ${name}: expected the package goodcall-${name}, ` +
      'which npm leaves out with --omit=optional'
    throw new GoodcallError('no_native_part', message, { cause })
  }
}

module.exports = load()
