// Which node makes snapshots: one that keeps failing leaves it to another node after a few attempts, and takes it back if that one fails, too.
import { openEngine } from '@annal/engine'
import type { ReplicatedEngine } from '@annal/engine/replicated'
import { nodeVfs, readIdentity } from '@annal/wal'
import type { ReplicatedLog } from '@annal/wal/replicated'
import { type Test, test } from 'tap'
import type { KnownNode } from '../../src/cluster/cluster-view.ts'
import type { SharedStore } from '../../src/cluster/shared-store.ts'
import type { Roster } from '../../src/cluster/snapshots/roster.ts'
import type { SnapshotIndex, SnapshotList } from '../../src/cluster/snapshots/snapshot-index.ts'
import { failuresMax, Snapshots } from '../../src/cluster/snapshots/snapshots.ts'
import { temporaryDirectory } from '../running-app.ts'

const fields = [{ name: 'dense', type: 'vector', params: { dimension: 4 } }] as const

/** Two nodes with a store each, which can be away. */
async function start(t: Test) {
  let list: SnapshotList = { snapshots: [], marks: [] }
  const index = {
    read: async () => list,
    async change(change: (before: SnapshotList) => SnapshotList) {
      list = change(list)
      return list
    },
  } as unknown as SnapshotIndex
  const roster = { note: async () => undefined, list: async () => [] } as unknown as Roster
  const log = { bytesPassed: 0, leads: undefined, state: () => ({ lsnFirst: 1 }) } as unknown as ReplicatedLog
  const objects = new Map<string, Uint8Array>()
  const nodes: { snapshots: Snapshots; name: string; isAway: boolean; write(): Promise<void> }[] = []
  const known = () =>
    nodes.map(({ name: node, snapshots: { failures } }) => {
      const role = 'follower'
      return { node, role, seenMsAgo: 0, ...(failures > 0 && { snapshotFailures: failures }) } as unknown as KnownNode
    })
  for (const name of ['a', 'b']) {
    const dataDir = await temporaryDirectory(t)
    const engine = await openEngine({ dataDir, threads: 1 })
    t.teardown(() => engine.close())
    const things = await engine.database().createCollection({ name: 'things', fields })
    const uuid = (await readIdentity({ dir: dataDir, vfs: nodeVfs() }))?.uuid ?? ''
    const shared = {
      ...{ at: 'memory', objectBytesMax: 1e6, checkRoom: async () => undefined },
      async put(key: string, bytes: Uint8Array) {
        if (node.isAway) throw new Error(`${name} cannot reach the store`)
        objects.set(key, Buffer.from(bytes))
        return 'stored'
      },
      get: async (key: string) => objects.get(key),
      list: async (folder: string) => [...objects.keys()].filter((key) => key.startsWith(folder)),
      delete: async (keys: readonly string[]) => keys.forEach((key) => void objects.delete(key)),
    } as unknown as SharedStore
    const replicated = {
      checkpoint: () => engine.checkpoint(),
      stats: () => engine.stats(),
      get lsnApplied() {
        return engine.stats().lsnApplied
      },
    } as unknown as ReplicatedEngine
    const snapshots = new Snapshots({
      ...{ dataDir, uuid, node: name, engine: replicated, log, index, roster, shared },
      ...{ nodes: known, snapshotLogBytes: 0, retentionMs: 1e9, leaseMs: 1000, retryMs: 0 },
      closing: new AbortController().signal,
    })
    let written = 0
    const write = async () => {
      written++
      await things.upsert([{ id: `o${written}`, fields: { dense: [1, 2, 3, written] } }])
    }
    const node = { snapshots, name, isAway: false, write }
    nodes.push(node)
  }
  const look = async (times: number) => {
    for (let i = 0; i < times; i++) for (const { snapshots } of nodes) await snapshots.look()
  }
  const write = async () => {
    for (const node of nodes) await node.write()
  }
  const [a, b] = nodes as [(typeof nodes)[0], (typeof nodes)[0]]
  return { a, b, look, write, makers: () => list.snapshots.map(({ node }) => node) }
}

test('a node that keeps failing leaves the snapshots to another one', async (t) => {
  const { a, b, look, write, makers } = await start(t)
  a.isAway = true
  await look(failuresMax - 1)
  t.strictSame([makers(), a.snapshots.failures], [[], failuresMax - 1], 'it is tried again')
  t.match(a.snapshots.faults(), [/a cannot reach the store/])
  await look(1)
  t.strictSame(makers(), ['b'])
  await look(1)
  t.strictSame([a.snapshots.failures, a.snapshots.faults()], [0, []])
  await write()
  await look(1)
  t.strictSame(makers(), ['b', 'b'], 'the node that made the newest one goes on')

  t.comment('that one fails')
  a.isAway = false
  b.isAway = true
  await write()
  await look(failuresMax + 1)
  t.strictSame(makers(), ['b', 'a'])

  t.comment('no node can make one')
  a.isAway = true
  await write()
  await look(failuresMax * 3)
  t.ok(a.snapshots.failures > failuresMax, 'it keeps trying')
  t.match(a.snapshots.faults(), [/a cannot reach the store/])
  b.isAway = false
  await look(1)
  a.isAway = false
  await look(1)
  t.strictSame(makers(), ['a', 'a'])
  t.strictSame([a.snapshots.faults(), b.snapshots.faults()], [[], []])
})
