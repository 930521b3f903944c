// Databases and their tokens on the nodes of a cluster: every node decides alike about every token, the leader decides again about what is
// forwarded, and a license counts everywhere. The nodes are real servers with one simulated log (http-nodes.ts).
import tap, { type Test, test } from 'tap'
import { createAttempts } from '../../src/access/attempts.ts'
import { issued } from '../licenses.ts'
import { callers } from '../route-table.ts'
import { temporaryDirectory, unlimitedAttempts } from '../running-app.ts'
import { faultsOf, tokensOf } from '../token-kinds.ts'
import { type ClusterOptions, type HttpNode, startNodes } from './http-nodes.ts'

// A loaded machine is slow.
tap.setTimeout(600_000)

const rootToken = 'the-root-token-0123456789'
const root = { headers: { authorization: rootToken } }
const collection = '/api/v2/collection'
const fields = [{ name: 'dense', type: 'vector', params: { dimension: 2, space_type: 'l2', precision: 'float32' } }]
const objects = [{ id: 'a', fields: { dense: [1, 2] } }]
const search = { fields: { dense: { query: [1, 2], limit: 1 } } }

/** Two nodes, each with a directory of its own. */
async function pair(t: Test, options: ClusterOptions = {}) {
  const { nodes, lead } = await startNodes(t, { rootToken, dataDir: await temporaryDirectory(t), ...options })
  const [leader, follower] = nodes as [HttpNode, HttpNode]
  const caughtUp = async () => {
    if (!(await follower.node.engine.whenApplied(leader.node.engine.lsnApplied, 60_000)))
      throw new Error('the follower does not apply what the leader wrote')
  }
  return { leader, follower, lead, caughtUp }
}

async function license({ send }: HttpNode): Promise<void> {
  const reply = await send('POST', '/api/v2/license/validate', { body: issued(), type: 'text/plain', ...root })
  if (reply.status !== 200) throw new Error(reply.text)
}

test('every node accepts exactly the callers that each route is for', async (t) => {
  const { leader, follower, caughtUp } = await pair(t, { newAttempts: unlimitedAttempts })
  await license(leader)
  const tokens = await tokensOf(leader, rootToken)
  await caughtUp()
  for (const { app, name } of [follower, leader]) {
    const { faults, attempts } = await faultsOf(app, tokens)
    t.strictSame(faults, [], name)
    t.equal(attempts, callers.size * Object.keys(tokens).length)
  }
  for (const { send } of [follower, leader])
    for (const name of ['annal-forwarded-by', 'annal-forward', 'x-forwarded-for', 'x-forwarded-user'])
      for (const [method, route] of [
        ['GET', '/api/v2/admin/dbs'],
        ['POST', '/api/v2/admin/dbs'],
      ] as const)
        t.equal((await send(method, route, { headers: { [name]: 'node-0' } })).status, 401, `${method} with ${name}`)
})

test('a license that is activated on any node counts on every node, and for the next leader', async (t) => {
  const { leader, follower, lead, caughtUp } = await pair(t)
  const [one, two] = ['one', 'two'].map((id) => ({ body: issued({ id }), type: 'text/plain' }))
  const refused = await follower.send('POST', '/api/v2/admin/dbs', { json: { db_name: 'music' }, ...root })
  t.match([refused.status, refused.json().code], [402, 'license_required'])
  t.equal((await follower.send('POST', '/api/v2/license/validate', one)).status, 200)
  const licenseAt = async ({ send }: HttpNode) => {
    const { license } = (await send('GET', '/api/v2/info', root)).json() as { license?: { license_id: string } }
    return license?.license_id
  }
  t.strictSame([await licenseAt(leader), await licenseAt(follower)], ['one', 'one'])
  await lead(1)
  t.equal((await follower.send('POST', '/api/v2/admin/dbs', { json: { db_name: 'music' }, ...root })).status, 201)
  t.equal((await follower.send('POST', '/api/v2/license/validate', { ...two, ...root })).status, 200)
  await leader.node.engine.whenApplied(follower.node.engine.lsnApplied, 60_000)
  t.strictSame([await licenseAt(leader), await licenseAt(follower)], ['two', 'two'])
  await caughtUp()
})

