// The value of each type of field, in a query and in an object, as every JSON type that it cannot be: the error names the field, the value,
// and the forms that this type of field accepts.
import { test } from 'tap'
import { runningApp } from './running-app.ts'

const accept = 'application/json'
const params = { dimension: 2, space_type: 'l2', precision: 'float32' }
const fields = [
  { name: 'vector', type: 'vector', params },
  { name: 'sparse', type: 'sparse', sparse_model: 'default' },
  { name: 'multi', type: 'multi_vector', params: { ...params, pooling: 'mean' } },
  { name: 'text', type: 'text' },
]
const wrong: readonly unknown[] = [
  ...[
    null,
    true,
    5,
    '',
    'x',
    'AAAAAA==',
    {},
    { no: 1 },
    [],
    [null],
    ['x'],
    [true],
    [{}],
    [1, 2, 3],
    [[1, 2], 'x'],
    [[[1]]],
  ],
  ...[{ indices: 'x', values: [1] }, { indices: [1], values: null }, { indices: [1] }, { vector: 'x' }, { vectors: 5 }],
]

/** What the query of a field is, and what the value of an object is. */
const forms: Readonly<Record<string, readonly [query: string, value: string]>> = {
  vector: [
    'must be an array of numbers, 32-bit floats in base64, { id }',
    'must be an array of numbers, 32-bit floats in base64, or { vector }',
  ],
  sparse: ['must be { indices, values }, or { id }', 'must be { indices, values }, because'],
  multi: [
    'must be an array of vectors, one vector, or { id }',
    'must be an array of vectors, one vector, or { vectors }',
  ],
  text: ['must be a text, or an object with must or should', 'must be a text, because'],
}
/** Values whose JSON type a field accepts: then the error names what is wrong inside. */
const accepted: Readonly<Record<string, (value: unknown) => boolean>> = {
  vector: (value) =>
    typeof value === 'string' || (Array.isArray(value) && typeof value[0] !== 'string' && !Array.isArray(value[0])),
  sparse: (value) => typeof value === 'object' && value !== null && ('indices' in value || 'values' in value),
  multi: (value) => typeof value === 'string' || Array.isArray(value),
  text: (value) => typeof value === 'string',
}

test('a value that a field cannot have is refused in the words of the field', async (t) => {
  const { send, engine } = await runningApp(t)
  await send('POST', '/api/v2/collection', { json: { name: 'docs', fields } })
  const before = engine.stats().lsnApplied
  const docs = '/api/v2/collection/docs'
  for (const { name } of fields) {
    for (const value of wrong) {
      if (name === 'text' && typeof value === 'string') continue
      const query = { fields: { [name]: { query: value } } }
      const object = { id: 'a', fields: { [name]: value } }
      const requests = [
        [`${docs}/search`, query, 0],
        [`${docs}/search/batch`, { searches: [query] }, 0],
        [`${docs}/objects`, { objects: [object] }, 1],
      ] as const
      for (const [path, json, form] of requests) {
        const { status, text } = await send('POST', path, { json, accept })
        const reply = JSON.parse(text) as Record<string, unknown>
        const inBatch = path.endsWith('/batch') ? 'searches[0].' : ''
        const place = form === 0 ? `${inBatch}fields.${name}.query` : `objects[0].fields.${name}`
        const sent = `${path} ${name} = ${JSON.stringify(value)}: ${text}`
        t.match([status, reply.code], [400, 'invalid_argument'], sent)
        // A batch refuses unknown keys first.
        if (/is not a key of this body/.test(String(reply.error))) continue
        t.ok(String(reply.field).startsWith(place), sent)
        // The engine checks the clauses of a text.
        const isInside =
          accepted[name]?.(value) ||
          has(value, 'vector', 'vectors') ||
          (name === 'text' && form === 0 && isObject(value))
        if (!isInside) t.ok(String(reply.error).includes(forms[name]?.[form] ?? '') && 'value' in reply, sent)
        if (name === 'sparse' || name === 'text') t.notMatch(reply.error, /base64/, sent)
      }
    }
  }
  t.equal(engine.stats().lsnApplied, before, 'nothing was stored')
})

test('a string for a field that does not exist names the field', async (t) => {
  const { send } = await runningApp(t)
  await send('POST', '/api/v2/collection', { json: { name: 'docs', fields } })
  const reply = await send('POST', '/api/v2/collection/docs/search', {
    json: { fields: { no: { query: 'x' } } },
    accept,
  })
  t.match(reply.json(), { code: 'field_not_found', value: 'no' })
})

function isObject(value: unknown): boolean {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function has(value: unknown, ...keys: readonly string[]): boolean {
  return isObject(value) && keys.some((key) => key in (value as object))
}
