// Runs the write of each request key once. A write is claimed while it runs, so that a second one with its key waits, and its key is kept
// when its record is appended. This file knows neither HTTP nor collections.
import { createHash } from 'node:crypto'
import { assert, EngineError } from '../errors.ts'
import { type RequestRecord, requestIdBytes } from '../events/request-record.ts'
import { requestFactsBytesMax, requestKeyLengthMax, requestWaitMs } from '../limits.ts'
import { printed, shownValue } from '../model/ids.ts'
import type { Acknowledgement } from '../model/object.ts'
import type {
  KeyedRequest,
  RecordedRequest,
  RequestClaim,
  RequestFacts,
  RequestKeyStats,
  RequestKeys,
} from '../model/requests.ts'
import { WaitLimit } from '../wait-limit.ts'
import { KeyTable, type KeyTableLimits } from './key-table.ts'

/** (?![\s\S]) instead of $, which would accept a final newline. */
const keyPattern = /^[\x21-\x7e]+(?![\s\S])/

/** Instead of the id of a database. */
export const controlPlane = 0

export interface RequestKeysHost {
  /** The id of a database. Throws database_not_found. */
  databaseId(name: string): number
  /** Time of the newest record, milliseconds since 1970. */
  readonly timeMs: number
  /** The newest record known to be durable. */
  readonly lsnDurable: number
  /** Throws unless the engine is open. */
  checkOpen(): void
  /** Appends a record that only keeps the claim. */
  commitAnswered(claim: Claim): Promise<Acknowledgement>
}

/** The right to run the write of one key, and what its record will say. */
export class Claim implements RequestClaim {
  readonly id: Uint8Array
  readonly #digest: () => Uint8Array
  #facts: RequestFacts = {}
  #isUsed = false
  recorded: { readonly lsn: number; readonly timeMs: number } | undefined
  /** Settles when the write has ended, if it is answered before. */
  continues: Promise<unknown> | undefined

  constructor(id: Uint8Array, digest: () => Uint8Array) {
    this.id = id
    this.#digest = digest
  }

  get facts(): RequestFacts {
    return this.#facts
  }

  addFacts(facts: RequestFacts): void {
    this.#facts = { ...this.#facts, ...facts }
  }

  continueUntil(done: Promise<unknown>): void {
    this.continues = done
  }

  digest(): Uint8Array {
    return this.#digest().subarray(0, requestIdBytes)
  }

  /** The request for the record of the write. Throws limit_exceeded: nothing is appended then. */
  record(facts: RequestFacts): RequestRecord {
    if (this.#isUsed)
      throw new EngineError('invalid_argument', 'the claim of a request key was used by another write', {
        field: 'requestKey',
      })
    this.addFacts(facts)
    const text = Object.keys(this.#facts).length === 0 ? '' : JSON.stringify(this.#facts)
    const bytes = Buffer.byteLength(text)
    if (bytes > requestFactsBytesMax) {
      const message = `the reply to a write with a request key takes ${bytes} bytes, at most ${requestFactsBytesMax} are kept; write fewer objects at once, or send no key`
      throw new EngineError('limit_exceeded', message, {
        field: 'requestKey',
        value: bytes,
        limit: requestFactsBytesMax,
      })
    }
    const request = { id: this.id, digest: this.digest(), facts: text }
    this.#isUsed = true
    return request
  }
}

/** A claimed key. `ended` resolves when its write has ended, or is answered and goes on. */
interface Running {
  readonly claim: Claim
  readonly ended: Promise<void>
}

export class KeptRequests implements RequestKeys {
  readonly table: KeyTable
  readonly #host: RequestKeysHost
  readonly #running = new Map<string, Running>()
  #repeated = 0

  constructor(host: RequestKeysHost, limits: KeyTableLimits) {
    this.#host = host
    this.table = new KeyTable(limits)
  }

