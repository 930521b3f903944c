// In JSON a string is the text of a text field, or the bytes of a vector in base64; the collection says which.
import type { Collection } from '@annal/engine'

/** Whether a field has texts. */
export type IsText = (field: string) => boolean

/** Looks the fields up with the first string that a body has. Where there is no such collection now, every string is passed on: the engine refuses it. */
export function textFieldsOf(open: () => Pick<Collection, 'describe'>): IsText {
  let names: ReadonlySet<string> | 'unknown' | undefined
  return (field) => {
    names ??= namesOf(open)
    return names === 'unknown' || names.has(field)
  }
}

function namesOf(open: () => Pick<Collection, 'describe'>): ReadonlySet<string> | 'unknown' {
  try {
    const { fields } = open().describe()
    return new Set(fields.filter(({ kind }) => kind === 'text').map(({ name }) => name))
  } catch {
    return 'unknown'
  }
}
