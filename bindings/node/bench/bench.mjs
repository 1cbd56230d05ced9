// The package beside others: `npm run build && npm run bench`. Each tool does the same work on the same
// call, in turns, and the fastest of many short rounds counts.

import { performance } from 'node:perf_hooks'
import Ajv from 'ajv'
import { jsonrepair } from 'jsonrepair'
import { parse as relaxedParse } from '@ai-sdk-tool/parser'
import * as v from 'valibot'
import { z } from 'zod'
import { Tools } from 'goodcall'
import { schema as trapSchema, traps } from './traps.mjs'

const schema = {
  type: 'object',
  properties: {
    file_path: { type: 'string', minLength: 1 },
    old_text: { type: 'string' },
    new_text: { type: 'string' },
    line: { type: 'integer', minimum: 1 },
    replace_all: { type: 'boolean' },
    mode: { enum: ['first', 'all', 'ask'] },
    tags: { type: 'array', items: { type: 'string' } },
  },
  required: ['file_path', 'old_text', 'new_text'],
  additionalProperties: false,
}
const zod = z.strictObject({
  file_path: z.string().min(1),
  old_text: z.string(),
  new_text: z.string(),
  line: z.int().min(1).optional(),
  replace_all: z.boolean().optional(),
  mode: z.enum(['first', 'all', 'ask']).optional(),
  tags: z.array(z.string()).optional(),
})
const valibot = v.strictObject({
  file_path: v.pipe(v.string(), v.minLength(1)),
  old_text: v.string(),
  new_text: v.string(),
  line: v.optional(v.pipe(v.number(), v.integer(), v.minValue(1))),
  replace_all: v.optional(v.boolean()),
  mode: v.optional(v.picklist(['first', 'all', 'ask'])),
  tags: v.optional(v.array(v.string())),
})

const value = {
  file_path: 'src/components/editor/toolbar.tsx',
  old_text: 'export function Toolbar(props: ToolbarProps) {\n  const { items } = props',
  new_text: 'export function Toolbar({ items, onSelect }: ToolbarProps) {',
  line: 42,
  replace_all: false,
  mode: 'first',
  tags: ['refactoring', 'editor'],
}
const valid = JSON.stringify(value)
const broken = valid.replace('"tags":["refactoring","editor"]', "'tags': ['refactoring','editor',],")

const tools = new Tools([{ name: 'edit', parameters: schema }])
const ajv = new Ajv().compile(schema)

const checked = (accept) => (text) => {
  const parsed = JSON.parse(text)
  if (!accept(parsed)) throw new Error('not valid')
  return parsed
}
const contenders = {
  [`a valid call of ${valid.length} bytes`]: [
    valid,
    {
      'JSON.parse + Ajv': checked(ajv),
      'JSON.parse + Zod': (text) => zod.parse(JSON.parse(text)),
      'JSON.parse + Valibot': (text) => v.parse(valibot, JSON.parse(text)),
      goodcall: (text) => tools.check('edit', text).arguments,
    },
  ],
  [`a broken call of ${broken.length} bytes`]: [
    broken,
    {
      jsonrepair: (text) => JSON.parse(jsonrepair(text)),
      'jsonrepair + Ajv': (text) => checked(ajv)(jsonrepair(text)),
      '@ai-sdk-tool/parser': (text) => relaxedParse(text),
      goodcall: (text) => tools.check('edit', text).arguments,
    },
  ],
}

const ROUNDS = 1200
const CALLS = 100

/** Microseconds per call, by the fastest round; the tools take turns, so that a busy moment hits all. */
function measure(input, runs) {
  const best = Object.fromEntries(Object.keys(runs).map((name) => [name, Infinity]))
  for (const [name, run] of Object.entries(runs)) {
    const got = JSON.stringify(run(input))
    if (got !== JSON.stringify(value)) throw new Error(`${name} reads the call as ${got}`)
  }
  for (let round = 0; round < ROUNDS; round++) {
    for (const [name, run] of Object.entries(runs)) {
      const started = performance.now()
      for (let call = 0; call < CALLS; call++) run(input)
      best[name] = Math.min(best[name], ((performance.now() - started) * 1000) / CALLS)
    }
  }
  return best
}

const lines = []
for (const [title, [input, runs]] of Object.entries(contenders)) {
  const times = measure(input, runs)
  lines.push(`| ${title} | µs | goodcall is |`, '|---|---|---|')
  for (const [name, time] of Object.entries(times)) {
    const ratio = time / times.goodcall
    const said = name === 'goodcall' ? '' : ratio >= 1 ? `${ratio.toFixed(1)} × faster` : `${(1 / ratio).toFixed(1)} × slower`
    lines.push(`| ${name} | ${time.toFixed(2)} | ${said} |`)
  }
  lines.push('')
}

lines.push('| arguments | goodcall | jsonrepair | @ai-sdk-tool/parser |', '|---|---|---|---|')
const shown = (run) => {
  try {
    return `\`${JSON.stringify(run())}\``
  } catch {
    return 'refuses'
  }
}
for (const { what, raw } of traps) {
  const verdict = new Tools([{ name: 'f', parameters: trapSchema }]).check('f', raw)
  const ours = verdict.kind === 'bad' ? `refuses: ${verdict.reason}` : `${verdict.kind}: \`${verdict.json}\``
  const others = [() => JSON.parse(jsonrepair(raw)), () => relaxedParse(raw)].map(shown)
  lines.push(`| ${what}: \`${raw}\` | ${[ours, ...others].join(' | ')} |`)
}

console.log(lines.join('\n'))
