// Sections that are written as changes: after any calls, all of them and the files of changes after it give what a complete dump gives at that
// moment, whatever is written meanwhile, and damage is refused.
import { test } from 'tap'
import { FilterIndex } from '../../src/filter/filter-index.ts'
import { ChangedBlocks, changedBlockBytes, runBytes } from '../../src/memory/changed-blocks.ts'
import { Column } from '../../src/memory/column.ts'
import { IdTable } from '../../src/memory/id-table.ts'
import { ChangedSectionReader, changedSections } from '../../src/memory/section-changes.ts'
import { type DumpOptions, type Section, sectionOf, sourceOf, writeSections } from '../../src/memory/sections.ts'
import { hashSeed, randomOf, sectionBytes, seedOf } from './rig.ts'

/** Memory of every kind: hash pages, heaps, columns, postings, bitmaps. */
class World {
  ids = new IdTable(hashSeed)
  filters = new FilterIndex(hashSeed)
  slots = new Column('u32')
  forms: Column | undefined
  readonly living = new Map<number, string>()
  end = 0
  next = 0

  change(random: () => number): void {
    const kind = random()
    const some = [...this.living.keys()][Math.floor(random() * this.living.size)]
    if (kind < 0.6 || some === undefined) this.#insert(this.end++, random)
    else if (kind < 0.8) this.#remove(some)
    else if (kind < 0.9) {
      this.#remove(some)
      this.#insert(some, random)
    } else this.slots.set(some, Math.floor(random() * 1_000))
    if (this.end > 400) this.forms ??= new Column('u8')
    this.forms?.set(this.end - 1, this.end % 3)
  }

  #insert(ordinal: number, random: () => number): void {
    const id = `${this.next++} ${'x'.repeat(Math.floor(random() ** 4 * 60))}`
    this.ids.insert(id, ordinal)
    this.filters.set(ordinal, valuesOf(ordinal))
    this.slots.set(ordinal, ordinal + 1)
    this.living.set(ordinal, id)
  }

  #remove(ordinal: number): void {
    this.ids.remove(this.living.get(ordinal) ?? '')
    this.ids.release(ordinal)
    this.filters.remove(ordinal, valuesOf(ordinal))
    this.living.delete(ordinal)
  }

  dump(options: DumpOptions = {}): Section[] {
    return [
      sectionOf('head', Uint8Array.from([this.end & 255, this.end >>> 8, 0, 0, 0, 0, 0, 0])),
      ...this.ids.dump('ids', options),
      ...this.filters.dump('filters', options),
      this.slots.dump('slots', this.end, options),
      ...(this.forms ? [this.forms.dump('forms', this.end, options)] : []),
    ]
  }

  /** The same memory, loaded from files. */
  async loaded(files: readonly Uint8Array[], pieceBytes: number, hasForms = this.forms !== undefined): Promise<World> {
    const [first, ...later] = files.map((file) => countedSource(file, pieceBytes))
    const reader = await ChangedSectionReader.over(first as ReturnType<typeof countedSource>, 'part', inTurn(later))
    const world = new World()
    const head = await reader.open('head')
    const [low = 0, high = 0] = await head.take(8)
    await head.end()
    world.end = low + high * 256
    world.ids = await IdTable.load(reader, 'ids')
    world.filters = await FilterIndex.load(reader, 'filters')
    world.slots = await Column.load(reader, 'slots', 'u32', world.end)
    if (hasForms) world.forms = await Column.load(reader, 'forms', 'u8', world.end)
    await first?.end()
    for (const [ordinal, id] of this.living) world.living.set(ordinal, id)
    world.next = this.next
    return world
  }
}

function valuesOf(ordinal: number) {
  return { group: ordinal % 7, text: `t${ordinal % 41}`, all: true, own: ordinal * 1.5 }
}

/** A source that knows how many bytes are left. */
function countedSource(bytes: Uint8Array, pieceBytes: number) {
  const pieces = Array.from({ length: Math.ceil(bytes.length / pieceBytes) }, (_, i) =>
    bytes.subarray(i * pieceBytes, (i + 1) * pieceBytes),
  )
  const source = sourceOf(pieces)
  let left = bytes.length
  return {
    ...source,
    get left() {
      return left
    },
    async fill(...targets: readonly Uint8Array[]) {
      left -= targets.reduce((sum, { length }) => sum + length, 0)
      await source.fill(...targets)
    },
  }
}

async function* inTurn<T>(all: readonly T[]): AsyncGenerator<T> {
  yield* all
}

const seed = seedOf('section-changes')

