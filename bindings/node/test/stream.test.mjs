import { describe, expect, it } from 'vitest'
import { Stream, Tools } from 'goodcall'
import { definitions } from './tools.mjs'

const chunk = (call) => ({ choices: [{ delta: { tool_calls: [{ index: 0, ...call }] } }] })

describe('a stream', () => {
  it('assembles and judges calls', () => {
    const stream = new Stream(new Tools(definitions))
    expect(stream.push(chunk({ id: 'c1', function: { name: 'read_file', arguments: '{"file_' } }))).toEqual([
      { type: 'started', id: 'c1', name: 'read_file' },
    ])
    stream.push(JSON.stringify(chunk({ function: { arguments: 'path": "a", "limit": "5"}' } })))
    stream.push({ choices: [{ delta: {}, finish_reason: 'tool_calls' }] })
    const updates = stream.finish()
    expect(updates).toHaveLength(1)
    expect(updates[0]).toMatchObject({
      type: 'call',
      id: 'c1',
      kind: 'mended',
      arguments: { file_path: 'a', limit: 5 },
    })
    expect(stream.stop).toBe('finished')
  })

  it('says early that a call cannot become valid', () => {
    const stream = new Stream(definitions)
    const updates = stream.push(
      chunk({ id: 'c1', function: { name: 'read_file', arguments: '{"limit": "many", "file_path": ' } }),
    )
    expect(updates.at(-1)).toMatchObject({ type: 'hopeless', id: 'c1', reason: 'wrong_shape' })
    expect(updates.at(-1).text).toContain('limit')
  })

  it('finds calls in text, at any split', () => {
    const text = 'Look.\n<tool_call>{"name": "read_file", "arguments": {"file_path": "a"}}</tool_call>'
    const stream = new Stream(definitions, { textCalls: true })
    const updates = [...text].flatMap((character) => stream.pushText(character)).concat(stream.finish())
    const said = updates.filter((update) => update.type === 'text').map((update) => update.text)
    expect(said.join('')).toBe('Look.\n')
    expect(updates.find((update) => update.type === 'call')).toMatchObject({ name: 'read_file', kind: 'good' })
  })

  it('joins characters that are split between fragments', () => {
    const text = '😀\ud83d😀<tool_call>{"name": "read_file", "arguments": {"file_path": "😀"}}</tool_call>\ud83d'
    const stream = new Stream(definitions, { textCalls: true })
    const updates = text.split('').flatMap((unit) => stream.pushText(unit)).concat(stream.finish())
    const said = updates.filter((update) => update.type === 'text').map((update) => update.text)
    expect(said.join('')).toBe('😀\ufffd😀\ufffd')
    expect(updates.find((update) => update.type === 'call').arguments).toEqual({ file_path: '😀' })
  })

  it('reads the events of Anthropic', () => {
    const stream = new Stream(definitions, { provider: 'anthropic' })
    stream.push({ type: 'content_block_start', index: 0, content_block: { type: 'tool_use', id: 't', name: 'read_file', input: {} } })
    stream.push({ type: 'content_block_delta', index: 0, delta: { type: 'input_json_delta', partial_json: '{"file_path": "a"}' } })
    const updates = stream.push({ type: 'content_block_stop', index: 0 }).concat(stream.finish())
    expect(updates).toMatchObject([{ type: 'call', id: 't', kind: 'good', arguments: { file_path: 'a' } }])
  })

  it('refuses events that are not JSON, and stays usable', () => {
    const stream = new Stream(definitions)
    expect(() => stream.push('{"choices"')).toThrow(expect.objectContaining({ code: 'bad_event' }))
    expect(stream.finish()).toEqual([])
    expect(() => new Stream(definitions, { provider: 'acme' })).toThrow(expect.objectContaining({ code: 'bad_option' }))
  })
})
