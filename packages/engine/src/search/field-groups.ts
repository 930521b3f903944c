// Finds the best groups of one field. A search as deep as the groups probably need comes first. While there are too few groups, the next one
// searches the objects that belong to none of them. Then the groups that have too few hits are searched for more. The hits of a group
// are those of the same search with a filter on its value. Every search is of the pinned version.
import { TimeSlice } from '@annal/wal'
import type { Scalar } from '../filter/condition.ts'
import { storedValues } from '../filter/indexed-values.ts'
import { scalarsUnder } from '../filter/matches-values.ts'
import type { Bitmap } from '../memory/bitmap.ts'
import type { FieldExplanation } from '../model/search-result.ts'
import type { Expired } from '../replica/expiry.ts'
import type { FieldAnswer, Matches, RunContext } from './field-run.ts'
import type { GroupPlan, Task } from './request.ts'
import { readMembers } from './run-multi.ts'
import { runTask } from './run-task.ts'

/** Hits of the first search, for each hit that the groups may have in total, and at most so many if fewer would do. */
const depthEach = 4
const firstDepthMax = 512
/** Hits of one search. More take several. */
const depthMax = 4_096
/** Objects of incomplete groups that one search ranks. If they have more, each group is searched. */
const rankedTogetherMax = 1_024
/** Groups that are searched at a time. Each takes a bit for each object. */
const searchedAtOnce = 8

/** Thrown if a write has changed the filters since the version: another search has to begin, and nothing may be written meanwhile. */
export class VersionMoved extends Error {
  constructor() {
    super('the filters are those of another version')
  }
}

/** The objects that may be in a group, as of the version of a search. */
export interface Groupable {
  readonly key: string
  /** Those that match the filter and have a value under the key. */
  readonly rows: Matches
  /** Whether those are all objects. */
  readonly isEverything: boolean
  readonly expired: Expired | undefined
}

/** The objects that may be in a group. Call it in the turn that pins the version. */
export function findGroupable(
  { replica, version, matches }: Pick<RunContext, 'replica' | 'version' | 'matches'>,
  key: string,
  expired: Expired | undefined,
): Groupable {
  const having = replica.matches.matchesOf([{ kind: 'value', key }], version, expired)
  if (matches !== undefined) {
    const bitmap = having.bitmap.clone().and(matches.bitmap)
    return { key, rows: { bitmap, count: bitmap.count }, isEverything: false, expired }
  }
  const isEverything = having.count === replica.matches.matchesOf([], version, expired).count
  return { key, rows: having, isEverything, expired }
}

interface FoundGroup {
  readonly value: Scalar
  /** Similarities by ordinal. */
  readonly hits: Map<number, number>
  /** Whether its best hits are among them, as many as are wanted. */
  isComplete: boolean
}

interface Hit {
  readonly ordinal: number
  readonly similarity: number
}

/** A group in the answer of a field: positions of its hits in the list of all hits, best first. */
export interface AnswerGroup {
  readonly value: Scalar
  readonly hits: readonly number[]
}

/** The answer of a field, whose hits are those of all groups, each once, best first. */
export interface GroupedAnswer extends FieldAnswer {
  readonly groups: readonly AnswerGroup[]
}

/** The search for the groups of one field. */
export class FieldGroups {
  readonly task: Task
  readonly #context: RunContext
  readonly #plan: Pick<GroupPlan, 'hits'> & { readonly wanted: number }
  readonly #groupable: Groupable
  readonly #groups = new Map<Scalar, FoundGroup>()
  /** Similarities of all objects that were found, by ordinal. */
  readonly #seen = new Map<number, number>()
  readonly #values = new Map<number, ReadonlySet<Scalar>>()
  readonly #answers: FieldAnswer[] = []
  readonly #slice = new TimeSlice()
  /** Whether everything that can be found was found. */
  #isWhole = false

  constructor(
    task: Task,
    context: RunContext,
    groupable: Groupable,
    plan: { readonly hits: number; readonly wanted: number },
  ) {
    this.task = task
    // The vectors of the hits are read when it is known which they are.
    this.#context = { ...context, input: { ...context.input, includeVectors: false } }
    this.#groupable = groupable
    this.#plan = plan
  }

