// Searches of dense and sparse fields on all serving threads while other clients change everything that they read: objects are replaced,
// deleted, and given other filters, a collection grows, collections are created, deleted, cloned, and restored, graphs are rebuilt and
// vacuumed, and tokens are revoked. Every reply is a state that existed between the start and the end of its search, and no part of it
// belongs to another state.
import http from 'node:http'
import { chosenSeed } from '@annal/wal/testing'
import tap, { type Test, test } from 'tap'
import { until } from './eventually.ts'
import {
  changeFilters,
  changeObjects,
  copyCollections,
  growCollection,
  passCollections,
  rebuildGraphs,
  revokeTokens,
} from './flood/changes.ts'
import { Flood, fields, objects } from './flood/flood.ts'
import { objectOf } from './flood/objects.ts'
import { search } from './flood/searches.ts'
import { expect, newAgent, type Send, sender } from './flood/sender.ts'
import { layLicense, vendor } from './licenses.ts'
import { temporaryDirectory } from './running-app.ts'
import { startProcess } from './running-process.ts'

const isLong = process.env.ANNAL_LONG === '1'
const runMs = Number(process.env.ANNAL_RUN_MS ?? (isLong ? 3_600_000 : 6_000))
const threads = process.env.ANNAL_SERVING_THREADS ?? '3'
const rootToken = '5f0e1d2c3b4a59687786958473625140'
const searchers = 8
const stableObjects = 100
/** What searches are counted as. */
const searched = [
  'an object',
  'terms',
  'both fields',
  'a filter',
  'the grown end',
  'a passing collection',
  'a copy',
  'a token',
  'the stable one',
]

tap.setTimeout(runMs + 300_000)

const seed = chosenSeed()

test('no search under changes of everything returns a wrong or mixed state', {
  timeout: runMs + 300_000,
}, async (t) => {
  t.comment(`ANNAL_SEED=${seed}, ${runMs} ms, ${threads} serving threads`)
  const { url, token, stop } = await startEnterprise(t)
  const flood = new Flood()
  const setup = sender(url, newAgent(), token)
  await fill(setup)
  const endMs = performance.now() + runMs
  const loops = [
    changeObjects,
    changeFilters,
    growCollection,
    passCollections,
    copyCollections,
    rebuildGraphs,
    revokeTokens,
  ]
  const fresh = new http.Agent({ keepAlive: false })
  const changing = loops.map((loop, i) =>
    guarded(flood, () => loop(flood, sender(url, newAgent(), token), seed + i, sender(url, fresh, token))),
  )
  const searching = Array.from({ length: searchers }, (_, i) =>
    guarded(flood, () => search(flood, url, token, seed + 100 + i)),
  )
  // A busy machine takes longer to have searched for everything.
  await until(
    () =>
      flood.faults.length > 0 || (performance.now() >= endMs && searched.every((what) => countOf(flood, what) > 10)),
  )
  flood.isOver = true
  await Promise.all([...changing, ...searching])
  t.comment(JSON.stringify(Object.fromEntries([...flood.counts].sort())))
  t.strictSame(flood.faults, [])
  for (const what of searched) t.ok(countOf(flood, what) > 10, `searches for ${what}`)
  t.equal(await stop(), 0, 'the server stops in order')
})

function countOf(flood: Flood, what: string): number {
  return flood.counts.get(what) ?? 0
}

async function startEnterprise(t: Test) {
  const dataDir = await temporaryDirectory(t)
  await layLicense(dataDir)
  const running = startProcess({
    NDD_DATA_DIR: dataDir,
    NDD_ROOT_TOKEN: rootToken,
    NDD_LICENSE_PUBLIC_KEY: vendor.publicKey,
    NDD_NUM_SERVER_THREADS: threads,
    NDD_FSYNC: 'none',
  })
  t.teardown(() => running.child.kill('SIGKILL'))
  const url = await running.serving
  const root = sender(url, newAgent(), rootToken)
  const made = await root('POST', '/admin/dbs', { db_name: 'acme', db_type: 'enterprise' })
  const { db_token: token } = JSON.parse(made.text) as { readonly db_token: string }
  const stop = async (): Promise<number | null> => {
    running.child.kill('SIGTERM')
    const { code } = await running.ended
    if (code !== 0) t.comment(running.stderr())
    return code
  }
  return { url, token, stop }
}

async function fill(send: Send): Promise<void> {
  for (const name of ['stable', 'changing', 'growing']) await expect(send('POST', '/collection', { name, fields }))
  const rows = (count: number) => ({ objects: Array.from({ length: count }, (_, i) => objectOf(i, 1)) })
  await expect(send('POST', '/collection/stable/objects', rows(stableObjects)))
  await expect(send('POST', '/collection/changing/objects', rows(objects)))
}

async function guarded(flood: Flood, loop: () => Promise<void>): Promise<void> {
  try {
    await loop()
  } catch (error) {
    flood.fault((error as Error).stack ?? `${error}`)
  }
}
