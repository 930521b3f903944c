// Settings to begin with: each field alone, and all of them fused.
import { type Collection, type Field, isDense, isEmbedded, isText } from '../../api/collections.ts'

export interface Preset {
  readonly name: string
  /** As JSON. */
  readonly text: string
}

const kinds = { text: 'words', vector: 'vectors', multi_vector: 'several vectors', sparse: 'sparse vectors' } as const

export function presetsOf({ fields }: Collection): readonly Preset[] {
  const alone = fields.map((field): Preset => {
    const kind = isEmbedded(field) ? 'meaning' : kinds[field.type]
    return { name: `${field.name}: ${kind}`, text: settingText({ fields: { [field.name]: {} } }) }
  })
  const exact = fields.filter(isDense).map(({ name }): Preset => {
    return { name: `${name}: exact`, text: settingText({ fields: { [name]: {} }, exact: true }) }
  })
  const fused = fields.filter((field) => isText(field) || isDense(field))
  return [...alone, ...exact, ...(fused.length > 1 ? [fusionOf(fused)] : [])]
}

function fusionOf(fields: readonly Field[]): Preset {
  const names = fields.map(({ name }) => name)
  const setting = { fields: Object.fromEntries(names.map((name) => [name, {}])), fusion: { method: 'rrf' } }
  return { name: `${names.join(' + ')}: fused by ranks`, text: settingText(setting) }
}

export function settingText(setting: object): string {
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
