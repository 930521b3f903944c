// What changed in a sequence of sections: the same sections in the same order, each with a body of one of two kinds. Specified in
// docs/formats/sections.md.
//
//   whole:    | f64 1 | body |
//   changes:  | f64 2 | f64 bytes before | f64 bytes of head | f64 bytes after it | f64 runs | head
//             | runs: u32 first block, u32 blocks | their bytes, without gaps |
//
// A reader gets the sections as of the newest changes while it reads the first sequence, so everything that checks a loaded section checks
// the result. Input may be damaged or hostile.
import { freeBuffer } from '@annal/wal'
import { assert } from '../errors.ts'
import { type BlockRuns, changedBlockBytes, runBytes } from './changed-blocks.ts'
import {
  type ByteSource,
  chain,
  damaged,
  joined,
  numbersPart,
  type Section,
  SectionBody,
  SectionReader,
  sourceOf,
} from './sections.ts'

/** On disk: never renumbered, zero is invalid. */
const kind = { whole: 1, changes: 2 } as const
const numbersOfChanges = 5

/** The changes of sections, to be written in their place. */
export function changedSections(sections: readonly Section[]): Section[] {
  return sections.map((section) => {
    const { name, changes, release } = section
    if (changes === undefined) {
      const head = numbersPart([kind.whole])
      return { name, length: head.length + section.length, parts: chain(head, section.parts), release }
    }
    const { before, head, length, runs, pieces } = changes
    const numbers = numbersPart([kind.changes, before, head.length, length, runs.length / 2])
    const start = joined([numbers, head, new Uint8Array(runs.buffer, runs.byteOffset, runs.byteLength)])
    return { name, length: start.length + runBytes(runs, length), parts: chain(start, pieces), release }
  })
}

export function sectionBytes(sections: readonly Section[]): number {
  return sections.reduce((sum, { length }) => sum + length, 0)
}

/** One section of a file of changes. */
type Change = WholeSection | Patch

interface WholeSection {
  readonly name: string
  readonly kind: 'whole'
  readonly body: Uint8Array
}

interface Patch {
  readonly name: string
  readonly kind: 'changes'
  readonly before: number
  readonly head: Uint8Array
  readonly length: number
  readonly runs: BlockRuns
  readonly bytes: Uint8Array
}

/** Reads one file of changes. Throws snapshot_damaged. */
async function readChanges(source: SectionSource, part: string): Promise<readonly Change[]> {
  const reader = new SectionReader(source, part)
  const changes: Change[] = []
  while (source.left > 0) changes.push(await readChange(await reader.open(await reader.nextName())))
  await source.end()
  return changes
}

async function readChange(body: SectionBody): Promise<Change> {
  const name = body.part.slice(body.part.lastIndexOf('/') + 1)
  const [number] = await body.takeNumbers(1)
  if (number === kind.whole) {
    const whole = await body.take(body.remaining)
    await body.end()
    return { name, kind: 'whole', body: whole }
  }
  if (number !== kind.changes) throw body.damaged(`its kind is ${number}`)
  const [before = -1, headBytes = -1, length = -1, count = -1] = await body.takeNumbers(numbersOfChanges - 1)
  if (![before, headBytes, length, count].every((it) => Number.isSafeInteger(it) && it >= 0) || length < before)
    throw body.damaged(`it grows from ${before} to ${length} bytes in ${count} runs after ${headBytes}`)
  const head = await body.take(headBytes)
  const runs = new Uint32Array((await body.take(count * 8)).buffer)
  checkRuns(runs, { before, length }, body)
  const bytes = await body.take(body.remaining)
  await body.end()
  return { name, kind: 'changes', before, head, length, runs, bytes }
}

/** Runs ascend, lie within the bytes, cover everything that was added, and their bytes follow. */
function checkRuns(runs: BlockRuns, { before, length }: Pick<Patch, 'before' | 'length'>, body: SectionBody): void {
  let end = 0
  for (let i = 0; i < runs.length; i += 2) {
    const [first, blocks] = [runs[i]!, runs[i + 1]!]
    if (blocks === 0 || (i > 0 && first <= end) || (first + blocks - 1) * changedBlockBytes >= length)
      throw body.damaged(`run ${i / 2} has ${blocks} blocks from ${first}`)
    end = first + blocks
  }
  const isCovered =
    length === before ||
    (runs.length > 0 && runs.at(-2)! * changedBlockBytes <= before && end * changedBlockBytes >= length)
  if (!isCovered) throw body.damaged(`it does not have the bytes from ${before} to ${length}`)
  if (runBytes(runs, length) !== body.remaining) throw body.damaged(`${body.remaining} bytes do not make its runs`)
}

/** A source that knows how much is left, such as one file of a snapshot. */
export interface SectionSource extends ByteSource {
  readonly left: number
}

/** Reads sections as later files of changes leave them. */
export class ChangedSectionReader extends SectionReader {
  readonly #source: SectionSource
  readonly #part: string
  readonly #files: readonly (readonly Change[])[]
  #position = 0

  private constructor(source: SectionSource, part: string, files: readonly (readonly Change[])[]) {
    super(source, part)
    this.#source = source
    this.#part = part
    this.#files = files
  }

