// The shared memory of one graph, as its owner on the main thread sees it: plans it, makes room in it, reads and writes its
// header. Memory grows in steps and nothing in it ever moves, so readers need no lock. Threads other than the owner get a
// handle and attach a kernel of their own.

import { assert, EngineError } from '../../errors.ts'
import { metricNumbers, numberOf, precisions } from '../../model/choices.ts'
import { claimRoomForMemory, memoriesMax } from '../address-space.ts'
import type { Attached } from './attached.ts'
import { instantiateKernel, type Kernel } from './kernel.ts'
import { levelOf } from './level.ts'
import { planScratch, type ScratchAddresses } from './scratch.ts'
import { arenaBytesMax, roundUp, type Shape } from './shape.ts'
import { Touched } from './touched.ts'

/** What a worker needs to attach to an arena. */
export interface ArenaHandle {
  readonly id: number
  readonly memory: WebAssembly.Memory
  /** Byte addresses in the scratch of each thread that the host writes and reads; they never change. */
  readonly scratch: readonly ScratchAddresses[]
}

/** A bitmap lent to a search: one bit an ordinal, those at or above `bits` not allowed. */
export interface Bitmap {
  readonly address: number
  readonly bits: number
  readonly capacity: number
}

/** Where the marks of each thread stand, a byte an ordinal, and those of what was written; and how many ordinals there is room for. */
interface Marks {
  readonly visited: readonly number[]
  readonly touched: number
  readonly room: number
}

/** Words of the header, counted from its start; assembly/layout.ts has the same numbers. */
export const header = {
  address: 4096,
  magic: 0,
  dimension: 1,
  codeBytes: 2,
  codeStride: 3,
  M: 4,
  M0: 5,
  efConstruction: 6,
  blockShift: 7,
  metric: 8,
  precision: 9,
  coldStride: 10,
  inBlockLinks: 11,
  inBlockUpper: 12,
  inBlockNorms: 13,
  inBlockCold: 14,
  unitShift: 15,
  centre: 16,
  blockTable: 17,
  unitTable: 18,
  scratchTable: 19,
  touched: 20,
  rules: 21,
  followers: 22,
  leaders: 23,
  classes: 24,
  classesMax: 25,
  end: 32,
  rows: 33,
  dead: 34,
  linked: 35,
  entry: 36,
  units: 37,
  unmended: 38,
  /** Of the table of classes: 0 where it is to be made again. */
  classPlaces: 41,
  jobLimit: 64,
  jobItems: 72,
  jobSide: 73,
  jobKind: 66,
  jobSideLevels: 74,
  jobFirst: 75,
  /** Where the vectors at hand stand in the staging memory of the pool. */
  jobVectors: 78,
  jobOrder: 79,
} as const

const page = 65536
const headerBytes = 4096
const magic = 0x4c4e4e41
export const none = 0xffffffff
/** Words of a list from here on are no neighbors. */
export const marked = 0x80000000
/** Items of one job; a larger apply is several jobs. */
export const jobItemsMax = 16_384
const subBatchMax = 256
const levels = 16
/** Address space at most for what is kept by ordinal beside the rows: the private marks of all threads, and what was touched. */
const marksBytesMax = 2 ** 28
/** Ordinals by which marks reach farther at a time. */
const marksStep = 4096
/** Places of the table of classes: an eighth stays empty, and a few more. */
const classPlacesPerRow = 1.25
const classPlacesMore = 256

let nextArenaId = 1

export class Arena {
  readonly id: number
  readonly shape: Shape
  readonly memory: WebAssembly.Memory
  readonly kernel: Kernel
  readonly scratch: readonly ScratchAddresses[]
  readonly #thread: number
  readonly #tables: { readonly blocks: number; readonly units: number }
  readonly centreAddress: number
  readonly itemsAddress: number
  readonly touched = new Touched()
  #u8: Uint8Array<SharedArrayBuffer>
  #u32: Uint32Array<SharedArrayBuffer>
  #f32: Float32Array<SharedArrayBuffer>
  #top: number
  #blocks = 0
  #unitChunks = 0
  #levelSum = 0
  #levelsCounted = 0
  /** Ordinals that there are marks for. */
  #visitedCapacity = 0
  #marks: Marks = { visited: [], touched: 0, room: 0 }
  /** Ordinals that there is room for in what tells which rows follow which. */
  #classesRoom = 0
  /** Room for bitmaps of so many bits that nobody uses now. */
  #bitmaps: number[] = []
  #bitmapBits = 0
  /** Rises when the threads' private marks reach farther: walks begun before may not meet ordinals reserved after. */
  scratchGeneration = 0

