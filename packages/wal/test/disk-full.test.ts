// A full disk: the log becomes read-only, keeps every acknowledged record, stays readable, and resumes automatically.
import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'tap'
import { type Log, type LogNotice, type Lsn, nodeVfs, openFileLog, type Vfs } from '../src/index.ts'
import { chosenSeed, idle, ManualClock, SimDisk, seededRandom } from '../src/testing/index.ts'
import { patient, sized } from './patience.ts'

const record = (text: string) => ({ type: 16, version: 1, payload: Buffer.from(text) })

async function texts(log: Log, from: number = log.state().lsnFirst): Promise<string[]> {
  const found: string[] = []
  for await (const { payload } of log.read(from as Lsn)) found.push(Buffer.from(payload).toString())
  return found
}

/** A simulated disk that accepts `room` more bytes of writes and then none. */
function smallDisk() {
  const disk = new SimDisk({ random: seededRandom(1) })
  const room = { bytes: Infinity }
  disk.faults = ({ call, bytes, path }) => {
    // One step of the reserve.
    if (call === 'truncate' && path === '/RESERVE') room.bytes += 1 << 20
    if (call !== 'write' || path.endsWith('TIP')) return undefined
    const taken = Math.min(bytes, room.bytes)
    room.bytes -= taken
    if (taken === bytes) return undefined
    return taken > 0 ? { short: taken } : { errno: 'ENOSPC' }
  }
  return { disk, room }
}

const space = { freeBytesHard: 100, freeBytesLow: 1000, resumeAfterMs: 5000, spaceCheckMs: 1000 }

async function pass(clock: ManualClock, ms: number): Promise<void> {
  for (let passedMs = 0; passedMs < ms; passedMs += 500) {
    clock.advance(500)
    await idle()
  }
}

test('a short write is never acknowledged, and writing resumes automatically', async (t) => {
  const { disk, room } = smallDisk()
  const clock = new ManualClock()
  const notices: LogNotice['kind'][] = []
  const open = () =>
    openFileLog({ dir: '/wal', vfs: disk.vfs(), clock, ...space, onNotice: ({ kind }) => notices.push(kind) })
  const log = await open()
  await log.append(record('a'))
  room.bytes = 20
  await t.rejects(log.append(record('b'.repeat(100))), { code: 'disk_full' })
  t.equal(log.state().condition, 'read-only')
  t.match(log.state().reason, /ENOSPC/)
  await t.rejects(log.append(record('c')), { code: 'disk_full' })
  t.same(await texts(log), ['a'], 'reads still work')
  t.ok((await log.sync()) > 0, 'earlier records are durable')
  await pass(clock, 10_000)
  t.equal(log.state().condition, 'read-only', 'free bytes are promised, but the probe cannot be written')
  room.bytes = Infinity
  await pass(clock, 6000)
  t.equal(log.state().condition, 'ok')
  await log.append(record('d'))
  t.same(notices, ['read-only', 'writable'])
  disk.restart('power')
  t.same(await texts(await open()), ['a', 'd'])
})

test('a log that is closed while it looks for space ends when it has looked', async (t) => {
  const { disk, room } = smallDisk()
  const clock = new ManualClock()
  const { promise: mayOpen, resolve: open } = Promise.withResolvers<void>()
  const { promise: looks, resolve: look } = Promise.withResolvers<void>()
  const inner = disk.vfs()
  const vfs: Vfs = {
    ...inner,
    async open(path, mode) {
      if (path.endsWith('probe.tmp')) {
        look()
        await mayOpen
      }
      return inner.open(path, mode)
    },
  }
  const log = await openFileLog({ dir: '/wal', vfs, clock, ...space })
  await log.append(record('a'))
  room.bytes = 20
  await t.rejects(log.append(record('b'.repeat(100))), { code: 'disk_full' })
  room.bytes = Infinity
  await pass(clock, 7000)
  await looks
  let isClosed = false
  const closing = log.close().then(() => {
    isClosed = true
  })
  await idle()
  t.notOk(isClosed)
  open()
  await closing
  const files = await inner.list('/wal')
  await idle()
  t.same(await inner.list('/wal'), files, 'nothing is written after the close')
  t.notOk(files.includes('probe.tmp'))
})

