// What a ReplicatedLog must do over every FrameStore, beyond what every Log must do: fences, ignored messages, holes, followers,
// records in parts, truncation, and a store that is not the one it was.
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import type { LogRecord, Lsn } from '../log.ts'
import { encodeBatch, encodeFrame } from '../replicated/frame.ts'
import type { ChainPosition } from '../replicated/frame-chain.ts'
import type { FrameStore } from '../replicated/frame-store.ts'
import { openReplicatedLog, type ReplicatedLog, type Tailed } from '../replicated/replicated-log.ts'
import { confirmCases } from './confirm-cases.ts'
import type { ReplicatedLogCase, StoreUnderTest } from './replicated-log-case.ts'

const logId = 0x1122334455667788n

const record = (text: string) => ({ type: 16, version: 1, payload: Buffer.from(text) })

async function node(store: StoreUnderTest, from?: ChainPosition, onFenced?: () => void): Promise<ReplicatedLog> {
  const parts = { store: await store.connect(), logId, writer: randomBytes(16), clock: store.clock }
  return openReplicatedLog({ ...parts, ...(from && { from }), ...(onFenced && { onFenced }) })
}

async function leader(store: StoreUnderTest, epoch: number): Promise<ReplicatedLog> {
  const log = await node(store)
  await log.lead(epoch)
  return log
}

const textOf = ({ payload }: LogRecord) => Buffer.from(payload).toString()

async function texts(log: ReplicatedLog, from: number = log.state().lsnFirst): Promise<string[]> {
  const found: string[] = []
  // A branded number, made from the test's own count.
  for await (const one of log.read(from as Lsn)) found.push(textOf(one))
  return found
}

/** Takes what follows a position, until `enough` says so. */
async function take(
  log: ReplicatedLog,
  position: ChainPosition,
  enough: (taken: readonly Tailed[]) => boolean,
): Promise<Tailed[]> {
  const taken: Tailed[] = []
  const ending = new AbortController()
  for await (const one of log.tail(position, ending.signal)) {
    taken.push(one)
    if (enough(taken)) break
  }
  ending.abort()
  return taken
}

const recordsOf = (taken: readonly Tailed[]) => taken.flatMap(({ records }) => records)

/** Stores a frame as a faulty writer would. */
async function storeFrame(store: StoreUnderTest, bytes: Uint8Array): Promise<void> {
  const connection = await store.connect()
  for (;;) {
    const { last } = await connection.range().catch(() => ({ last: -1 }))
    const outcome = last < 0 ? undefined : await connection.append(bytes, last)
    if (outcome?.kind === 'stored') break
    // A reply that was lost: the frame must be there once.
    const there = await connection.at(last + 1).catch(() => undefined)
    if (there !== undefined && Buffer.compare(there.bytes, bytes) === 0) break
  }
  await connection.close()
}

/** The same store with another append. */
function withAppend(store: FrameStore, append: FrameStore['append']): { append: FrameStore['append'] } & FrameStore {
  return {
    messageBytesMax: store.messageBytesMax,
    at: (seq) => store.at(seq),
    range: () => store.range(),
    read: (from, to) => store.read(from, to),
    watch: (from, signal) => store.watch(from, signal),
    trim: (seq) => store.trim(seq),
    close: () => store.close(),
    append,
  }
}