  /** `threads` workers and the owner itself, which is the last, will attach. */
  constructor(shape: Shape, module: WebAssembly.Module, threads: number) {
    this.id = nextArenaId++
    this.shape = shape
    this.#thread = threads
    let top = header.address + headerBytes
    const take = (bytes: number, align = 64) => {
      const offset = roundUp(top, align)
      top = offset + bytes
      return offset
    }
    const blocks = take(shape.blocksMax * 4)
    const units = take(shape.unitChunksMax * 4)
    this.#tables = { blocks, units }
    this.centreAddress = take(shape.lanes * 4)
    const scratchTable = take((threads + 1) * 4)
    const plans = Array.from({ length: threads + 1 }, () => planScratch(shape, take))
    this.scratch = plans
    // Each item can bring with it the row that takes the place of one that its ordinal had.
    this.itemsAddress = take(jobItemsMax * 2 * 12)
    const side = take(subBatchMax * levels * (shape.params.M + 1) * 4)
    const order = take(subBatchMax * 4)
    this.#top = top
    this.memory = createMemory(Math.ceil(top / page))
    const buffer = this.memory.buffer
    this.#u8 = new Uint8Array(buffer)
    this.#u32 = new Uint32Array(buffer)
    this.#f32 = new Float32Array(buffer)
    this.#writeHeader(scratchTable, side, order)
    plans.forEach((plan, i) => {
      this.#u32[scratchTable / 4 + i] = plan.descriptor
      this.#u32.set(plan.words, plan.descriptor / 4)
    })
    this.#growVisited(1)
    this.kernel = instantiateKernel(module, this.memory)
    this.kernel.attach(threads)
  }

