// What a filter looks like: a list of conditions, all of which must hold.

export type FilterValue = string | number | boolean

/** Exactly one operator, as the server demands; names are case-sensitive. */
export type FilterOperator =
  | { readonly $eq: FilterValue }
  | { readonly $in: readonly FilterValue[] }
  /** Both ends belong to the range. */
  | { readonly $range: readonly [from: number, to: number] }
  | { readonly $gt: number }
  | { readonly $gte: number }
  | { readonly $lt: number }
  | { readonly $lte: number }

/** One field and what its value must be: `{ color: { $in: ['red', 'green'] } }`. */
export interface FilterCondition {
  readonly [field: string]: FilterOperator
}

/** `[{ color: { $eq: 'red' } }, { price: { $range: [10, 20] } }]` holds for red things between 10 and 20. */
export type Filter = readonly FilterCondition[]

/** The values of one vector that filters may ask for. */
export interface FilterValues {
  readonly [field: string]: FilterValue | null
}
