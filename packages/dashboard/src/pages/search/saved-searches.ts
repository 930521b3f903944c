// Searches that the browser keeps by collection and name.
import { signal } from '@preact/signals'
import type { Collection } from '../../api/collections.ts'
import { isRecord, keptValue } from '../../kept.ts'
import { newRow } from '../filter/filter-draft.ts'
import { type FieldDraft, freshDraft, type SearchDraft, settingsDefault } from './draft.ts'

export interface SavedSearch {
  readonly name: string
  /** Unchanged since it was stored: the fields of the collection may have changed since. */
  readonly draft: SearchDraft
}

type ByCollection = { readonly [collection: string]: readonly SavedSearch[] }

const savedMax = 100
const nameLengthMax = 80

const kept = keptValue<ByCollection>(
  () => localStorage,
  'searches',
  (stored) =>
    isRecord(stored)
      ? Object.fromEntries(
          Object.entries(stored).map(([name, searches]) => [
            name,
            Array.isArray(searches) ? searches.filter(isSavedSearch) : [],
          ]),
        )
      : {},
)

function isSavedSearch(value: unknown): value is SavedSearch {
  if (!isRecord(value) || typeof value.name !== 'string' || !isRecord(value.draft)) return false
  const { fields, settings, filter } = value.draft
  const isFilter = isRecord(filter) && (Array.isArray(filter.rows) || typeof filter.text === 'string')
  return isRecord(fields) && Object.values(fields).every(isRecord) && isRecord(settings) && isFilter
}

/** Counts changes, so that lists are drawn again. */
const changes = signal(0)

/** By name. */
export function savedSearches(collection: string): readonly SavedSearch[] {
  changes.value
  const all = kept.read()
  return Object.hasOwn(all, collection) ? all[collection]! : []
}

/** Replaces the search of the same name. Throws a readable error. */
export function saveSearch(collection: string, name: string, draft: SearchDraft): void {
  const wanted = name.trim()
  if (wanted === '') throw new Error('enter a name')
  if (wanted.length > nameLengthMax)
    throw new Error(`the name has ${wanted.length} characters, more than ${nameLengthMax}`)
  const others = savedSearches(collection).filter((other) => other.name !== wanted)
  if (others.length >= savedMax) throw new Error(`${savedMax} searches are saved; delete one first`)
  const next = [...others, { name: wanted, draft }].sort((a, b) =>
    a.name.localeCompare(b.name, 'en', { numeric: true }),
  )
  write(collection, next)
}

export function deleteSearch(collection: string, name: string): void {
  write(
    collection,
    savedSearches(collection).filter((other) => other.name !== name),
  )
}

function write(collection: string, searches: readonly SavedSearch[]): void {
  const { [collection]: _, ...others } = kept.read()
  const isWritten = kept.write(searches.length === 0 ? others : { ...others, [collection]: searches })
  changes.value += 1
  if (!isWritten) throw new Error('the browser does not keep it: its storage is full or turned off')
}

/** The saved search for the fields that the collection has now. */
export function restoredDraft(collection: Collection, { draft }: SavedSearch): SearchDraft {
  const fresh = freshDraft(collection)
  const fields = Object.entries(fresh.fields).map(([name, field]): [string, FieldDraft] => {
    const saved = Object.hasOwn(draft.fields, name) ? draft.fields[name] : undefined
    return [name, saved === undefined ? { ...field, on: false } : { ...field, ...saved }]
  })
  const { filter } = draft
  return {
    fields: Object.fromEntries(fields),
    limit: draft.limit ?? fresh.limit,
    // Rows are numbered again, so that rows added later have other numbers.
    filter:
      filter.kind === 'rows'
        ? { kind: 'rows', rows: filter.rows.map(({ key, operator, text }) => newRow(key, operator, text)) }
        : filter,
    settings: { ...settingsDefault, ...draft.settings },
    other: draft.other === undefined ? undefined : { ...settingsDefault, ...draft.other },
  }
}
