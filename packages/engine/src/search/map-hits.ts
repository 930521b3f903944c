// Converts the hits of a result, each once: a hit of a list, of the fused list, and of a group stays one object.
import type { Fused, HitGroup, HitLists } from '../model/search-result.ts'

/** Lists that a result does not have are absent. */
type DefinedLists<Hit> = { [List in keyof HitLists<Hit>]: Exclude<HitLists<Hit>[List], undefined> }

/** The same lists of other hits. */
export function mapHits<A extends object, B>(
  { results, fused, groups, fusedGroups }: HitLists<A>,
  convert: (hit: A) => B,
): DefinedLists<B> {
  const hitOf = once(convert)
  const fusedOf = once(({ hit, ...rest }: Fused<A>): Fused<B> => ({ ...rest, hit: hitOf(hit) }))
  return {
    results: mapValues(results, (hits) => hits.map(hitOf)),
    ...(fused && { fused: fused.map(fusedOf) }),
    ...(groups && { groups: mapValues(groups, (list) => list.map((group) => mapGroup(group, hitOf))) }),
    ...(fusedGroups && { fusedGroups: fusedGroups.map((group) => mapGroup(group, fusedOf)) }),
  }
}

function mapGroup<A, B>({ value, hits }: HitGroup<A>, convert: (hit: A) => B): HitGroup<B> {
  return { value, hits: hits.map(convert) }
}

function mapValues<A, B>(values: { readonly [field: string]: A }, convert: (value: A) => B): Record<string, B> {
  return Object.fromEntries(Object.entries(values).map(([field, value]) => [field, convert(value)]))
}

function once<A extends object, B>(convert: (from: A) => B): (from: A) => B {
  const known = new Map<A, B>()
  return (from) => {
    const found = known.get(from)
    if (found !== undefined) return found
    const converted = convert(from)
    known.set(from, converted)
    return converted
  }
}
