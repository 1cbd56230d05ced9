// The packages as they are published: names, versions, and that they work where nothing else is.

import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { platforms } from '../scripts/platforms.mjs'

const home = join(import.meta.dirname, '..')
const scratch = mkdtempSync(join(tmpdir(), 'goodcall-'))
afterAll(() => rmSync(scratch, { recursive: true }))
const read = (...path) => JSON.parse(readFileSync(join(...path), 'utf8'))
const own = read(home, 'package.json')

it('the build matrix names every platform', () => {
  const workflow = readFileSync(join(home, '../../.github/workflows/node.yml'), 'utf8')
  const targets = [...workflow.matchAll(/target: ([\w-]+), runner/g)].map(([, target]) => target)
  expect(targets).toEqual(platforms.map((platform) => platform.target))
})

it('a package for every platform has the name, the version and the platform that npm looks for', () => {
  const [native, packages] = [join(scratch, 'native'), join(scratch, 'all')]
  mkdirSync(native)
  for (const { name } of platforms) writeFileSync(join(native, `goodcall.${name}.node`), '')
  execFileSync(process.execPath, [join(home, 'scripts/platform-packages.mjs'), native, packages])
  const { version, optionalDependencies } = read(packages, 'goodcall/package.json')
  expect(version).toBe(own.version)
  expect(Object.keys(optionalDependencies)).toEqual(platforms.map(({ name }) => `goodcall-${name}`))
  expect(readdirSync(packages).sort()).toEqual(['goodcall', ...platforms.map(({ name }) => name)].sort())
  for (const { name, os, cpu, libc } of platforms) {
    const one = read(packages, name, 'package.json')
    expect(optionalDependencies[one.name]).toBe(one.version)
    expect(one).toMatchObject({ name: `goodcall-${name}`, version, os: [os], cpu: [cpu], main: `goodcall.${name}.node` })
    expect(one.libc).toEqual(libc && [libc])
    expect(name).toContain(`${os}-${cpu}`)
  }
})

it('the version is that of the workspace', () => {
  const workspace = readFileSync(join(home, '../../Cargo.toml'), 'utf8')
  const [, version] = /^version = "(.*)"$/m.exec(workspace)
  expect(own.version).toBe(version)
})

it('every package that is loaded on demand is an optional peer', () => {
  const files = readdirSync(join(home, 'lib')).map((file) => readFileSync(join(home, 'lib', file), 'utf8'))
  const loaded = files.flatMap((text) => [...text.matchAll(/require\('([^.'][^']*)'\)/g)].map(([, name]) => name))
  const foreign = loaded.filter((name) => !name.startsWith('node:'))
  const names = foreign.map((name) => name.split('/').slice(0, name.startsWith('@') ? 2 : 1).join('/'))
  expect(names.sort()).toEqual(Object.keys(own.peerDependencies).sort())
  for (const name of names) expect(own.peerDependenciesMeta[name]).toEqual({ optional: true })
})

describe('installed from archives in an empty folder', () => {
  const app = join(scratch, 'app')
  const npm = (words, cwd) => execFileSync('npm', words, { cwd, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] })
  const run = (words) => execFileSync(process.execPath, words, { cwd: app, encoding: 'utf8' })

  beforeAll(() => {
    const packages = join(scratch, 'packages')
    execFileSync(process.execPath, [join(home, 'scripts/platform-packages.mjs'), home, packages])
    const folders = readdirSync(packages).map((folder) => join(packages, folder))
    expect(folders).toHaveLength(2)
    const archives = folders.map((folder) => join(folder, npm(['pack', '--silent'], folder).trim()))
    mkdirSync(app)
    npm(['install', '--offline', '--no-audit', '--no-fund', '--no-save', ...archives], app)
  })

  it('there is nothing but the package and its native part', () => {
    const installed = readdirSync(join(app, 'node_modules')).filter((name) => !name.startsWith('.'))
    expect(installed).toHaveLength(2)
    expect(installed).toContain('goodcall')
    const { dependencies, devDependencies, scripts } = read(app, 'node_modules/goodcall/package.json')
    expect([dependencies, devDependencies, scripts]).toEqual([undefined, undefined, undefined])
  })

  it('import and require work', () => {
    const program = `console.log(new Tools({ name: 'f', parameters: { properties: { n: { type: 'integer' } } } }).check('f', '{"n": "5"}').json)`
    writeFileSync(join(app, 'main.mjs'), `import { Tools } from 'goodcall'\n${program}`)
    writeFileSync(join(app, 'main.cjs'), `const { Tools } = require('goodcall')\n${program}`)
    expect(run(['main.mjs'])).toBe('{"n":5}\n')
    expect(run(['main.cjs'])).toBe('{"n":5}\n')
  })

  it('npx goodcall runs the command', () => {
    writeFileSync(join(app, 'tools.json'), JSON.stringify([{ name: 'f', parameters: { properties: { n: { type: 'integer' } } } }]))
    writeFileSync(join(app, 'call.json'), '{"n": "5"}')
    const said = npm(['exec', '--offline', '--', 'goodcall', 'check', '--tools', 'tools.json', '--tool', 'f', 'call.json'], app)
    expect(said).toContain('{"n":5}')
    expect(npm(['exec', '--offline', '--', 'goodcall', '--version'], app)).toMatch(/^goodcall \d/)
  })
})

it('says which package is missing', () => {
  const program = `
    Object.defineProperty(process, 'arch', { value: 'mips' })
    try { require(${JSON.stringify(join(home, 'lib/native.js'))}) } catch (error) { console.log(error.name, error.code, error.message) }`
  const said = execFileSync(process.execPath, ['-e', program], { encoding: 'utf8' })
  expect(said).toContain('GoodcallError no_native_part goodcall has no native part for linux-mips-gnu: expected the package goodcall-linux-mips-gnu')
})
