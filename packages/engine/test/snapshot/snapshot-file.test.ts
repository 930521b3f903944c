import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { nodeVfs, SteadyPace } from '@annal/wal'
import { test } from 'tap'
import { writeSnapshotFile } from '../../src/snapshot/snapshot-file.ts'
import { readSnapshotFile } from '../../src/snapshot/snapshot-source.ts'

const head = { collectionId: 3, part: 1, lsn: 42 }

async function inDirectory<T>(act: (dir: string) => Promise<T>): Promise<T> {
  const dir = await mkdtemp(join(tmpdir(), 'annal-snapshot-'))
  try {
    return await act(dir)
  } finally {
    await rm(dir, { recursive: true })
  }
}

async function readAll(path: string, expected: Parameters<typeof readSnapshotFile>[2]): Promise<Buffer> {
  const pieces: Buffer[] = []
  for await (const piece of readSnapshotFile(nodeVfs(), path, expected)) pieces.push(Buffer.from(piece))
  return Buffer.concat(pieces)
}

test('pieces of any size read back as the same bytes', async (t) => {
  await inDirectory(async (dir) => {
    for (const sizes of [[], [0, 1], [1 << 20], [(1 << 20) + 1, 7], [3_000_000, 5, 1_048_571]]) {
      const pieces = sizes.map((size, i) => new Uint8Array(size).map((_, index) => (index * 31 + i) & 255))
      const path = join(dir, `part-${sizes.join('-')}`)
      const facts = await writeSnapshotFile(nodeVfs(), path, head, pieces, new SteadyPace({ hurried: true }))
      t.ok(
        (await readAll(path, { ...head, ...facts })).equals(Buffer.concat(pieces)),
        `pieces of ${sizes.join(', ')} bytes`,
      )
    }
  })
})

test('every truncation, every flipped bit, and every foreign header is damage', async (t) => {
  await inDirectory(async (dir) => {
    const path = join(dir, 'part')
    const facts = await writeSnapshotFile(
      nodeVfs(),
      path,
      head,
      [new Uint8Array(100).fill(9)],
      new SteadyPace({ hurried: true }),
    )
    const good = await readFile(path)
    const expected = { ...head, ...facts }
    const accepted: number[] = []
    for (let bit = 0; bit < good.length * 8; bit++) {
      const bytes = Buffer.from(good)
      bytes[bit >> 3] = (bytes[bit >> 3] as number) ^ (1 << (bit & 7))
      await writeFile(path, bytes)
      const code = await readAll(path, expected).then(
        () => 'accepted',
        (error) => error.code,
      )
      if (code !== 'snapshot_damaged' && code !== 'format_too_new') accepted.push(bit)
    }
    t.strictSame(accepted, [], `${good.length * 8} flips`)
    for (let length = 0; length < good.length; length++) {
      await writeFile(path, good.subarray(0, length))
      await t.rejects(readAll(path, expected), { code: 'snapshot_damaged' })
    }
    await writeFile(path, good)
    await t.rejects(readAll(path, { ...expected, lsn: 43 }), { code: 'snapshot_damaged' }, 'another LSN')
    await t.rejects(readAll(path, { ...expected, part: 2 }), { code: 'snapshot_damaged' }, 'another part')
    await t.rejects(
      readAll(path, { ...expected, sum: '0000000000000000' }),
      { code: 'snapshot_damaged' },
      'other chunks',
    )
  })
})
