// The kind of a field decides which forms a value of JSON can have: a string is a text, or the bytes of a vector in base64.
import type { Collection } from '@annal/engine'
import { invalidArgument } from '../errors.ts'
import { isObject } from '../json-object.ts'

type FieldKind = ReturnType<Collection['describe']>['fields'][number]['kind']

/** The kind of a field; undefined if it is unknown. Then every form is passed on, and the engine refuses it. */
export type KindOf = (field: string) => FieldKind | undefined

/** Looks the fields up when a kind is needed for the first time. */
export function fieldKindsOf(open: () => Pick<Collection, 'describe'>): KindOf {
  let kinds: ReadonlyMap<string, FieldKind> | undefined
  return (field) => {
    kinds ??= kindsOf(open)
    return kinds.get(field)
  }
}

function kindsOf(open: () => Pick<Collection, 'describe'>): ReadonlyMap<string, FieldKind> {
  try {
    return new Map(
      open()
        .describe()
        .fields.map(({ name, kind }) => [name, kind]),
    )
  } catch {
    return new Map()
  }
}

const names: { readonly [K in FieldKind]: string } = {
  dense: 'dense',
  sparse: 'sparse',
  multi: 'multi-vector',
  text: 'text',
}

interface Forms {
  readonly words: string
  readonly fits: (value: unknown) => boolean
}

const isBytes = (value: unknown): boolean => typeof value === 'string' || value instanceof Uint8Array
const isOneOrMore = (value: unknown): boolean => Array.isArray(value) || isBytes(value)
const has = (value: unknown, ...keys: readonly string[]): boolean => isObject(value) && keys.some((key) => key in value)
const areTerms = (value: unknown): boolean => has(value, 'indices', 'values', 'sparse_indices', 'sparse_values')
const isOneVector = (value: unknown): boolean =>
  isBytes(value) || (Array.isArray(value) && !(Array.isArray(value[0]) || isBytes(value[0])))

/** What the query of a field can be. */
const queries: { readonly [K in FieldKind]: Forms } = {
  dense: {
    words:
      'an array of numbers, 32-bit floats in base64, { id } of a stored object, or { text } if a provider makes the vectors',
    fits: (value) => isOneVector(value) || has(value, 'id', 'text'),
  },
  sparse: {
    words: '{ indices, values }, or { id } of a stored object',
    fits: (value) => areTerms(value) || has(value, 'id'),
  },
  multi: {
    words: 'an array of vectors, one vector, or { id } of a stored object',
    fits: (value) => isOneOrMore(value) || has(value, 'id'),
  },
  text: {
    words: 'a text, or an object with must or should',
    fits: (value) => typeof value === 'string' || isObject(value),
  },
}

/** What the value of a field of an object can be. */
const values: { readonly [K in FieldKind]: Forms } = {
  dense: {
    words: 'an array of numbers, 32-bit floats in base64, or { vector }',
    fits: (value) => isOneVector(value) || has(value, 'vector'),
  },
  sparse: { words: '{ indices, values }', fits: areTerms },
  multi: {
    words: 'an array of vectors, one vector, or { vectors }',
    fits: (value) => isOneOrMore(value) || has(value, 'vectors', 'vector'),
  },
  text: { words: 'a text', fits: (value) => typeof value === 'string' },
}

/** Refuses a query whose form no query of this kind of field has. Throws invalid_argument. */
export function checkQueryForm(query: unknown, kind: FieldKind | undefined, field: string): void {
  if (kind !== undefined) checkForm(query, queries[kind], kind, field)
}

/** Refuses a value of an object whose form no value of this kind of field has. Throws invalid_argument. */
export function checkValueForm(value: unknown, kind: FieldKind | undefined, field: string): void {
  if (kind !== undefined) checkForm(value, values[kind], kind, field)
}

function checkForm(value: unknown, { words, fits }: Forms, kind: FieldKind, field: string): void {
  if (!fits(value))
    throw invalidArgument(`${field} must be ${words}, because this is a ${names[kind]} field`, { field, value })
}
