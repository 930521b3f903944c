// Settings to begin with: each field alone, all of them fused, and the saved searches.
import { type Collection, type Field, isDense, isEmbedded, isText } from '../../api/collections.ts'
import { settingOf } from '../search/draft.ts'
import { restoredDraft, savedSearches } from '../search/saved-searches.ts'

export interface Preset {
  readonly name: string
  /** As JSON. */
  readonly text: string
}

const kinds = { text: 'words', vector: 'vectors', multi_vector: 'several vectors', sparse: 'sparse vectors' } as const

export function presetsOf(collection: Collection): readonly Preset[] {
  const { fields } = collection
  const alone = fields.map((field): Preset => {
    const kind = isEmbedded(field) ? 'meaning' : kinds[field.type]
    return { name: `${field.name}: ${kind}`, text: settingText({ fields: { [field.name]: {} } }) }
  })
  const exact = fields.filter(isDense).map(({ name }): Preset => {
    return { name: `${name}: exact`, text: settingText({ fields: { [name]: {} }, exact: true }) }
  })
  const fused = fields.filter((field) => isText(field) || isDense(field))
  return [...alone, ...exact, ...(fused.length > 1 ? [fusionOf(fused)] : []), ...savedPresets(collection)]
}

/** Saved searches without their queries; one that is incomplete is left out. */
function savedPresets(collection: Collection): readonly Preset[] {
  return savedSearches(collection.name).flatMap((saved): Preset[] => {
    const draft = restoredDraft(collection, saved)
    try {
      const setting = settingOf(draft, draft.settings, collection.fields)
      return [{ name: `saved: ${saved.name}`, text: settingText(setting) }]
    } catch {
      return []
    }
  })
}

function fusionOf(fields: readonly Field[]): Preset {
  const names = fields.map(({ name }) => name)
  const setting = { fields: Object.fromEntries(names.map((name) => [name, {}])), fusion: { method: 'rrf' } }
  return { name: `${names.join(' + ')}: fused by ranks`, text: settingText(setting) }
}

function settingText(setting: object): string {
  return JSON.stringify(setting, null, 1).replaceAll(/\n\s*/g, ' ')
}

/** The same judgment at a terminal. */
export function commandOf(wish: {
  readonly collection: string
  readonly queries: string
  readonly grades: string
  readonly a: string
  readonly b: string | undefined
  readonly k: number
  readonly rounds: number
}): string {
  const { collection, queries, grades, a, b, k, rounds } = wish
  return [
    `annal evaluate ${quoted(collection)} --queries ${quoted(queries)} --qrels ${quoted(grades)} -k ${k}`,
    ...[`--a ${quoted(a)}`, ...(b === undefined ? [] : [`--b ${quoted(b)} --rounds ${rounds}`])],
  ].join(' \\\n  ')
}

/** As a word of a shell. */
function quoted(text: string): string {
  return /^[\w./-]+$/.test(text) && !text.startsWith('-') ? text : `'${text.replaceAll("'", `'\\''`)}'`
}
