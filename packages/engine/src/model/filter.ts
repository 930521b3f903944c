// What a filter looks like: a list of conditions, all of which must hold.

/** A value under a filter key. */
export type FilterValue = string | number | boolean

/** A number, or a point in time as RFC 3339 text. */
export type Ordered = number | string

/** Exactly one operator; names are case-sensitive. */
export type FilterOperator =
  | { readonly $eq: FilterValue }
  /** Also holds for an object that lacks the key. */
  | { readonly $ne: FilterValue }
  | { readonly $in: readonly FilterValue[] }
  /** Also holds for an object that lacks the key. */
  | { readonly $nin: readonly FilterValue[] }
  /** Both ends belong to the range. */
  | { readonly $range: readonly [from: Ordered, to: Ordered] }
  | { readonly $gt: Ordered }
  | { readonly $gte: Ordered }
  | { readonly $lt: Ordered }
  | { readonly $lte: Ordered }
  | { readonly $exists: boolean }

/** One key and what its value must be, `{ color: { $in: ['red', 'green'] } }`, or other conditions joined. */
export type FilterCondition =
  | { readonly [key: string]: FilterOperator }
  | { readonly $and: readonly FilterCondition[] }
  | { readonly $or: readonly FilterCondition[] }
  | { readonly $not: FilterCondition }

/** `[{ color: { $eq: 'red' } }, { price: { $range: [10, 20] } }]` holds for red things between 10 and 20. */
export type Filter = readonly FilterCondition[]

/** @deprecated Use Filter. */
export type FilterInput = Filter

/** The values of one object that conditions are tested against. A list matches when any of its values does. */
export interface FilterValues {
  readonly [key: string]: FilterValue | readonly FilterValue[] | null
}
