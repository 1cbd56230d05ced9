// Definitions that several tests use.

export const schema = {
  type: 'object',
  properties: {
    file_path: { type: 'string' },
    limit: { type: 'integer', minimum: 1, maximum: 2000 },
    tags: { type: 'array', items: { type: 'string' } },
  },
  required: ['file_path'],
  additionalProperties: false,
}

export const definitions = [{ name: 'read_file', description: 'Reads a file', input_schema: schema }]