test('a record that frees space is appended on a full disk, from the reserve', async (t) => {
  const { disk, room } = smallDisk()
  disk.freeBytes = 1 << 30
  const clock = new ManualClock()
  const open = () => openFileLog({ dir: '/wal', reservePath: '/RESERVE', vfs: disk.vfs(), clock, ...space })
  const log = await open()
  await log.append(record('a'))
  room.bytes = 0
  const freeing = (text: string) => ({ ...record(text), usesReserve: true })
  const [first, second, third] = await Promise.allSettled([
    log.append(freeing('b')),
    log.append(record('c')),
    log.append(freeing('d')),
  ])
  t.match(first, { status: 'fulfilled', value: { durable: true } })
  t.match(second, { status: 'rejected', reason: { code: 'disk_full' } }, 'the rest of the batch is refused')
  t.match(third, { status: 'fulfilled' })
  t.equal(log.state().condition, 'read-only')
  await t.rejects(log.append(record('e')), { code: 'disk_full' })
  const big = 'x'.repeat(900_000)
  await log.append(freeing(big))
  await t.rejects(log.append(freeing('y'.repeat(3 << 20))), { code: 'disk_full' }, 'the reserve is used up')
  t.same(await texts(log), ['a', 'b', 'd', big])
  room.bytes = Infinity
  await pass(clock, 8000)
  await log.append(record('f'))
  disk.restart('power')
  t.same(await texts(await open()), ['a', 'b', 'd', big, 'f'])
})

test('expendable data is freed before a write is refused', async (t) => {
  const { disk, room } = smallDisk()
  const clock = new ManualClock()
  const notices: LogNotice['kind'][] = []
  let spare = 2
  const makeRoom = async () => {
    if (spare === 0) return false
    spare--
    room.bytes = 500
    return true
  }
  const onNotice = ({ kind }: LogNotice) => notices.push(kind)
  const log = await openFileLog({ dir: '/wal', vfs: disk.vfs(), clock, ...space, makeRoom, onNotice })
  room.bytes = 20
  await log.append(record('a'.repeat(100)))
  t.equal(spare, 1)
  disk.freeBytes = space.freeBytesLow - 1
  await pass(clock, 1500)
  t.equal(spare, 0, 'also when a check finds little space')
  t.same(notices, [], 'and nothing was refused')
  room.bytes = 0
  await t.rejects(log.append(record('b')), { code: 'disk_full' })
  t.same(notices, ['read-only'])
  await log.close()
})

test('a write of 0 bytes without an error counts as a full disk', async (t) => {
  const disk = new SimDisk({ random: seededRandom(1) })
  const log = await openFileLog({ dir: '/wal', vfs: disk.vfs(), clock: new ManualClock(), ...space })
  disk.faults = ({ call, path }) => (call === 'write' && path.endsWith('.wal') ? { short: 0 } : undefined)
  await t.rejects(log.append(record('a')), { code: 'disk_full' })
  disk.faults = undefined
  await log.close()
})

test('too little free space stops writing before the disk refuses, and a moment of free space is not enough to resume', async (t) => {
  const { disk } = smallDisk()
  const clock = new ManualClock()
  const log = await openFileLog({ dir: '/wal', vfs: disk.vfs(), clock, ...space })
  await log.append(record('a'))
  disk.freeBytes = 99
  await pass(clock, 1500)
  t.equal(log.state().condition, 'read-only')
  disk.freeBytes = 5000
  await pass(clock, 3000)
  disk.freeBytes = 999
  await pass(clock, 1500)
  disk.freeBytes = 5000
  await pass(clock, 4500)
  t.equal(log.state().condition, 'read-only')
  await pass(clock, 2000)
  t.equal(log.state().condition, 'ok')
  await log.close()
})