  /** Reads the files of changes, which are opened one after another. Throws snapshot_damaged. */
  static async over(source: SectionSource, part: string, deltas: AsyncIterable<SectionSource>): Promise<SectionReader> {
    const files: (readonly Change[])[] = []
    for await (const delta of deltas) files.push(await readChanges(delta, `${part}, changes`))
    return files.length === 0 ? new SectionReader(source, part) : new ChangedSectionReader(source, part, files)
  }

  override async open(name: string): Promise<SectionBody> {
    const part = `${this.#part}/${name}`
    const there = this.#files.at(-1)?.[this.#position++]?.name
    if (there !== name) throw damaged(part, `section "${there}" is in its place`)
    const { whole, patches } = this.#changesOf(name, part)
    if (whole === undefined) return patchedBody(await super.open(name), patches)
    // The first file has it as well, unless it is new.
    if (await this.#hasNext(name)) await skipSection(await super.open(name))
    return patches.length === 0 ? wholeBody(whole, part) : patchedBody(wholeBody(whole, part), patches)
  }

  /** The newest body that a file of changes has, if any, and the changes after it, oldest first. */
  #changesOf(name: string, part: string): { readonly whole: WholeSection | undefined; readonly patches: Patch[] } {
    const patches: Patch[] = []
    for (const file of this.#files.toReversed()) {
      const change = file.find((one) => one.name === name)
      if (change?.kind === 'whole') return { whole: change, patches }
      if (change === undefined || change.length !== (patches[0]?.before ?? change.length))
        throw damaged(part, 'its changes do not follow one another')
      patches.unshift(change)
    }
    return { whole: undefined, patches }
  }

  async #hasNext(name: string): Promise<boolean> {
    return this.#source.left > 0 && (await this.nextName()) === name
  }
}

async function skipSection(body: SectionBody): Promise<void> {
  await body.skip()
  await body.end()
}

function wholeBody({ body }: WholeSection, part: string): SectionBody {
  return new SectionBody(sourceOf([body, new Uint8Array(8)], part), part, body.length)
}

async function patchedBody(base: SectionBody, patches: readonly Patch[]): Promise<SectionBody> {
  const [oldest, newest] = [patches[0], patches.at(-1)]
  assert(oldest && newest, 'a section has changes')
  const headBytes = base.length - oldest.before
  if (headBytes < 0) throw base.damaged(`its changes follow ${oldest.before} bytes`)
  await base.take(headBytes)
  return new PatchedBody(base, patches, newest)
}

/** The body of a section with the changes of later files. */
class PatchedBody extends SectionBody {
  readonly #base: SectionBody

  constructor(base: SectionBody, patches: readonly Patch[], newest: Patch) {
    super(new PatchedSource(base, patches, newest), base.part, newest.head.length + newest.length)
    this.#base = base
  }

  override async end(): Promise<void> {
    if (this.remaining !== 0) throw this.damaged(`${this.remaining} bytes more than expected`)
    await this.#base.end()
    this.ended = true
  }
}

class PatchedSource {
  readonly #base: SectionBody
  readonly #head: Uint8Array
  readonly #cursors: readonly PatchCursor[]
  #position = 0

  constructor(base: SectionBody, patches: readonly Patch[], newest: Patch) {
    this.#base = base
    this.#head = newest.head
    this.#cursors = patches.map((patch) => new PatchCursor(patch))
  }

  /** Reads what the base has directly into the targets, and puts the changes over it. */
  async fill(...targets: readonly Uint8Array[]): Promise<void> {
    const placed: { readonly target: Uint8Array; readonly from: number }[] = []
    for (const target of targets) {
      const inHead = Math.max(0, Math.min(target.length, this.#head.length - this.#position))
      target.set(this.#head.subarray(this.#position, this.#position + inHead))
      placed.push({ target: target.subarray(inHead), from: this.#position + inHead - this.#head.length })
      this.#position += target.length
    }
    let left = this.#base.remaining
    const fromBase = placed.map(({ target }) => {
      const piece = target.subarray(0, left)
      left -= piece.length
      return piece
    })
    await this.#base.fill(...fromBase)
    for (const { target, from } of placed) for (const cursor of this.#cursors) cursor.put(target, from)
  }
}

/** Goes through the runs of a file of changes once. */
class PatchCursor {
  readonly #patch: Patch
  #run = 0
  /** Offset of the bytes of the run. */
  #offset = 0

  constructor(patch: Patch) {
    this.#patch = patch
  }

  /** Copies what the runs have for the bytes of `target`, which begins at `start`. Targets follow one another. */
  put(target: Uint8Array, start: number): void {
    const { runs, bytes, length } = this.#patch
    const end = start + target.length
    while (this.#run < runs.length) {
      const first = runs[this.#run]! * changedBlockBytes
      const last = Math.min(first + runs[this.#run + 1]! * changedBlockBytes, length)
      if (first >= end) return
      const [from, to] = [Math.max(first, start), Math.min(last, end)]
      target.set(bytes.subarray(this.#offset + from - first, this.#offset + to - first), from - start)
      if (last > end) return
      this.#offset += last - first
      this.#run += 2
    }
    freeBuffer(bytes.buffer)
  }
}
