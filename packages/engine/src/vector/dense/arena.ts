// The shared memory of one graph, as its owner on the main thread sees it: reserves space in it, and reads and writes its header
// and rows. The memory grows in steps and nothing in it ever moves, so readers need no lock. Other threads receive the handle and
// attach the arena with a kernel instance of their own.
import { assert, EngineError } from '../../errors.ts'
import { elementAt } from '../element-at.ts'
import type { FieldMemory, WorkerPool } from '../pool.ts'
import { roundUp } from '../round-up.ts'
import { createMemory, memoryBytesMax, newMemoryId, pageBytes } from '../shared-memory.ts'
import { type ArenaPlan, headerWords, levels, planArena } from './arena-plan.ts'
import { type ArenaHandle, AttachedArena } from './attached.ts'
import { header, headerBytes, none } from './header.ts'
import { instantiateKernel, type Kernel, work } from './kernel.ts'
import { learningBytes } from './learning-space.ts'
import { levelOf } from './level.ts'
import type { ScratchAddresses } from './scratch.ts'
import { projectionBytes, type Shape } from './shape.ts'
import { Touched } from './touched.ts'

/** A bitmap for one search, in the arena: one bit for each ordinal. Ordinals at or above `bits` are not allowed. */
export interface Bitmap {
  readonly address: number
  readonly bits: number
  readonly capacity: number
}

/** Addresses of the marks, one byte for each ordinal: of each thread (visited), and of all (touched). `room` is how many ordinals they can have. */
interface Marks {
  readonly visited: readonly number[]
  readonly touched: number
  readonly room: number
}

interface Space {
  readonly address: number
  readonly bytes: number
}

/** The largest address space for marks. */
const marksBytesMax = 2 ** 28
/** Marks grow by a multiple of this number of ordinals. */
const marksStep = 4096
/** Slots of the table of equal rows: an eighth of them stays empty. */
const classSlotsPerRow = 1.25
const classSlotsMore = 256

/** An arena that every thread of a pool can attach. */
export function newArena(shape: Shape, { module, attachments, threads }: WorkerPool): Arena {
  return new Arena(shape, module, attachments, attachments - threads)
}

export class Arena implements FieldMemory {
  readonly id = newMemoryId()
  readonly shape: Shape
  readonly memory: WebAssembly.Memory
  readonly kernel: Kernel
  readonly handle: ArenaHandle
  readonly attached: AttachedArena
  readonly touched = new Touched()
  readonly #plan: ArenaPlan
  readonly #readers: number
  #u8: Uint8Array<SharedArrayBuffer>
  #u32: Uint32Array<SharedArrayBuffer>
  #f32: Float32Array<SharedArrayBuffer>
  #top: number
  #blocks = 0
  #unitChunks = 0
  /** Blocks whose rows have space for heads. */
  #headBlocks = 0
  /** Space for learning the projection. Afterwards it is cleared, and blocks are placed there. */
  #learning: Space | undefined
  #spare: Space | undefined
  #levelSum = 0
  #levelsCounted = 0
  /** Ordinals that have marks. */
  #visitedCapacity = 0
  #marks: Marks = { visited: [], touched: 0, room: 0 }
  /** Ordinals for which there is space in the bitmaps of followers and leaders. */
  #classesRoom = 0
  /** Addresses of free bitmaps of `bitmapBits` bits. */
  #bitmaps: number[] = []
  #bitmapBits = 0
  /** Incremented when the marks of the threads grow: a walk that began earlier must not meet ordinals that are reserved later. */
  scratchGeneration = 0

