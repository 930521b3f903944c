// The descriptor of a query of a sparse field: its lists with their scaled weights, space for the kernel to work in, and then the
// hits. It is in the memory of the field, so nothing else is passed to the thread that runs the query.
import { elementAt } from '../element-at.ts'
import { directoryHeadBytes, type SinglePosting } from './lists.ts'
import type { SparseMemory } from './memory.ts'
import type { SparseViews, WeighedList } from './term-view.ts'
import type { TextImpacts } from './text-lists.ts'

/** Words of a descriptor and of a list; assembly/sparse/layout.ts has the same numbers. */
const word = {
  lists: 0,
  k: 1,
  version: 2,
  allowed: 3,
  allowedBits: 4,
  listArea: 5,
  scores: 6,
  marks: 7,
  order: 8,
  best: 9,
  unscale: 10,
  found: 12,
  scored: 13,
  postings: 14,
  form: 15,
  base: 16,
  slope: 18,
  required: 20,
  map: 21,
} as const
const listWord = { directory: 0, blocks: 1, current: 2, probe: 3, weight: 4, bound: 6 } as const
const headBytes = 96
const listBytes = 64
/** A directory and a block, 32 bytes each. */
const singleBytes = 64
const window = 1024
const mapBytes = 2 ** 14
/** Scores are integers below 2 to this power, so that sums fit in 64 bits. */
const scoreBits = 60

export interface Descriptor {
  readonly address: number
  readonly bytes: number
}

export interface SparseAnswer {
  readonly ordinals: Uint32Array
  readonly similarities: Float32Array
  readonly scored: number
  readonly postings: number
}

export interface DescriptorOptions<Allowed> {
  readonly k: number
  readonly version: number
  readonly allowed: Allowed | undefined
  /** For texts. */
  readonly impacts?: TextImpacts | undefined
}

/** A bitmap of ordinals in the memory of the field. */
export interface AllowedBits {
  readonly address: number
  readonly bits: number
}

/** Writes the descriptor and the words of the bitmap to memory that is allocated for them. */
export function writeDescriptor(
  memory: SparseMemory,
  lists: readonly WeighedList[],
  options: DescriptorOptions<Uint32Array>,
): Descriptor {
  const { k, allowed, impacts } = options
  const ownBytes = descriptorBytes(lists, k, impacts)
  const allowedBytes = allowed === undefined ? 0 : Math.ceil(allowed.length / 4) * 16
  // Sizes are powers of two, so that a descriptor fits into the space of an earlier one.
  const bytes = 2 ** Math.ceil(Math.log2(ownBytes + allowedBytes))
  const address = memory.allocate(bytes)
  const place = allowed && { address: address + ownBytes, bits: allowed.length * 32 }
  if (allowed && place) memory.u32.set(allowed, place.address / 4)
  fillDescriptor(memory, address, lists, { ...options, allowed: place })
  return { address, bytes }
}

/** Bytes of a descriptor, a multiple of 16. */
export function descriptorBytes(lists: readonly WeighedList[], k: number, impacts?: TextImpacts): number {
  let singles = 0
  for (const { list } of lists) if ('ordinal' in list) singles++
  return headBytes + lists.length * listBytes + singles * singleBytes + bytesOf(areaBytes(lists.length, k, impacts))
}

function areaBytes(lists: number, k: number, impacts: TextImpacts | undefined) {
  const map = impacts !== undefined && impacts.required > 1 ? mapBytes : 0
  return { scores: window * 8, marks: window / 8, order: Math.ceil(lists / 4) * 16, map, best: k * 16 }
}

function bytesOf(parts: ReturnType<typeof areaBytes>): number {
  return parts.scores + parts.marks + parts.order + parts.map + parts.best
}

