import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { good } from 'goodcall'
import { schema } from './tools.mjs'

const validate = (wrapped, value) => wrapped['~standard'].validate(value)

describe('good', () => {
  it('mends values', async () => {
    expect(await validate(good(schema), { filePath: 'a', limit: '5', tags: '["x"]' })).toEqual({
      value: { file_path: 'a', limit: 5, tags: ['x'] },
    })
  })

  it('leaves valid values alone', async () => {
    const value = { file_path: 'a' }
    expect((await validate(good(schema), value)).value).toBe(value)
  })

  it('explains values that cannot be mended', async () => {
    const { issues } = await validate(good(schema, { name: 'read_file' }), { limit: 'many' })
    expect(issues).toHaveLength(1)
    for (const word of ['`read_file`', 'file_path', 'limit']) expect(issues[0].message).toContain(word)
    const nameless = await validate(good(schema), { limit: 'many' })
    expect(nameless.issues[0].message).not.toContain('`')
  })

  it('reads text', async () => {
    expect(await validate(good(schema), '{"file_path": "a",}')).toEqual({ value: { file_path: 'a' } })
    expect(await validate(good({ type: 'string' }), 'a')).toEqual({ value: 'a' })
  })

  it('runs the refinements and transformations of Zod on the mended value', async () => {
    const refined = z
      .object({ from: z.int(), to: z.int(), tags: z.array(z.string()).default([]) })
      .refine((value) => value.from <= value.to, 'from must not be after to')
      .transform((value) => ({ ...value, length: value.to - value.from }))
    const wrapped = good(refined)
    expect(await validate(wrapped, { from: '1', to: '5' })).toMatchObject({
      value: { from: 1, to: 5, tags: [], length: 4 },
    })
    const { issues } = await validate(wrapped, { from: '5', to: '1' })
    expect(issues[0].message).toBe('from must not be after to')
  })

  it('has the JSON Schema of what is to be sent', () => {
    const wrapped = good(z.object({ n: z.int().default(1) }))
    const written = wrapped['~standard'].jsonSchema.input({ target: 'draft-2020-12' })
    expect(written).toMatchObject({ type: 'object', properties: { n: { type: 'integer', default: 1 } } })
    expect(written.required).toBeUndefined()
  })

  it('reports every verdict', async () => {
    const seen = []
    const wrapped = good(schema, { onVerdict: (verdict) => seen.push(verdict.kind) })
    for (const value of [{ file_path: 'a' }, { filePath: 'a' }, {}]) await validate(wrapped, value)
    expect(seen).toEqual(['good', 'mended', 'bad'])
  })
})