  /** `threads` threads attach the arena besides the owner, whose number comes after theirs; the last `readers` of them are readers. */
  constructor(shape: Shape, module: WebAssembly.Module, threads: number, readers = 0) {
    this.#readers = readers
    this.shape = shape
    const plan = planArena(shape, threads + 1)
    this.#plan = plan
    this.#top = plan.top
    this.memory = createMemory(Math.ceil(plan.top / pageBytes))
    const buffer = this.memory.buffer
    this.#u8 = new Uint8Array(buffer)
    this.#u32 = new Uint32Array(buffer)
    this.#f32 = new Float32Array(buffer)
    for (const [word, value] of headerWords(shape, plan)) this.setWord(word, value)
    plan.scratch.forEach(({ descriptor, words }, i) => {
      this.#u32[plan.scratchTable / 4 + i] = descriptor
      this.#u32.set(words, descriptor / 4)
    })
    this.#growVisited(1)
    this.kernel = instantiateKernel(module, this.memory)
    this.kernel.attach(threads)
    this.handle = { kind: 'dense', id: this.id, memory: this.memory, scratch: plan.scratch }
    this.attached = new AttachedArena(this.handle, module, threads, this.kernel)
  }

  /** Number of the owner's thread. */
  get ownThread(): number {
    return this.#plan.scratch.length - 1
  }
  get ownScratch(): ScratchAddresses {
    return elementAt(this.#plan.scratch, this.ownThread)
  }
  get centerAddress(): number {
    return this.#plan.center
  }
  get itemsAddress(): number {
    return this.#plan.items
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
  /** Whether every row has a head. */
  get hasHeads(): boolean {
    return this.word(header.heads) === 1
  }
  get projection(): Space {
    return { address: this.word(header.projection), bytes: projectionBytes(this.shape) }
  }
  /** Address of the heads of a block. */
  headsAddress(block: number): number {
    return elementAt(this.#u32, this.#plan.heads / 4 + block)
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
    return elementAt(this.#u32, this.#plan.blocks / 4 + block)
  }
  unitChunkAddress(chunk: number): number {
    return elementAt(this.#u32, this.#plan.units / 4 + chunk)
  }
  tailAddress(ordinal: number): number {
    const { blockShift, blockRows, codeStride, codeBytes } = this.shape
    return this.blockAddress(ordinal >>> blockShift) + (ordinal & (blockRows - 1)) * codeStride + codeBytes
  }
  /** The version in which the ordinal's row was inserted. Undefined: the ordinal never had a row. */
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

  pulse(thread: number): number {
    return Atomics.load(this.u32, elementAt(this.#plan.scratch, thread).descriptor / 4 + 15)
  }

  isJobOver(): boolean {
    return this.word(header.jobKind) === work.idle
  }

  /**
   * Reserves space for ordinals below `end` and for every list that they can need. Throws `memory_exhausted`; the content is then
   * unchanged. Blocks that lie completely below `loaded` are not cleared: the caller fills them.
   */
  reserve(end: number, loaded = 0): void {
    const { shape } = this
    const blocks = Math.ceil(end / shape.blockRows)
    if (blocks > shape.blocksMax) throw this.#exhausted(end)
    while (this.#blocks < blocks) this.#addBlock(end, loaded)
    for (; this.#levelsCounted < blocks * shape.blockRows; this.#levelsCounted++)
      this.#levelSum += levelOf(this.#levelsCounted, shape.params.M)
    // The units of a node are in one chunk, so up to `levels` units of each chunk can be unused.
    const chunks = Math.ceil(this.#levelSum / (2 ** shape.unitShift - levels)) + 1
    if (chunks > shape.unitChunksMax) throw this.#exhausted(end)
    while (this.#unitChunks < chunks) this.#addUnitChunk(end)
    if (shape.headBytes > 0 && (end >= shape.headsFrom || this.hasHeads)) this.#reserveHeads(end)
    if (end > this.#visitedCapacity) this.#growVisited(end)
    if (end > this.#classesRoom && (shape.params.rules ?? 1) > 1) this.#growClasses(end)
  }

  #addBlock(end: number, loaded: number): void {
    const address = this.#allocate(this.shape.blockBytes, end)
    this.#u32[this.#plan.blocks / 4 + this.#blocks] = address
    if ((this.#blocks + 1) * this.shape.blockRows > loaded) this.kernel.clearBlock(this.#blocks)
    this.#blocks++
  }
  /** Heads begin when there are enough rows, so the space is for the rows before as well. */
  #reserveHeads(end: number): void {
    const { shape } = this
    if (this.word(header.projection) === 0) this.#reserveProjection(end)
    for (; this.#headBlocks < this.#blocks; this.#headBlocks++)
      this.#u32[this.#plan.heads / 4 + this.#headBlocks] = this.#allocate(shape.headBytes * shape.blockRows, end, 128)
    if (this.#learning !== undefined || this.hasHeads) return
    const bytes = learningBytes(shape)
    this.#learning = { address: this.#allocate(bytes, end), bytes }
  }

  #reserveProjection(end: number): void {
    this.setWord(header.projection, this.#allocate(projectionBytes(this.shape), end))
  }
  /** Every row that is loaded has a head. The caller fills the projection, and then the rows. */
  loadHeads(end: number): void {
    this.setWord(header.heads, 1)
    this.#reserveProjection(end)
  }

  /** The space in which the projection is learned, until `endLearning`. It is full of zeros. */
  get learning(): Space {
    assert(this.#learning !== undefined, 'space is reserved before rows have heads')
    return this.#learning
  }
  /** Every row has a head from now on. Blocks and heads that are added later use the space of learning. */
  endLearning(): void {
    const { address, bytes } = this.learning
    this.#u8.fill(0, address, address + bytes)
    this.#spare = this.#learning
    this.#learning = undefined
    this.setWord(header.heads, 1)
    this.kernel.attach(this.ownThread)
  }

  #addUnitChunk(end: number): void {
    const address = this.#allocate(this.shape.unitBytes * 2 ** this.shape.unitShift, end)
    this.#u32[this.#plan.units / 4 + this.#unitChunks] = address
    this.#unitChunks++
  }
  #growVisited(end: number): void {
    const doubled = Math.max(marksStep, 2 ** Math.ceil(Math.log2(end)))
    if (end > this.#marks.room) this.#marks = this.#allocateMarks(doubled, end)
    const { visited, touched, room } = this.#marks
    const capacity = Math.min(roundUp(end, marksStep), room)
    visited.forEach((address, i) => {
      // The lengths come first: a thread that finds the address finds the lengths that belong to it.
      Atomics.store(this.#u32, address / 4 - 3, room)
      Atomics.store(this.#u32, address / 4 - 4, capacity)
      Atomics.store(this.#u32, elementAt(this.#plan.scratch, i).descriptor / 4, address)
    })
    this.touched.widen({ address: touched, capacity })
    this.setWord(header.touched, touched)
    this.#visitedCapacity = capacity
    if (doubled !== this.#bitmapBits) this.#bitmaps = []
    this.#bitmapBits = doubled
    this.scratchGeneration++
    if (this.kernel !== undefined) this.kernel.attach(this.ownThread)
  }

  /**
   * The previous marks are never used again, so this happens only once after a small start: then there is space for all ordinals
   * that the memory can have. Reserved space costs nothing until it is written to.
   */
  #allocateMarks(least: number, end: number): Marks {
    const { blocksMax, blockRows } = this.shape
    const threads = this.#plan.scratch.length
    const most = Math.min(blocksMax * blockRows, Math.floor(marksBytesMax / (threads + 1)))
    const room = this.#marks.room === 0 ? least : Math.max(least, roundUp(most, 64))
    const visited = this.#plan.scratch.map((_, thread) => {
      // A reader writes the bitmap of a search after its marks.
      const isReader = thread >= this.ownThread - this.#readers && thread < this.ownThread
      return this.#allocate(room + 16 + (isReader ? room / 8 : 0), end) + 16
    })
    return { visited, touched: this.#allocate(room, end), room }
  }

  /**
   * Reserves space for the bitmaps of followers and leaders and for the table of equal rows: for all ordinals that the memory can have,
   * after a small start. The bitmaps are copied. The next job builds the table again.
   */
  #growClasses(end: number): void {
    const { blocksMax, blockRows } = this.shape
    const isFirst = this.#classesRoom === 0
    const room = isFirst
      ? Math.max(marksStep, roundUp(end, marksStep))
      : roundUp(Math.max(end, blocksMax * blockRows), 64)
    const before = [header.followers, header.leaders].map((word) => this.word(word))
    const bitmaps = before.map(() => this.#allocate(room / 8, end))
    const slots = Math.ceil(room * classSlotsPerRow) + classSlotsMore
    const table = this.#allocate(slots * 4, end)
    bitmaps.forEach((address, i) => {
      const from = elementAt(before, i)
      this.#u8.copyWithin(address, from, from + this.#classesRoom / 8)
    })
    ;[header.followers, header.leaders].forEach((word, i) => {
      this.setWord(word, elementAt(bitmaps, i))
    })
    this.setWord(header.classes, table)
    this.setWord(header.classesMax, slots)
    this.setWord(header.classSlots, 0)
    this.#classesRoom = room
    this.kernel?.attach(this.ownThread)
  }

  /** Copies a bitmap into the arena, as far as there are ordinals. Return it with `returnBitmap` when the search is over. */
  lendBitmap(words: Uint32Array): Bitmap {
    const capacity = this.#bitmapBits
    const address = this.#bitmaps.pop() ?? this.#allocate(capacity / 8, capacity)
    const bits = Math.min(this.word(header.end), words.length * 32)
    this.#u32.set(words.subarray(0, Math.ceil(bits / 32)), address / 4)
    return { address, bits, capacity }
  }
  returnBitmap({ address, capacity }: Bitmap): void {
    if (capacity === this.#bitmapBits) this.#bitmaps.push(address)
  }

  #allocate(bytes: number, end: number, align = 64): number {
    const taken = this.#takeSpare(bytes, align)
    if (taken !== undefined) return taken
    const address = roundUp(this.#top, align)
    const needed = address + bytes
    if (needed > memoryBytesMax) throw this.#exhausted(end)
    const size = this.memory.buffer.byteLength
    if (needed > size) {
      const step = Math.max(Math.ceil((needed - size) / pageBytes), Math.min(1024, Math.ceil(size / 8 / pageBytes)))
      const pages = Math.min(step, (memoryBytesMax - size) / pageBytes)
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

  #takeSpare(bytes: number, align: number): number | undefined {
    if (this.#spare === undefined) return undefined
    const address = roundUp(this.#spare.address, align)
    const left = this.#spare.address + this.#spare.bytes - address - bytes
    if (left < 0) return undefined
    this.#spare = { address: address + bytes, bytes: left }
    return address
  }

  #exhausted(end: number, cause?: unknown): EngineError {
    const message = `no memory for ${end} rows of ${this.shape.rowBytes} bytes`
    return new EngineError('memory_exhausted', message, { value: end, limit: memoryBytesMax }, { cause })
  }

  get bytesTouched(): number {
    const { blockBytes, unitBytes, unitShift } = this.shape
    return (
      headerBytes +
      this.#headBlocks * this.shape.headBytes * this.shape.blockRows +
      this.#blocks * blockBytes +
      this.#unitChunks * unitBytes * 2 ** unitShift
    )
  }

  /** Bytes in use, by part. Space that is reserved and was never written to costs the process nothing and is not counted. */
  bytes(): { readonly [part: string]: number } {
    const end = this.word(header.end)
    const { shape } = this
    return {
      codes: end * shape.codeStride,
      links: end * (shape.linksAtBase * 4 + 4) + this.word(header.units) * shape.unitBytes,
      rows: end * (shape.coldStride + 4),
      threads: this.#plan.scratch.length * (end + shape.lanes * 16) + end,
      ...(this.hasHeads && { heads: end * shape.headBytes + projectionBytes(shape) }),
      tables: headerBytes + this.#blocks * 4 + this.#unitChunks * 4,
      // Two bits for each row (follower, leader), and the leader of each class.
      classes: this.#classesRoom === 0 ? 0 : Math.ceil(end / 4) + this.word(header.classSlots) * 4,
    }
  }
}
