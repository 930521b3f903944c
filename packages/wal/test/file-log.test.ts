// The log on a real disk: records come back in order, across restarts and segments.
import { randomBytes } from 'node:crypto'
import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'tap'
import {
  acquireLock,
  type FileLogOptions,
  type Log,
  type Lsn,
  nodeVfs,
  openDataDirectory,
  openFileLog,
  type Vfs,
  WalError,
} from '../src/index.ts'

const lsn = (n: number) => n as Lsn

function directory(t: { teardown(fn: () => void): void }): string {
  const dir = mkdtempSync(join(tmpdir(), 'annal-wal-'))
  t.teardown(() => rmSync(dir, { recursive: true, force: true }))
  return dir
}

const open = (dir: string, more: Partial<FileLogOptions> = {}) => openFileLog({ dir, freeBytesHard: 0, ...more })

async function all(log: Log, from = 1) {
  const found: { lsn: number; payload: string }[] = []
  for await (const record of log.read(lsn(from))) {
    found.push({ lsn: record.lsn, payload: Buffer.from(record.payload).toString() })
  }
  return found
}

const text = (s: string) => ({ type: 16, version: 1, payload: Buffer.from(s) })

test('records come back in order after a clean close', async (t) => {
  const dir = directory(t)
  const log = await open(join(dir, 'wal'))
  const appended = await Promise.all(['a', 'bb', 'ccc'].map((s) => log.append(text(s))))
  t.same(
    appended,
    [1, 2, 3].map((n) => ({ lsn: n, durable: true })),
  )
  t.same(
    (await all(log)).map((r) => r.payload),
    ['a', 'bb', 'ccc'],
  )
  await log.close()
  await log.close()
  await t.rejects(log.append(text('late')), { code: 'log_closed' })
  const again = await open(join(dir, 'wal'), { mustExist: true })
  t.same(
    (await all(again)).map((r) => r.payload),
    ['a', 'bb', 'ccc'],
  )
  t.equal(again.state().segments, 2)
  await again.close()
})

test('records come back after a log was not closed', async (t) => {
  const dir = directory(t)
  for (let round = 0; round < 5; round++) {
    const log = await open(dir)
    t.equal((await all(log)).length, round * 10)
    await Promise.all(Array.from({ length: 10 }, (_, i) => log.append(text(`${round}/${i}`))))
  }
})

test('segments roll, big payloads in pieces come back whole, old segments go', async (t) => {
  const dir = directory(t)
  const log = await open(dir, { segmentBytesMax: 1 << 20 })
  const payloads = Array.from({ length: 12 }, (_, i) => randomBytes(i % 3 === 0 ? 3_000_001 : 1000 + i))
  for (const p of payloads) {
    await log.append({
      type: 200,
      version: 7,
      payload: [p.subarray(0, 400_000), p.subarray(400_000), new Uint8Array(0)],
    })
  }
  const back: Buffer[] = []
  for await (const record of log.read(lsn(1))) back.push(Buffer.from(record.payload))
  t.ok(back.length === 12 && back.every((b, i) => b.equals(payloads[i] as Buffer)))
  const before = log.state()
  t.ok(before.segments > 3)
  await log.truncateBefore(lsn(8))
  const after = log.state()
  t.ok(after.lsnFirst <= 8 && after.lsnFirst > 1 && after.segments < before.segments)
  t.equal(readdirSync(dir).filter((n) => n.endsWith('.wal')).length, after.segments)
  await t.rejects(all(log, 1), { code: 'lsn_not_held' })
  t.equal((await all(log, 8)).length, 5)
  await log.close()
  const again = await open(dir, { recoverFrom: lsn(8) })
  t.equal((await all(again, 8)).length, 5)
  await again.close()
})

test('an idle log stamps its newest record and a data directory has one owner', async (t) => {
  const dir = join(directory(t), 'data')
  const data = await openDataDirectory({ dir, freeBytesHard: 0 })
  t.ok(data.isNew)
  await data.log.append(text('x'))
  while (data.log.state().lsnLast < 2) await new Promise((resolve) => setTimeout(resolve, 5))
  const refused = await acquireLock(dir).catch((error: unknown) => error)
  t.ok(refused instanceof WalError && refused.code === 'directory_locked' && refused.exitCode === 73)
  await data.close()
  t.notOk(existsSync(join(dir, 'LOCK')))
  const again = await openDataDirectory({ dir, freeBytesHard: 0 })
  t.equal(again.identity.uuid, data.identity.uuid)
  t.notOk(again.isNew)
  await again.close()
})

