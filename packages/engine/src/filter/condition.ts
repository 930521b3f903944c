// What a query asks of filter values, after it was checked: a tree of conditions over keys.

export type Scalar = string | number | boolean

/** `kind` says what must hold of the key's value, or of any element when the value is an array. */
export type Condition =
  | { readonly kind: 'in'; readonly key: string; readonly operands: readonly Scalar[] }
  | { readonly kind: 'range'; readonly key: string; readonly of: 'number' | 'time'; readonly bounds: Bounds }
  | { readonly kind: 'exists'; readonly key: string }
  | { readonly kind: 'and' | 'or'; readonly conditions: readonly Condition[] }
  /** Of all objects, those that the condition does not hold for; also those without the key. */
  | { readonly kind: 'not'; readonly condition: Condition }

export interface Bounds {
  readonly low: number
  readonly high: number
  /** The end itself is outside. */
  readonly lowOpen: boolean
  readonly highOpen: boolean
}

/** Conditions that must all hold; none at all holds for everything. */
export type Filter = readonly Condition[]