  #writeHeader(scratchTable: number, side: number, order: number): void {
    const { shape } = this
    const { params, inBlock } = shape
    const words: readonly (readonly [number, number])[] = [
      [header.magic, magic],
      [header.dimension, params.dimension],
      [header.codeBytes, shape.codeBytes],
      [header.codeStride, shape.codeStride],
      [header.M, params.M],
      [header.M0, shape.linksAtBase],
      [header.efConstruction, params.efConstruction],
      [header.rules, params.rules ?? 1],
      [header.blockShift, shape.blockShift],
      [header.metric, metricNumbers[params.spaceType]],
      [header.precision, numberOf(precisions, shape.precision)],
      [header.coldStride, shape.coldStride],
      [header.inBlockLinks, inBlock.links],
      [header.inBlockUpper, inBlock.upper],
      [header.inBlockNorms, inBlock.norms],
      [header.inBlockCold, inBlock.cold],
      [header.unitShift, shape.unitShift],
      [header.centre, this.centreAddress],
      [header.blockTable, this.#tables.blocks],
      [header.unitTable, this.#tables.units],
      [header.scratchTable, scratchTable],
      [header.entry, none],
      [header.jobItems, this.itemsAddress],
      [header.jobSide, side],
      [header.jobSideLevels, levels],
      [header.jobOrder, order],
    ]
    for (const [word, value] of words) this.setWord(word, value)
  }

  get handle(): ArenaHandle {
    return { id: this.id, memory: this.memory, scratch: this.scratch }
  }
  /** Scratch of the owner's own thread. */
  get ownScratch(): ScratchAddresses {
    return elementAt(this.scratch, this.#thread)
  }
  get u8(): Uint8Array<SharedArrayBuffer> {
    return this.#u8
  }
  get u32(): Uint32Array<SharedArrayBuffer> {
    return this.#u32
  }
  get f32(): Float32Array<SharedArrayBuffer> {
    return this.#f32
  }
  /** The owner's own attachment, for queries answered in its thread. */
  get attached(): Attached {
    return {
      kernel: this.kernel,
      thread: this.#thread,
      scratch: this.ownScratch,
      memory: this.memory,
      u32: this.#u32,
      f32: this.#f32,
    }
  }
  get blocks(): number {
    return this.#blocks
  }
  get unitChunks(): number {
    return this.#unitChunks
  }

  word(word: number): number {
    return elementAt(this.#u32, header.address / 4 + word)
  }
  setWord(word: number, value: number): void {
    Atomics.store(this.#u32, header.address / 4 + word, value)
  }
  blockAddress(block: number): number {
    return elementAt(this.#u32, this.#tables.blocks / 4 + block)
  }
  unitChunkAddress(chunk: number): number {
    return elementAt(this.#u32, this.#tables.units / 4 + chunk)
  }
  tailAddress(ordinal: number): number {
    const { blockShift, blockRows, codeStride, codeBytes } = this.shape
    return this.blockAddress(ordinal >>> blockShift) + (ordinal & (blockRows - 1)) * codeStride + codeBytes
  }
  /** Version a row was born at, or undefined where the ordinal never had one. */
  birth(ordinal: number): number | undefined {
    if (ordinal >= this.word(header.end)) return undefined
    const birth = elementAt(this.#u32, this.tailAddress(ordinal) / 4 + 2)
    return birth === none ? undefined : birth
  }
  isAlive(ordinal: number): boolean {
    return this.birth(ordinal) !== undefined && elementAt(this.#u32, this.tailAddress(ordinal) / 4 + 3) === none
  }
  norm(ordinal: number): number {
    const { blockShift, blockRows, inBlock } = this.shape
    const block = this.blockAddress(ordinal >>> blockShift)
    return elementAt(this.#f32, (block + inBlock.norms) / 4 + (ordinal & (blockRows - 1)))
  }

  /** A word that changes as long as the thread gets on with its work in this arena. */
  pulse(thread: number): number {
    return Atomics.load(this.u32, elementAt(this.scratch, thread).descriptor / 4 + 15)
  }

  /**
   * Makes room for ordinals below `end` and for every list they can need. Throws `memory_exhausted`, changing nothing that counts.
   * Blocks that lie whole below `loaded` are about to be filled with rows that are known.
   */
  reserve(end: number, loaded = 0): void {
    const { shape } = this
    const blocks = Math.ceil(end / shape.blockRows)
    if (blocks > shape.blocksMax) throw this.#exhausted(end)
    while (this.#blocks < blocks) this.#addBlock(end, loaded)
    for (; this.#levelsCounted < blocks * shape.blockRows; this.#levelsCounted++)
      this.#levelSum += levelOf(this.#levelsCounted, shape.params.M)
    // A node's units stay in one chunk, so up to `levels` of each chunk can be left unused.
    const chunks = Math.ceil(this.#levelSum / (2 ** shape.unitShift - levels)) + 1
    if (chunks > shape.unitChunksMax) throw this.#exhausted(end)
    while (this.#unitChunks < chunks) this.#addUnitChunk(end)
    if (end > this.#visitedCapacity) this.#growVisited(end)
    if (end > this.#classesRoom && (shape.params.rules ?? 1) > 1) this.#placeClasses(end)
  }

  #addBlock(end: number, loaded: number): void {
    const address = this.#allocate(this.shape.blockBytes, end)
    this.#u32[this.#tables.blocks / 4 + this.#blocks] = address
    if ((this.#blocks + 1) * this.shape.blockRows > loaded) this.kernel.clearBlock(this.#blocks)
    this.#blocks++
  }
  #addUnitChunk(end: number): void {
    const address = this.#allocate(this.shape.unitBytes * 2 ** this.shape.unitShift, end)
    this.#u32[this.#tables.units / 4 + this.#unitChunks] = address
    this.#unitChunks++
  }
  #growVisited(end: number): void {
    const doubled = Math.max(marksStep, 2 ** Math.ceil(Math.log2(end)))
    if (end > this.#marks.room) this.#marks = this.#placeMarks(doubled, end)
    const { visited, touched, room } = this.#marks
    const capacity = Math.min(roundUp(end, marksStep), room)
    visited.forEach((address, i) => {
      // The length first: a thread that finds the place finds how far it reaches.
      Atomics.store(this.#u32, address / 4 - 4, capacity)
      Atomics.store(this.#u32, elementAt(this.scratch, i).descriptor / 4, address)
    })
    this.touched.widen({ address: touched, capacity })
    this.setWord(header.touched, touched)
    this.#visitedCapacity = capacity
    if (doubled !== this.#bitmapBits) this.#bitmaps = []
    this.#bitmapBits = doubled
    this.scratchGeneration++
    if (this.kernel !== undefined) this.kernel.attach(this.#thread)
  }

  /**
   * What was there before is left behind for good, so it happens but once: after a small beginning there is room for all
   * ordinals that the memory can have. Room costs nothing until it is written to.
   */
  #placeMarks(least: number, end: number): Marks {
    const { blocksMax, blockRows } = this.shape
    const most = Math.min(blocksMax * blockRows, Math.floor(marksBytesMax / (this.scratch.length + 1)))
    const room = this.#marks.room === 0 ? least : Math.max(least, roundUp(most, 64))
    const visited = this.scratch.map(() => this.#allocate(room + 16, end) + 16)
    return { visited, touched: this.#allocate(room, end), room }
  }

  /**
   * Room for the bits that tell which rows follow which, and for the table of classes: for all ordinals that the memory can have,
   * after a small beginning. The bits are taken along, the table is made again by the next job.
   */
  #placeClasses(end: number): void {
    const { blocksMax, blockRows } = this.shape
    const isFirst = this.#classesRoom === 0
    const room = isFirst
      ? Math.max(marksStep, roundUp(end, marksStep))
      : roundUp(Math.max(end, blocksMax * blockRows), 64)
    const before = [header.followers, header.leaders].map((word) => this.word(word))
    const bitmaps = before.map(() => this.#allocate(room / 8, end))
    const places = Math.ceil(room * classPlacesPerRow) + classPlacesMore
    const table = this.#allocate(places * 4, end)
    bitmaps.forEach((address, i) => {
      const from = elementAt(before, i)
      this.#u8.copyWithin(address, from, from + this.#classesRoom / 8)
    })
    ;[header.followers, header.leaders].forEach((word, i) => {
      this.setWord(word, elementAt(bitmaps, i))
    })
    this.setWord(header.classes, table)
    this.setWord(header.classesMax, places)
    this.setWord(header.classPlaces, 0)
    this.#classesRoom = room
    this.kernel?.attach(this.#thread)
  }

  /** Copies a bitmap to where workers can read it, as far as ordinals reach. Give it back when the search is over. */
  lendBitmap(words: Uint32Array): Bitmap {
    const capacity = this.#bitmapBits
    const address = this.#bitmaps.pop() ?? this.#allocate(capacity / 8, capacity)
    const bits = Math.min(this.word(header.end), words.length * 32)
    this.#u32.set(words.subarray(0, Math.ceil(bits / 32)), address / 4)
    return { address, bits, capacity }
  }
  takeBack({ address, capacity }: Bitmap): void {
    if (capacity === this.#bitmapBits) this.#bitmaps.push(address)
  }

  #allocate(bytes: number, end: number): number {
    const address = roundUp(this.#top, 64)
    const needed = address + bytes
    if (needed > arenaBytesMax) throw this.#exhausted(end)
    const size = this.memory.buffer.byteLength
    if (needed > size) {
      const step = Math.max(Math.ceil((needed - size) / page), Math.min(1024, Math.ceil(size / 8 / page)))
      const pages = Math.min(step, (arenaBytesMax - size) / page)
      try {
        this.memory.grow(pages)
      } catch (error) {
        throw this.#exhausted(end, error)
      }
      const buffer = this.memory.buffer
      this.#u8 = new Uint8Array(buffer)
      this.#u32 = new Uint32Array(buffer)
      this.#f32 = new Float32Array(buffer)
    }
    this.#top = needed
    return address
  }

  #exhausted(end: number, cause?: unknown): EngineError {
    const message = `no memory for ${end} rows of ${this.shape.rowBytes} bytes`
    return new EngineError('memory_exhausted', message, { value: end, limit: arenaBytesMax }, { cause })
  }

  /** Bytes that were written to or may have been, about. */
  get bytesTouched(): number {
    const { blockBytes, unitBytes, unitShift } = this.shape
    return headerBytes + this.#blocks * blockBytes + this.#unitChunks * unitBytes * 2 ** unitShift
  }

  /** Bytes that hold something, by part; what is reserved and never touched costs the process nothing. */
  bytes(): { readonly [part: string]: number } {
    const end = this.word(header.end)
    const { shape } = this
    return {
      codes: end * shape.codeStride,
      links: end * (shape.linksAtBase * 4 + 4) + this.word(header.units) * shape.unitBytes,
      rows: end * (shape.coldStride + 4),
      threads: this.scratch.length * (end + shape.lanes * 16) + end,
      tables: headerBytes + this.#blocks * 4 + this.#unitChunks * 4,
      // Who follows whom, two bits a row, and which node stands for a class.
      classes: this.#classesRoom === 0 ? 0 : Math.ceil(end / 4) + this.word(header.classPlaces) * 4,
    }
  }
}

/** Throws EngineError memory_exhausted where the process has no address space left for another. */
export function createMemory(pages: number): WebAssembly.Memory {
  if (!claimRoomForMemory()) throw noAddressSpace()
  try {
    return new WebAssembly.Memory({ initial: pages, maximum: arenaBytesMax / page, shared: true })
  } catch (error) {
    throw noAddressSpace(error)
  }
}

function noAddressSpace(cause?: unknown): EngineError {
  const limit = memoriesMax()
  const message = `the process has no address space for another field with data: each reserves 8 GiB, and it has space for about ${limit}`
  return new EngineError('memory_exhausted', message, { limit }, { cause })
}

/** An element that is there: every index in this folder is below a length checked where it was made. */
export function elementAt<T>(array: { readonly [index: number]: T }, index: number): T {
  const value = array[index]
  // The message is made only when it is needed: this runs for every element of every answer.
  if (value === undefined) assert(false, `index ${index} is inside`)
  return value
}
