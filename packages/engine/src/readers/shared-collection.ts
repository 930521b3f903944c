// A collection in a reader's thread: searches synchronously in shared memory, by the plan of the owner, and reads objects. It pins the newest
// version in the reader's slot meanwhile, so the owner reuses nothing that it reads.
import { EngineError } from '../errors.ts'
import type { Limits } from '../limits.ts'
import type { SearchRecall } from '../model/calibration.ts'
import type { Filter } from '../model/filter.ts'
import { parseIds } from '../model/ids.ts'
import type { StoredObject } from '../model/object.ts'
import type { SearchRequest } from '../model/query.ts'
import type { HitBytes, ReaderCollection, ReaderSearch } from '../model/reader.ts'
import type { CollectionSchema } from '../model/schema.ts'
import type { SearchResult } from '../model/search-result.ts'
import type { EfChooser, RecallSearch } from '../search/ef-chooser.ts'
import type { SharedMatches } from '../sharing/messages.ts'
import type { ParsedBatch } from './batches.ts'
import { findHits } from './find-hits.ts'
import { HitBuffer } from './hit-buffer.ts'
import type { OriginalFiles } from './original-files.ts'
import type { RanSearch } from './query-reports.ts'
import { draftObjects, finishObjects } from './read-objects.ts'
import type { ReplicaView } from './replica-view.ts'
import { SharedFilters } from './shared-filters.ts'

/** What a collection needs of its reader. */
export interface ReaderThread {
  /** The number of the reader. */
  readonly number: number
  readonly limits: Limits
  /** Applies the news that has arrived. */
  receive(): void
  /** The reader reads a version of a header from now on. False: it is reading already. */
  enter(header: number, version: number): void
  leave(): void
  readonly isReading: boolean
  /** Everything that was read so far was read before what is loaded next. */
  settle(): void
  readonly files: OriginalFiles
  /** The kernel of dense fields. */
  readonly module: WebAssembly.Module
  /** The time of reads: the later of the clock and of the newest record, in milliseconds since 1970. */
  readonly nowMs: number
  /** Every record up to this LSN is applied, and what is read from now on has it. */
  readonly lsnApplied: number
  /** Changes with everything that a wait for a record may wait for. */
  readonly progress: number
  /** Resolves when `progress` is not `seen` any more, or after `timeoutMs`. */
  progressed(seen: number, timeoutMs: number): Promise<void>
  /** The thread ran a search that states a recall. */
  ranRecall(collectionId: number, search: RanSearch, recall: SearchRecall): void
  /** Evaluated by the owner. Undefined: only the owner can run the search. */
  matches(header: number, filter: Filter): Promise<SharedMatches | undefined>
}

/** How often a search begins again because a version was published meanwhile, or filters were replaced. */
const attemptsMax = 3
const versionsMax = 64

/** The filter that all objects match. */
const everything: Filter = []

/** Why an attempt has no value. */
const again = Symbol('again')
const owner = Symbol('owner')
const otherVersion = Symbol('other version')
type Attempt<T> = T | typeof again | typeof owner | typeof otherVersion

export class SharedCollection implements ReaderCollection {
  readonly collectionId: number
  readonly #thread: ReaderThread
  readonly #hits = new HitBuffer()
  #view: ReplicaView | undefined
  #definition: CollectionSchema
  #filters: SharedFilters
  /** Undefined until it is first needed, because many threads run only searches of one field. */
  #batches: typeof import('./batches.ts') | undefined
  /** The same for texts. */
  #texts: typeof import('./find-texts.ts') | undefined

  constructor(thread: ReaderThread, view: ReplicaView) {
    this.collectionId = view.facts.collectionId
    this.#thread = thread
    this.#view = view
    this.#definition = view.facts.definition
    this.#filters = this.#newFilters(view)
  }

  get definition(): CollectionSchema {
    return this.#view?.facts.definition ?? this.#definition
  }

  get view(): ReplicaView | undefined {
    return this.#view
  }