test('a disk without space for the next segment makes the log read-only until there is space', async (t) => {
  const { disk, room } = smallDisk()
  const clock = new ManualClock()
  const log = await openFileLog({ dir: '/wal', vfs: disk.vfs(), clock, ...space, segmentBytesMax: 100 })
  await log.append(record('a'.repeat(100)))
  room.bytes = 10
  await t.rejects(log.append(record('b')), { code: 'disk_full' })
  t.same((await texts(log)).length, 1)
  room.bytes = Infinity
  await pass(clock, 7000)
  await log.append(record('c'))
  t.equal(log.state().segments, 2)
  await log.close()
})

test('a start on a full disk serves the existing records, and writes once there is space', async (t) => {
  const { disk, room } = smallDisk()
  const first = await openFileLog({ dir: '/wal', vfs: disk.vfs(), clock: new ManualClock(), ...space })
  await first.append(record('a'))
  disk.restart('kill')
  room.bytes = 0
  const clock = new ManualClock()
  const log = await openFileLog({ dir: '/wal', vfs: disk.vfs(), clock, ...space })
  t.equal(log.state().condition, 'read-only')
  t.same(await texts(log), ['a'])
  await t.rejects(log.append(record('b')), { code: 'disk_full' })
  room.bytes = Infinity
  await pass(clock, 7000)
  await log.append(record('c'))
  t.same(await texts(log), ['a', 'c'])
  await log.close()
})

test('a disk that fills and empties fifty times loses nothing on a real small file system', patient, async (t) => {
  const seed = chosenSeed()
  t.comment(`ANNAL_SEED=${seed}`)
  const random = seededRandom(seed)
  const dir = mkdtempSync(join(tmpdir(), 'annal-full-'))
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=8m', 'tmpfs', dir], { stdio: 'pipe' })
  } catch (error) {
    rmSync(dir, { recursive: true })
    t.pass('a small file system', { skip: `a tmpfs cannot be mounted here: ${String(error)}` })
    return
  }
  t.teardown(() => {
    execFileSync('umount', ['-l', dir])
    rmSync(dir, { recursive: true })
  })
  const shorts = { count: 0 }
  const settings = { dir: join(dir, 'wal'), vfs: countingShorts(shorts), segmentBytesMax: 1 << 20 }
  const limits = { freeBytesHard: 0, freeBytesLow: 2 << 20, resumeAfterMs: 20, spaceCheckMs: 10 }
  let log = await openFileLog({ ...settings, ...limits })
  let newest = 0
  const acked = new Map<number, string>()
  for (let round = 0; round < sized(50, 500); round++) {
    const filler = join(dir, 'filler')
    writeFileSync(filler, Buffer.alloc(2 << 20))
    let refused: unknown
    while (refused === undefined) {
      const text = `${round}:`.padEnd(1000 + random.below(400_000), 'x')
      const appended = await log.append(record(text)).catch((error: unknown) => {
        refused = error
      })
      if (appended !== undefined) acked.set(appended.lsn, text)
    }
    t.match(refused, { code: 'disk_full' })
    t.equal(log.state().condition, 'read-only')
    newest = [...acked.keys()].at(-1) ?? 0
    t.same(await texts(log, newest), [acked.get(newest)], 'reads still work')
    if (round % 10 === 9) {
      // A process that ends here leaves a full disk to the next one.
      await log.close()
      log = await openFileLog({ ...settings, ...limits })
    }
    rmSync(filler)
    await log.truncateBefore(newest as Lsn)
    while (log.state().condition === 'read-only') await new Promise((resolve) => setTimeout(resolve, 10))
    t.equal(log.state().condition, 'ok')
    t.same(await texts(log, newest), [acked.get(newest)])
  }
  t.ok(shorts.count > 0, `${shorts.count} writes fell short`)
  await log.close()
})

function countingShorts(shorts: { count: number }): Vfs {
  const real = nodeVfs()
  return {
    ...real,
    async open(path, mode) {
      const file = await real.open(path, mode)
      return {
        ...file,
        async write(bytes, position) {
          const taken = await file.write(bytes, position)
          if (taken < bytes.length) shorts.count++
          return taken
        },
      }
    },
  }
}
