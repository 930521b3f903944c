// Where a reader reads original vectors: in its thread while the disk is fast, and for a while through the owner after two slow reads of a turn.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { nodeVfs } from '@annal/wal'
import { test } from 'tap'
import { Originals } from '../../src/originals/originals.ts'
import { OriginalFiles } from '../../src/readers/original-files.ts'

const dimension = 8
const rows = 20

test('after two slow reads of a turn, the next 16 turns leave their reads to the owner', async (t) => {
  const dir = await mkdtemp(join(tmpdir(), 'annal-original-files-'))
  const originals = new Originals(
    { vfs: nodeVfs(), dir, directory: () => '00000000-0000-4000-8000-000000000001' },
    { collectionId: 7, generation: 0, field: 0, dimension, several: false },
  )
  await originals.prepare(rows)
  const numbers = Float32Array.from({ length: rows * dimension }, (_, i) => i)
  await originals.append(
    Uint32Array.from({ length: rows }, (_, i) => i),
    numbers,
  )
  // A read takes as long as the test says, whatever the machine does.
  let readMs = 0
  let isRead = false
  let now = 0
  const files = new OriginalFiles(1, () => {
    now += isRead ? readMs : 0
    isRead = !isRead
    return now
  })
  t.teardown(async () => {
    files.close()
    await originals.close()
    await rm(dir, { recursive: true })
  })
  const { shared } = originals
  const read = (turn: NonNullable<ReturnType<OriginalFiles['beginTurn']>>, slot: number) =>
    files.readNow(turn, shared, { slot, count: 1 })
  const begin = () => files.beginTurn(shared)

  // The first read opens the file.
  while (read(begin()!, 0) === undefined) await setImmediate()
  const fast = begin()!
  for (let slot = 0; slot < rows; slot++)
    t.strictSame(read(fast, slot), numbers.slice(slot * dimension, (slot + 1) * dimension))

  readMs = 0.2
  const once = begin()!
  t.ok(read(once, 1), 'one slow read may have waited for the core')
  readMs = 0
  t.ok(read(once, 2))
  readMs = 0.2
  t.ok(read(once, 3), 'the second one is still read')
  t.equal(read(once, 4), undefined, 'and the next one is left to the owner')
  for (let turn = 0; turn < 16; turn++) t.equal(begin(), undefined)
  readMs = 0
  t.ok(read(begin()!, 4), 'then the thread reads again')
})
