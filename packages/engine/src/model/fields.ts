// The fields of a collection at the level of types: what a definition says about names and kinds of fields, and what follows from it
// for objects, queries and hits. Nothing here exists at run time.

/** One vector per object, sparse terms, a text, or several vectors per object. */
export type FieldType = 'vector' | 'sparse' | 'text' | 'multi_vector'

/** The type of each field by name. `Fields` itself describes a collection known only by name: it may have any field. */
export interface Fields {
  readonly [field: string]: FieldType
}

/** The name of a field of a collection. */
export type FieldName<F extends Fields> = keyof F & string

/** Names of the fields that have a graph: all but those of sparse terms and texts. */
export type GraphFieldName<F extends Fields> = {
  readonly [Name in FieldName<F>]: F[Name] extends 'sparse' | 'text' ? never : Name
}[FieldName<F>]

/** A value for each field of one type. A stored object can lack any of them. */
export type ByField<F extends Fields, Type extends FieldType, Value> = ByMember<
  string extends keyof F
    ? { readonly [field: string]: Value }
    : { readonly [Name in keyof F as Type extends F[Name] ? Name : never]?: Value }
>

/**
 * The same type. Without this step the compiler compares two types by their arguments, and a collection with known fields
 * could not be passed where any collection is accepted; with it, it compares their members.
 */
export type ByMember<T> = { readonly [Member in keyof T]: T[Member] }
