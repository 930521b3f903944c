// What the confirmation of a leader must prove over every FrameStore: that no other node led when it was called.
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import type { Lsn } from '../log.ts'
import { openReplicatedLog, type ReplicatedLog } from '../replicated/replicated-log.ts'
import type { ReplicatedLogCase, StoreUnderTest } from './replicated-log-case.ts'

const record = (text: string) => ({ type: 16, version: 1, payload: Buffer.from(text) })

async function node(store: StoreUnderTest, epoch?: number): Promise<ReplicatedLog> {
  const parts = { store: await store.connect(), logId: 7n, writer: randomBytes(16), clock: store.clock }
  const log = await openReplicatedLog(parts)
  if (epoch !== undefined) await log.lead(epoch)
  return log
}

async function texts(log: ReplicatedLog): Promise<string[]> {
  const found: string[] = []
  // A branded number: the first record.
  for await (const { payload } of log.read(1 as Lsn)) found.push(Buffer.from(payload).toString())
  return found
}

/** The cases about `confirm`. */
export const confirmCases: readonly ReplicatedLogCase[] = [
  {
    name: 'a leader confirms that it leads, between appends and without any, and readers see no trace of it',
    async run(store) {
      const log = await node(store, 1)
      assert.equal(await log.confirm(), 0)
      await log.append(record('a'))
      assert.deepEqual(await Promise.all([log.confirm(), log.confirm()]), [1, 1])
      const [, confirmed] = await Promise.all([log.append(record('b')), log.confirm()])
      assert.equal(confirmed, 2)
      assert.equal(await log.confirm(), 2)
      await log.append(record('c'))
      const reader = await node(store)
      assert.deepEqual(await texts(reader), ['a', 'b', 'c'])
      assert.equal(reader.position.epoch, 1)
      await reader.lead(2)
      await reader.append(record('d'))
      assert.equal(await reader.confirm(), 4)
      for (const one of [log, reader]) await one.close()
    },
  },
  {
    name: 'a leader that was replaced without knowing it cannot confirm that it leads',
    async run(store) {
      const old = await node(store, 1)
      await old.append(record('a'))
      const next = await node(store, 2)
      await assert.rejects(old.confirm(), { code: 'log_fenced' })
      await assert.rejects(old.confirm(), { code: 'not_leader' })
      await next.append(record('b'))
      assert.equal(await next.confirm(), 2)
      const follower = await node(store)
      await assert.rejects(follower.confirm(), { code: 'not_leader' })
      for (const one of [old, next, follower]) await one.close()
    },
  },
]
