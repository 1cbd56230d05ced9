// Builds the native part and puts it beside the package: `node scripts/build.mjs [--release]
// [--target TARGET]`. It is the build of the workspace, so that nothing is compiled twice; `--release`
// is the profile of all packages for other languages.

import { execFileSync } from 'node:child_process'
import { copyFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { platforms } from './platforms.mjs'

const { values } = parseArgs({ options: { release: { type: 'boolean' }, target: { type: 'string' } } })
const root = new URL('../../../', import.meta.url)

const hostTarget = () => {
  const said = execFileSync('rustc', ['-vV'], { encoding: 'utf8' })
  return /^host: (.*)$/m.exec(said)[1]
}
const target = values.target ?? hostTarget()
const platform = platforms.find((one) => one.target === target)
if (platform === undefined) {
  const known = platforms.map((one) => one.target).join(', ')
  console.error(`no package for the target ${target}: expected one of ${known}`)
  process.exit(2)
}

const flags = ['build', '--package', 'goodcall-node']
if (values.release) flags.push('--profile', 'wheel')
if (values.target) flags.push('--target', values.target)
execFileSync('cargo', flags, { cwd: root, stdio: 'inherit' })

const metadata = ['metadata', '--no-deps', '--format-version', '1']
const folder = JSON.parse(execFileSync('cargo', metadata, { cwd: root, maxBuffer: 1 << 28 })).target_directory
const built = [folder, values.target, values.release ? 'wheel' : 'debug', platform.library].filter(Boolean).join('/')
copyFileSync(built, new URL(`../goodcall.${platform.name}.node`, import.meta.url))
