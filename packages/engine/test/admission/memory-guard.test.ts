// The guard of memory, with readings and a clock of the test: what it admits, what it counts together, and what it frees first.
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'tap'
import { MemoryGuard, memoryReserve } from '../../src/admission/memory-guard.ts'
import { availableMemory, type MemoryReading, memoryLimit, memoryReader } from '../../src/admission/memory-reading.ts'

const mebibyte = 2 ** 20
const limit = 1_024 * mebibyte
const usable = limit - memoryReserve(limit)

function guardOf(
  reading: { used: number; limit?: number },
  freed: (kind: 'little' | 'more') => void = () => undefined,
) {
  const clock = { ms: 0 }
  const guard = new MemoryGuard({
    read: () => [{ limit, source: 'group', ...reading }],
    free: () => freed('little'),
    freeMore: () => freed('more'),
    nowMs: () => clock.ms,
  })
  return { guard, clock }
}

test('work is admitted up to the limit less the reserve, and counted until it ends', async (t) => {
  const { guard } = guardOf({ used: usable - 10 * mebibyte })
  const release = guard.admit('a', { growth: 4 * mebibyte, transient: 2 * mebibyte })
  const second = guard.admit('b', { growth: 4 * mebibyte })
  const full = { code: 'overloaded', message: /^c may need 1 bytes of memory next to other work that runs/ }
  t.throws(() => guard.admit('c', { growth: 1 }), full, 'work that runs at the same time counts together')
  release()
  release()
  t.throws(
    () => guard.admit('d', { growth: 3 * mebibyte }),
    { code: 'overloaded' },
    'what it may have left counts until the next reading',
  )
  guard.admit('e', { growth: mebibyte })()
  second()
  t.equal(guard.state?.refused, 2)
})

test('details name the limit and the value', async (t) => {
  const { guard } = guardOf({ used: usable })
  const details = { field: 'memory', value: 5, limit, used: usable }
  t.throws(() => guard.admit('a', { growth: 5 }), { code: 'memory_exhausted', details })
})

test('writes in the place of deleted objects, and records that must be applied, may use a part of the reserve', async (t) => {
  const { guard } = guardOf({ used: usable + memoryReserve(limit) / 4 })
  t.throws(() => guard.admit('a', { growth: 1 }), { code: 'memory_exhausted' })
  guard.admit('b', { growth: 0, transient: mebibyte })()
  t.throws(() => guard.admit('c', { growth: 0, transient: memoryReserve(limit) / 2 }), { code: 'memory_exhausted' })
  guard.checkUnavoidable('d', memoryReserve(limit) / 4)
  t.throws(() => guard.checkUnavoidable('e', memoryReserve(limit)), { code: 'memory_exhausted' })
})

test('passing work collects garbage, and uses most of the reserve', async (t) => {
  const reserve = memoryReserve(limit)
  const reading = { used: usable + 0.4 * reserve }
  const freed: string[] = []
  const { guard, clock } = guardOf(reading, (kind) => void freed.push(kind))
  guard.checkPassing('a', 1)
  t.same(freed, [])
  guard.checkPassing('b', 0.2 * reserve)
  t.same(freed, ['little', 'more'])
  guard.checkPassing('c', 0.1 * reserve)
  t.equal(freed.length, 2, 'not again within half a second')
  t.throws(
    () => guard.checkPassing('d', 0.1 * reserve),
    { code: 'overloaded', message: /^d may need/ },
    'what was taken counts until the next reading',
  )
  clock.ms += 1_000
  guard.checkPassing('e', 0.3 * reserve)
  t.equal(freed.length, 4)
  t.equal(guard.state?.refused, 0, 'the figure is that of writes')
})

test('what is kept for speed is freed before anything is refused', async (t) => {
  const reading = { used: usable - memoryReserve(limit) / 4 }
  const freed: string[] = []
  const { guard, clock } = guardOf(reading, (kind) => {
    freed.push(kind)
    if (kind === 'more') reading.used -= 100 * mebibyte
  })
  guard.admit('a', { growth: 1 })()
  t.same(freed, ['little'], 'while work is admitted')
  reading.used = usable + mebibyte
  clock.ms += 100
  guard.admit('b', { growth: 1 })()
  t.same(freed, ['little', 'little', 'more'])
  reading.used = usable + mebibyte
  clock.ms += 100
  t.throws(() => guard.admit('c', { growth: 1 }), { code: 'memory_exhausted' }, 'not again at once')
  t.match(guard.notice(), /^writes are rejected because memory is scarce/)
  clock.ms += 1_000
  guard.admit('d', { growth: 1 })()
  t.equal(guard.notice(), undefined, 'recovered')
})