  /** Finds the wanted number of groups, or all that exist. Throws VersionMoved. */
  async find(): Promise<void> {
    const { hits, wanted } = this.#plan
    const { rows, isEverything } = this.#groupable
    let depth = Math.max(wanted, Math.min(depthEach * wanted * hits, firstDepthMax))
    let found = await this.#run(depth, isEverything ? this.#context.matches : rows)
    this.#openFrom(found, wanted)
    this.#isWhole = found.length < depth
    if (this.#isWhole || this.#groups.size >= wanted) return
    const left = rows.bitmap.clone()
    let known = 0
    while (found.length === depth && this.#groups.size < wanted) {
      for (const { ordinal } of found) left.clear(ordinal)
      const added = [...this.#groups.keys()].slice(known)
      known = this.#groups.size
      await this.#excludeGroups(added, left)
      if (left.count === 0) return
      depth = Math.min(2 * depth, depthMax)
      this.#checkVersion()
      found = await this.#run(depth, { bitmap: left, count: left.count })
      this.#openFrom(found, wanted)
    }
  }

  /** Opens groups while there are fewer than `groupsMax`. The list has the best hits of each that it opens. */
  #openFrom(found: readonly Hit[], groupsMax: number): void {
    const before = this.#groups.size
    for (const { ordinal } of found)
      for (const value of this.valuesAt(ordinal))
        if (this.#groups.size < groupsMax && !this.#groups.has(value))
          this.#groups.set(value, { value, hits: new Map(), isComplete: false })
    this.#offer(found)
    for (const group of [...this.#groups.values()].slice(before)) group.isComplete = group.hits.size >= this.#plan.hits
  }

  /** Clears the rows that are in no group but those with the values. */
  async #excludeGroups(values: readonly Scalar[], left: Bitmap): Promise<void> {
    if (values.length === 0) return
    this.#checkVersion()
    const inGroups = this.#rowsOf(values).and(left)
    for (const ordinal of inGroups.toOrdinals()) {
      if (this.#slice.isOver) await this.#slice.renew()
      if (this.#isInKnownGroups(ordinal)) left.clear(ordinal)
    }
  }

  #isInKnownGroups(ordinal: number): boolean {
    const text = this.#context.replica.filterTextAt(ordinal, this.#context.version)
    // Without an array there is one value.
    if (!text.includes('[')) return true
    return [...scalarsUnder(storedValues(text), this.#groupable.key)].every((value) => this.#groups.has(value))
  }

  /** The values of the groups that were found, best first. */
  get values(): readonly Scalar[] {
    return this.#ordered().map(({ value }) => value)
  }

  /** The best hits of the groups that were found, each once, best first. */
  get best(): readonly Hit[] {
    const distinct = new Map<number, Hit>()
    for (const { hits } of this.#ordered()) for (const hit of hits) distinct.set(hit.ordinal, hit)
    return [...distinct.values()].sort(byRank)
  }

  /** The values of an object under the key. */
  valuesAt(ordinal: number): ReadonlySet<Scalar> {
    const known = this.#values.get(ordinal)
    if (known !== undefined) return known
    const { replica, version } = this.#context
    const values = scalarsUnder(storedValues(replica.filterTextAt(ordinal, version)), this.#groupable.key)
    this.#values.set(ordinal, values)
    return values
  }

  /** Finds as many hits of these groups as are wanted, or all that exist. Throws VersionMoved. */
  async complete(values: readonly Scalar[]): Promise<void> {
    for (const value of values) if (!this.#groups.has(value)) this.#open(value)
    if (this.#isWhole) return
    const groups = values.map((value) => this.#groups.get(value) as FoundGroup).filter(({ isComplete }) => !isComplete)
    const incomplete = groups.map(({ value }) => value)
    for (const group of groups) group.isComplete = true
    if (incomplete.length === 0) return
    this.#checkVersion()
    const rows = this.#unseenOf(incomplete)
    if (rows.count === 0) return
    if (rows.count <= rankedTogetherMax) {
      this.#offer(await this.#run(rows.count, rows))
      return
    }
    for (let from = 0; from < incomplete.length; from += searchedAtOnce) {
      this.#checkVersion()
      const some = incomplete.slice(from, from + searchedAtOnce).map((value) => this.#unseenOf([value]))
      const searches = some.filter(({ count }) => count > 0).map((one) => this.#run(this.#plan.hits, one))
      for (const found of await Promise.all(searches)) this.#offer(found)
    }
  }

  /** A group that was not searched for; it has what was seen of it. */
  #open(value: Scalar): void {
    const hits = new Map<number, number>()
    for (const [ordinal, similarity] of this.#seen) if (this.valuesAt(ordinal).has(value)) hits.set(ordinal, similarity)
    this.#groups.set(value, { value, hits, isComplete: false })
  }

  #unseenOf(values: readonly Scalar[]): Matches {
    const bitmap = this.#rowsOf(values).and(this.#groupable.rows.bitmap)
    for (const ordinal of this.#seen.keys()) bitmap.clear(ordinal)
    return { bitmap, count: bitmap.count }
  }

  #rowsOf(operands: readonly Scalar[]): Bitmap {
    const { key, expired } = this.#groupable
    return this.#context.replica.matches.evaluate([{ kind: 'in', key, operands }], expired).bitmap
  }

  /** The answer with the groups of these values, and with the vectors of their hits if they are requested. */
  async answer(
    values: readonly Scalar[],
    { includeVectors }: { readonly includeVectors: boolean },
  ): Promise<GroupedAnswer> {
    const wanted = new Set(values)
    const groups = this.#ordered().filter(({ value }) => wanted.has(value))
    const distinct = new Map<number, Hit>()
    for (const { hits } of groups) for (const hit of hits) distinct.set(hit.ordinal, hit)
    const best = [...distinct.values()].sort(byRank)
    const places = new Map(best.map(({ ordinal }, place) => [ordinal, place]))
    const explanation = explain(this.#answers)
    const ordinals = Uint32Array.from(best, ({ ordinal }) => ordinal)
    const similarities = Float32Array.from(best, ({ similarity }) => similarity)
    const { visited, distances } = explanation
    const matched = this.#answers[0]?.matched
    const members = includeVectors ? await readMembers(this.task, ordinals, this.#context) : undefined
    return {
      found: { ordinals, similarities, visited, distances },
      complete: this.#answers.every(({ complete }) => complete),
      explanation,
      groups: groups.map(({ value, hits }) => ({
        value,
        hits: hits.map(({ ordinal }) => places.get(ordinal) as number),
      })),
      ...(members && { members }),
      ...(matched && { matched }),
    }
  }

  /** The groups with their best hits, in the order of the best of them. A group without hits is left out. */
  #ordered(): readonly { readonly value: Scalar; readonly hits: readonly Hit[] }[] {
    const groups = [...this.#groups.values()].map(({ value, hits }) => ({
      value,
      hits: Array.from(hits, ([ordinal, similarity]) => ({ ordinal, similarity }))
        .sort(byRank)
        .slice(0, this.#plan.hits),
    }))
    return groups.filter(({ hits }) => hits.length > 0).sort((a, b) => byRank(a.hits[0] as Hit, b.hits[0] as Hit))
  }

  async #run(k: number, matches: Matches | undefined): Promise<readonly Hit[]> {
    const answer = await runTask({ ...this.task, k }, { ...this.#context, matches })
    this.#answers.push(answer)
    const { ordinals, similarities } = answer.found
    return Array.from(ordinals, (ordinal, i) => ({ ordinal, similarity: similarities[i] as number }))
  }

  /** Adds hits to their groups. */
  #offer(hits: readonly Hit[]): void {
    for (const { ordinal, similarity } of hits) {
      this.#seen.set(ordinal, similarity)
      for (const value of this.valuesAt(ordinal)) this.#groups.get(value)?.hits.set(ordinal, similarity)
    }
  }

  /** The index of filters is that of the newest version, also of a running publication, which this ends. */
  #checkVersion(): void {
    const { replica, version } = this.#context
    replica.publish()
    if (replica.version !== version) throw new VersionMoved()
  }
}

/** Most similar first; ties by ordinal. */
function byRank(a: Hit, b: Hit): number {
  return b.similarity - a.similarity || a.ordinal - b.ordinal
}

/** What was done by all searches, with the plan of the first. */
function explain(answers: readonly FieldAnswer[]): FieldExplanation {
  const [first] = answers
  const sum = (amount: (explanation: FieldExplanation) => number) =>
    answers.reduce((total, { explanation }) => total + amount(explanation), 0)
  const rescored = sum((one) => one.rescored ?? 0)
  return {
    plan: 'nothing',
    reason: 'no search was needed',
    ...first?.explanation,
    visited: sum((one) => one.visited),
    distances: sum((one) => one.distances),
    ...(rescored > 0 && { rescored }),
    searches: answers.length,
    ms: sum((one) => one.ms),
  }
}