/** The tests that a replicated log must pass over every store. */
export const replicatedLogSuite: readonly ReplicatedLogCase[] = [
  {
    name: 'a log that does not lead appends nothing, and says so',
    async run(store) {
      const log = await node(store)
      assert.equal(log.state().condition, 'following')
      await assert.rejects(log.append(record('a')), { name: 'WalError', code: 'not_leader' })
      await log.lead(1)
      assert.equal(log.state().condition, 'ok')
      await log.append(record('a'))
      await log.stepDown()
      await assert.rejects(log.append(record('b')), { code: 'not_leader' })
      assert.deepEqual(await texts(log), ['a'])
      await log.close()
    },
  },
  {
    name: 'a writer that was fenced appends nothing any more, and learns it once',
    async run(store) {
      let learned = 0
      const old = await node(store, undefined, () => learned++)
      await old.lead(1)
      await old.append(record('old'))
      const next = await leader(store, 2)
      await assert.rejects(Promise.all([old.append(record('late')), old.append(record('later'))]), {
        code: 'log_fenced',
      })
      assert.equal(learned, 1)
      assert.equal(old.leads, undefined)
      await next.append(record('new'))
      const reader = await node(store)
      assert.deepEqual(await texts(reader), ['old', 'new'])
      for (const log of [old, next, reader]) await log.close()
    },
  },
  {
    name: 'a writer that appends all the time cannot keep another one from leading',
    async run(store) {
      const busy = await leader(store, 1)
      let n = 0
      const connection = await store.connect()
      const contested = withAppend(connection, async (bytes, expected) => {
        // The busy writer is always a little faster.
        await busy.append(record(`${n++}`)).catch(() => undefined)
        assert.ok(n <= 50, 'the fence lost 50 times')
        return connection.append(bytes, expected)
      })
      const next = await openReplicatedLog({ store: contested, logId, writer: randomBytes(16), clock: store.clock })
      await next.lead(2)
      await next.append(record('next'))
      assert.equal((await texts(next)).at(-1), 'next')
      for (const log of [busy, next]) await log.close()
    },
  },
  {
    name: 'an epoch that is not newer cannot lead',
    async run(store) {
      const first = await leader(store, 5)
      const second = await node(store)
      await assert.rejects(second.lead(5), { code: 'log_fenced' })
      await assert.rejects(second.lead(4), { code: 'log_fenced' })
      await first.append(record('still'))
      assert.deepEqual(await texts(first), ['still'])
      for (const log of [first, second]) await log.close()
    },
  },
  {
    name: 'two writers that take the log from each other while both append lose nothing and store nothing twice',
    async run(store) {
      const logs = [await node(store), await node(store)]
      const acknowledged: { lsn: number; text: string }[] = []
      for (let epoch = 1; epoch <= 8; epoch++) {
        const log = logs[epoch % 2]
        await log?.lead(epoch)
        const appends = logs.flatMap((one, i) =>
          [0, 1, 2].map(async (n) => {
            const text = `${epoch}-${i}-${n}`
            const appended = await one.append(record(text)).catch(() => undefined)
            if (appended !== undefined) acknowledged.push({ lsn: appended.lsn, text })
          }),
        )
        await Promise.all(appends)
        for (const one of logs) await one.stepDown()
      }
      const reader = await node(store)
      const all = await texts(reader)
      assert.ok(acknowledged.length >= 24)
      for (const { lsn, text } of acknowledged) assert.equal(all[lsn - 1], text)
      assert.equal(new Set(all).size, all.length)
      for (const log of [...logs, reader]) await log.close()
    },
  },
  {
    name: 'a frame of an older epoch is ignored by every reader and by the writer',
    async run(store) {
      const log = await leader(store, 1)
      await log.append(record('a'))
      const { lsn, sum } = log.position
      await log.stepDown()
      await log.lead(3)
      await log.append(record('b'))
      const late = { type: 16, version: 1, pieces: [Buffer.from('late')], length: 4 }
      const [frame] = encodeBatch([late], { logId, epoch: 2, lsnFirst: lsn + 1, prevSum: sum }, 1024)
      await storeFrame(store, frame?.bytes ?? Buffer.alloc(0))
      const { bytes } = encodeFrame(logId, { ...fenceOf(2), pieces: [Buffer.alloc(16, 7)] })
      await storeFrame(store, bytes)
      await log.append(record('c'))
      const reader = await node(store)
      assert.deepEqual(await texts(reader), ['a', 'b', 'c'])
      const follower = await node(store)
      const taken = await take(
        follower,
        { ...log.position, seq: 0, seqSum: 0n, lsn: 0, sum: 0n, epoch: 0 },
        (some) => recordsOf(some).length === 3,
      )
      assert.deepEqual(recordsOf(taken).map(textOf), ['a', 'b', 'c'])
      for (const one of [log, reader, follower]) await one.close()
    },
  },
  {
    name: 'a frame of the current epoch that does not follow is a hole, and nobody skips it',
    async run(store) {
      const log = await leader(store, 1)
      await log.append(record('a'))
      const { seq, seqSum, lsn, sum, epoch } = log.position
      const one = { type: 16, version: 1, pieces: [Buffer.from('x')], length: 1 }
      const [gap] = encodeBatch([one], { logId, epoch, lsnFirst: lsn + 2, prevSum: sum }, 1024)
      await storeFrame(store, gap?.bytes ?? Buffer.alloc(0))
      await assert.rejects(node(store), { code: 'log_damaged' })
      await assert.rejects(node(store, { seq, seqSum, lsn, sum, epoch }), { code: 'log_damaged' })
      await assert.rejects(
        take(log, log.position, () => false),
        { code: 'log_damaged' },
      )
      await assert.rejects(log.append(record('b')))
      await log.close()
    },
  },
  ...[
    { what: 'continues another chain', start: { lsnFirst: 2, prevSum: 99n, epoch: 1, logId } },
    { what: 'has an epoch without a fence', start: { lsnFirst: 2, prevSum: undefined, epoch: 2, logId } },
    { what: 'belongs to another log', start: { lsnFirst: 2, prevSum: undefined, epoch: 1, logId: 9n } },
  ].map(({ what, start }) => ({
    name: `a frame that ${what} is refused`,
    async run(store: StoreUnderTest) {
      const log = await leader(store, 1)
      await log.append(record('a'))
      const one = { type: 16, version: 1, pieces: [Buffer.from('x')], length: 1 }
      const [frame] = encodeBatch([one], { ...start, prevSum: start.prevSum ?? log.position.sum }, 1024)
      await storeFrame(store, frame?.bytes ?? Buffer.alloc(0))
      await assert.rejects(node(store), { code: 'log_damaged' })
      await log.close()
    },
  })),
  {
    name: 'bytes that are no frame are refused',
    async run(store) {
      const log = await leader(store, 1)
      await log.append(record('a'))
      await storeFrame(store, Buffer.from('not a frame, but longer than a header of a frame is'))
      await assert.rejects(node(store), { code: 'log_damaged' })
      await log.close()
    },
  },
  {
    name: 'a follower receives records and fences in order while they are appended, and continues from a position',
    async run(store) {
      const log = await leader(store, 1)
      const follower = await node(store)
      const begin = follower.position
      const taking = take(follower, begin, (some) => recordsOf(some).length === 20)
      for (let i = 0; i < 10; i++) await log.append(record(`${i}`))
      await log.stepDown()
      await log.lead(2)
      for (let i = 10; i < 20; i++) await log.append(record(`${i}`))
      const taken = await taking
      const expected = Array.from({ length: 20 }, (_, i) => `${i}`)
      assert.deepEqual(recordsOf(taken).map(textOf), expected)
      assert.equal(taken.filter(({ isFence }) => isFence).length, 1)
      assert.equal(follower.state().lsnLast, 20)
      assert.deepEqual(await texts(follower), expected)
      for (const { position } of taken) {
        const rest = 20 - position.lsn
        if (rest === 0) continue
        const again = await take(follower, position, (some) => recordsOf(some).length === rest)
        assert.deepEqual(recordsOf(again).map(textOf), expected.slice(position.lsn))
      }
      for (const one of [log, follower]) await one.close()
    },
  },
  {
    name: 'a node takes the log while it follows it, and its follower sees its own records too',
    async run(store) {
      const log = await node(store)
      const ending = new AbortController()
      const following = (async () => {
        const seen: string[] = []
        for await (const { records } of log.tail(log.position, ending.signal)) {
          seen.push(...records.map(textOf))
          if (seen.length === 5) break
        }
        return seen
      })()
      for (let epoch = 1; epoch <= 5; epoch++) {
        await log.lead(epoch)
        await log.append(record(`of epoch ${epoch}`))
        await log.stepDown()
      }
      assert.deepEqual(await following, ['of epoch 1', 'of epoch 2', 'of epoch 3', 'of epoch 4', 'of epoch 5'])
      ending.abort()
      await log.close()
    },
  },
  {
    name: 'every record after an LSN can be read from the position before it',
    async run(store) {
      const log = await leader(store, 1)
      for (let i = 1; i <= 200; i++) await log.append(record(String(i)))
      for (const lsn of store.isSlow ? [0, 130, 1000] : [0, 1, 64, 130, 199, 200, 1000]) {
        const position = log.positionBefore(lsn)
        assert(position !== undefined && position.lsn <= lsn, `position before LSN ${lsn}`)
        assert(position.lsn + 100 > Math.min(lsn, 200), `the position ${position.lsn} is near LSN ${lsn}`)
        const again = await node(store, position)
        const expected = Array.from({ length: Math.max(0, 200 - lsn) }, (_, i) => String(lsn + 1 + i))
        assert.deepEqual(await texts(again, lsn + 1), expected)
        await again.close()
      }
      await log.close()
    },
  },
  {
    name: 'records larger than a message are divided into parts',
    async run(store) {
      const log = await leader(store, 1)
      const size = (await store.connect()).messageBytesMax
      const payloads = [3 * size + 7, 5, size, size - 48 - 8, 2 * size].map((length, i) => Buffer.alloc(length, i + 1))
      await Promise.all(payloads.map((payload) => log.append({ type: 20, version: 3, payload })))
      await log.append(record('end'))
      const reader = await node(store)
      const found: LogRecord[] = []
      for await (const one of reader.read(1 as Lsn)) found.push(one)
      assert.equal(found.length, payloads.length + 1)
      assert.ok(payloads.every((payload, i) => payload.equals(found[i]?.payload ?? Buffer.alloc(0))))
      assert.deepEqual([found[0]?.type, found[0]?.version], [20, 3])
      for (const one of [log, reader]) await one.close()
    },
  },
  {
    name: 'records whose last part never came are in no log',
    async run(store) {
      const log = await leader(store, 1)
      await log.append(record('a'))
      const { lsn, sum, epoch } = log.position
      const length = 3 * 1024
      const cut = { type: 16, version: 1, pieces: [Buffer.alloc(length, 1)], length }
      const frames = encodeBatch([cut], { logId, epoch, lsnFirst: lsn + 1, prevSum: sum }, 1024)
      for (const { bytes } of frames.slice(0, 2)) await storeFrame(store, bytes)
      const next = await leader(store, 2)
      const { lsn: appended } = await next.append(record('b'))
      assert.equal(appended, 2)
      const last = frames[2]?.bytes
      if (last !== undefined) await storeFrame(store, last)
      await next.append(record('c'))
      for (const from of [undefined, log.position]) {
        const reader = await node(store, from)
        assert.deepEqual(await texts(reader, 1), ['a', 'b', 'c'])
        await reader.close()
      }
      for (const one of [log, next]) await one.close()
    },
  },
  {
    name: 'after every truncation the log begins at or before the LSN, and opens again from its first message',
    async run(store) {
      const log = await leader(store, 1)
      const written = Array.from({ length: 200 }, (_, i) => `${i}`)
      for (const text of written) await log.append(record(text))
      for (let lsn = 1; lsn <= written.length; lsn += store.isSlow ? 66 : 13) {
        await log.truncateBefore(lsn as Lsn)
        const reader = await node(store)
        assert.ok(reader.state().lsnFirst <= lsn)
        assert.equal(reader.state().lsnFirst, log.state().lsnFirst)
        assert.deepEqual(await texts(reader, lsn), written.slice(lsn - 1))
        await reader.close()
      }
      await log.truncateBefore(10_000 as Lsn)
      assert.ok(log.state().lsnFirst > 64, 'old records are given up')
      const reader = await node(store)
      assert.equal(reader.state().lsnLast, 200)
      await assert.rejects(texts(reader, 1), { code: 'lsn_not_held' })
      const { lsn } = await log.append(record('next'))
      assert.equal(lsn, 201)
      for (const one of [log, reader]) await one.close()
    },
  },
  {
    name: 'a node that was away for longer than the store reaches is refused',
    async run(store) {
      const log = await leader(store, 1)
      await log.append(record('0'))
      const { position } = log
      for (let i = 1; i < 200; i++) await log.append(record(`${i}`))
      await log.truncateBefore(200 as Lsn)
      await assert.rejects(node(store, position), { code: 'lsn_not_held' })
      await assert.rejects(
        take(log, position, () => false),
        { code: 'lsn_not_held' },
      )
      await log.close()
    },
  },
  {
    name: 'a writer whose frame arrives after its position was trimmed acknowledges nothing, and no reader sees the frame',
    async run(store) {
      const connection = await store.connect()
      const held = withAppend(connection, (bytes, expected) => connection.append(bytes, expected))
      const old = await openReplicatedLog({ store: held, logId, writer: randomBytes(16), clock: store.clock })
      await old.lead(1)
      await old.append(record('0'))
      const { position } = old
      const next = await node(store)
      held.append = async (bytes, expected) => {
        await next.lead(2)
        for (let i = 1; i < 200; i++) await next.append(record(`${i}`))
        await next.truncateBefore(200 as Lsn)
        held.append = (...call) => connection.append(...call)
        return connection.append(bytes, expected)
      }
      await assert.rejects(old.append(record('late')), ({ code }: { code?: string }) =>
        ['log_fenced', 'outcome_unknown'].includes(code ?? ''),
      )
      assert.equal(old.leads, undefined)
      await assert.rejects(node(store, position), { code: 'lsn_not_held' })
      await assert.rejects(
        take(next, position, (some) => recordsOf(some).length > 0),
        { code: 'lsn_not_held' },
      )
      await next.append(record('end'))
      const reader = await node(store)
      const found = await texts(reader)
      assert.equal(found.at(-1), 'end')
      assert.ok(!found.includes('late'))
      for (const log of [old, next, reader]) await log.close()
    },
  },
  {
    name: 'a store that ends before the position of a node, or has other messages there, is refused',
    async run(store) {
      const log = await leader(store, 1)
      await log.append(record('a'))
      const { position } = log
      await assert.rejects(node(store, { ...position, seq: position.seq + 1 }), { code: 'log_damaged' })
      await assert.rejects(node(store, { ...position, seqSum: position.seqSum ^ 1n }), { code: 'log_damaged' })
      await assert.rejects(
        node(store, { ...position, seqSum: 0n, sum: 1n })
          .then((other) => other.lead(2))
          .then(async () => {
            // Nothing follows the position yet, so the first record shows it.
            const next = await leader(store, 3)
            await next.append(record('b'))
            await node(store, { ...position, seqSum: 0n, sum: 1n })
          }),
        { code: 'log_damaged' },
      )
      await log.close()
    },
  },
  ...confirmCases,
]

function fenceOf(epoch: number) {
  return { kind: 'fence', more: false, epoch, lsnFirst: 0, prevSum: 0n } as const
}
