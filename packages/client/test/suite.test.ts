// One suite for both transports.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { openEngine } from '@annal/engine'
import { test } from 'tap'
import { embeddedClient, openEmbedded } from '../src/embedded/index.ts'
import { AnnalError, connect, denseField } from '../src/index.ts'
import { realServer, startServer } from './real-server.ts'
import { changeSuite, collectionSuite, historySuite, indexSuite, timeSuite } from './suite.ts'

test('over HTTP, against a real server', async (t) => {
  const client = connect({ url: await realServer(t) })
  await indexSuite(t, client)
  await collectionSuite(t, client)
  await historySuite(t, client)
  await changeSuite(t, client)
  await timeSuite(t, client)
})

test('a server has settings, metrics, and backup schedules', async (t) => {
  const client = connect({ url: await realServer(t) })
  const settings = await client.configuration()
  t.match(
    settings.find(({ name }) => name === 'NDD_LOG_LEVEL'),
    { value: /./, fallback: /./, meaning: /./ },
  )
  t.match(await client.metrics(), /^# HELP annal_/m)
  await client.createCollection({ name: 'films', fields: [denseField('plot', { dimension: 2 })] })
  t.same(await client.schedules.list(), { schedules: [] })
  const schedule = await client.schedules.put('films', { everyHours: 24, keep: 30 })
  t.match(schedule, { collection: 'films', everyHours: 24, keep: 30, check: true })
  t.same(await client.schedules.list(), { schedules: [schedule] })
  const failed = await client.schedules.put('films', { everyHours: 0 }).catch((error: unknown) => error)
  t.match(failed, { code: 'limit_exceeded', status: 400, field: 'every_hours' })
  t.equal(await client.schedules.delete('films'), true)
  t.equal(await client.schedules.delete('films'), false)
  t.equal(
    (await client.schedules.delete('none').catch((error: AnnalError) => error.code)) as string,
    'collection_not_found',
  )
})

test('the providers of vectors of a server, and of an engine in this process', async (t) => {
  const dataDir = mkdtempSync(path.join(os.tmpdir(), 'annal-client-test-'))
  t.teardown(() => rmSync(dataDir, { recursive: true }))
  const file = path.join(dataDir, 'providers.json')
  const local = { kind: 'openai', url: 'http://127.0.0.1:9/v1/embeddings', model: 'm', dimension: 2 }
  writeFileSync(file, JSON.stringify({ local }))
  const server = await startServer({ dataDir: path.join(dataDir, 'served'), environment: { NDD_PROVIDERS: file } })
  t.teardown(() => server.stop())
  const provider = { name: 'local', kind: 'openai', model: 'm', dimension: 2 }
  t.strictSame(await connect({ url: server.url }).providers(), [provider])

  const embed = { lengths: async (texts: readonly string[]) => texts.map(({ length }) => [length, 1]) }
  await using client = await openEmbedded({ dataDir: path.join(dataDir, 'embedded'), threads: 1, embed })
  const own = { name: 'lengths', kind: 'function', model: undefined, dimension: undefined }
  t.strictSame(await client.providers(), [own])
})

test('over an engine in this process', async (t) => {
  const dataDir = mkdtempSync(path.join(os.tmpdir(), 'annal-client-test-'))
  t.teardown(() => rmSync(dataDir, { recursive: true }))
  const client = await openEmbedded({ dataDir, threads: 1 })
  t.match(await client.health(), { status: 'ok' })
  await indexSuite(t, client)
  await collectionSuite(t, client)
  await historySuite(t, client)
  await changeSuite(t, client)
  await timeSuite(t, client)
  const refused = await client.schedules.list().catch((error: unknown) => error)
  t.ok(refused instanceof AnnalError && refused.code === 'not_supported')
  const second = await openEmbedded({ dataDir }).catch((error: unknown) => error)
  t.ok(second instanceof AnnalError && second.code === 'directory_locked')
  await client.close()
  await client.close()
  t.equal((await client.listCollections().catch((error: AnnalError) => error.code)) as string, 'closed')

  const engine = await openEngine({ dataDir, threads: 1 })
  await using again = embeddedClient(engine)
  t.ok((await again.listCollections()).length > 0, 'the stored data is there')
  await again.close()
  t.equal(engine.health().status, 'ok', 'the owner of an engine closes it')
  await engine.close()
})
