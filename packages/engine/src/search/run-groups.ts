// Runs a search that groups its hits. Without fusion each field has groups of its own. With fusion the hits of the best groups of each field
// are its list, and the groups are those of the fused list: those that one field found are completed by the others.
import type { Scalar } from '../filter/condition.ts'
import { scalarsUnder } from '../filter/matches-values.ts'
import type { FusedHit, HitGroup, SearchHit } from '../model/search-result.ts'
import { FieldGroups, type Groupable, type GroupedAnswer } from './field-groups.ts'
import type { RunContext } from './field-run.ts'
import { type FusionPlan, fuse } from './fuse.ts'
import type { GroupPlan, Task } from './request.ts'

/** The answers of the fields, and the values of the groups of the fused list. */
export interface GroupedAnswers {
  readonly answers: readonly { readonly task: Task; readonly answer: GroupedAnswer }[]
  /** Undefined without fusion. */
  readonly fusedValues: readonly Scalar[] | undefined
}

/** Throws VersionMoved if the filters changed meanwhile. */
export async function runGroups(
  tasks: readonly Task[],
  context: RunContext,
  groupable: Groupable,
  plan: GroupPlan,
): Promise<GroupedAnswers> {
  const { fusion, includeVectors } = context.input
  const { hits, offset } = plan
  const end = offset + (plan.limit ?? fusion?.limit ?? 0)
  const fields = tasks.map((task) => {
    const wanted = fusion ? Math.max(task.k, end) : offset + (plan.limit ?? task.k)
    return new FieldGroups(task, context, groupable, { hits, wanted })
  })
  const own = await allOf(fields, async (field) => {
    await field.find()
    const values = fusion ? field.values : field.values.slice(offset)
    await field.complete(values)
    return values
  })
  const fusedValues = fusion && fusedValuesOf(fields, context, fusion).slice(offset, end)
  if (fusedValues) await allOf(fields, (field) => field.complete(fusedValues))
  const answers = await allOf(fields, async (field, i) => {
    const values = [...(own[i] ?? []), ...(fusedValues ?? [])]
    return { task: field.task, answer: await field.answer(values, { includeVectors }) }
  })
  return { answers, fusedValues }
}

/** Waits for all, also if one fails: nothing may read the version when the search has ended. */
async function allOf<T>(
  fields: readonly FieldGroups[],
  act: (field: FieldGroups, index: number) => Promise<T>,
): Promise<readonly T[]> {
  const ends = await Promise.allSettled(fields.map(act))
  return ends.map((end) => {
    if (end.status === 'fulfilled') return end.value
    throw end.reason
  })
}

/** The values of the fused list before the groups are completed, best first. */
function fusedValuesOf(
  fields: readonly FieldGroups[],
  { replica }: RunContext,
  { method, weights }: FusionPlan,
): readonly Scalar[] {
  const lists = fields.map((field) => ({
    field: field.task.definition.name,
    weight: weights.get(field.task.definition.name) ?? 1,
    hits: field.best.map(({ ordinal, similarity }) => ({ id: replica.objects.idAt(ordinal), similarity, ordinal })),
  }))
  const values = new Set<Scalar>()
  for (const { hit } of fuse(lists, method, Number.POSITIVE_INFINITY))
    for (const value of fields[0]?.valuesAt(hit.ordinal) ?? []) values.add(value)
  return [...values]
}

/** The groups of the list of a field. */
export function groupsOf(hits: readonly SearchHit[], { groups }: GroupedAnswer): HitGroup<SearchHit>[] {
  return groups.map((group) => ({ value: group.value, hits: group.hits.map((place) => hits[place] as SearchHit) }))
}

/** The groups with these values of a fused list, in the order of their best hits, and their hits as a list. */
export function groupFused(
  fused: readonly FusedHit[],
  values: readonly Scalar[],
  { key, hits: hitsMax }: GroupPlan,
): { readonly fused: readonly FusedHit[]; readonly fusedGroups: readonly HitGroup<FusedHit>[] } {
  const wanted = new Set(values)
  const groups = new Map<Scalar, FusedHit[]>()
  const kept: FusedHit[] = []
  for (const one of fused) {
    let isKept = false
    for (const value of scalarsUnder(one.hit.filter, key)) {
      const hits = groups.get(value) ?? []
      if (!wanted.has(value) || hits.length === hitsMax) continue
      groups.set(value, [...hits, one])
      isKept = true
    }
    if (isKept) kept.push(one)
  }
  return { fused: kept, fusedGroups: Array.from(groups, ([value, hits]) => ({ value, hits })) }
}