/** Writes the descriptor at an address that has space for it. */
export function fillDescriptor(
  views: SparseViews,
  address: number,
  lists: readonly WeighedList[],
  options: DescriptorOptions<AllowedBits>,
): void {
  const { k, version, allowed, impacts } = options
  const { u32, f64 } = views
  const parts = areaBytes(lists.length, k, impacts)
  const head = address / 4
  let single = address + headBytes + lists.length * listBytes
  u32[head + word.listArea] = address + headBytes
  // The last parts, after the single postings.
  let next = address + descriptorBytes(lists, k, impacts) - bytesOf(parts)
  for (const name of ['scores', 'marks', 'order', 'map', 'best'] as const) {
    u32[head + word[name]] = next
    next += parts[name]
  }
  u32[head + word.lists] = lists.length
  u32[head + word.k] = k
  u32[head + word.version] = version
  u32[head + word.allowed] = allowed?.address ?? 0
  u32[head + word.allowedBits] = allowed?.bits ?? 0
  u32[head + word.form] = impacts === undefined ? 0 : impacts.isDriven ? 2 : 1
  u32[head + word.required] = impacts?.required ?? 0
  f64[(head + word.base) / 2] = impacts?.base ?? 0
  f64[(head + word.slope) / 2] = impacts?.slope ?? 0
  const scale = scaleFor(lists)
  f64[(head + word.unscale) / 2] = 1 / scale
  // Lists that can add least come first, because they are the ones that are only probed.
  const ordered = impacts?.isDriven ? lists : [...lists].sort((a, b) => a.weight * a.magnitude - b.weight * b.magnitude)
  ordered.forEach(({ list, weight, magnitude }, i) => {
    const from = (address + headBytes + i * listBytes) / 4
    if ('ordinal' in list) writeSingle(views, single, list)
    const { directory, blocks } = 'ordinal' in list ? { directory: single, blocks: 1 } : list
    if ('ordinal' in list) single += singleBytes
    u32[from + listWord.directory] = directory
    u32[from + listWord.blocks] = blocks
    u32[from + listWord.current] = 0
    u32[from + listWord.probe] = 0
    f64[(from + listWord.weight) / 2] = weight * scale
    writeAbove(u32, from + listWord.bound, Math.ceil(weight * scale * magnitude))
  })
}

/** Writes a whole number, below 2^63, plus 1, as i64. The sum may have more digits than a number. */
function writeAbove(u32: SparseViews['u32'], at: number, whole: number): void {
  const low = whole % 2 ** 32
  const carries = low === 2 ** 32 - 1
  u32[at] = carries ? 0 : low + 1
  u32[at + 1] = (whole - low) / 2 ** 32 + Number(carries)
}

/** A list with one block of one posting, as lists.ts would create it. */
function writeSingle({ u32, f32 }: SparseViews, address: number, { ordinal, weight }: SinglePosting): void {
  const directory = address / 4
  const block = (address + singleBytes / 2) / 4
  u32[directory] = 1
  u32[directory + 1] = 1
  f32[directory + 2] = Math.abs(weight)
  u32[(address + directoryHeadBytes) / 4] = address + singleBytes / 2
  u32[block] = 1
  u32[block + 1] = 1
  u32[block + 2] = ordinal
  u32[block + 4] = ordinal
  f32[block + 3] = weight
  f32[block + 5] = weight
}

/** The power of two that scales the largest possible sum to just below the largest integer. */
function scaleFor(lists: readonly WeighedList[]): number {
  const most = lists.reduce((sum, { weight, magnitude }) => sum + weight * magnitude, 0)
  return most > 0 ? 2 ** Math.min(900, scoreBits - Math.ceil(Math.log2(most))) : 1
}

export function readDescriptor({ u32, f32 }: SparseViews, address: number): SparseAnswer {
  const head = address / 4
  const found = elementAt(u32, head + word.found)
  const best = elementAt(u32, head + word.best) / 4
  const ordinals = new Uint32Array(found)
  const similarities = new Float32Array(found)
  for (let i = 0; i < found; i++) {
    ordinals[i] = elementAt(u32, best + i * 4)
    similarities[i] = elementAt(f32, best + i * 4 + 1)
  }
  return {
    ordinals,
    similarities,
    scored: elementAt(u32, head + word.scored),
    postings: elementAt(u32, head + word.postings),
  }
}