test('a full queue refuses, and the limits of a record hold', async (t) => {
  const log = await open(directory(t), { queueRecordsMax: 4 })
  const results = await Promise.allSettled(Array.from({ length: 6 }, () => log.append(text('x'))))
  t.same(
    results.map((r) => r.status),
    ['fulfilled', 'fulfilled', 'fulfilled', 'fulfilled', 'rejected', 'rejected'],
  )
  await t.rejects(log.append({ type: 3, version: 0, payload: Buffer.from('x') }), { code: 'record_invalid' })
  await t.rejects(log.append({ type: 16, version: 0, payload: Buffer.alloc(0) }), { code: 'record_invalid' })
  await t.rejects(log.append({ type: 16, version: 0, payload: Buffer.alloc(64 * 1024 * 1024 + 1) }), {
    code: 'record_too_large',
  })
  t.equal(log.state().queuedRecords, 0)
  await log.close()
})

test('under a lax policy unsynced records are acknowledged as not durable and are not read', async (t) => {
  const dir = directory(t)
  const log = await open(dir, { fsync: 'none' })
  t.same(await log.append(text('a')), { lsn: 1, durable: false })
  t.same(await all(log), [])
  t.equal(await log.sync(), 1)
  t.same((await all(log)).length, 1)
  await log.close()
  const interval = await open(dir, { fsync: 'interval', fsyncIntervalMs: 20 })
  const { lsn, durable } = await interval.append(text('b'))
  t.notOk(durable)
  while (interval.state().lsnDurable < lsn) await new Promise((resolve) => setTimeout(resolve, 5))
  t.equal((await all(interval)).length, 2)
  await interval.close()
})

test('payloads that were read keep their bytes while the reader goes on', async (t) => {
  const log = await open(directory(t))
  const payloads = Array.from({ length: 60 }, () => randomBytes(100_000))
  await Promise.all(payloads.map((payload) => log.append({ type: 16, version: 1, payload })))
  const kept: Uint8Array[] = []
  for await (const { payload } of log.read(lsn(1))) kept.push(payload)
  t.ok(kept.length === 60 && kept.every((payload, i) => payloads[i]?.equals(payload)))
  await log.close()
})

/** The real disk, with a count of the bytes read. */
function countingVfs(): { readonly vfs: Vfs; readonly read: () => number } {
  const inner = nodeVfs()
  let bytesRead = 0
  const vfs: Vfs = {
    ...inner,
    async open(path, mode) {
      const file = await inner.open(path, mode)
      return {
        write: (bytes, position) => file.write(bytes, position),
        async read(bytes, position) {
          const got = await file.read(bytes, position)
          bytesRead += got
          return got
        },
        datasync: () => file.datasync(),
        truncate: (size) => file.truncate(size),
        size: () => file.size(),
        close: () => file.close(),
      }
    },
  }
  return { vfs, read: () => bytesRead }
}

test('the newest records are read without the earlier records of the segment', async (t) => {
  const dir = join(directory(t), 'wal')
  const { vfs, read } = countingVfs()
  const log = await open(dir, { vfs })
  const payload = randomBytes(64 * 1024)
  const count = 200
  for (let i = 0; i < count; i++) await log.append({ type: 16, version: 1, payload })
  t.equal(log.state().segments, 1)
  for (const from of [count - 1, count / 2, count / 2 + 1, 3, 1]) {
    const before = read()
    const lsns = (await all(log, from)).map((record) => record.lsn)
    t.same(
      lsns,
      Array.from({ length: count - from + 1 }, (_, i) => from + i),
      `from ${from}`,
    )
    const wanted = (count - from + 1) * payload.length
    t.ok(read() - before < wanted + 2 * 1024 * 1024, `${read() - before} bytes are read for ${wanted}`)
  }
  await log.close()
  // A reopened log learns offsets while it is read.
  const again = await open(dir, { vfs })
  t.equal((await all(again)).length, count)
  const before = read()
  t.equal((await all(again, count - 1)).length, 2)
  t.ok(read() - before < 3 * 1024 * 1024)
  await again.close()
})
