// Writes docs/node-benchmarks.md, or prints it: `npm run bench [-- --write] [--rounds N]`. Needs a build
// as it is shipped, `npm run build`.

import { readFileSync, writeFileSync } from 'node:fs'
import { isDeepStrictEqual, parseArgs } from 'node:util'
import { createRequire } from 'node:module'
import { cpus } from 'node:os'
import Ajv from 'ajv'
import { jsonrepair } from 'jsonrepair'
import { parse as relaxedParse } from '@ai-sdk-tool/parser'
import * as v from 'valibot'
import { Tools } from 'goodcall'
import { broken, schema, valibot, valid, value, zod } from './calls.mjs'
import { measured } from './measure.mjs'
import { trapLines } from './judged.mjs'

const { values } = parseArgs({ options: { write: { type: 'boolean' }, rounds: { type: 'string', default: '1000' } } })
const rounds = Number(values.rounds)
const page = new URL('../../../docs/node-benchmarks.md', import.meta.url)
const lines = []

const accepts = new Ajv().compile(schema)
const byAjv = (parsed) => {
  if (!accepts(parsed)) throw new Error('not valid')
  return parsed
}
const tools = new Tools([{ name: 'edit', parameters: schema }])

/** Calls of one text with several programs, each of which has to read it as it was meant. */
function programs(text, runs) {
  const bound = Object.entries(runs).map(([name, run]) => [name, () => run(text)])
  for (const [name, run] of bound) {
    const got = run()
    if (!isDeepStrictEqual(got, value)) throw new Error(`${name} reads ${text} as ${JSON.stringify(got)}`)
  }
  return Object.fromEntries(bound)
}

const row = (...cells) => lines.push(`| ${cells.join(' | ')} |`)
const range = ([low, high]) => `${low.toFixed(2)} to ${high.toFixed(2)}`

function validCalls() {
  lines.push('## A valid call', '', `A call of ${valid.length} bytes with seven members. Each program returns objects of JavaScript that`)
  lines.push('match the schema, or throws. The limit that goodcall sets itself is 1.5 times `JSON.parse` and Ajv.', '')
  const runs = programs(valid, {
    'goodcall, `check(name, raw).arguments`': (text) => tools.check('edit', text).arguments,
    '`JSON.parse` and Ajv': (text) => byAjv(JSON.parse(text)),
    '`JSON.parse` and Zod': (text) => zod.parse(JSON.parse(text)),
    '`JSON.parse` and Valibot': (text) => v.parse(valibot, JSON.parse(text)),
    '`JSON.parse`, not validated': (text) => JSON.parse(text),
  })
  row('program', 'µs per call', '× Ajv', 'quartiles')
  row('---', '--:', '--:', '--:')
  for (const { name, time, multiple, quartiles } of measured(runs, '`JSON.parse` and Ajv', rounds)) {
    row(name, time.toFixed(2), multiple.toFixed(2), range(quartiles))
  }
  lines.push('')
}

function brokenCalls() {
  lines.push('## A broken call', '', 'The same call, broken in the ways that models break calls. goodcall validates it and knows what it')
  lines.push('changed; jsonrepair and @ai-sdk-tool/parser are given `JSON.parse` or nothing, and no validation. “–” says')
  lines.push('that a program does not read the call as it was meant. The limit: jsonrepair takes 4 times as long.', '')
  row('broken by', 'goodcall, µs', 'jsonrepair, µs', '× goodcall', 'quartiles', '@ai-sdk-tool/parser, µs', '× goodcall')
  row('---', '--:', '--:', '--:', '--:', '--:', '--:')
  const others = { jsonrepair: (text) => JSON.parse(jsonrepair(text)), '@ai-sdk-tool/parser': (text) => relaxedParse(text) }
  for (const [what, text] of Object.entries(broken)) {
    const right = Object.entries(others).filter(([, run]) => reads(run, text))
    const runs = programs(text, { goodcall: (raw) => tools.check('edit', raw).arguments, ...Object.fromEntries(right) })
    const found = new Map(measured(runs, 'goodcall', rounds).map((one) => [one.name, one]))
    const cells = (name, ...keys) => keys.map((key) => (found.has(name) ? shown(found.get(name)[key]) : '–'))
    row(what, shown(found.get('goodcall').time), ...cells('jsonrepair', 'time', 'multiple', 'quartiles'), ...cells('@ai-sdk-tool/parser', 'time', 'multiple'))
  }
  lines.push('')
}

const shown = (figure) => (Array.isArray(figure) ? range(figure) : figure.toFixed(2))

function reads(run, text) {
  try {
    return isDeepStrictEqual(run(text), value)
  } catch {
    return false
  }
}

const version = (name) => `${name} ${JSON.parse(readFileSync(new URL(`../node_modules/${name}/package.json`, import.meta.url))).version}`
const others = ['ajv', 'zod', 'valibot', 'jsonrepair', '@ai-sdk-tool/parser'].map(version).join(', ')
const hasCommand = createRequire(import.meta.url)('../lib/native.js').command !== undefined
const built = hasCommand ? 'Measured was the build as it is shipped.' : 'Measured was a build as it is shipped, but without the command in it.'
lines.push('# goodcall in Node, beside others', '')
lines.push('`npm run build && npm run bench -- --write` in `bindings/node` writes this page; no figure is written by')
lines.push(`hand. ${built} Node ${process.version} on ${process.platform}-${process.arch} with ${cpus().length} cores, ${others}.`, '')
lines.push(`Programs are measured in turns of a tenth of a millisecond, ${rounds} rounds, on a machine that may have had other`)
lines.push('work. A ratio is formed within a round: the median of all rounds is shown, and the quartiles beside it.', '')
validCalls()
brokenCalls()
lines.push(...trapLines())

const written = `${lines.join('\n')}\n`
if (values.write) writeFileSync(page, written)
else process.stdout.write(written)
