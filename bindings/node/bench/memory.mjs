// Shows that memory stays flat over millions of calls: `npm run memory [-- CALLS]`. It fails if the
// process holds over 32 MB more at the end than after the first tenth.

import { Stream, Tools } from 'goodcall'
import { broken, schema, valid } from './calls.mjs'

const calls = Number(process.argv[2] ?? 1_000_000)
const definitions = [{ name: 'edit', parameters: schema }]
const tools = new Tools(definitions)
const bad = valid.replace('"line":42', '"line":0')
const exact = valid.replace('42', '12345678901234567890')
const long = JSON.stringify({ ...JSON.parse(valid), old_text: 'x'.repeat(20_000) })
const texts = [valid, ...Object.values(broken), bad, exact, valid.slice(0, 200)]

const held = () => {
  globalThis.gc()
  return process.memoryUsage().rss / 2 ** 20
}

async function some(first, count) {
  for (let call = first; call < first + count; call++) {
    const verdict = tools.check('edit', texts[call % texts.length])
    if (call % 16 === 0) void verdict.changes
    if (call % 64 === 0) tools.check('edit', long)
    if (call % 256 === 0) await tools.checkAsync('edit', texts[call % texts.length])
    if (call % 512 === 0) new Stream(tools, { textCalls: true }).pushText(`<tool_call>${valid}</tool_call>`)
    if (call % 1024 === 0) new Tools(definitions).check('edit', valid)
  }
}

const parts = 10
const sizes = []
for (let part = 0; part < parts; part++) {
  await some((part * calls) / parts, calls / parts)
  sizes.push(held())
  console.log(`${((part + 1) * calls) / parts} calls: ${sizes.at(-1).toFixed(1)} MB`)
}
const grown = sizes.at(-1) - sizes[0]
console.log(`grown by ${grown.toFixed(1)} MB since the first tenth`)
process.exitCode = grown > 32 ? 1 : 0
