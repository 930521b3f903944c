// The fields of a new collection as options: NAME[=FIRST][,KEY=VALUE]..., where FIRST is the dimension, the model, or the language.
import type { FieldDefinition } from '@annal/client'
import { usageError } from './exit-code.ts'

type Kind = FieldDefinition['type']

interface Key {
  readonly param: string
  readonly read: (text: string, where: string) => unknown
}

interface Form {
  readonly option: string
  readonly first: string
  readonly isFirstNeeded: boolean
  readonly keys: { readonly [key: string]: Key }
}

const words = (param: string): Key => ({ param, read: (text) => text })
const numeric = (param: string): Key => ({ param, read: numberOf })
const yesOrNo = (param: string): Key => ({ param, read: booleanOf })

const graph = {
  dimension: numeric('dimension'),
  space: words('spaceType'),
  precision: words('precision'),
  M: numeric('M'),
  'ef-construction': numeric('efConstruction'),
  'keep-originals': yesOrNo('keepOriginals'),
}

const forms: { readonly [Type in Kind]: Form } = {
  vector: {
    option: '--vector',
    first: 'dimension',
    isFirstNeeded: true,
    keys: { ...graph, recall: numeric('recall'), embed: { param: 'embed', read: embedOf } },
  },
  multi_vector: {
    option: '--multi-vector',
    first: 'dimension',
    isFirstNeeded: true,
    keys: { ...graph, pooling: words('pooling') },
  },
  sparse: {
    option: '--sparse',
    first: 'model',
    isFirstNeeded: false,
    keys: { model: words('model'), dimension: numeric('dimension') },
  },
  text: {
    option: '--text',
    first: 'language',
    isFirstNeeded: false,
    keys: {
      language: words('language'),
      k1: numeric('k1'),
      b: numeric('b'),
      prefixes: { param: 'prefixes', read: prefixesOf },
    },
  },
}

/** The keys of an option, for its help. */
export function keysOf(type: Kind): string {
  const { first, keys } = forms[type]
  return Object.keys(keys)
    .filter((key) => key !== first)
    .join(', ')
}

/** What `params` of a definition may have: the names of the client, and those of the wire. */
export function paramNamesOf(type: string): readonly string[] {
  if (!Object.hasOwn(forms, type)) return []
  const names = Object.values(forms[type as Kind].keys).map(({ param }) => param)
  return [...names, ...(wireNames[type as Kind] ?? [])]
}

const graphWireNames = ['space_type', 'ef_con', 'keep_originals']
const wireNames: { readonly [Type in Kind]: readonly string[] } = {
  vector: graphWireNames,
  multi_vector: graphWireNames,
  sparse: ['sparse_model'],
  text: ['stopWords', 'keptWords', 'stop_words', 'kept_words'],
}

/** Throws a usage error that names the option, the key, and the value. The server checks the values. */
export function fieldOption(type: Kind, text: string): FieldDefinition {
  const { option, first, isFirstNeeded, keys } = forms[type]
  const [, name = '', rest] = /^([^=,]*)(?:=(.*))?$/s.exec(text.replace(/^([^=,]*),/, '$1=,')) ?? []
  if (name === '') throw usageError(`${option} ${text}: the name of the field is missing`)
  const params: { [param: string]: unknown } = {}
  for (const [i, part] of (rest ?? '').split(',').entries()) {
    if (part === '') continue
    const [, written = '', value = part] = /^([^=]*)=(.*)$/s.exec(part) ?? []
    const key = written === '' && i === 0 ? first : written
    const known = Object.hasOwn(keys, key) ? keys[key] : undefined
    if (known === undefined) {
      throw usageError(
        `${option} ${text}: unknown setting ${key || part}; settings are ${Object.keys(keys).join(', ')}`,
      )
    }
    if (Object.hasOwn(params, known.param)) throw usageError(`${option} ${text}: ${key} is set twice`)
    params[known.param] = known.read(value, `${option} ${text}: ${key}`)
  }
  if (isFirstNeeded && params[first] === undefined)
    throw usageError(`${option} ${text}: use ${name}=${first.toUpperCase()}`)
  // The server checks names and values, which are text here.
  return { name, type, params } as unknown as FieldDefinition
}

function numberOf(text: string, where: string): number {
  const value = text.trim() === '' ? Number.NaN : Number(text)
  if (Number.isFinite(value)) return value
  throw usageError(`${where} must be a number, not ${JSON.stringify(text)}`)
}

function booleanOf(text: string, where: string): boolean {
  if (text === 'true' || text === 'false') return text === 'true'
  throw usageError(`${where} must be true or false, not ${JSON.stringify(text)}`)
}

/** `provider:field` or `provider:field:model` */
function embedOf(text: string, where: string): unknown {
  const [, provider, from, model] = /^([^:]+):([^:]+)(?::(.+))?$/.exec(text) ?? []
  if (provider === undefined) throw usageError(`${where} must be PROVIDER:FIELD or PROVIDER:FIELD:MODEL`)
  return { provider, from, ...(model !== undefined && { model }) }
}

/** `2-8` */
function prefixesOf(text: string, where: string): unknown {
  const [, min, max] = /^(\d+)-(\d+)$/.exec(text) ?? []
  if (min === undefined) throw usageError(`${where} must be MIN-MAX, such as 2-8`)
  return { min: Number(min), max: Number(max) }
}
