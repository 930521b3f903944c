// The store that the nodes of a cluster share, in a bucket and in JetStream: the same behavior from both, files of any size in parts, and
// what is missing, damaged, or too much.
import { readFile, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { nodeVfs } from '@annal/wal'
import { StoreUnavailable } from '@annal/wal/replicated'
import { seededRandom } from '@annal/wal/testing'
import { type Test, test } from 'tap'
import { getFileSet, putFileSet, readListing, removeFileSet } from '../../src/cluster/file-sets.ts'
import { SharedBucket } from '../../src/cluster/shared-bucket.ts'
import type { SharedStore } from '../../src/cluster/shared-store.ts'
import { openSharedStream } from '../../src/cluster/shared-stream.ts'
import { temporaryDirectory } from '../running-app.ts'
import { skipNats, startNatsServers } from './nats-servers.ts'
import { ObjectServer, soundObjects } from './object-server.ts'

/** Bytes that differ everywhere. */
function bytesOf(count: number): Buffer {
  const random = seededRandom(7)
  return Buffer.from(Array.from({ length: count }, () => Math.floor(random.next() * 256)))
}

interface Opened {
  readonly store: SharedStore
  /** Changes an object behind the back of the store. */
  damage(key: string): Promise<void>
}

async function openBucket(t: Test): Promise<Opened & { readonly server: ObjectServer }> {
  const server = new ObjectServer(seededRandom(1))
  await server.listen(t)
  const store = new SharedBucket({ bucket: 'files', prefix: 'shop/' })
  t.teardown(() => store.close())
  return { server, store, damage: async (key) => server.damage(`shop/${key}`) }
}

async function openStream(t: Test, bytesMax = 100_000_000): Promise<Opened> {
  const nats = await startNatsServers(t, 1)
  const connection = await nats.connect('test')
  const options = { name: 'annal-shop-files', replicas: 1, bytesMax }
  await openSharedStream(connection, options)
  const store = await openSharedStream(connection, options)
  return {
    store,
    async damage(key) {
      const bytes = Buffer.from((await store.get(key)) ?? [])
      bytes[bytes.length >> 1] = (bytes[bytes.length >> 1] ?? 0) ^ 1
      await store.delete([key])
      await store.put(key, bytes)
    },
  }
}

/** What every store does. */
async function suite(t: Test, { store, damage }: Opened): Promise<void> {
  t.equal(await store.get('images/a/x'), undefined)
  t.equal(await store.has('images/a/x'), false)
  t.strictSame(await store.list('images/'), [])
  t.equal(await store.put('images/a/x', Buffer.from('one')), 'stored')
  t.equal(await store.put('images/a/x', Buffer.from('two')), 'exists', 'an object never changes')
  t.equal(Buffer.from((await store.get('images/a/x')) ?? []).toString(), 'one')
  t.equal(await store.has('images/a/x'), true)
  await store.put('snapshots/node.1 *>/y', Buffer.from('y'))
  await store.put('images/b/x', Buffer.from('b'))
  t.strictSame(await store.list('images/'), ['images/a/x', 'images/b/x'])
  t.strictSame(await store.list('snapshots/'), ['snapshots/node.1 *>/y'])
  await store.delete(['images/a/x', 'images/b/x', 'images/absent'])
  t.strictSame(await store.list('images/'), [])
  t.equal(await store.put('images/a/x', Buffer.from('again')), 'stored')
  await store.delete(['images/a/x'])

  const [vfs, dir] = [nodeVfs(), await temporaryDirectory(t)]
  const large = Buffer.concat([bytesOf(1_000_000), Buffer.alloc(2 * store.objectBytesMax - 987_655, 1)])
  await writeFile(path.join(dir, 'large.bin'), large)
  await writeFile(path.join(dir, 'small.bin'), 'small')
  await writeFile(path.join(dir, 'empty.bin'), '')
  const files = [
    { name: 'large.bin', bytes: large.length },
    { name: 'small.bin', bytes: 3 },
    { name: 'empty.bin', bytes: 0 },
  ]
  const place = { store, folder: 'images/c/', name: 'listing' }
  t.equal(await readListing(place), undefined)
  const known = new Set<string>()
  let stored = 0
  const onBytes = (bytes: number) => {
    stored += bytes
  }
  const { files: listed } = await putFileSet(place, { vfs, dir, files }, { known, onBytes })
  t.strictSame([stored, listed[0]?.parts.length, known.size], [large.length + 3, 3, 4])
  await putFileSet({ ...place, name: 'second' }, { vfs, dir, files }, { onBytes })
  t.equal(stored, large.length + 3, 'equal parts of a folder are stored once')
  const to = await temporaryDirectory(t)
  await getFileSet(place, { vfs, dir: to })
  t.ok(large.equals(await readFile(path.join(to, 'large.bin'))))
  t.equal(await readFile(path.join(to, 'small.bin'), 'utf8'), 'sma')

  const part = `images/c/${listed[0]?.parts[1]}`
  await damage(part)
  const elsewhere = async () => ({ vfs, dir: await temporaryDirectory(t) })
  await t.rejects(getFileSet(place, await elsewhere()), {
    code: 'shared_file_damaged',
    message: /of large.bin is damaged/,
  })
  await store.delete([part])
  await t.rejects(getFileSet(place, await elsewhere()), { code: 'shared_file_damaged', message: /missing/ })
  const unwanted = { checkWanted: () => t.fail('it does not come so far') }
  await t.rejects(putFileSet({ ...place, name: 'third' }, { vfs, dir, files: [{ name: 'no', bytes: 1 }] }, unwanted))
  t.equal(await readListing({ ...place, name: 'third' }), undefined)
  await removeFileSet(place)
  t.strictSame(await store.list('images/'), [])
}

test('a bucket', async (t) => {
  const opened = await openBucket(t)
  await suite(t, opened)
  opened.server.faults = { ...soundObjects, answers: { status: 403, code: 'AccessDenied' } }
  await t.rejects(opened.store.put('images/d/x', Buffer.from('x')), StoreUnavailable)
  await t.rejects(opened.store.get('images/d/x'), StoreUnavailable)
})

test('a stream of JetStream', { skip: skipNats }, async (t) => {
  await suite(t, await openStream(t))
})

test('JetStream takes no more than the setting allows', { skip: skipNats }, async (t) => {
  const { store } = await openStream(t, 1_000_000)
  const [vfs, dir] = [nodeVfs(), await temporaryDirectory(t)]
  await writeFile(path.join(dir, 'file'), Buffer.alloc(700_000, 1))
  const set = { vfs, dir, files: [{ name: 'file', bytes: 700_000 }] }
  await putFileSet({ store, folder: 'images/a/', name: 'listing' }, set)
  const second = { store, folder: 'images/b/', name: 'listing' }
  await t.rejects(putFileSet(second, set), { code: 'shared_store_full', message: /NDD_CLUSTER_FILES_MAX_MB/ })
  t.strictSame(await store.list('images/b/'), [], 'nothing was stored')
  await removeFileSet({ store, folder: 'images/a/', name: 'listing' })
  await putFileSet(second, set)
})
