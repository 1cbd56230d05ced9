import { execFileSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, it } from 'vitest'
import { platforms } from '../scripts/platforms.mjs'

const home = join(import.meta.dirname, '..')
const scratch = mkdtempSync(join(tmpdir(), 'goodcall-'))
afterAll(() => rmSync(scratch, { recursive: true }))

it('the build matrix names every platform', () => {
  const workflow = readFileSync(join(home, '../../.github/workflows/node.yml'), 'utf8')
  const targets = [...workflow.matchAll(/target: ([\w-]+), runner/g)].map(([, target]) => target)
  expect(targets).toEqual(platforms.map((platform) => platform.target))
})

it('the package works as it is published, without the folder it was built in', () => {
  const packages = join(scratch, 'packages')
  const written = execFileSync(process.execPath, [join(home, 'scripts/platform-packages.mjs'), home, packages], { encoding: 'utf8' })
  const names = written.trim().split('\n')
  expect(names.at(-1)).toBe('goodcall')
  expect(names.length).toBeGreaterThan(1)
  for (const name of names) {
    cpSync(join(packages, name.replace('goodcall-', '')), join(scratch, 'app/node_modules', name), { recursive: true })
  }
  const installed = JSON.parse(readFileSync(join(scratch, 'app/node_modules/goodcall/package.json'), 'utf8'))
  expect(Object.keys(installed.optionalDependencies)).toEqual(names.slice(0, -1))
  expect(installed.dependencies).toBeUndefined()
  expect(installed.devDependencies).toBeUndefined()

  const program = `
    import { Tools } from 'goodcall'
    console.log(new Tools({ name: 'f', parameters: { properties: { n: { type: 'integer' } } } }).check('f', '{"n": "5"}').json)`
  const run = (words) => execFileSync(process.execPath, words, { cwd: join(scratch, 'app'), encoding: 'utf8' })
  mkdirSync(join(scratch, 'app'), { recursive: true })
  writeFileSync(join(scratch, 'app/main.mjs'), program)
  expect(run(['main.mjs'])).toBe('{"n":5}\n')
  expect(run(['node_modules/goodcall/bin/goodcall.js', '--version'])).toMatch(/^goodcall \d/)
})

it('says which package is missing', () => {
  const program = `
    Object.defineProperty(process, 'arch', { value: 'mips' })
    try { require(${JSON.stringify(join(home, 'lib/native.js'))}) } catch (error) { console.log(error.code, error.message) }`
  const said = execFileSync(process.execPath, ['-e', program], { encoding: 'utf8' })
  expect(said).toContain('no_native_part goodcall has no native part for linux-mips-gnu: expected the package goodcall-linux-mips-gnu')
})
