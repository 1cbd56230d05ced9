// Runs every program of the documents and compares what it prints with the block that follows it.
// GOODCALL_BLESS=1 writes what they print into the documents instead.

import { execFile } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'
import { trapLines } from '../bench/judged.mjs'

const root = new URL('../../../', import.meta.url)
const scratch = new URL('../target/docs/', import.meta.url)
mkdirSync(scratch, { recursive: true })

const PROGRAM = /^```ts\n([^]*?)^```\n```text\n([^]*?)^```$/gm

async function output(name, program) {
  const file = new URL(`${name}.mts`, scratch)
  writeFileSync(file, program)
  const env = { ...process.env, NO_COLOR: '1', NODE_NO_WARNINGS: '1' }
  const { stdout } = await promisify(execFile)(process.execPath, ['--experimental-strip-types', file.pathname], { env })
  return stdout
}

describe.each(['README.md', 'docs/node.md', 'docs/node-frameworks.md'])('%s', (path) => {
  const file = new URL(path, root)
  const document = readFileSync(file, 'utf8')
  const programs = [...document.matchAll(PROGRAM)].map(([whole, program, printed]) => ({ whole, program, printed }))

  it('has programs, each with its output', () => {
    expect(programs.length).toBeGreaterThan(0)
    expect(document.match(/^```ts$/gm)).toHaveLength(programs.length)
  })

  it.concurrent.each(programs.map((one, index) => [index + 1, one]))('prints what program %i prints', async (index, one) => {
    const printed = await output(`${path.replaceAll('/', '-')}-${index}`, one.program)
    if (process.env.GOODCALL_BLESS) {
      const blessed = one.whole.slice(0, one.whole.lastIndexOf('```text\n')) + '```text\n' + printed + '```'
      writeFileSync(file, readFileSync(file, 'utf8').replace(one.whole, () => blessed))
    } else {
      expect(printed).toBe(one.printed)
    }
  })
})

it('docs/node-benchmarks.md says who is right', () => {
  expect(readFileSync(new URL('docs/node-benchmarks.md', root), 'utf8')).toContain(trapLines().join('\n'))
})
