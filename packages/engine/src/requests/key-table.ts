// The keys of recent writes, with what their repetitions get: a fold over the records that have a request. It keeps the newest `max` keys,
// none older than `maxAgeMs` at the time of the newest record, and bounds the bytes of facts; the oldest is removed first. It knows no
// clock and no files.
//
// Keys are in pages in the order of their LSNs. Each page has one array for each part of a key, so a key is 52 bytes and its facts. A hash
// index in 256 buckets, which grow separately so that none takes long, has the number of a key for each id: about 8 bytes a key.
import { assert } from '../errors.ts'
import { type RequestRecord, requestIdBytes } from '../events/request-record.ts'

export interface KeyTableLimits {
  /** Number of keys. */
  readonly max: number
  readonly maxAgeMs: number
}

/** A key as it is kept. */
export interface KeptKey extends RequestRecord {
  readonly lsn: number
  /** Time of the record. */
  readonly timeMs: number
}

/** Facts of all keys take at most this many bytes for each key that may be kept; most have 20. */
const factsBytesPerKey = 64
const pageKeys = 4_096
const wordsPerId = requestIdBytes / 4
const bucketCount = 256
const slotsFirst = 16
/** Bytes of a key in a file without its facts: id, digest, LSN, time, length of the facts. */
const fixedBytes = 2 * requestIdBytes + 8 + 8 + 4
/** A block of keys in a file begins with the number of keys and the number of bytes of their facts. */
const blockHeadBytes = 8
/** Keys that are removed for their age with one record: after an idle day there may be 1,000,000, and removing all at once takes 0.3 s. */
export const agedRemovalsMax = 256
/** Numbers of keys in the index are from 1 to this. */
const numbersMax = 0xffff_ffff

class Page {
  readonly ids = new Uint32Array(pageKeys * wordsPerId)
  readonly digests = new Uint32Array(pageKeys * wordsPerId)
  readonly lsns = new Float64Array(pageKeys)
  readonly times = new Float64Array(pageKeys)
  /** Where the facts of each key end. */
  readonly ends = new Uint32Array(pageKeys)
  facts = new Uint8Array(pageKeys)

  static readonly bytes = pageKeys * (2 * requestIdBytes + 8 + 8 + 4)
}

/** The slots of the keys whose ids begin with one byte: number of the key, or 0. */
interface Bucket {
  slots: Uint32Array
  used: number
}