test(`a file and its changes give what a complete dump gives, seed ${seed}`, async (t) => {
  const random = randomOf(seed)
  for (let round = 0; round < 12; round++) {
    let world = new World()
    for (let i = random() * 600; i > 0; i--) world.change(random)
    let files = [sectionBytes(...world.dump({ changes: 'restart' }))]
    for (let step = 0; step < 6; step++) {
      for (let i = random() ** 3 * 500; i > 0; i--) world.change(random)
      const [wanted, hasForms] = [sectionBytes(...world.dump()), world.forms !== undefined]
      const pieces: Buffer[] = []
      for (const piece of writeSections(changedSections(world.dump({ changes: 'restart' })))) {
        pieces.push(Buffer.from(piece))
        // Copied before it is written over.
        if (random() < 0.5) world.change(random)
      }
      files = [...files, Buffer.concat(pieces)]
      const loaded = await world.loaded(files, 1 + Math.floor(random() * 3_000), hasForms)
      if (!sectionBytes(...loaded.dump()).equals(wanted)) return t.fail(`round ${round}, step ${step}`)
      if (random() < 0.3) {
        // Goes on from the files that it was loaded from. What is alive there is not known here, so objects are only added.
        world = await world.loaded(files, 500, hasForms)
        world.living.clear()
      }
    }
  }
  t.pass()
})

test('changes of a few ids are small', async (t) => {
  const world = new World()
  const random = randomOf(7)
  for (let i = 0; i < 5_000; i++) world.change(random)
  const whole = sectionBytes(...world.dump({ changes: 'restart' }))
  for (let i = 0; i < 20; i++) world.change(random)
  const changes = sectionBytes(...changedSections(world.dump({ changes: 'restart' })))
  t.ok(changes.length < whole.length / 3, `${changes.length} of ${whole.length}`)
  const none = sectionBytes(...changedSections(world.dump({ changes: 'read' })))
  t.ok(none.length < changes.length)
})

test(`damaged changes are refused or give nothing that walks out of memory, seed ${seed}`, async (t) => {
  const random = randomOf(seed)
  const world = new World()
  for (let i = 0; i < 600; i++) world.change(random)
  const first = sectionBytes(...world.dump({ changes: 'restart' }))
  for (let i = 0; i < 60; i++) world.change(random)
  const second = sectionBytes(...changedSections(world.dump({ changes: 'restart' })))
  let refused = 0
  for (let i = 0; i < 300; i++) {
    const bad = Uint8Array.from(second)
    const kind = i % 3
    const position = Math.floor(random() * bad.length)
    if (kind === 0) bad[position]! ^= 1 << Math.floor(random() * 8)
    else if (kind === 1) new DataView(bad.buffer).setUint32(position & ~3 & (bad.length - 5), random() * 2 ** 32, true)
    const bytes = kind === 2 ? bad.subarray(0, position) : bad
    try {
      await world.loaded([first, bytes], 2_000)
    } catch (error) {
      refused++
      const { code } = error as { code?: string }
      if (code !== 'snapshot_damaged') t.fail(`${kind} at ${position}: ${(error as Error).stack}`)
    }
  }
  t.ok(refused > 100, `${refused} refused`)
  // Changes that follow other bytes.
  const other = new World()
  for (let i = 0; i < 100; i++) other.change(random)
  await t.rejects(world.loaded([sectionBytes(...other.dump()), second], 2_000), { code: 'snapshot_damaged' })
  await t.rejects(world.loaded([first, second, second], 2_000), { code: 'snapshot_damaged' })
})

test(`runs name every changed block once, seed ${seed}`, (t) => {
  const random = randomOf(seed)
  for (let round = 0; round < 300; round++) {
    const length = Math.floor(random() * 20_000)
    const end = length + (random() < 0.3 ? 0 : Math.floor(random() * 3_000))
    const changed = new ChangedBlocks(length)
    const wanted = new Set<number>()
    for (let i = random() * 30; i > 0; i--) {
      const from = Math.floor(random() * end)
      const bytes = Math.min(end - from, 1 + Math.floor(random() ** 3 * 5_000))
      changed.add(from, bytes)
      for (let byte = from; byte < Math.min(from + bytes, length); byte++)
        wanted.add(Math.floor(byte / changedBlockBytes))
    }
    for (let byte = length; byte < end; byte++) wanted.add(Math.floor(byte / changedBlockBytes))
    const runs = changed.runs(end)
    const found: number[] = []
    for (let i = 0; i < runs.length; i += 2) {
      if (i > 0 && runs[i]! <= runs[i - 2]! + runs[i - 1]!) t.fail('runs touch')
      for (let block = 0; block < runs[i + 1]!; block++) found.push(runs[i]! + block)
    }
    if (String(found) !== String([...wanted].sort((a, b) => a - b))) return t.fail(`round ${round}: ${found}`)
    const last = end % changedBlockBytes
    const whole = wanted.size * changedBlockBytes
    const isLast = wanted.has(Math.floor((end - 1) / changedBlockBytes)) && last > 0
    t.equal(runBytes(runs, end), isLast ? whole - changedBlockBytes + last : whole)
  }
  t.end()
})
