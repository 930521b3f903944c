// The frames of a replicated log in a bucket with conditional writes. Each message is an object whose name is its sequence
// number; it is written only if that object does not exist, so two writers never both store the same number. Nothing here
// depends on lists, which some servers answer late.
import { setTimeout as sleep } from 'node:timers/promises'
import {
  type FrameStore,
  type StoredMessage,
  type StoreOutcome,
  type StoreRange,
  StoreUnavailable,
} from '@annal/wal/replicated'
import type { S3Client } from '@aws-sdk/client-s3'
import type { BucketPlace } from '../backups/bucket-place.ts'
import { openS3Client } from '../backups/s3-client.ts'
import { Objects } from './objects.ts'

/** How a store in a bucket is opened. */
export interface BucketStoreOptions {
  readonly place: BucketPlace
  /** How long a request may take, in milliseconds, until its outcome counts as unknown. */
  readonly requestMs?: number
  /** How often a follower looks for new messages, in milliseconds. */
  readonly pollMs?: number
  /** Writes nothing to the bucket, not even to find out what its server does. */
  readonly readOnly?: boolean
}

/** The server of a bucket writes although a condition does not hold, so two writers could replace each other's records. */
export class UnconditionalBucketError extends Error {
  override readonly name = 'UnconditionalBucketError'
}

const requestMsDefault = 10_000
const pollMsDefault = 500
const messageBytesMax = 8 * 1024 * 1024
/** Messages that a reader requests at once, while the ones before them are read. */
const readAhead = 16
/** Messages that an append without an expectation writes at once, at most. Behind a gap there are fewer than this. */
const aheadMax = 16
const folder = 'frames/'
const digits = 16
/** Has the sequence number of the oldest message. What is before it counts as gone, whether it is deleted or not. */
const firstKey = 'first'
const probeKey = 'conditional-writes'
const notImplemented = 501

function keyOf(seq: number): string {
  return `${folder}${String(seq).padStart(digits, '0')}`
}

/** Opens a store. Throws UnconditionalBucketError if the server ignores conditions, StoreUnavailable if it does not answer. */
export async function openBucketStore(options: BucketStoreOptions): Promise<FrameStore> {
  const client = openS3Client({ replyTimeoutMs: options.requestMs ?? requestMsDefault })
  const objects = new Objects(client, options.place)
  try {
    if (!options.readOnly) await refuseUnconditional(objects, options.place)
    return new BucketStore(options, client, objects)
  } catch (error) {
    client.destroy()
    throw error
  }
}

/**
 * Writes an object twice under the condition that it does not exist, and once under the condition that it is another one. Throws
 * UnconditionalBucketError if the server ignores a condition or does not know it, StoreUnavailable if it does not answer.
 */
export async function refuseUnconditional(objects: Objects, { bucket }: BucketPlace): Promise<void> {
  const bytes = Buffer.from('Annal writes this object to find out whether the server checks conditions of writes.\n')
  const unavailable = (header: string) =>
    objects.putTrouble?.status === notImplemented
      ? new UnconditionalBucketError(
          `the server of the bucket ${bucket} does not support the header ${header} of a write, so it cannot keep a log`,
        )
      : (objects.putTrouble ?? new StoreUnavailable(`the bucket ${bucket} rejects writes`))
  // Once it is known that the object exists, a further write shows what the server does.
  if ((await objects.put(probeKey, bytes, 'absent')) === 'unknown') throw unavailable('If-None-Match')
  for (const [header, condition] of [
    ['If-None-Match', 'absent'],
    ['If-Match', { etag: '"0"' }],
  ] as const) {
    const outcome = await objects.put(probeKey, bytes, condition)
    if (outcome === 'unknown') throw unavailable(header)
    if (outcome === 'stored')
      throw new UnconditionalBucketError(
        `the server of the bucket ${bucket} ignores the header ${header} of a write, so it cannot keep a log`,
      )
  }
}

interface Fetched {
  /** Undefined where there is no object. */
  readonly messages: readonly (StoredMessage | undefined)[]
  readonly first: number
}

class BucketStore implements FrameStore {
  readonly messageBytesMax = messageBytesMax
  readonly #client: S3Client
  readonly #objects: Objects
  readonly #pollMs: number
  readonly #closing = new AbortController()
  /** A message that exists, and before which there is no gap. 0 before one is found. */
  #known = 0

  constructor(options: BucketStoreOptions, client: S3Client, objects: Objects) {
    this.#pollMs = options.pollMs ?? pollMsDefault
    this.#client = client
    this.#objects = objects
  }

  async append(bytes: Uint8Array, expected: number | undefined): Promise<StoreOutcome> {
    try {
      return expected === undefined ? await this.#appendAnywhere(bytes) : await this.#appendAt(bytes, expected + 1)
    } catch (error) {
      if (error instanceof StoreUnavailable) return { kind: 'unknown', cause: error }
      throw error
    }
  }

