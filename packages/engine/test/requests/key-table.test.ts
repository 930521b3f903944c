// The table of request keys against a list of keys, with random limits and times: what is found, what is forgotten, and what a dump has.
import { createHash } from 'node:crypto'
import { chosenSeed, type Random, seededRandom } from '@annal/wal/testing'
import { test } from 'tap'
import { agedRemovalsMax, type KeptKey, KeyTable, type KeyTableLimits } from '../../src/requests/key-table.ts'

const seed = chosenSeed()
const rounds = process.env.ANNAL_LONG === '1' ? 200 : 5

function idOf(number: number): Uint8Array {
  return createHash('sha256').update(`${number}`).digest().subarray(0, 16)
}

/** Does the same with a list, slowly. */
class Model {
  keys: KeptKey[] = []
  #bytes = 0
  readonly #limits: KeyTableLimits

  constructor(limits: KeyTableLimits) {
    this.#limits = limits
  }

  add(key: KeptKey): void {
    this.keys.push(key)
    const { max, maxAgeMs } = this.#limits
    this.#bytes += Buffer.byteLength(key.facts)
    for (let aged = 0; this.keys.length > 1; ) {
      const isOver = this.keys.length > max || this.#bytes > 64 * max
      const isOld = (this.keys[0] as KeptKey).timeMs < key.timeMs - maxAgeMs
      if (!isOver && (!isOld || ++aged > agedRemovalsMax)) return
      this.#bytes -= Buffer.byteLength(this.keys.shift()?.facts ?? '')
    }
  }

  find(id: Uint8Array, nowMs: number): KeptKey | undefined {
    const found = this.keys.findLast((key) => Buffer.compare(key.id, id) === 0)
    return found && found.timeMs >= nowMs - this.#limits.maxAgeMs ? found : undefined
  }
}

/** Comparable. */
function plain(key: KeptKey | undefined): unknown {
  const { facts, lsn, timeMs } = key ?? {}
  return (
    key && {
      id: Buffer.from(key.id).toString('hex'),
      digest: Buffer.from(key.digest).toString('hex'),
      facts,
      lsn,
      timeMs,
    }
  )
}

function someFacts(random: Random): string {
  if (random.chance(0.4)) return ''
  return JSON.stringify({ text: 'ä'.repeat(random.below(random.chance(0.05) ? 3_000 : 40)) })
}

test(`a table finds and forgets what a list would, seed ${seed}`, async (t) => {
  const random = seededRandom(seed)
  let [lookups, hits, forgotten] = [0, 0, 0]
  for (let round = 0; round < rounds; round++) {
    const limits = { max: 1 + random.below(round % 3 === 0 ? 10 : 9_000), maxAgeMs: 1 + random.below(5_000) }
    let table = new KeyTable(limits)
    const model = new Model(limits)
    const ids = 1 + random.below(round % 2 === 0 ? 4_000 : 40)
    let [lsn, timeMs] = [0, 1_000]
    for (let step = 0; step < 2_500; step++) {
      lsn += 1 + random.below(3)
      timeMs += random.chance(0.1) ? random.below(50) : 0
      const id = idOf(random.below(ids))
      // The engine adds a key again only when it is no longer found.
      if (table.find(id, timeMs) === undefined) {
        const key = { id, digest: idOf(step), facts: someFacts(random), lsn, timeMs }
        table.add(key)
        model.add(key)
      }
      if (step % 7 === 0) {
        const wanted = idOf(random.below(ids))
        const found = model.find(wanted, timeMs)
        lookups++
        if (found) hits++
        const [got, expected] = [table.find(wanted, timeMs), found].map((key) => JSON.stringify(plain(key)))
        if (got !== expected) t.fail(`lookup ${step} of round ${round}: ${got} instead of ${expected}`)
      }
      if (step % 500 === 499) {
        // What a checkpoint and a start do, with a file for a part of the keys.
        const middle = model.keys[random.below(model.keys.length)]?.lsn ?? 0
        const pieces = [table.dump(0, middle), table.dump(middle, lsn)].map((one) => Buffer.concat(one))
        const again = new KeyTable(limits)
        for (const bytes of pieces) again.load(bytes)
        t.equal(again.count, model.keys.length)
        table = again
      }
    }
    t.equal(table.count, model.keys.length, `count of round ${round}`)
    t.equal(table.lsnFirst, model.keys[0]?.lsn)
    const from = model.keys[random.below(model.keys.length)]?.lsn ?? 0
    t.equal(table.countAfter(from), model.keys.filter((key) => key.lsn > from).length)
    for (const key of model.keys.slice(-50))
      t.strictSame(plain(table.find(key.id, timeMs)), plain(model.find(key.id, timeMs)))
    forgotten += lsn - model.keys.length
  }
  t.ok(hits > 100 && forgotten > 1_000, `${lookups} lookups, ${hits} hits, ${forgotten} forgotten`)
})

test('a key takes less than 90 bytes, index and short facts included', async (t) => {
  const keys = 60_000
  const table = new KeyTable({ max: keys, maxAgeMs: 1e9 })
  const id = Buffer.alloc(16)
  for (let n = 1; n <= keys; n++) {
    // Uniform, as hashes are.
    for (let word = 0; word < 4; word++)
      id.writeInt32LE(Math.imul(n * 4 + word, 0x9e3779b1) ^ (n * 0x85ebca6b), word * 4)
    table.add({ id, digest: id, facts: '{"upserted":1000}', lsn: n, timeMs: n })
  }
  t.equal(table.count, keys)
  t.ok(table.bytes / keys < 90, `${table.bytes / keys} bytes a key`)
})

test('after a long pause, each record removes some of the old keys, and none of them is found', async (t) => {
  const table = new KeyTable({ max: 10_000, maxAgeMs: 10 })
  for (let n = 1; n <= 2_000; n++)
    table.add({ id: idOf(n), digest: idOf(0), facts: '', lsn: n, timeMs: n === 1 ? 0 : 5 })
  t.equal(table.count, 2_000)
  for (let n = 2_001; n <= 2_008; n++) {
    const before = table.count
    table.add({ id: idOf(n), digest: idOf(0), facts: '', lsn: n, timeMs: 1_000 })
    t.ok(table.count >= before + 1 - agedRemovalsMax)
    t.equal(table.find(idOf(2_000), 1_000), undefined)
    t.equal(table.find(idOf(n), 1_000)?.lsn, n)
  }
  t.equal(table.count, 8)
})

test('keys are added in the order of their records', async (t) => {
  const table = new KeyTable({ max: 10, maxAgeMs: 10 })
  const key = { id: idOf(1), digest: idOf(2), facts: '', lsn: 5, timeMs: 1 }
  table.add(key)
  t.throws(() => table.add(key), /record 5 follows that of record 5/)
  t.throws(() => new KeyTable({ max: 1, maxAgeMs: 1 }).load(Buffer.alloc(60, 1)), RangeError)
})
