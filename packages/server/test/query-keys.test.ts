// Query strings of every route: an unknown parameter is refused by name, or reported by routes that published clients call; a known one that has
// another form than it should, or comes twice, is never an internal error.
import { test } from 'tap'
import { registeredRoutes, requestPath } from './route-table.ts'
import { withCollection } from './v2-docs.ts'

const accept = 'application/json'

test('every route of the API refuses an unknown parameter, or reports it', async (t) => {
  const running = await withCollection(t)
  const seen = { refused: 0, reported: 0 }
  for (const route of await registeredRoutes(running)) {
    const [method = '', url = ''] = route.split(' ')
    if (!url.startsWith('/api/')) continue
    const path = requestPath(url)
    const sent = `${path}${path.includes('?') ? '&' : '?'}no_such=1`
    const { status, text, headers } = await running.send(method, sent, { accept })
    const warnings = headers.get('x-annal-warnings')
    // Without a root token, these routes refuse everything first.
    if (JSON.parse(text || '{}').code === 'enterprise_only') continue
    if (warnings === null) {
      seen.refused += 1
      t.match([status, JSON.parse(text)], [400, { code: 'invalid_argument', field: 'no_such' }], `${route}: ${text}`)
    } else {
      seen.reported += 1
      t.match(warnings, /"no_such" is not a parameter of this route and is ignored/, route)
    }
  }
  t.ok(seen.refused > 30 && seen.reported > 50, JSON.stringify(seen))
})

test('a misspelled parameter is refused with the one that was meant, and nothing is written', async (t) => {
  const { send, engine } = await withCollection(t)
  const docs = '/api/v2/collection/docs'
  const before = engine.stats().lsnApplied
  const cases = [
    ['GET', `${docs}/recall?limt=3`, 'limt'],
    ['GET', '/api/v2/log/events?form=1', 'form'],
    ['PATCH', `${docs}/objects?atomc=true`, 'atomc'],
    ['POST', `${docs}/search/batch?min_lns=1`, 'min_lns'],
    ['GET', `${docs}/diff?from=0&__proto__=1`, '__proto__'],
  ] as const
  for (const [method, path, field] of cases) {
    const { status, text } = await send(method, path, { accept, ...(method !== 'GET' && { json: {} }) })
    t.match([status, JSON.parse(text)], [400, { code: 'invalid_argument', field }], `${path}: ${text}`)
  }
  t.match((await send('GET', `${docs}/recall?limt=3`, { accept })).json().error, /did you mean "limit"/)
  t.equal(engine.stats().lsnApplied, before)
  const read = await send('GET', `${docs}/recall?consistency=local&max_staleness_ms=5&min_lsn=1`, { accept })
  t.equal(read.status, 200, `what every read can require is known: ${read.text}`)
})

test('parameters of every route, empty, of another form, or twice, are answered without an internal error', async (t) => {
  const running = await withCollection(t)
  const document = (await running.send('GET', '/api/v2/openapi.json', { accept })).json() as {
    paths: Record<string, Record<string, { parameters?: { name: string; in: string }[] }>>
  }
  const values = ['', 'x', '-1', '99999999999999999999', '%00', '%F0%9F%98%80']
  let count = 0
  for (const [url, operations] of Object.entries(document.paths))
    for (const [method, { parameters = [] }] of Object.entries(operations))
      for (const { name } of parameters.filter((one) => one.in === 'query')) {
        // What every read can require is tested on one.
        if (/^(consistency|max_staleness_ms|min_lsn)$/.test(name) && !url.endsWith('/recall')) continue
        // A stream has no end. It is refused with a second parameter that is wrong.
        const more = url.endsWith('/changes') ? `&${name === 'from' ? 'vectors' : 'from'}=no` : ''
        for (const query of [
          ...values.map((value) => `${name}=${value}`),
          `${name}=1&${name}=2`,
          `${name}[]=1`,
          name,
        ]) {
          const path = `${url.replaceAll(/\{name\}/g, 'docs').replaceAll(/\{\w+\}/g, 'x')}?${query}${more}`
          const { status, text } = await running.send(method.toUpperCase(), path, { accept })
          count += 1
          if (status >= 500) t.fail(`${method} ${path}: ${status} ${text}`)
        }
      }
  t.ok(count > 200, `${count} requests`)
})
