import { test } from 'tap'
import { HashPages } from '../../src/memory/hash-pages.ts'
import { randomOf, readerOf, sectionBytes, seedOf } from './rig.ts'

/** A table whose entries are searched by ordinal. */
function tableOf(): {
  table: HashPages
  find: (hash: number, ordinal: number) => boolean
  matches: (it: number) => boolean
  use: (table: HashPages) => void
} {
  let wanted = 0
  const matches = (ordinal: number): boolean => ordinal === wanted
  let table = new HashPages(matches)
  return {
    table,
    matches,
    use: (other) => {
      table = other
    },
    find: (hash, ordinal) => {
      wanted = ordinal
      const slot = table.find(hash)
      return slot >= 0 && table.ordinalAt(slot) === ordinal
    },
  }
}

test('thousands of hashes with a common prefix, or all equal, are found and removed like others', async (t) => {
  const random = randomOf(seedOf('alike'))
  const hashes = Array.from({ length: 20_000 }, (_, index) => {
    if (index % 4 === 0) return 0xabcdef12
    if (index % 4 === 1) return (0xabcde000 | Math.floor(random() * 4_096)) >>> 0
    return Math.floor(random() * 2 ** 32)
  })
  const { table, find, matches, use } = tableOf()
  for (const [ordinal, hash] of hashes.entries()) table.add(hash, ordinal)
  t.equal(table.count, 20_000)
  t.ok(hashes.every((hash, ordinal) => find(hash, ordinal)))
  t.notOk(find(0xabcdef12, 99_999))
  const bytes = sectionBytes(table.dump('p'))
  const loaded = await HashPages.load(readerOf(bytes, 1 << 20), 'p', { matches, ordinalEnd: 20_000 })
  use(loaded)
  t.ok(hashes.every((hash, ordinal) => find(hash, ordinal)))
  for (let ordinal = 0; ordinal < 20_000; ordinal += 2) {
    find(hashes[ordinal]!, ordinal)
    loaded.remove(loaded.find(hashes[ordinal]!))
  }
  t.ok(hashes.every((hash, ordinal) => find(hash, ordinal) === (ordinal % 2 === 1)))
  t.equal(loaded.count, 10_000)
})
