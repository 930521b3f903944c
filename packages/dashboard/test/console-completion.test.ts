// Where the caret is in a body, and what can stand there.
import { test } from 'tap'
import type { Schema } from '../src/api/server.ts'
import { callsOf } from '../src/pages/console/calls.ts'
import { collectionOf, completionsAt, pathsFor } from '../src/pages/console/completions.ts'
import { placeIn } from '../src/pages/console/json-place.ts'

/** The place at the bar, which is not part of the text. */
function placeAt(marked: string) {
  const caret = marked.indexOf('|')
  return placeIn(marked.replace('|', ''), caret)
}

test('the place of the caret in JSON is known while it is written', (t) => {
  t.match(placeAt('{|'), { kind: 'key', path: [], typed: '', start: 1, end: 1, siblings: [] })
  t.match(placeAt('{"fie|'), { kind: 'key', path: [], typed: 'fie', start: 1, end: 5 })
  t.match(placeAt('{"fie|lds": 1}'), { kind: 'key', typed: 'fie', start: 1, end: 9 })
  t.match(placeAt('{ fie|'), { kind: 'key', path: [], typed: 'fie', start: 2, end: 5 })
  t.match(placeAt('{"a": 1, "b|"'), { kind: 'key', typed: 'b', siblings: ['a'], end: 12 })
  t.match(placeAt('{"fields": {"v": {"|'), { kind: 'key', path: ['fields', 'v'], typed: '' })
  t.match(placeAt('{"filter": [{"a": {"$eq": 1}}, {"co|'), { kind: 'key', path: ['filter', 1], typed: 'co' })
  t.match(placeAt('{"method": "rr|"}'), { kind: 'value', path: ['method'], typed: 'rr', start: 11, end: 15 })
  t.match(placeAt('{"list": ["a", |'), { kind: 'value', path: ['list', 1], typed: '' })
  t.match(placeAt('{"exact": tr|'), { kind: 'value', path: ['exact'], typed: 'tr' })
  t.match(placeAt('{"a": {"b": [1, {"c": 2}]}, "|'), { kind: 'key', path: [], siblings: ['a'] })
  t.match(placeAt('{"a\\"b": {"|'), { path: ['a\\"b'] }, 'escapes do not end a string')
  t.match(placeAt('{"open\n|'), { kind: 'key', path: [] }, 'a string ends with its line')
  for (const nothing of ['|', '{"a" |', '{"a": 1 |', '{"a": 1}|', '[1] |', '"text|"'])
    t.equal(placeAt(nothing), undefined, nothing)
  t.end()
})

const schemas = {
  Condition: { type: 'object', additionalProperties: { type: 'object' } },
  Query: {
    type: 'object',
    properties: { query: {}, limit: { type: 'integer', description: 'Hits.' }, exact: { type: 'boolean' } },
  },
} satisfies Record<string, Schema>
const body: Schema = {
  type: 'object',
  properties: {
    fields: { type: 'object', additionalProperties: { $ref: '#/components/schemas/Query' } },
    filter: { type: 'array', items: { $ref: '#/components/schemas/Condition' } },
    fusion: {
      type: 'object',
      properties: {
        method: { enum: ['rrf', 'relative_score'] },
        weights: { type: 'object', additionalProperties: { type: 'number' } },
      },
    },
    group_by: { type: 'object', properties: { key: { type: 'string' } } },
    from: {
      anyOf: [
        { type: 'object', properties: { lsn: {} } },
        { type: 'object', properties: { time: {} } },
      ],
    },
    target_collection_name: { type: 'string' },
  },
}
const known = { collections: ['films', 'songs'], fields: ['plot', 'poster'], filterKeys: ['year', 'genre'] }
const labels = (marked: string) => completionsAt(placeAt(marked)!, body, schemas, known).map(({ label }) => label)

test('properties, fields, filter keys, operators, and names are offered where they can stand', (t) => {
  t.strictSame(labels('{"f|'), ['fields', 'filter', 'fusion', 'from'])
  t.strictSame(labels('{"fields": {}, "fi|'), ['filter'], 'a property stands once')
  t.strictSame(labels('{"fields": {"|'), ['plot', 'poster'])
  t.strictSame(labels('{"fields": {"plot": {"|'), ['query', 'limit', 'exact'])
  t.strictSame(labels('{"fields": {"plot": {"exact": |'), ['true', 'false'])
  t.strictSame(labels('{"filter": [{"|'), ['year', 'genre', '$and', '$or', '$not'])
  t.strictSame(labels('{"filter": [{"year": {"$g|'), ['$gt', '$gte'])
  t.strictSame(labels('{"filter": [{"$or": [{"ye|'), ['year'])
  t.strictSame(labels('{"filter": [{"$or": [{"year": {"$e|'), ['$eq', '$exists'])
  t.strictSame(labels('{"fusion": {"method": "|'), ['rrf', 'relative_score'])
  t.strictSame(labels('{"fusion": {"weights": {"po|'), ['poster'])
  t.strictSame(labels('{"group_by": {"key": "|'), ['year', 'genre'])
  t.strictSame(labels('{"target_collection_name": "so|'), ['songs'])
  t.strictSame(labels('{"from": {"|'), ['lsn', 'time'], 'every alternative')
  const [first] = completionsAt(placeAt('{"fields": {"plot": {"li|')!, body, schemas, known)
  t.strictSame(first, { label: 'limit', about: 'Hits.', inserted: '"limit": ' })
  t.end()
})

test('paths are offered with the names of collections and fields', (t) => {
  const operation = (summary: string) => ({ operationId: summary, summary })
  const calls = callsOf({
    paths: {
      '/api/v2/stats': { get: operation('stats') },
      '/api/v2/collection/{name}': { get: operation('describe'), delete: operation('delete') },
      '/api/v2/collection/{name}/objects/{id}/field/{field}': { get: operation('field') },
    },
  })
  const paths = (path: string) =>
    pathsFor(calls, { method: 'GET', path, collections: ['films', 'my songs'], fields: ['plot'] }).map(
      ({ path }) => path,
    )
  t.ok(paths('').includes('/api/v2/collection/my%20songs'))
  t.ok(paths('/api/v2/collection/films/o').includes('/api/v2/collection/films/objects/{id}/field/plot'))
  t.notOk(paths('/api/v2/collection/films/o').includes('/api/v2/collection/my%20songs'))
  t.equal(collectionOf('/api/v2/collection/my%20songs/search?x=1'), 'my songs')
  t.equal(collectionOf('/api/v2/collection/%E0%A4%A'), undefined, 'a path that is not encoded')
  t.equal(collectionOf('/api/v2/stats'), undefined)
  t.end()
})
