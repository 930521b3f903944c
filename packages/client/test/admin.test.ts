// The operations of the root token, against a real server in enterprise mode.
import { test } from 'tap'
import { type AnnalError, connect, denseField } from '../src/index.ts'
import { realServer } from './real-server.ts'

const rootToken = 'root-token-of-the-client-tests-0123456789'

async function code(promise: Promise<unknown>): Promise<string | undefined> {
  return promise.then(
    () => undefined,
    (error: AnnalError) => error.code,
  )
}

test('databases and tokens are created, used, deactivated and deleted', async (t) => {
  const url = await realServer(t, { rootToken })
  const root = connect({ url, token: rootToken })
  t.equal(await code(root.databases.create('cinema')), 'license_required')
  t.equal(await root.license.current(), undefined)
  t.type(await root.license.generate('somebody@example.com'), 'string')
  t.match(await root.license.current(), { status: 'active' })
  t.type(await code(root.license.validate('not a license')), 'string')
  const token = await root.databases.create('cinema')
  t.match(token, /^cinema:\S+$/)
  t.equal(await code(root.databases.create('cinema')), 'database_exists')
  t.match(await root.databases.info('cinema'), { name: 'cinema', isActive: true })
  t.ok((await root.databases.list()).some(({ name }) => name === 'cinema'))

  const cinema = connect({ url, token })
  const films = await cinema.createCollection({ name: 'films', fields: [denseField('plot', { dimension: 2 })] })
  await films.upsert([{ id: 'alien', fields: { plot: [1, 0] } }])
  t.same(await root.databases.collections('cinema'), ['films'])
  t.equal(
    await code(root.createCollection({ name: 'x', fields: [denseField('y', { dimension: 2 })] })),
    'access_denied',
  )
  t.equal(await code(cinema.databases.list()), 'access_denied')

  const reading = await cinema.tokens.create('reader', 'r')
  const reader = connect({ url, token: reading }).collection('films')
  t.equal(await reader.count(), 1)
  t.equal(await code(reader.delete('alien')), 'token_read_only')
  t.ok((await cinema.tokens.list()).some(({ name, type }) => name === 'reader' && type === 'r'))
  await cinema.tokens.delete('reader')
  t.equal(await code(reader.count()), 'invalid_token')
  const other = await root.databases.tokens('cinema').create('other')
  t.equal(await connect({ url, token: other }).collection('films').count(), 1)
  t.ok((await root.databases.tokens('cinema').list()).some(({ name }) => name === 'other'))

  await root.databases.deactivate('cinema')
  t.equal(await code(films.count()), 'database_inactive')
  await root.databases.activate('cinema')
  t.equal(await films.count(), 1)
  await root.databases.setType('cinema', 'pro')
  t.match((await root.databases.info('cinema')).type, /pro/i)
  await root.databases.deleteCollection('cinema', 'films')
  t.equal(await code(films.count()), 'collection_not_found')
  await root.databases.delete('cinema')
  t.equal(await code(cinema.listCollections()), 'invalid_token')
})