test('databases and tokens are the same on every node, and a tenant sees its own data on each', async (t) => {
  const { leader, follower, caughtUp } = await pair(t, { serverThreads: 2 })
  await license(leader)
  const tokenOf = async (name: string) => {
    const made = await follower.send('POST', '/api/v2/admin/dbs', { json: { db_name: name }, ...root })
    return { headers: { authorization: String(made.json().db_token) } }
  }
  const [mine, theirs] = [await tokenOf('mine'), await tokenOf('theirs')]
  for (const tenant of [mine, theirs]) {
    t.equal((await follower.send('POST', collection, { json: { name: 'things', fields }, ...tenant })).status, 200)
  }
  t.equal((await follower.send('POST', `${collection}/things/objects`, { json: { objects }, ...mine })).status, 200)
  await caughtUp()
  for (const { send, name } of [leader, follower]) {
    const dbs = (await send('GET', '/api/v2/admin/dbs', root)).json().dbs as { db_name: string }[]
    t.same(dbs.map(({ db_name: db }) => db).sort(), ['default', 'mine', 'theirs'], name)
    const hits = async (tenant: typeof mine) => {
      const reply = await send('POST', `${collection}/things/search`, {
        json: search,
        accept: 'application/json',
        ...tenant,
      })
      t.equal(reply.status, 200, reply.text)
      return (reply.text.match(/"id":/g) ?? []).length
    }
    t.strictSame([await hits(mine), await hits(theirs)], [1, 0], name)
  }
  t.equal(leader.node.engine.control.digest(), follower.node.engine.control.digest())
  t.equal((await follower.send('DELETE', '/api/v2/admin/dbs/theirs', root)).status, 200)
  for (const { send, name } of [follower, leader])
    t.match((await send('GET', collection, theirs)).status, /40[14]/, `${name} refuses the token of a deleted database`)
})

test('the leader decides about what a follower forwards, by the token of the caller', async (t) => {
  const { leader, follower, caughtUp } = await pair(t)
  await license(leader)
  const made = await leader.send('POST', '/api/v2/admin/dbs', { json: { db_name: 'music' }, ...root })
  const owner = { headers: { authorization: String(made.json().db_token) } }
  const minted = await leader.send('POST', '/api/v2/tokens', { json: { name: 'site' }, ...owner })
  const site = { headers: { authorization: String(minted.json().db_token) } }
  await caughtUp()
  t.equal((await follower.send('POST', collection, { json: { name: 'first', fields }, ...site })).status, 200)

  // The follower does not learn of the revocation.
  follower.store.isPartitioned = true
  t.equal((await leader.send('DELETE', '/api/v2/tokens/site', owner)).status, 200)
  t.equal((await follower.send('GET', collection, site)).status, 200, 'the follower still knows the token')
  const refused = await follower.send('POST', collection, { json: { name: 'second', fields }, ...site })
  t.match([refused.status, refused.json().code], [401, 'invalid_token'])
  follower.store.isPartitioned = false
  await caughtUp()
  t.equal((await follower.send('GET', collection, site)).status, 401)
  const names = (await leader.send('GET', collection, owner)).json().collections as { name: string }[]
  t.same(
    names.map(({ name }) => name),
    ['first'],
  )
})

test('a node that does not know a new token yet looks again before it refuses it', async (t) => {
  const delayed: (() => void)[] = []
  const newAttempts = () => createAttempts({ later: (then) => void delayed.push(then) })
  const { leader, follower, caughtUp } = await pair(t, { newAttempts })
  await license(leader)
  await caughtUp()
  follower.store.isPartitioned = true
  const made = await leader.send('POST', '/api/v2/admin/dbs', { json: { db_name: 'music' }, ...root })
  const reading = follower.send('GET', collection, { headers: { authorization: String(made.json().db_token) } })
  while (delayed.length === 0) await new Promise((resolve) => setTimeout(resolve, 5))
  follower.store.isPartitioned = false
  await caughtUp()
  for (const then of delayed.splice(0)) then()
  t.equal((await reading).status, 200)
  const wrong = follower.send('GET', collection, { headers: { authorization: `music:${'A'.repeat(43)}` } })
  while (delayed.length === 0) await new Promise((resolve) => setTimeout(resolve, 5))
  for (const then of delayed.splice(0)) then()
  t.equal((await wrong).status, 401)
})
