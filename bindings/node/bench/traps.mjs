// Arguments that look as if they could be repaired, and that a tool must not run as they look.

export const traps = [
  { what: 'cut off', raw: '{"path": "a/very/lo' },
  { what: 'cut off after a digit', raw: '{"path": "a", "lines": 10' },
  { what: 'two calls', raw: '{"path": "a"}{"path": "b"}' },
  { what: 'a key twice', raw: '{"path": "a", "path": "b"}' },
  { what: 'digits beyond 2^53', raw: '{"path": "a", "id": 12345678901234567890}' },
  { what: 'a list as a string', raw: '{"path": "a", "tags": "[\\"x\\", \\"y\\"]"}' },
]

export const schema = {
  type: 'object',
  properties: {
    path: { type: 'string' },
    lines: { type: 'integer' },
    id: { type: 'integer' },
    tags: { type: 'array', items: { type: 'string' } },
  },
  required: ['path'],
}