  /** Another replica serves from now on, or none does. */
  serve(view: ReplicaView | undefined): void {
    this.#view = view
    if (view === undefined) return
    this.#definition = view.facts.definition
    this.#filters = this.#newFilters(view)
  }

  #newFilters({ header }: ReplicaView): SharedFilters {
    return new SharedFilters((filter) => this.#thread.matches(header, filter))
  }

  get lsn(): number {
    this.#thread.receive()
    const words = this.#view?.words
    for (let i = 0; words !== undefined && i < versionsMax; i++) {
      if (words.pin(words.version)) return words.pinnedLsn
    }
    return 0
  }

  async waitFor(lsn: number, timeoutMs: number): Promise<boolean> {
    const end = performance.now() + timeoutMs
    for (;;) {
      const { progress } = this.#thread
      this.#thread.receive()
      if (this.#view === undefined) return false
      if (this.#isApplied(lsn)) return true
      const rest = end - performance.now()
      if (rest <= 0) return false
      await this.#thread.progressed(progress, rest)
    }
  }

  /** Whether what is read from now on has the record. */
  #isApplied(lsn: number | undefined): boolean {
    return lsn === undefined || this.#thread.lsnApplied >= lsn || this.lsn >= lsn
  }

  searchHere<T>(search: ReaderSearch, write: (hits: HitBytes) => T): T | undefined | Promise<T | undefined> {
    if (typeof search.query === 'string' && this.#texts === undefined)
      return this.#loadTexts().then(() => this.searchHere(search, write))
    // A call from within `write` would read on without its pin.
    if (this.#thread.isReading || !this.#isApplied(search.minLsn)) return undefined
    const { filter = everything } = search
    const isFiltered = !Array.isArray(filter) || filter.length > 0
    // Without a filter, no matches are needed until an object has expired.
    const first = isFiltered ? this.#filters.find(filter) : undefined
    if (first !== undefined || !isFiltered) {
      const found = this.#searchAttempts(search, first, write)
      if (found === owner) return undefined
      if (found !== otherVersion) return found
    }
    const second = isFiltered ? undefined : this.#filters.find(everything)
    if (second !== undefined) {
      const found = this.#searchAttempts(search, second, write)
      if (found === owner) return undefined
      if (found !== otherVersion) return found
    }
    return this.#searchMatches(search, filter, write)
  }

  searchBatchHere(
    requests: readonly SearchRequest[],
    options: { readonly bytesMax: number },
  ): readonly SearchResult[] | undefined | Promise<readonly SearchResult[] | undefined> {
    if (this.#batches === undefined) return this.#loadBatches().then(() => this.searchBatchHere(requests, options))
    if (this.#thread.isReading || !requests.every(({ minLsn }) => this.#isApplied(minLsn))) return undefined
    // Only the owner has the past.
    if (requests.some(({ asOf }) => asOf !== undefined)) return undefined
    const batch = this.#batches.parseBatch(requests, this.definition, this.#thread.limits)
    if (batch === undefined) return undefined
    const cached = this.#batches.cachedMatches(batch, this.#filters)
    if (cached !== undefined) {
      const found = this.#runBatch(batch, cached, options)
      if (found === owner) return undefined
      if (found !== otherVersion) return found
    }
    return this.#fetchAndRun(batch, options)
  }

  async #loadTexts(): Promise<void> {
    const texts = await import('./find-texts.ts')
    await texts.prepareTexts()
    this.#texts = texts
  }

  async #loadBatches(): Promise<void> {
    const batches = await import('./batches.ts')
    await batches.prepareParsing(this.definition)
    this.#batches = batches
  }

  /** Fetches the matches, and once more if a version was published meanwhile. */
  async #fetchAndRun(
    batch: ParsedBatch,
    options: { readonly bytesMax: number },
  ): Promise<readonly SearchResult[] | undefined> {
    for (let attempt = 0; attempt < 2; attempt++) {
      const matches = await Promise.all(batch.filters.map((filter) => this.#filters.fetch(filter)))
      if (this.#thread.isReading) return undefined
      const known = matches.filter((one) => one !== undefined)
      if (known.length < matches.length) return undefined
      const found = this.#runBatch(batch, known, options)
      if (found === owner) return undefined
      if (found !== otherVersion) return found
    }
    return undefined
  }

  #runBatch(
    batch: ParsedBatch,
    matches: readonly SharedMatches[],
    { bytesMax }: { readonly bytesMax: number },
  ): readonly SearchResult[] | typeof owner | typeof otherVersion {
    const { files, module } = this.#thread
    const [first] = matches
    if (first !== undefined && !matches.every((one) => isOf(one, first.header, first.version))) return otherVersion
    let chooser: SharedEfChooser | undefined
    const results = this.#attempts(first, (view, version) => {
      // A rebuild replaced the definition after the searches were parsed.
      if (view.facts.definition !== batch.definition) return owner
      const { nowMs } = this.#thread
      if (view.words.pinnedExpiry <= nowMs && !isWholeBatch(batch)) return owner
      if (!matches.every((one) => hides(one, view, nowMs))) return otherVersion
      const areIdsUnchanged = batch.needsIds ? this.#watchIds(view, version) : () => true
      if (typeof areIdsUnchanged === 'symbol') return areIdsUnchanged
      chooser = new SharedEfChooser(view)
      const state = { view, version, files, module, chooser, reader: this.#thread, areIdsUnchanged }
      const found = this.#batches?.runBatch(state, batch, matches, bytesMax) ?? 'owner'
      return found === 'again' ? again : found === 'owner' ? owner : found
    })
    // Those that the owner runs, it counts itself.
    if (typeof results !== 'symbol')
      for (const { search, choice } of chooser?.chosen ?? []) this.#thread.ranRecall(this.collectionId, search, choice)
    return results
  }

  /** A function that returns whether the ids are still those of the version. */
  #watchIds({ words }: ReplicaView, version: number): (() => boolean) | typeof again | typeof owner {
    // If the version is still the same afterwards, the epoch belongs to it.
    const { idEpoch } = words
    if (idEpoch % 2 !== 0) return owner
    if (words.version !== version) return again
    return () => {
      this.#thread.settle()
      return words.idEpoch === idEpoch
    }
  }

  getHere(
    ids: readonly string[],
    { bytesMax, minLsn }: { readonly bytesMax: number; readonly minLsn?: number | undefined },
  ): readonly StoredObject[] | undefined | Promise<readonly StoredObject[] | undefined> {
    const wanted = wantedIds(ids)
    if (wanted === undefined || this.#thread.isReading || !this.#isApplied(minLsn)) return undefined
    const drafts = this.#attempts(undefined, (view, version) => {
      const areIdsUnchanged = this.#watchIds(view, version)
      if (typeof areIdsUnchanged === 'symbol') return areIdsUnchanged
      const nowMs = view.words.pinnedExpiry < Number.POSITIVE_INFINITY ? this.#thread.nowMs : Number.NEGATIVE_INFINITY
      const found = draftObjects(view, version, { ids: wanted, bytesMax, nowMs }, areIdsUnchanged)
      return found === 'again' ? again : found === 'owner' ? owner : found
    })
    return drafts === owner || drafts === otherVersion ? undefined : finishObjects(drafts, this.#thread.files)
  }

  /** Fetches the matches, and once more if a version was published meanwhile. */
  async #searchMatches<T>(search: ReaderSearch, filter: Filter, write: (hits: HitBytes) => T): Promise<T | undefined> {
    for (let attempt = 0; attempt < 2; attempt++) {
      const matches = await this.#filters.fetch(filter)
      if (matches === undefined || this.#thread.isReading) return undefined
      const found = this.#searchAttempts(search, matches, write)
      if (found === owner) return undefined
      if (found !== otherVersion) return found
    }
    return undefined
  }

  #searchAttempts<T>(
    search: ReaderSearch,
    matches: SharedMatches | undefined,
    write: (hits: HitBytes) => T,
  ): T | typeof owner | typeof otherVersion {
    const ran: { search: RanSearch | undefined } = { search: undefined }
    const hits = this.#hits
    const found = this.#attempts(matches, (view, version) => {
      if (!hides(matches, view, this.#thread.nowMs)) return otherVersion
      const found = this.#find(view, version, matches, search, ran)
      if (found !== 'found') return found === 'again' ? again : owner
      return hits.locate(view) ? write(hits) : again
    })
    const { recall } = hits
    if (ran.search && recall && found !== undefined && found !== owner && found !== otherVersion)
      this.#thread.ranRecall(this.collectionId, ran.search, recall)
    return found
  }

  /** Puts the hits into the buffer. */
  #find(
    view: ReplicaView,
    version: number,
    matches: SharedMatches | undefined,
    search: ReaderSearch,
    ran: { search: RanSearch | undefined },
  ): 'found' | 'again' | 'owner' {
    const state = { view, version, matches, topKMax: this.#thread.limits.topKMax }
    if (typeof search.query === 'string')
      return this.#texts?.findTexts(state, search, this.#thread, this.#hits) ?? 'owner'
    return findHits(state, search, this.#hits, ran) ? 'found' : 'owner'
  }

  /** `read` reads a pinned version, and may be called again. */
  #attempts<T>(
    matches: SharedMatches | undefined,
    read: (view: ReplicaView, version: number) => Attempt<T>,
  ): T | typeof owner | typeof otherVersion {
    for (let attempt = 0; attempt < attemptsMax; attempt++) {
      const found = this.#attempt(matches, read)
      if (found !== again) return found
    }
    return owner
  }

  #attempt<T>(
    matches: SharedMatches | undefined,
    read: (view: ReplicaView, version: number) => Attempt<T>,
  ): Attempt<T> {
    const thread = this.#thread
    thread.receive()
    try {
      for (let i = 0; i < versionsMax; i++) {
        const view = this.#view
        if (view === undefined) return owner
        const { words } = view
        // Before the version: if the version is still the same below, the epoch belongs to it.
        const epoch = words.filterEpoch
        const { version } = words
        thread.enter(view.header, version)
        // Everything of the version was announced before it was stored.
        thread.receive()
        if (!words.isServing && this.#view === view) return owner
        if (this.#view !== view || !words.pin(version)) continue
        if (epoch % 2 !== 0) return owner
        if (matches !== undefined && !isOf(matches, view.header, version)) return otherVersion
        const value = read(view, version)
        thread.settle()
        return words.filterEpoch === epoch ? value : again
      }
      return owner
    } finally {
      thread.leave()
    }
  }
}

/** Chooses ef by what the owner has measured. */
class SharedEfChooser implements EfChooser {
  readonly chosen: { readonly search: RecallSearch; readonly choice: SearchRecall }[] = []
  readonly #view: ReplicaView

  constructor(view: ReplicaView) {
    this.#view = view
  }

  choose(search: RecallSearch): SearchRecall {
    const choice = this.#view.chooseEf(search)
    this.chosen.push({ search, choice })
    return choice
  }
}

/** Whether every search of the batch has matches, and none reads a stored object: otherwise only the owner hides what has expired. */
function isWholeBatch({ searches, needsIds }: ParsedBatch): boolean {
  return !needsIds && searches.every(({ filter }) => filter !== undefined)
}

/** Whether the matches are without the objects that have expired now. */
function hides(matches: SharedMatches | undefined, { words }: ReplicaView, nowMs: number): boolean {
  if (words.pinnedExpiry > nowMs) return true
  return matches !== undefined && matches.fromMs <= nowMs && nowMs < matches.untilMs
}

function isOf(matches: SharedMatches, header: number, version: number): boolean {
  return matches.header === header && matches.version === version
}

/** Undefined: the owner refuses them. */
function wantedIds(ids: readonly string[]): readonly string[] | undefined {
  try {
    return parseIds(ids)
  } catch (error) {
    if (error instanceof EngineError) return undefined
    throw error
  }
}
