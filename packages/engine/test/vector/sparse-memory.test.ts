// The memory of a sparse field with space for the searches of reader threads: it is reserved before an event is appended, and a replaced bitmap is
// reused only when no reader can have it.
import { test } from 'tap'
import { memoryBytesMax } from '../../src/vector/shared-memory.ts'
import { SparseMemory, searchAreaBytes } from '../../src/vector/sparse/memory.ts'

const memoryExhausted = { code: 'memory_exhausted' }

test('an event is refused if there is no address space for the searches of readers', (t) => {
  const usedByRows = new SparseMemory()
  usedByRows.reserve(1, 0, 0)
  const first = memoryBytesMax - usedByRows.bytes
  // Far more than the reserved space differs by, and less than the areas of the readers.
  const readers = 64
  const worst = first - searchAreaBytes
  t.doesNotThrow(() => new SparseMemory().reserve(1, 0, worst))
  t.throws(() => new SparseMemory(readers).reserve(1, 0, worst), memoryExhausted)
  t.end()
})

test('a reserved event can make the areas without growing the memory', (t) => {
  const memory = new SparseMemory(16)
  for (const end of [1, 20_000, 300_000, 1_000_000]) {
    memory.reserve(end, 0, 0)
    const { bytes } = memory
    memory.makeAreas(end)
    t.equal(memory.bytes, bytes)
    t.ok((memory.areas?.bits ?? 0) >= end)
  }
  t.end()
})

test('only bitmaps are made again when a field grows', (t) => {
  const readers = 4
  const memory = new SparseMemory(readers)
  memory.reserve(1, 0, 0)
  memory.makeAreas(1)
  const areas = memory.areas
  memory.makeAreas(2 ** 14)
  t.equal(memory.areas, areas, 'they are large enough')
  const rows = 2 ** 20
  for (let end = 2 ** 14; end <= rows; end *= 2) memory.makeAreas(end)
  t.equal(memory.areas?.searches, areas?.searches)
  const bitmaps = memory.used - searchAreaBytes * readers - 2 ** 14 * 8
  t.ok(bitmaps <= (4 * rows * readers) / 8, `${bitmaps} bytes of bitmaps`)
  t.end()
})

test('a bitmap of an earlier version is not reused while a reader can have it', (t) => {
  const memory = new SparseMemory(1)
  let oldestRead = 0
  memory.others = {
    get oldestRead() {
      return oldestRead
    },
  }
  const bytes = 2 ** 14 / 8
  memory.version = 1
  memory.reserve(1, 0, 0)
  memory.makeAreas(1)
  const before = memory.areas?.bitmaps
  memory.version = 2
  memory.makeAreas(2 ** 14 + 1)
  for (const version of [0, 1]) {
    oldestRead = version
    memory.reclaim()
    t.not(memory.allocate(bytes), before)
  }
  oldestRead = 2
  memory.reclaim()
  t.equal(memory.allocate(bytes), before)
  t.end()
})
