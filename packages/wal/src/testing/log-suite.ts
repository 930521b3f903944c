// What every Log must do. `open` called again on the same place finds the earlier records.
import assert from 'node:assert/strict'
import type { Log, LogRecord, Lsn } from '../log.ts'

/** One test of the suite. */
export interface LogCase {
  /** A sentence about behavior. */
  readonly name: string
  readonly run: (open: () => Promise<Log>) => Promise<void>
}

const record = (text: string, type = 16, version = 1) => ({ type, version, payload: Buffer.from(text) })

async function texts(log: Log, from?: number): Promise<string[]> {
  const found: string[] = []
  // A branded number, made from the test's own count.
  const start = (from ?? log.state().lsnFirst) as Lsn
  for await (const { payload } of log.read(start)) found.push(Buffer.from(payload).toString())
  return found
}

async function collect(records: AsyncIterable<LogRecord>): Promise<LogRecord[]> {
  const found: LogRecord[] = []
  for await (const one of records) found.push(one)
  return found
}

/** The tests that every Log must pass. */
export const logSuite: readonly LogCase[] = [
  {
    name: 'a new log is empty',
    async run(open) {
      const log = await open()
      const { lsnFirst, lsnLast, condition } = log.state()
      assert.deepEqual({ lsnFirst, lsnLast, condition }, { lsnFirst: 1, lsnLast: 0, condition: 'ok' })
      assert.deepEqual(await texts(log), [])
      await log.close()
    },
  },
  {
    name: 'LSNs follow the order of the calls, and promises settle in it',
    async run(open) {
      const log = await open()
      const settled: number[] = []
      const appends = Array.from({ length: 100 }, (_, i) =>
        log.append(record(String(i))).then((appended) => {
          settled.push(i)
          return appended.lsn
        }),
      )
      const lsns = await Promise.all(appends)
      assert.deepEqual(
        settled,
        [...settled].sort((a, b) => a - b),
      )
      assert.ok(lsns.every((lsn, i) => i === 0 || lsn > (lsns[i - 1] ?? 0)))
      await log.close()
    },
  },
  {
    name: 'a record comes back with its LSN, type, version and payload, in pieces or not',
    async run(open) {
      const log = await open()
      const { lsn } = await log.append({
        type: 255,
        version: 65535,
        payload: [Buffer.from('ab'), new Uint8Array(0), Buffer.from('c')],
      })
      await log.sync()
      const [found, ...more] = await collect(log.read(lsn))
      assert.deepEqual(more, [])
      assert.deepEqual(
        { ...found, payload: Buffer.from(found?.payload ?? []).toString() },
        { lsn, type: 255, version: 65535, payload: 'abc' },
      )
      await log.close()
    },
  },
  {
    name: 'payloads that were read stay unchanged while more is written and read',
    async run(open) {
      const log = await open()
      // More than any reader holds at once, so that a reused buffer would show.
      const payloads = Array.from({ length: 16 }, (_, i) => Buffer.alloc(150_000, i + 1))
      for (const payload of payloads) await log.append({ type: 16, version: 1, payload })
      await log.sync()
      const kept = await collect(log.read(1 as Lsn))
      await log.append(record('later'))
      await log.sync()
      await collect(log.read(1 as Lsn))
      assert.ok(kept.length === 16 && kept.every((one, i) => payloads[i]?.equals(one.payload)))
      await log.close()
    },
  },
  {
    name: 'reading starts at an LSN and ends at the newest durable record of that moment',
    async run(open) {
      const log = await open()
      const lsns: number[] = []
      for (const text of ['a', 'b', 'c']) lsns.push((await log.append(record(text))).lsn)
      await log.sync()
      const reading = log.read((lsns[1] ?? 0) as Lsn)
      await log.append(record('d'))
      await log.sync()
      assert.deepEqual(
        (await collect(reading)).map((one) => Buffer.from(one.payload).toString()),
        ['b', 'c'],
      )
      assert.deepEqual(await texts(log, (lsns[2] ?? 0) + 0), ['c', 'd'])
      assert.deepEqual(await texts(log, log.state().lsnLast + 1), [])
      await log.close()
    },
  },
  {
    name: 'records outlive close and open, and LSNs go on growing',
    async run(open) {
      const first = await open()
      const { lsn } = await first.append(record('a'))
      await first.close()
      const second = await open()
      assert.deepEqual(await texts(second), ['a'])
      const appended = await second.append(record('b'))
      assert.ok(appended.lsn > lsn)
      await second.close()
      const third = await open()
      assert.deepEqual(await texts(third), ['a', 'b'])
      await third.close()
    },
  },
  {
    name: 'sync makes everything appended durable',
    async run(open) {
      const log = await open()
      const appends = [log.append(record('a')), log.append(record('b'))]
      const durable = await log.sync()
      const lsns = await Promise.all(appends.map(async (append) => (await append).lsn))
      assert.ok(lsns.every((lsn) => lsn <= durable))
      assert.equal(log.state().lsnDurable, durable)
      await log.close()
    },
  },
  {
    name: 'truncateBefore never gives up records it must keep, and a later open still reads it',
    async run(open) {
      const log = await open()
      const lsns: number[] = []
      for (let i = 0; i < 40; i++) lsns.push((await log.append(record(`${i}`.padEnd(200, '.')))).lsn)
      await log.truncateBefore((lsns[30] ?? 0) as Lsn)
      assert.ok(log.state().lsnFirst <= (lsns[30] ?? 0))
      await log.close()
      const again = await open()
      assert.equal((await texts(again, lsns[30])).length, 10)
      await again.close()
    },
  },
  {
    name: 'truncateBefore keeps the record it names, whichever that is',
    async run(open) {
      const log = await open()
      const written = Array.from({ length: 40 }, (_, i) => `${i}`.padEnd(200, '.'))
      for (const text of written) await log.append(record(text))
      await log.sync()
      for (let lsn = 1; lsn <= written.length; lsn++) {
        await log.truncateBefore(lsn as Lsn)
        assert.ok(log.state().lsnFirst <= lsn, `the log begins at ${log.state().lsnFirst} after truncateBefore(${lsn})`)
        assert.deepEqual(await texts(log, lsn), written.slice(lsn - 1))
      }
      await log.close()
    },
  },
  {
    name: 'a reader keeps its records while older ones are given up',
    async run(open) {
      const log = await open()
      for (let i = 0; i < 40; i++) await log.append(record(`${i}`.padEnd(200, '.')))
      await log.sync()
      const found: string[] = []
      for await (const { payload } of log.read(1 as Lsn)) {
        if (found.length === 1) await log.truncateBefore(log.state().lsnLast)
        found.push(Buffer.from(payload).toString())
      }
      assert.equal(found.length, 40)
      await log.close()
    },
  },
  {
    name: 'records that can never be appended are refused and change nothing',
    async run(open) {
      const log = await open()
      const refused = { name: 'WalError', code: 'record_invalid' }
      await assert.rejects(log.append(record('x', 15)), refused)
      await assert.rejects(log.append(record('x', 256)), refused)
      await assert.rejects(log.append(record('x', 16, 65536)), refused)
      await assert.rejects(log.append(record('')), refused)
      await assert.rejects(log.append({ type: 16, version: 0, payload: Array(65).fill(new Uint8Array(1 << 20)) }), {
        code: 'record_too_large',
      })
      assert.equal(log.state().lsnLast, 0)
      await log.append(record('good'))
      await log.close()
    },
  },
  {
    name: 'close waits for what was appended, can be called twice, and refuses what comes later',
    async run(open) {
      const log = await open()
      const appends = Array.from({ length: 20 }, (_, i) => log.append(record(String(i))))
      await Promise.all([log.close(), log.close()])
      assert.equal((await Promise.allSettled(appends)).filter((one) => one.status === 'fulfilled').length, 20)
      await assert.rejects(log.append(record('late')), { code: 'log_closed' })
      assert.equal(log.state().condition, 'closed')
      const again = await open()
      assert.equal((await texts(again)).length, 20)
      await again.close()
    },
  },
]
