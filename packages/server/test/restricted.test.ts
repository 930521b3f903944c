// What works without a license: every route in every state of the license, compared with the list of the specification.
import { rm } from 'node:fs/promises'
import path from 'node:path'
import { type Test, test } from 'tap'
import { createApp, slotWith } from '../src/index.ts'
import { dayMs, issued, layLicense, testLicensing } from './licenses.ts'
import { callers, requestPath } from './route-table.ts'
import { type RunningApp, runningApp } from './running-app.ts'

const rootToken = 'the-root-token-0123456789'
const fields = [{ name: 'dense', type: 'vector', params: { dimension: 2, space_type: 'l2', precision: 'float32' } }]

/** Routes that change no data, whatever their method; every other one does, or searches. */
const looking = [
  ...['/objects/query', '/objects/count', '/objects/scroll', '/facets', '/vector/get', '/verify'],
  ...[
    '/license/generate',
    '/license/validate',
    '/cluster/digests',
    '/cluster/step-down',
    '/cluster/nodes/:node',
    '/nodes/:node/admit',
  ],
]
/** Uses the index, as a search does. */
const searching = ['GET /api/v2/collection/:name/recall']

function isBlocked(route: string): boolean {
  if (searching.includes(route)) return true
  return !route.startsWith('GET ') && !looking.some((end) => route.endsWith(end))
}

interface State {
  readonly name: string
  readonly isRestricted: boolean
  enter(running: RunningApp): Promise<{ readonly now?: () => number }>
}

const states: readonly State[] = [
  { name: 'never a license', isRestricted: true, enter: async () => ({}) },
  {
    name: 'a trial',
    isRestricted: false,
    async enter({ engine }) {
      await engine.control.putSetting('license-trial-taken', String(Date.now()))
      return {}
    },
  },
  { name: 'a trial that ended', isRestricted: true, enter: async () => ({ now: () => Date.now() + 31 * dayMs }) },
  {
    name: 'a license',
    isRestricted: false,
    async enter({ dataDir }) {
      await layLicense(dataDir, issued({ endMs: Date.now() + 400 * dayMs }))
      return { now: () => Date.now() + 300 * dayMs }
    },
  },
  { name: 'a license that ended', isRestricted: true, enter: async () => ({ now: () => Date.now() + 500 * dayMs }) },
  {
    name: 'a license that does not fit',
    isRestricted: true,
    async enter({ dataDir }) {
      await layLicense(dataDir, issued({ directory: '00000000-0000-4000-8000-000000000000' }))
      return { now: () => Date.now() + 500 * dayMs }
    },
  },
]

async function withDatabase(t: Test): Promise<{ readonly running: RunningApp; readonly token: string }> {
  const running = await runningApp(t, { rootToken })
  const ask = async (token: string, route: string, json: object) => {
    const answer = await running.send('POST', `/api/v2${route}`, { headers: { authorization: token }, json })
    if (answer.status >= 300) throw new Error(answer.text)
    return answer.json()
  }
  const token = String((await ask(rootToken, '/admin/dbs', { db_name: 'acme' })).db_token)
  await ask(token, '/collection', { name: 'x', fields })
  await ask(token, '/collection/x/objects', { objects: [{ id: 'x', fields: { dense: [1, 2] } }] })
  await rm(path.join(running.dataDir, 'license'), { recursive: true })
  return { running, token }
}

test('every route in every state of the license', { timeout: 120_000 }, async (t) => {
  const { running, token } = await withDatabase(t)
  const { engine, dataDir, app: made } = running
  const config = { ...running.config, logLevel: 'silent' as const }
  t.ok(made.hasRoute({ method: 'GET', url: '/api/v2/health' }))
  let cells = 0
  for (const state of states) {
    const { now } = await state.enter(running)
    const licensing = await testLicensing(dataDir, engine, now)
    const app = createApp({ slot: slotWith(engine), config, licensing })
    const known = licensing.status()
    const digests = () => [engine.control.digest(), engine.database('acme').collection('x').stateDigest()].join()
    // The first detection of an expiry is recorded.
    while (known?.status === 'expired' && engine.control.setting('license-expired') !== known.license.id)
      await new Promise((resolve) => setTimeout(resolve, 5))
    // Opening records the time in the background; this follows it in the log.
    await licensing.noteTime()
    const before = digests()
    for (const [route, caller] of callers) {
      const [method = '', url = ''] = route.split(' ')
      if (!state.isRestricted && method !== 'GET') continue
      // Starting the trial ends the state; the next test covers this route.
      if (route.endsWith('/license/generate')) continue
      const isControl = caller === 'root' || caller === 'server'
      const answer = await app.inject({
        method: method as 'GET',
        url: requestPath(url.replace(':database', 'acme')),
        headers: { authorization: isControl ? rootToken : token },
        ...(method === 'GET' ? {} : { payload: { ids: ['x'], id: 'x', key: 'a', filter: [], email: null } }),
      })
      const expected = state.isRestricted && isBlocked(route)
      t.equal(answer.statusCode === 402, expected, `${state.name}: ${route} is ${answer.statusCode}`)
      if (expected) t.equal(JSON.parse(answer.body).code, 'license_required')
      cells++
    }
    if (state.isRestricted) t.equal(digests(), before, `${state.name}: nothing was changed`)
    await app.close()
  }
  t.ok(cells > 4 * callers.size, `${cells} cells`)
})

test('everything that the specification lists works without a license, and objects can be read', async (t) => {
  const { running, token } = await withDatabase(t)
  const app = createApp({
    slot: slotWith(running.engine),
    config: running.config,
    licensing: await testLicensing(running.dataDir, running.engine),
  })
  t.teardown(() => app.close())
  const ask = (method: 'GET' | 'POST', url: string, payload?: object, authorization = token) =>
    app.inject({
      method,
      url: `/api/v2${url}`,
      headers: { authorization },
      ...(payload === undefined ? {} : { payload }),
    })
  for (const url of ['/health', '/info', '/stats', '/collection', '/collection/x'])
    t.equal((await ask('GET', url)).statusCode, 200, url)
  t.match((await ask('GET', '/info')).json(), { license: null })
  const read = await ask('POST', '/collection/x/objects/scroll', {})
  t.match(read.json(), { objects: [{ id: 'x' }] })
  const search = () => ask('POST', '/collection/x/search', { fields: { dense: { query: [1, 2] } } })
  t.match((await search()).json(), { code: 'license_required' })
  const email = 'someone@example.com'
  for (const member of [token, `root/acme:${rootToken}`]) {
    const refused = await ask('POST', '/license/generate', { email }, member)
    t.match([refused.statusCode, refused.json()], [403, { code: 'access_denied' }], 'the trial is for the root token')
  }
  t.match((await ask('GET', '/info')).json(), { license: null })
  const taken = await ask('POST', '/license/generate', { email }, rootToken)
  t.match(
    [taken.statusCode, taken.json()],
    [200, { message: /trial is active until/, license: { plan_type: 'trial' } }],
  )
  t.equal((await search()).statusCode, 200, 'without a restart')
  t.match((await ask('POST', '/license/generate', { email }, rootToken)).json(), { code: 'trial_taken' })
})