  async #appendAt(bytes: Uint8Array, seq: number): Promise<StoreOutcome> {
    const outcome = await this.#objects.put(keyOf(seq), bytes, 'absent')
    if (outcome === 'refused') return { kind: 'conflict' }
    if (outcome === 'unknown') return { kind: 'unknown', cause: this.#objects.putTrouble }
    // The object may have existed and been trimmed. The first number is raised before anything is deleted, so it shows that.
    if ((await this.#first()) > seq) return { kind: 'conflict' }
    return { kind: 'stored', seq }
  }

  /**
   * Takes one of the next numbers. A writer that appends all the time takes one number after another, so several numbers
   * at once win against it.
   */
  async #appendAnywhere(bytes: Uint8Array): Promise<StoreOutcome> {
    for (let width = 1; width <= aheadMax; width *= 2) {
      const { last } = await this.range()
      const seqs = Array.from({ length: width }, (_, i) => last + 1 + i)
      const outcomes = await Promise.all(seqs.map((seq) => this.#appendAt(bytes, seq)))
      for (const outcome of outcomes) {
        // Behind a number whose outcome is unknown there may be a gap.
        if (outcome.kind !== 'conflict') return outcome
      }
    }
    return { kind: 'conflict' }
  }

  async at(seq: number): Promise<StoredMessage | undefined> {
    const found = await this.#objects.get(keyOf(seq))
    // A writer that was paused may have stored it again after it was trimmed.
    return found === undefined || (await this.#first()) > seq ? undefined : { seq, bytes: found.bytes }
  }

  async range(): Promise<StoreRange> {
    for (;;) {
      const first = await this.#first()
      const known = this.#known
      const last = await this.#last(first, known)
      // What another process trimmed during the search looks like the end.
      if (known < first && (await this.#first()) !== first) continue
      // Several calls may run at a time.
      this.#known = Math.max(this.#known, last)
      return { first, last }
    }
  }

  async *read(from: number, to: number): AsyncIterable<StoredMessage> {
    let ahead = this.#fetch(from, to)
    for (let seq = from; seq <= to; ) {
      const { messages, first } = await ahead
      const found = messages.indexOf(undefined)
      const end = seq + (found < 0 ? messages.length : found)
      const next = Math.max(end, first)
      if (next === seq) throw new StoreUnavailable(`the bucket does not have message ${seq}`)
      ahead = this.#fetch(next, to)
      for (const message of messages)
        if (message !== undefined && message.seq >= first && message.seq < end) yield message
      seq = next
    }
  }

  /** Reads some of the messages at once, and the first number after them: what is before it was trimmed, whatever is there. */
  #fetch(from: number, to: number): Promise<Fetched> {
    const fetched = this.#fetchAll(from, Math.max(0, Math.min(readAhead, to - from + 1)))
    // The reader may end before it takes them.
    fetched.catch(() => undefined)
    return fetched
  }

  async #fetchAll(from: number, count: number): Promise<Fetched> {
    if (count === 0) return { messages: [], first: 1 }
    const found = await Promise.all(Array.from({ length: count }, (_, i) => this.#objects.get(keyOf(from + i))))
    const messages = found.map((object, i) => object && { seq: from + i, bytes: object.bytes })
    return { messages, first: await this.#first() }
  }

  async *watch(from: number, signal: AbortSignal): AsyncIterable<StoredMessage> {
    const ending = AbortSignal.any([signal, this.#closing.signal])
    for (let seq = from; !ending.aborted; ) {
      const { last } = await this.range()
      for await (const message of this.read(seq, last)) {
        seq = message.seq + 1
        yield message
        if (ending.aborted) return
      }
      // An abort ends the wait.
      if (seq > last) await sleep(this.#pollMs, undefined, { signal: ending }).catch(() => undefined)
    }
  }

  async trim(seq: number): Promise<void> {
    const { first, last } = await this.range()
    const wanted = Math.min(seq, last)
    if (wanted > first) await this.#raiseFirst(wanted)
    await this.#objects.deleteBefore(folder, keyOf(Math.max(first, wanted)))
  }

  close(): Promise<void> {
    this.#closing.abort()
    this.#client.destroy()
    return Promise.resolve()
  }

  async #first(): Promise<number> {
    const found = await this.#objects.get(firstKey)
    return found === undefined ? 1 : numberIn(found.bytes)
  }

  async #raiseFirst(seq: number): Promise<void> {
    for (;;) {
      const found = await this.#objects.get(firstKey)
      if (found !== undefined && numberIn(found.bytes) >= seq) return
      const condition = found === undefined ? 'absent' : { etag: found.etag }
      const outcome = await this.#objects.put(firstKey, Buffer.from(String(seq)), condition)
      if (outcome === 'unknown')
        throw this.#objects.putTrouble ?? new StoreUnavailable('the bucket did not confirm the first message')
    }
  }

  /** Finds the last message without a gap before it, from one that is known. */
  async #last(first: number, known: number): Promise<number> {
    let last = known < first ? await this.#search(first) : known
    while (await this.#objects.has(keyOf(last + 1))) last++
    return last
  }

  /** Finds a message near the end with none missing before it; first - 1 if there is none. */
  async #search(first: number): Promise<number> {
    let there = first - 1
    let step = 1
    while (await this.#objects.has(keyOf(there + step))) {
      there += step
      step *= 2
    }
    for (; step > 1; step /= 2) {
      if (await this.#objects.has(keyOf(there + step / 2))) there += step / 2
    }
    // Where the search ended, fewer messages than an append writes ahead may be behind a gap.
    const near = Array.from({ length: aheadMax }, (_, i) => there - aheadMax + 1 + i).filter((seq) => seq >= first)
    const found = await Promise.all(near.map((seq) => this.#objects.has(keyOf(seq))))
    const gap = found.indexOf(false)
    return gap < 0 ? there : (near[gap] ?? first) - 1
  }
}

function numberIn(bytes: Uint8Array): number {
  const number = Number(Buffer.from(bytes).toString())
  if (Number.isSafeInteger(number) && number > 0) return number
  throw new StoreUnavailable(`the object ${firstKey} of the bucket has no sequence number`)
}
