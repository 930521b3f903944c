// A checked filter: a tree of conditions over keys.

export type Scalar = string | number | boolean

/** `kind` says what must hold for the key's value, or for any element when the value is an array. */
export type Condition =
  | { readonly kind: 'in'; readonly key: string; readonly operands: readonly Scalar[] }
  | { readonly kind: 'range'; readonly key: string; readonly type: 'number' | 'time'; readonly bounds: Bounds }
  | { readonly kind: 'exists'; readonly key: string }
  /** The key has a string, a number, or a boolean. No operator makes it. */
  | { readonly kind: 'value'; readonly key: string }
  | { readonly kind: 'and' | 'or'; readonly conditions: readonly Condition[] }
  /** Matches all objects that the inner condition does not match, including those without the key. */
  | { readonly kind: 'not'; readonly condition: Condition }

export interface Bounds {
  readonly low: number
  readonly high: number
  /** The bound itself is excluded. */
  readonly lowOpen: boolean
  readonly highOpen: boolean
}

/** All conditions must hold. An empty list matches every object. */
export type Filter = readonly Condition[]
