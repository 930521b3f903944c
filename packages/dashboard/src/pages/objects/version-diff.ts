// What differs between two versions of an object, from what each write in between changed.
import type { ObjectVersion } from '../../api/past.ts'

/** One value, before and after; undefined where it is absent. */
export interface ValueChange {
  readonly key: string
  readonly before: unknown
  readonly after: unknown
}

export interface VersionDiff {
  readonly values: readonly ValueChange[]
  /** Fields whose vectors or texts were written with other content in between. */
  readonly fields: readonly string[]
  /** Whether meta that is not JSON changed. */
  readonly metaBytes: boolean
  /** False if the log does not say what one of the writes changed. */
  readonly known: boolean
}

/** `versions` are oldest first. Values that returned to what they were are left out. */
export function diffOf(versions: readonly ObjectVersion[], lsnFrom: number, lsnTo: number): VersionDiff {
  const values = new Map<string, ValueChange>()
  const fields = new Set<string>()
  let [metaBytes, known] = [false, true]
  for (const { changes } of versions.filter(({ lsn }) => lsn > lsnFrom && lsn <= lsnTo)) {
    if (changes === undefined) {
      known = false
      continue
    }
    for (const part of ['meta', 'filter'] as const)
      for (const [name, { before, after }] of Object.entries(changes[part])) {
        const key = `${part}.${name}`
        const first = values.get(key)
        values.set(key, { key, before: first === undefined ? before : first.before, after })
      }
    for (const field of changes.fields) fields.add(field)
    metaBytes ||= changes.metaBytes === true
  }
  const differing = [...values.values()].filter(({ before, after }) => !isEqual(before, after))
  return { values: differing, fields: [...fields], metaBytes, known }
}

function isEqual(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) === JSON.stringify(b)
}
