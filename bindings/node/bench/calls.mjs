// The calls that are measured, and their schema as each library writes it.

import * as v from 'valibot'
import { z } from 'zod'

export const schema = {
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

export const zod = z.strictObject({
  file_path: z.string().min(1),
  old_text: z.string(),
  new_text: z.string(),
  line: z.int().min(1).optional(),
  replace_all: z.boolean().optional(),
  mode: z.enum(['first', 'all', 'ask']).optional(),
  tags: z.array(z.string()).optional(),
})

export const valibot = v.strictObject({
  file_path: v.pipe(v.string(), v.minLength(1)),
  old_text: v.string(),
  new_text: v.string(),
  line: v.optional(v.pipe(v.number(), v.integer(), v.minValue(1))),
  replace_all: v.optional(v.boolean()),
  mode: v.optional(v.picklist(['first', 'all', 'ask'])),
  tags: v.optional(v.array(v.string())),
})

export const value = {
  file_path: 'src/components/editor/toolbar.tsx',
  old_text: 'export function Toolbar(props: ToolbarProps) {\n  const { items } = props',
  new_text: 'export function Toolbar({ items, onSelect }: ToolbarProps) {',
  line: 42,
  replace_all: false,
  mode: 'first',
  tags: ['refactoring', 'editor'],
}
export const valid = JSON.stringify(value)

const python = (one) => JSON.stringify(one).replace(':false,', ': False,').replaceAll('"', "'")

/** The same call, broken in the ways that models break calls. */
export const broken = {
  'single quotes and trailing commas in one member': valid.replace(
    '"tags":["refactoring","editor"]',
    "'tags': ['refactoring','editor',],",
  ),
  'a trailing comma': valid.replace(/}$/, ',}'),
  'a Python dictionary': python(value),
  'keys without quotes': valid.replace(/"(\w+)":/g, '$1: '),
  'a code fence around it': `\`\`\`json\n${valid}\n\`\`\``,
  'a comment': valid.replace('"line"', '// the first line\n"line"'),
  'a line break inside a string': valid.replace('\\n', '\n'),
}