test('work that used its memory is counted by the next reading', async (t) => {
  const reading = { used: usable - 2 * mebibyte }
  const { guard, clock } = guardOf(reading)
  // What can be freed was freed.
  t.throws(() => guard.admit('a', { growth: limit }), { code: 'memory_exhausted' })
  guard.admit('a', { growth: 2 * mebibyte })()
  t.throws(() => guard.admit('b', { growth: 1 }), { code: 'memory_exhausted' })
  clock.ms += 1_000
  guard.admit('c', { growth: 1 })()
})

test('memory that reads took is freed when the guard looks', async (t) => {
  const reading = { used: 0 }
  const freed: string[] = []
  const { guard, clock } = guardOf(reading, (kind) => freed.push(kind))
  guard.watch()
  reading.used = limit - memoryReserve(limit) / 4
  clock.ms += 1_000
  guard.watch()
  t.ok(freed.includes('more'))
  t.equal(guard.state?.refused, 0)
})

test('nothing is refused where no limit is known', async (t) => {
  const guard = new MemoryGuard({ read: () => [], free: () => undefined, nowMs: () => 0 })
  guard.admit('a', { growth: Number.MAX_SAFE_INTEGER })()
  t.equal(guard.state, undefined)
})

test('the reserve is an eighth, at least 96 MiB and at most 512 MiB, and less of little memory', async (t) => {
  const of = [128, 256, 450, 1_024, 16_384].map((mib) => memoryReserve(mib * mebibyte) / mebibyte)
  t.same(of, [48, 96, 96, 128, 512])
})

test('what a process can still take is the least under all limits', async (t) => {
  const group: MemoryReading = { limit: 10, used: 4, source: 'group' }
  t.equal(availableMemory([group, { limit: 100, used: 97, source: 'machine' }]), 3)
  t.equal(availableMemory([{ ...group, used: 11 }]), 0)
  t.ok(availableMemory([]) > 0, 'the free memory of the machine where nothing else is known')
})

/** A folder with files as they are in the folders `proc` and `sys` of Linux. */
async function rootWith(
  t: { teardown(fn: () => Promise<void>): unknown },
  files: Readonly<Record<string, string>>,
): Promise<string> {
  const root = await mkdtemp(join(tmpdir(), 'annal-memory-'))
  t.teardown(() => rm(root, { recursive: true }))
  for (const [name, text] of Object.entries(files)) {
    await mkdir(join(root, name, '..'), { recursive: true })
    await writeFile(join(root, name), text)
  }
  return root
}

const meminfo = 'MemTotal: 2000 kB\nMemFree: 100 kB\nMemAvailable: 900 kB\nSwapFree: 50 kB\n'

test('limits of version 2 are read for the group and those above it, without cached files', async (t) => {
  const stat =
    'anon 1000\nfile 500000\nshmem 30\nkernel_stack 4\npagetables 3\nslab_reclaimable 9000\nslab_unreclaimable 2\n'
  const root = await rootWith(t, {
    'proc/self/cgroup': '0::/a/b\n',
    'proc/meminfo': meminfo,
    'sys/fs/cgroup/a/b/memory.max': 'max\n',
    'sys/fs/cgroup/a/b/memory.high': '9000\n',
    'sys/fs/cgroup/a/b/memory.stat': stat,
    'sys/fs/cgroup/a/memory.max': '8000\n',
    'sys/fs/cgroup/a/memory.stat': 'anon 2000\n',
  })
  const groups: MemoryReading[] = [
    { limit: 9_000, used: 1_039, source: 'group' },
    { limit: 8_000, used: 2_000, source: 'group' },
  ]
  const machine = { limit: 2_000 * 1_024, used: 1_050 * 1_024, source: 'machine' }
  t.same(memoryReader({ root })(), [...groups, machine])
  t.equal(memoryLimit({ root }), 8_000)
  t.equal(memoryLimit({ root, bytesMax: 7_000 }), 7_000)
})

test('limits of version 1 are read, also where a container shows only its own group', async (t) => {
  const root = await rootWith(t, {
    'proc/self/cgroup': '4:cpu,memory:/docker/abc\n0::/\n',
    'sys/fs/cgroup/memory/memory.limit_in_bytes': '5000\n',
    'sys/fs/cgroup/memory/memory.stat': 'cache 70000\nrss 1\ntotal_cache 80000\ntotal_rss 400\ntotal_shmem 6\n',
  })
  t.same(memoryReader({ root })(), [{ limit: 5_000, used: 406, source: 'group' }])
})

test('the memory of this process counts against the limit of its host program', async (t) => {
  const root = await rootWith(t, {
    'proc/self/status': 'VmRSS: 900 kB\nRssAnon: 300 kB\nRssFile: 500 kB\nRssShmem: 100 kB\n',
  })
  const [reading] = memoryReader({ root, bytesMax: 10 ** 9 })()
  t.same(reading, { limit: 10 ** 9, used: 400 * 1_024, source: 'option' })
  const elsewhere = memoryReader({ root: join(root, 'none'), bytesMax: 10 ** 9 })()
  t.ok((elsewhere[0]?.used ?? 0) > mebibyte, 'the resident memory where the system tells no more')
})