  stats(): RequestKeyStats {
    return { count: this.table.count, bytes: this.table.bytes, repeated: this.#repeated }
  }

  async once<R extends Acknowledgement>(
    request: KeyedRequest,
    write: (claim: RequestClaim) => Promise<R>,
    repeated?: (recorded: RecordedRequest) => R | Promise<R>,
  ): Promise<R> {
    this.#host.checkOpen()
    const { database } = request
    const databaseId = database === undefined ? controlPlane : this.#host.databaseId(database)
    return this.onceIn(databaseId, request, write, repeated)
  }

  /** `once` with the id of the database. */
  async onceIn<R extends Acknowledgement>(
    databaseId: number,
    request: Omit<KeyedRequest, 'database'>,
    write: (claim: Claim) => Promise<R>,
    repeated: (recorded: RecordedRequest) => R | Promise<R> = answerOf,
  ): Promise<R> {
    const id = idOf(databaseId, checkedKey(request.key))
    const name = Buffer.from(id).toString('base64')
    const limit = new WaitLimit(requestWaitMs)
    let running = this.#running.get(name)
    while (running !== undefined && running.claim.continues === undefined) {
      if (limit.isOver) throw inUse(request)
      await limit.wait(running.ended)
      running = this.#running.get(name)
    }
    // From here to the claim nothing waits, so no other call can claim the key.
    const earlier = this.#earlier(id, name)
    if (earlier !== undefined) {
      await request.readWhole?.()
      checkSame(earlier.digest, request.digest().subarray(0, requestIdBytes), request)
      this.#repeated++
      return repeated(earlier.recorded)
    }
    const { promise: ended, resolve: end } = Promise.withResolvers<void>()
    const claim = new Claim(id, () => request.digest())
    this.#running.set(name, { claim, ended })
    const release = () => void this.#running.delete(name)
    try {
      const answer = await write(claim)
      if (claim.recorded !== undefined || claim.continues !== undefined) return answer
      return await this.#recordAnswer(claim, answer)
    } finally {
      if (claim.continues === undefined) release()
      else claim.continues.then(release, release)
      end()
    }
  }

  /** A write that found nothing to change has no record of its own. */
  async #recordAnswer<R extends Acknowledgement>(claim: Claim, answer: R): Promise<R> {
    const { lsn: _, durable: __, ...facts } = answer
    claim.addFacts(facts)
    const acknowledged = await this.#host.commitAnswered(claim)
    return { ...answer, ...acknowledged }
  }

  /** The record of an earlier write with the key, or the answer of one that still goes on. */
  #earlier(
    id: Uint8Array,
    name: string,
  ): { readonly digest: Uint8Array; readonly recorded: RecordedRequest } | undefined {
    const kept = this.table.find(id, this.#host.timeMs)
    if (kept !== undefined) {
      const { digest, lsn, timeMs, facts: text } = kept
      const facts = text === '' ? {} : (JSON.parse(text) as RequestFacts)
      return { digest, recorded: { lsn, durable: lsn <= this.#host.lsnDurable, timeMs, facts } }
    }
    const continuing = this.#running.get(name)?.claim
    if (continuing?.continues === undefined) return undefined
    return { digest: continuing.digest(), recorded: { lsn: 0, durable: false, timeMs: 0, facts: continuing.facts } }
  }
}

function inUse({ key }: Pick<KeyedRequest, 'key'>): EngineError {
  const message = `a write with the request key ${printed(key)} is still running; repeat the request later`
  return new EngineError('request_key_in_use', message, { field: 'Idempotency-Key', value: key })
}

/** The id of a key: no two databases share one, and nobody can find two keys with the same id. */
function idOf(databaseId: number, key: string): Uint8Array {
  return createHash('sha256').update(`${databaseId}\n${key}`).digest().subarray(0, requestIdBytes)
}

function checkedKey(key: unknown): string {
  if (typeof key === 'string' && key.length <= requestKeyLengthMax && keyPattern.test(key)) return key
  const message = `a request key must have 1 to ${requestKeyLengthMax} visible ASCII characters, not ${printed(key)}`
  throw new EngineError('invalid_argument', message, {
    field: 'Idempotency-Key',
    value: shownValue(key),
    limit: requestKeyLengthMax,
  })
}

function checkSame(kept: Uint8Array, digest: Uint8Array, { key }: Pick<KeyedRequest, 'key'>): void {
  assert(digest.length === kept.length, 'digests of requests have the same length')
  if (Buffer.compare(kept, digest) === 0) return
  const message = `the request key ${printed(key)} was used for a different request; use a new key for each write`
  throw new EngineError('request_key_reused', message, { field: 'Idempotency-Key', value: key })
}

function answerOf<R extends Acknowledgement>({ lsn, durable, facts }: RecordedRequest): R {
  // The facts of a write have the names and types of its answer.
  return { lsn, durable, ...facts } as unknown as R
}
