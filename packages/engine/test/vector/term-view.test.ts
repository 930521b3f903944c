// Lookups of a reader that has the memory of an earlier moment: an index that was there then is found, or the reader learns that it has to look
// again; it never takes it for an index without postings.
import { chosenSeed, seededRandom } from '@annal/wal/testing'
import { test } from 'tap'
import type { SharedBytes } from '../../src/memory/chunks.ts'
import { changing, TermView } from '../../src/vector/sparse/term-view.ts'
import { Vocabulary } from '../../src/vector/sparse/vocabulary.ts'

const seed = chosenSeed()
const terms = process.env.ANNAL_LONG === '1' ? 2_000_000 : 200_000
const wordsOf = (chunk: SharedBytes | undefined) => chunk && new Uint32Array(chunk.buffer)

function viewOf(vocabulary: Vocabulary): TermView {
  const { terms: records, termPages } = vocabulary.chunks
  const [ownRecords, ownPages] = [records.map(wordsOf), termPages.map(wordsOf)]
  const chunks = { terms: (chunk: number) => ownRecords[chunk], termPages: (chunk: number) => ownPages[chunk] }
  return new TermView(vocabulary.shared, chunks, () => undefined)
}

test(`indices are never lost while the table grows (ANNAL_SEED=${seed})`, (t) => {
  const random = seededRandom(seed)
  const vocabulary = new Vocabulary()
  const known: number[] = []
  const gone = new Set<number>()
  const counts = { found: 0, changing: 0, lost: 0, wrong: 0 }
  while (known.length < terms) {
    const view = viewOf(vocabulary)
    const before = known.length
    const goneBefore = gone.size
    const check = () => {
      for (let i = 0; i < 8 && before > 0; i++) {
        const index = known[random.below(before)]!
        const place = view.placeOf(index)
        if (place === changing) counts.changing++
        else if (place === undefined) counts.lost += gone.has(index) ? 0 : 1
        else if ('ordinal' in place && place.ordinal === index % 1000 && place.weight === index % 7) counts.found++
        else counts.wrong++
      }
    }
    // Small steps also find tables that got another page, but not another directory.
    const most = random.below(8) === 0 ? known.length : Math.min(known.length, 2_000)
    for (let added = 1 + random.below(1 + most); added > 0 && known.length < terms; added--) {
      const index = random.below(2 ** 32)
      if (vocabulary.find(index) >= 0 || gone.has(index)) continue
      const term = vocabulary.findOrAdd(index)
      vocabulary.setSingle(term, { ordinal: index % 1000, weight: index % 7 })
      known.push(index)
      if (added % 64 === 0) check()
    }
    for (let removed = random.below(1 + most / 8); removed > 0; removed--) {
      const index = known[random.below(known.length)]!
      if (gone.has(index)) continue
      gone.add(index)
      vocabulary.remove(vocabulary.find(index))
    }
    check()
    t.ok(gone.size >= goneBefore)
  }
  t.comment(JSON.stringify(counts))
  t.equal(counts.lost, 0)
  t.equal(counts.wrong, 0)
  t.ok(counts.found > counts.changing && counts.changing > 0)
  t.end()
})
