// Replies of writes have the LSN of their record, and reads can name it.
import { test } from 'tap'
import { runningApp } from './running-app.ts'

const accept = 'application/json'
const fields = [{ name: 'dense', type: 'vector', params: { dimension: 2, space_type: 'l2' } }]
const query = [1, 2]

test('writes of a collection reply with ascending LSNs, and reads include the write that they name', async (t) => {
  const { send } = await runningApp(t)
  const path = '/api/v2/collection/docs'
  const writes: readonly (readonly [method: 'POST' | 'DELETE', path: string, json?: object])[] = [
    ['POST', '/api/v2/collection', { name: 'docs', fields }],
    ['POST', `${path}/objects`, { objects: [{ id: 'a', fields: { dense: query } }] }],
    ['POST', `${path}/objects`, { objects: [{ id: 'b', filter: { old: true }, fields: { dense: [3, 4] } }] }],
    ['POST', `${path}/filters`, { updates: [{ id: 'a', filter: { n: 1 } }] }],
    ['POST', `${path}/fields`, { fields: [{ field: 'dense', recall: 0.9 }] }],
    ['DELETE', `${path}/objects`, { filter: [{ old: { $eq: true } }] }],
    ['POST', `${path}/clone`, { target_collection_name: 'copy' }],
    ['POST', `${path}/vacuum`],
    ['DELETE', `${path}/objects/a`],
    ['DELETE', '/api/v2/collection/copy'],
  ]
  let newest = 0
  for (const [method, url, json] of writes) {
    const reply = await send(method, url, json === undefined ? { accept } : { json, accept })
    const { lsn } = reply.json() as { lsn: number }
    t.ok(lsn > newest, `${method} ${url}: ${reply.text}`)
    newest = lsn
    for (const [read, body] of [
      [`${path}/objects/query`, { ids: ['a', 'b'], min_lsn: lsn }],
      [`${path}/search`, { fields: { dense: { query } }, min_lsn: lsn }],
    ] as const) {
      const there = await send('POST', read, { json: body, accept })
      t.equal(there.status, 200, there.text)
    }
  }
  const bodies = [
    ['objects/query', { ids: ['a'] }],
    ['search', { fields: { dense: { query } } }],
  ] as const
  for (const [route, body] of bodies)
    for (const wrong of [-1, 1.5, '1', {}]) {
      const refused = await send('POST', `${path}/${route}`, { json: { ...body, min_lsn: wrong }, accept })
      t.equal(refused.status, 400, `${route} ${JSON.stringify(wrong)}`)
    }
  const future = bodies.map(([route, body]) =>
    send('POST', `${path}/${route}`, { json: { ...body, min_lsn: newest + 1_000 }, accept }),
  )
  for (const refused of await Promise.all(future)) {
    t.match(refused.json(), { code: 'lsn_not_reached', field: 'min_lsn', value: newest + 1_000 })
    t.equal(refused.status, 503)
    t.ok(refused.headers.get('retry-after'))
  }
})

test('changes of databases, tokens, and schedules have LSNs as well', async (t) => {
  const rootToken = 'the-root-token-0123456789'
  const { send } = await runningApp(t, { rootToken })
  let newest = 0
  for (const [method, url, json] of [
    ['POST', '/api/v2/admin/dbs', { db_name: 'music' }],
    ['POST', '/api/v2/admin/dbs/music/deactivate', undefined],
    ['POST', '/api/v2/admin/dbs/music/activate', undefined],
    ['PUT', '/api/v2/admin/dbs/music/type', { db_type: 'pro' }],
    ['POST', '/api/v2/admin/dbs/music/tokens', { name: 'site', token_type: 'r' }],
    ['DELETE', '/api/v2/admin/dbs/music/tokens/site', undefined],
    ['DELETE', '/api/v2/admin/dbs/music', undefined],
    ['POST', '/api/v2/collection', { name: 'docs', fields }],
    ['PUT', '/api/v2/collection/docs/schedule', { every_hours: 24 }],
    ['DELETE', '/api/v2/collection/docs/schedule', undefined],
  ] as const) {
    const authorization = url.includes('/admin/') ? rootToken : `root/default:${rootToken}`
    const reply = await send(method, url, { accept, headers: { authorization }, ...(json && { json }) })
    const { lsn } = reply.json() as { lsn: number }
    t.ok(lsn > newest, `${method} ${url}: ${reply.text}`)
    newest = lsn
  }
})
