// Pieces of schemas that several routes share. One schema validates a body, gives its TypeScript type and documents it.
import { type Static, type TSchema, Type } from '@sinclair/typebox'

export type Infer<S extends TSchema> = Static<S>

/** A whole number that a client may also send as null, which then counts as absent. */
export function optionalInteger(range: { readonly minimum: number; readonly maximum: number }, description: string) {
  return Type.Optional(Type.Unsafe<number | null>({ type: ['integer', 'null'], ...range, description }))
}

export function optionalNumber(
  range: { readonly minimum?: number; readonly maximum?: number; readonly exclusiveMinimum?: number },
  description: string,
) {
  return Type.Optional(Type.Unsafe<number | null>({ type: ['number', 'null'], ...range, description }))
}

export function optionalText(description: string) {
  return Type.Optional(Type.Unsafe<string | null>({ type: ['string', 'null'], description }))
}

export function optionalBoolean(description: string) {
  return Type.Optional(Type.Unsafe<boolean | null>({ type: ['boolean', 'null'], description }))
}

/** Numbers of a vector. The reader checks each one, so that the values are walked once. */
export function optionalNumbers(description: string) {
  return Type.Optional(Type.Unsafe<readonly unknown[] | null>({ type: ['array', 'null'], description }))
}

export const filterConditions = Type.Unsafe<readonly unknown[]>({
  type: 'array',
  description:
    'Conditions that must all be true, one key each: [{"color":{"$eq":"red"}}]. Operators: $eq, $in, $range.',
})

export const nameParam = Type.Object({ name: Type.String({ description: 'Name of the index.' }) })
