// Parts of schemas that several routes share. A schema validates a body, defines its TypeScript type, and documents it.
import { type Static, type TSchema, Type } from '@sinclair/typebox'

/** The TypeScript type of a schema. */
export type Infer<S extends TSchema> = Static<S>

/** What the description of the API shows in place of a part of a schema: the name of one of its schemas, or a schema. */
export const documentation = Symbol('documentation')

/** For a part that a reader checks rather than the schema. */
export function describedAs<S extends TSchema>(schema: S, shown: string | object): S {
  return { ...schema, [documentation]: shown }
}

/** A whole number. Null counts as absent. */
export function optionalInteger(range: { readonly minimum: number; readonly maximum: number }, description: string) {
  return Type.Optional(Type.Unsafe<number | null>({ type: ['integer', 'null'], ...range, description }))
}

/** A number. Null counts as absent. */
export function optionalNumber(
  range: { readonly minimum?: number; readonly maximum?: number; readonly exclusiveMinimum?: number },
  description: string,
) {
  return Type.Optional(Type.Unsafe<number | null>({ type: ['number', 'null'], ...range, description }))
}

/** A text. Null counts as absent. */
export function optionalText(description: string) {
  return Type.Optional(Type.Unsafe<string | null>({ type: ['string', 'null'], description }))
}

/** A boolean. Null counts as absent. */
export function optionalBoolean(description: string) {
  return Type.Optional(Type.Unsafe<boolean | null>({ type: ['boolean', 'null'], description }))
}

/** The numbers of a vector. The reader checks each number, so that the array is read only once. */
export function optionalNumbers(description: string) {
  const shown = { type: ['array', 'null'], items: { type: 'number' }, description }
  return Type.Optional(
    describedAs(Type.Unsafe<readonly unknown[] | null>({ type: ['array', 'null'], description }), shown),
  )
}

/** Shown for the value of a vector; vector-bytes.ts checks it. */
function vectorShown(description: string): object {
  return { anyOf: [{ $ref: '#/components/schemas/VectorValue' }], description }
}

/** A vector that a body must have. */
export function vectorValue(description: string) {
  return describedAs(Type.Unknown(), vectorShown(description))
}

/** A vector that a body may have. Null counts as absent. */
export function optionalVector(description: string) {
  const { anyOf } = vectorShown(description) as { anyOf: object[] }
  return Type.Optional(describedAs(Type.Unknown(), { anyOf: [...anyOf, { type: 'null' }], description }))
}

/** The conditions of a filter. The engine checks them. */
export const filterConditions = describedAs(Type.Unsafe<readonly unknown[]>({ type: 'array' }), 'Filter')

/** Path parameter of an index or collection. */
export const nameParam = Type.Object({ name: Type.String({ description: 'Name of the index.' }) })

/** The write that a read must include. */
export function minLsn() {
  return optionalInteger(
    { minimum: 0, maximum: Number.MAX_SAFE_INTEGER },
    'LSN of a write that the reply must include. The server waits for it, at most 5 s, and replies 503 lsn_not_reached.',
  )
}
