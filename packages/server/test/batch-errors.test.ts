// Errors of one search of a batch name its position, and histories of collections refuse what can be no name.
import { test } from 'tap'
import { withCollection } from './v2-docs.ts'

const accept = 'application/json'

test('names that no collection can have, and errors of one search of a batch', async (t) => {
  const { send } = await withCollection(t)
  for (const route of ['events', 'activity'])
    for (const name of ['a%20b', '', '..', 'x'.repeat(300)]) {
      const reply = await send('GET', `/api/v2/log/${route}?collection=${name}`, { accept })
      t.match([reply.status, reply.json().field], [400, 'collection'], `${route} ${name}: ${reply.text}`)
    }
  const good = { fields: { title: { query: [1, 0, 0] } } }
  const wrong: readonly [object, object][] = [
    [{ fields: { title: { query: 'x' } } }, { code: 'invalid_argument', field: 'fields.title.query' }],
    [{ fields: { title: { query: [1, 0] } } }, { code: 'invalid_argument', field: 'fields.title.query' }],
    [{ fields: { no: { query: [1] } } }, { code: 'field_not_found', field: 'fields' }],
    [{ fields: { title: { query: { id: 'none' } } } }, { code: 'object_not_found', field: 'fields.title.query.id' }],
    [
      { ...good, filter: [{ n: { $no: 1 } }] },
      { code: 'invalid_filter', field: 'filter[0]' },
    ],
    [
      { ...good, fusion: { method: 'rrf', limit: 513 } },
      { code: 'limit_exceeded', field: 'fusion.limit' },
    ],
  ]
  for (const [search, { code, field }] of wrong as [object, { code: string; field: string }][])
    for (const searches of [[search], [good, search], [good, good, search, good]]) {
      const reply = await send('POST', '/api/v2/collection/docs/search/batch', { json: { searches }, accept })
      const named = `searches[${searches.indexOf(search)}].${field}`
      t.match(reply.json(), { code, field: named }, reply.text)
      t.ok(String(reply.json().error).includes(`searches[${searches.indexOf(search)}]`), reply.text)
      if (searches.length > 1) continue
      const single = await send('POST', '/api/v2/collection/docs/search', { json: search, accept })
      t.match(single.json(), { code, field }, single.text)
    }
})