export class KeyTable {
  readonly #limits: KeyTableLimits
  readonly #pages = new Map<number, Page>()
  readonly #buckets: Bucket[] = Array.from({ length: bucketCount }, () => ({
    slots: new Uint32Array(slotsFirst),
    used: 0,
  }))
  /** Keys are numbered from 0 in the order of their LSNs. */
  #first = 0
  #next = 0
  #lsnLast = 0
  #factsBytes = 0

  constructor(limits: KeyTableLimits) {
    this.#limits = limits
  }

  get count(): number {
    return this.#next - this.#first
  }

  /** LSN of the newest key; 0 without one. */
  get lsnLast(): number {
    return this.#lsnLast
  }

  /** LSN of the oldest key; infinite without one. */
  get lsnFirst(): number {
    return this.count === 0 ? Number.POSITIVE_INFINITY : this.#lsnAt(this.#first)
  }

  /** Memory in bytes. */
  get bytes(): number {
    let bytes = 0
    for (const { facts } of this.#pages.values()) bytes += Page.bytes + facts.length
    for (const { slots } of this.#buckets) bytes += slots.byteLength
    return bytes
  }

  /** Adds the key of a record. Records are added in the order of their LSNs. */
  add({ id, digest, facts, lsn, timeMs }: KeptKey): void {
    this.#append(wordsOf(id), wordsOf(digest), Buffer.from(facts), lsn, timeMs)
  }

  #append(id: Uint32Array, digest: Uint32Array, facts: Uint8Array, lsn: number, timeMs: number): void {
    assert(lsn > this.#lsnLast, `the key of record ${lsn} follows that of record ${this.#lsnLast}`)
    const number = this.#next++
    const at = number % pageKeys
    const page = this.#pageOf(number) ?? this.#newPage(number)
    for (let i = 0; i < wordsPerId; i++) {
      page.ids[at * wordsPerId + i] = id[i]!
      page.digests[at * wordsPerId + i] = digest[i]!
    }
    page.lsns[at] = lsn
    page.times[at] = timeMs
    this.#addFacts(page, at, facts)
    this.#lsnLast = lsn
    this.#index(number, id)
    this.#removeOld(timeMs)
  }

  /** The newest key with this id that is not too old at `nowMs`, the time of the newest record. */
  find(id: Uint8Array, nowMs: number): KeptKey | undefined {
    const words = wordsOf(id)
    const { slots } = this.#bucketOf(words)
    const mask = slots.length - 1
    for (let slot = words[1]! & mask; slots[slot] !== 0; slot = (slot + 1) & mask) {
      const number = this.#numberIn(slots[slot]!)
      if (!this.#hasId(number, words)) continue
      const key = this.#keyAt(number)
      return key.timeMs < nowMs - this.#limits.maxAgeMs ? undefined : key
    }
    return undefined
  }

  /** Number of keys after this LSN. */
  countAfter(lsn: number): number {
    return this.#next - this.#firstAfter(lsn)
  }

  /** The keys after one LSN up to another as bytes for a file, one piece for each page. Later changes of the table do not change them. */
  dump(after: number, through: number): Uint8Array[] {
    const pieces: Uint8Array[] = []
    const end = this.#firstAfter(through)
    for (let from = this.#firstAfter(after); from < end; ) {
      const to = Math.min(end, from - (from % pageKeys) + pageKeys)
      pieces.push(this.#dumped(from, to))
      from = to
    }
    return pieces
  }

  /** Adds keys of `dump`, in the order of their LSNs. Throws RangeError on bytes that no table dumps. */
  load(bytes: Uint8Array): void {
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length)
    for (let at = 0; at < bytes.length; ) {
      const [count, factsBytes] = [view.getUint32(at, true), view.getUint32(at + 4, true)]
      const length = blockHeadBytes + count * fixedBytes + factsBytes
      if (at + length > bytes.length) throw new RangeError('a block of request keys ends after the file')
      // A copy, so that numbers are aligned.
      this.#loadBlock(new Uint8Array(bytes.subarray(at + blockHeadBytes, at + length)), count)
      at += length
    }
  }

  #loadBlock({ buffer }: Uint8Array<ArrayBuffer>, count: number): void {
    const lsns = new Float64Array(buffer, 0, count)
    const times = new Float64Array(buffer, count * 8, count)
    const ids = new Uint32Array(buffer, count * 16, count * wordsPerId)
    const digests = new Uint32Array(buffer, count * (16 + requestIdBytes), count * wordsPerId)
    const lengths = new Uint32Array(buffer, count * (16 + 2 * requestIdBytes), count)
    const facts = new Uint8Array(buffer, count * fixedBytes)
    let end = 0
    for (let i = 0; i < count; i++) {
      const from = end
      end += lengths[i] as number
      const [first, next] = [i * wordsPerId, (i + 1) * wordsPerId]
      const [id, digest] = [ids.subarray(first, next), digests.subarray(first, next)]
      this.#append(id, digest, facts.subarray(from, end), lsns[i] as number, times[i] as number)
    }
  }

  #dumped(from: number, to: number): Uint8Array {
    const page = this.#pageOf(from) as Page
    const first = from % pageKeys
    const count = to - from
    const end = first + count
    const facts = page.facts.subarray(first === 0 ? 0 : page.ends[first - 1], page.ends[end - 1])
    const lengths = page.ends.slice(first, end)
    for (let i = count - 1; i >= 0; i--)
      lengths[i]! -= i > 0 ? lengths[i - 1]! : first === 0 ? 0 : page.ends[first - 1]!
    const out = new Uint8Array(blockHeadBytes + count * fixedBytes + facts.length)
    const view = new DataView(out.buffer)
    view.setUint32(0, count, true)
    view.setUint32(4, facts.length, true)
    let at = blockHeadBytes
    const put = (part: Float64Array | Uint32Array | Uint8Array) => {
      out.set(new Uint8Array(part.buffer, part.byteOffset, part.byteLength), at)
      at += part.byteLength
    }
    put(page.lsns.subarray(first, end))
    put(page.times.subarray(first, end))
    put(page.ids.subarray(first * wordsPerId, end * wordsPerId))
    put(page.digests.subarray(first * wordsPerId, end * wordsPerId))
    put(lengths)
    put(facts)
    return out
  }

  #removeOld(nowMs: number): void {
    const { max, maxAgeMs } = this.#limits
    const factsMax = max * factsBytesPerKey
    // The newest key stays, whatever the limits.
    for (let aged = 0; this.#first < this.#next - 1; this.#removeFirst()) {
      if (this.count > max || this.#factsBytes > factsMax) continue
      // A key that is too old is not found, whether it was removed or not.
      const isOld = this.#timeAt(this.#first) < nowMs - maxAgeMs
      if (!isOld || ++aged > agedRemovalsMax) return
    }
  }

  #removeFirst(): void {
    const number = this.#first++
    const page = this.#pageOf(number) as Page
    this.#factsBytes -= factsAt(page, number % pageKeys).length
    this.#unindex(number, page)
    if (this.#first % pageKeys === 0) this.#pages.delete(Math.floor(number / pageKeys))
  }

  #addFacts(page: Page, at: number, bytes: Uint8Array): void {
    const from = at === 0 ? 0 : (page.ends[at - 1] as number)
    const end = from + bytes.length
    if (end > page.facts.length) page.facts = grown(page.facts, Math.max(end, page.facts.length * 2))
    page.facts.set(bytes, from)
    page.ends[at] = end
    this.#factsBytes += bytes.length
    // A full page keeps what it uses.
    if (at === pageKeys - 1) page.facts = page.facts.slice(0, end)
  }

  #newPage(number: number): Page {
    const page = new Page()
    this.#pages.set(Math.floor(number / pageKeys), page)
    return page
  }

  #pageOf(number: number): Page | undefined {
    return this.#pages.get(Math.floor(number / pageKeys))
  }

  #lsnAt(number: number): number {
    return this.#pageOf(number)?.lsns[number % pageKeys] as number
  }

  #timeAt(number: number): number {
    return this.#pageOf(number)?.times[number % pageKeys] as number
  }

  #keyAt(number: number): KeptKey {
    const page = this.#pageOf(number) as Page
    const at = number % pageKeys
    return {
      id: bytesAt(page.ids, at).slice(),
      digest: bytesAt(page.digests, at).slice(),
      lsn: page.lsns[at] as number,
      timeMs: page.times[at] as number,
      facts: Buffer.from(factsAt(page, at)).toString('utf8'),
    }
  }

  #firstAfter(lsn: number): number {
    let [low, high] = [this.#first, this.#next]
    while (low < high) {
      const middle = Math.floor((low + high) / 2)
      if (this.#lsnAt(middle) > lsn) high = middle
      else low = middle + 1
    }
    return low
  }

  #bucketOf(words: Uint32Array): Bucket {
    return this.#buckets[words[0]! % bucketCount] as Bucket
  }

  #hasId(number: number, words: Uint32Array): boolean {
    const { ids } = this.#pageOf(number) as Page
    const at = (number % pageKeys) * wordsPerId
    return ids[at] === words[0] && ids[at + 1] === words[1] && ids[at + 2] === words[2] && ids[at + 3] === words[3]
  }

  #wordsAt(number: number): Uint32Array {
    const at = (number % pageKeys) * wordsPerId
    return (this.#pageOf(number) as Page).ids.subarray(at, at + wordsPerId)
  }

  /** Enters a key. An earlier key with the same id, which was too old when this one was written, is no longer found. */
  #index(number: number, words: Uint32Array): void {
    const bucket = this.#bucketOf(words)
    if ((bucket.used + 1) * 4 > bucket.slots.length * 3) this.#growBucket(bucket)
    const { slots } = bucket
    const mask = slots.length - 1
    let slot = words[1]! & mask
    while (slots[slot] !== 0 && !this.#hasId(this.#numberIn(slots[slot]!), words)) slot = (slot + 1) & mask
    if (slots[slot] === 0) bucket.used++
    slots[slot] = 1 + (number % numbersMax)
  }

  #growBucket(bucket: Bucket): void {
    const { slots: old } = bucket
    const slots = new Uint32Array(old.length * 2)
    const mask = slots.length - 1
    for (const entry of old) {
      if (entry === 0) continue
      let slot = this.#wordsAt(this.#numberIn(entry))[1]! & mask
      while (slots[slot] !== 0) slot = (slot + 1) & mask
      slots[slot] = entry
    }
    bucket.slots = slots
  }

  /** Removes the entry of the oldest key, unless a newer one has its id, and moves later entries of the run into the gap. */
  #unindex(number: number, page: Page): void {
    const words = page.ids.subarray((number % pageKeys) * wordsPerId, (number % pageKeys) * wordsPerId + wordsPerId)
    const bucket = this.#bucketOf(words)
    const { slots } = bucket
    const mask = slots.length - 1
    const entry = 1 + (number % numbersMax)
    let gap = words[1]! & mask
    while (slots[gap] !== entry) {
      if (slots[gap] === 0) return
      gap = (gap + 1) & mask
    }
    bucket.used--
    for (let slot = (gap + 1) & mask; slots[slot] !== 0; slot = (slot + 1) & mask) {
      const home = this.#wordsAt(this.#numberIn(slots[slot]!))[1]! & mask
      if (((slot - home) & mask) < ((slot - gap) & mask)) continue
      slots[gap] = slots[slot]!
      gap = slot
    }
    slots[gap] = 0
  }

  /** The number of a key from its entry in the index: the first one from the oldest key on. */
  #numberIn(entry: number): number {
    // Less than numbersMax keys are kept. The oldest may have just been removed.
    const from = Math.max(0, this.#first - 1)
    return from + ((entry - 1 - (from % numbersMax) + numbersMax) % numbersMax)
  }
}

function wordsOf(bytes: Uint8Array): Uint32Array {
  const copy = new Uint32Array(wordsPerId)
  new Uint8Array(copy.buffer).set(bytes)
  return copy
}

function bytesAt(words: Uint32Array, at: number): Uint8Array {
  return new Uint8Array(words.buffer, at * requestIdBytes, requestIdBytes)
}

function factsAt({ facts, ends }: Page, at: number): Uint8Array {
  return facts.subarray(at === 0 ? 0 : ends[at - 1], ends[at])
}

function grown(bytes: Uint8Array, length: number): Uint8Array<ArrayBuffer> {
  const copy = new Uint8Array(length)
  copy.set(bytes)
  return copy
}
